//! Deadlines that clients of a writable replica have set. Its primary knows nothing of them, so it
//! never says that such a key has gone: the replica removes it itself.
//!
//! ```text
//! a change by a client ─▶ noted: the key, and the deadline that it had
//! a round of the background jobs ─▶ has it another one now? then that is kept
//!                                 ─▶ what is kept and has passed is removed
//! ```
//! A key is known by its name: where the primary gives it another value with a deadline, that one
//! may end it too.

use crate::upstream::Upstream;
use base::mutex::{Mutex, MutexGuard};
use base::{Millis, PositionHash};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use store::{Access, Author, Change, Databases, Key, Listener, Presence, Store, ThreadContext};

/// Keys that are looked at in one round, at most.
const KEYS_PER_ROUND: usize = 10_000;

/// A database and the name of a key in it.
type Name = (usize, Vec<u8>);

/// Deadlines that clients have set.
#[derive(Debug, Default)]
pub struct LocalDeadlines {
    /// True while what clients change is noted.
    notes: AtomicBool,
    /// Client of the link to the primary, whose changes are not local.
    link: AtomicU64,
    state: Mutex<State>,
    /// True if keys were changed since the last round.
    has_changed: AtomicBool,
    /// Number of keys that are kept.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// Keys that were changed since the last round, and the deadlines that they had before.
    changed: HashMap<Name, Option<Millis>>,
    kept: HashMap<Name, Millis>,
    by_deadline: BTreeSet<(Millis, Name)>,
}

impl State {
    fn keep(&mut self, name: Name, deadline: Millis) {
        self.forget(&name);
        self.by_deadline.insert((deadline, name.clone()));
        self.kept.insert(name, deadline);
    }

    fn forget(&mut self, name: &Name) {
        if let Some((name, deadline)) = self.kept.remove_entry(name) {
            self.by_deadline.remove(&(deadline, name));
        }
    }

    /// The keys whose deadlines may have passed.
    fn due(&self, now: Millis) -> Vec<Name> {
        let due = self.by_deadline.iter().take_while(|(deadline, _)| *deadline <= now);
        due.take(KEYS_PER_ROUND).map(|(_, name)| name.clone()).collect()
    }
}

impl LocalDeadlines {
    /// Returns none, which are notified of changes of a store.
    pub(crate) fn listening(store: &Store) -> Arc<LocalDeadlines> {
        let deadlines = Arc::new(LocalDeadlines::default());
        let listener: Arc<dyn Listener> = deadlines.clone();
        store.add_listener(&listener);
        deadlines
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Notes what clients change from now on, or no more.
    pub(crate) fn note_changes(&self, notes: bool) {
        self.notes.store(notes, Relaxed);
    }

    /// Names the client of the link to the primary.
    pub fn follow_link(&self, client: u64) {
        self.link.store(client, Relaxed);
    }

    /// Returns true if nothing is noted, and nothing is kept.
    pub(crate) fn is_idle(&self) -> bool {
        !self.notes.load(Relaxed) && self.count() == 0 && !self.has_changed.load(Relaxed)
    }

    /// Number of keys that are kept.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Forgets all, where this server is no replica any more.
    fn forget_all(&self) {
        *self.state() = State::default();
        self.has_changed.store(false, Relaxed);
        self.count.store(0, Relaxed);
    }

    /// Removes the keys whose deadlines have passed that clients have set. The thread is outside
    /// the gate.
    pub fn expire(
        &self,
        (store, upstream): (&Store, &Upstream),
        thread: &mut ThreadContext,
        now: Millis,
    ) {
        if !upstream.is_replica() && !self.is_idle() {
            self.forget_all();
        }
        if self.is_idle() {
            return;
        }
        self.has_changed.store(false, Relaxed);
        let changed = std::mem::take(&mut self.state().changed);
        for (name, before) in changed {
            let deadline = deadline_of(store, thread, &name, now);
            match deadline.filter(|it| Some(*it) != before) {
                Some(deadline) => self.state().keep(name, deadline),
                // Without one, or without the key, there is nothing to wait for.
                None if deadline.is_none() => self.state().forget(&name),
                None => {}
            }
        }
        let due = self.state().due(now);
        for name in due {
            match remove_past(store, thread, &name, now) {
                Some(deadline) => self.state().keep(name, deadline),
                None => self.state().forget(&name),
            }
        }
        self.count.store(self.state().kept.len(), Relaxed);
    }
}

/// The deadline of a key, also of one that has passed it.
fn deadline_of(
    store: &Store,
    thread: &mut ThreadContext,
    name: &Name,
    now: Millis,
) -> Option<Millis> {
    on_key(store, thread, name, now, |access, key| {
        access.show_not_removed();
        access.deadline_of(key)
    })
}

/// Removes a key that is past its deadline. Returns the deadline of one that is not.
fn remove_past(
    store: &Store,
    thread: &mut ThreadContext,
    name: &Name,
    now: Millis,
) -> Option<Millis> {
    on_key(store, thread, name, now, |access, key| {
        access.drop_expired_for_write(key);
        access.deadline_of(key)
    })
}

/// Calls a function with the locked shard of a key, if its database exists.
fn on_key(
    store: &Store,
    thread: &mut ThreadContext,
    (database, name): &Name,
    now: Millis,
    f: impl FnOnce(&mut Access<'_>, &Key<'_>) -> Option<Millis>,
) -> Option<Millis> {
    store.enter(thread);
    let deadline = store.keyspace(*database).and_then(|keyspace| {
        let key = store.key(keyspace, name);
        f(&mut store.lock(thread, &key, now), &key)
    });
    store.leave(thread);
    deadline
}

impl Listener for LocalDeadlines {
    fn before(&self, change: &Change<'_>) {
        let Author { client, .. } = change.author;
        let is_local = client != 0 && client != self.link.load(Relaxed);
        if !self.notes.load(Relaxed) || !is_local || change.removal.is_some() {
            return;
        }
        let deadline = change.old.as_ref().and_then(|old| old.deadline);
        let name = (change.database, change.key.bytes.to_vec());
        self.state().changed.entry(name).or_insert(deadline);
        self.has_changed.store(true, Relaxed);
    }

    fn before_databases(
        &self,
        change: &Databases,
        _: Author,
        _: &mut dyn FnMut(usize, &[u8], PositionHash) -> Presence,
    ) {
        let mut state = self.state();
        let moved_to = |database: usize| match change {
            Databases::Emptied(emptied) if emptied.contains(&database) => None,
            Databases::Emptied(_) => Some(database),
            Databases::Exchanged(one, other) if database == *one => Some(*other),
            Databases::Exchanged(one, other) if database == *other => Some(*one),
            Databases::Exchanged(..) => Some(database),
            Databases::Replaced(_) => None,
        };
        let State { changed, kept, .. } = std::mem::take(&mut *state);
        for ((database, name), deadline) in changed {
            if let Some(database) = moved_to(database) {
                state.changed.insert((database, name), deadline);
            }
        }
        for ((database, name), deadline) in kept {
            if let Some(database) = moved_to(database) {
                state.keep((database, name), deadline);
            }
        }
        self.count.store(state.kept.len(), Relaxed);
    }
}

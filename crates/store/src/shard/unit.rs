//! Notes of a guard about the changes made through it, until its locks are released.

use super::change::{
    Author, Change, EFFECTS, EVENTS, Effect, EffectWords, Event, Happened, JOURNAL, OwnedArgs,
    Reason, Unit, split_request,
};
use super::found::Found;
use super::guard::Guard;
use super::pending::{Hidden, Pending};
use super::shards::Shards;
use super::value_ref::ValueRef;
use crate::key::Key;
use base::KeyspaceId;

const DEL: &[u8] = b"DEL";
/// Number of events at which a unit tells those that it has, before its end, where that is allowed.
/// It bounds memory: a read of many keys, or a transaction, can cause an event for every key.
pub(crate) const EVENTS_GATHERED: usize = 4096;
/// Most arguments of one DEL for removals that nobody asked for.
const DEL_ARGS_MAX: usize = 1024;

/// Returns the arguments of a DEL to which a key of a database may be added.
fn growing_del(effect: &mut Effect, database: usize) -> Option<&mut OwnedArgs> {
    let EffectWords::Args(args) = &mut effect.words else { return None };
    let is_del = args.first().is_some_and(|name| name == DEL);
    (effect.database == database && is_del && args.len() < DEL_ARGS_MAX).then_some(args)
}

impl<'a> Guard<'a> {
    /// Tells listeners of a change. To be called before the first byte of a value changes, and
    /// before a key is created: the old record, entry and nodes can still be read.
    #[inline(always)]
    pub(super) fn before_writing(&mut self, key: &Key<'_>, found: Option<&Found<'a>>) {
        self.changes.said.changed();
        self.changes.begun += 1;
        if self.changes.heard != 0 {
            self.announce_writing(key, found);
        }
    }

    #[cold]
    fn announce_writing(&mut self, key: &Key<'_>, found: Option<&Found<'a>>) {
        if self.changes.is_journaled_only() {
            self.thread.pending.changed.note(key);
        } else if !self.changes.hears_marked_keys_only() || self.is_marked(key) {
            self.announce(key, found, None);
        }
    }

    /// Returns true if the key may be marked. The filter has false positives, but few.
    #[inline]
    fn is_marked(&self, key: &Key<'_>) -> bool {
        self.shards.listeners.marked.may_have(key.hash)
    }

    /// Tells listeners of a removal. To be called before it. A removal that no command asked for is
    /// also reported here.
    #[inline]
    pub(super) fn before_removal(&mut self, key: &Key<'_>, found: &Found<'a>, reason: Reason) {
        if matches!(reason, Reason::Deleted | Reason::Moved) {
            self.changes.said.changed();
            self.changes.begun += 1;
        }
        if self.changes.heard != 0 && reason != Reason::Flushed {
            self.announce(key, Some(found), Some(reason));
        }
    }

    /// Settles a key for the snapshot, if there is one, and tells listeners, if there are any.
    #[cold]
    fn announce(&mut self, key: &Key<'_>, found: Option<&Found<'a>>, removal: Option<Reason>) {
        if self.changes.is_cut() {
            self.settle(key);
        }
        if self.changes.hears_key(|| self.is_marked(key)) {
            self.tell_before(key, found, removal);
        }
        match removal {
            Some(Reason::Flushed) => {}
            Some(Reason::Expired | Reason::Overdue) => self.note_removal(key, Event::EXPIRED),
            Some(Reason::Evicted) => self.note_removal(key, Event::EVICTED),
            None | Some(Reason::Deleted | Reason::Moved) if self.changes.hears_effects() => {
                self.thread.pending.changed.note(key);
            }
            None | Some(Reason::Deleted | Reason::Moved) => {}
        }
    }

    /// Tells readers of a key early that it is about to change. They are told again when it does.
    pub(super) fn tell_readers_ahead(&mut self, key: &Key<'_>, found: &Found<'a>) {
        if self.changes.hears_key(|| self.is_marked(key)) {
            self.tell_before(key, Some(found), None);
        }
    }

    fn tell_before(&mut self, key: &Key<'_>, found: Option<&Found<'a>>, removal: Option<Reason>) {
        let Some(database) = self.shards.keyspaces.database_of(key.keyspace) else { return };
        let old = found.map(|found| ValueRef::new(self, *found).to_value());
        let author = self.thread.author;
        let change = Change { key: *key, database, removal, old, author };
        self.shards.listeners.tell(|listener| listener.before(&change));
    }

    /// Notes that a key was created.
    #[inline(always)]
    pub(super) fn after_creation(&mut self, key: &Key<'_>) {
        if self.is_heard() {
            self.note_event(Event::NEW, key);
        }
    }

    /// Notes that a change was refused for want of room: what was changed before it may be only a
    /// part of what the command reports.
    #[cold]
    pub(super) fn note_refusal(&mut self) {
        self.changes.said.excuse();
        self.thread.pending.is_partial = self.is_heard() && self.changes.begun > 1;
    }

    /// Does the same for a change of nodes, of which some may have been changed before.
    #[cold]
    pub(super) fn note_refusal_of_node(&mut self) {
        self.changes.said.excuse();
        self.thread.pending.is_partial = self.is_heard();
    }

    /// Takes a refusal back: the change was made in another way.
    #[cold]
    pub(super) fn forget_refusal(&mut self) {
        self.thread.pending.is_partial = false;
    }

    /// Returns true if there are listeners, so that arguments are worth making.
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.changes.is_heard()
    }

    /// Notes a request, which `write` appends in RESP, and the keyspace of its client, as the
    /// effect of what follows.
    #[inline(always)]
    pub fn speak_for(&mut self, keyspace: KeyspaceId, write: impl FnOnce(&mut Vec<u8>)) {
        if self.changes.hears_effects() {
            let pending = &mut self.thread.pending;
            let begin = pending.unit.requests.len();
            write(&mut pending.unit.requests);
            pending.request = Some((begin, keyspace));
        }
    }

    /// Reports that a command made `changes` changes, and the event that this is for a key. With
    /// zero changes, what the command did means nothing to others.
    #[inline(always)]
    pub fn say(&mut self, changes: u64, event: Event, key: &Key<'_>) {
        self.say_silently(changes);
        if changes > 0 && self.is_heard() {
            self.note_event(event, key);
        }
    }

    /// Reports that a command made `changes` changes for which there is no event.
    #[inline(always)]
    pub fn say_silently(&mut self, changes: u64) {
        self.changes.said.said();
        self.thread.counters.changes.add(changes);
        if changes > 0 && self.is_heard() {
            self.thread.pending.is_said = true;
        }
    }

    /// Returns true if somebody is told that keys change.
    #[inline]
    pub fn tells_readers(&self) -> bool {
        self.changes.hears_readers()
    }

    /// Hides changes from WATCH and client-side caching, until `show_to_readers`. To be called
    /// after the look-up of the key, since a look-up removes a key past its deadline, and that must
    /// be told.
    #[inline]
    pub fn hide_from_readers(&mut self) -> Hidden {
        self.changes.hide_from_readers()
    }

    /// Ends `hide_from_readers`.
    #[inline]
    pub fn show_to_readers(&mut self, hidden: Hidden) {
        self.changes.show_to_readers(hidden);
    }

    /// Hides what is changed through this guard from listeners, though not from a snapshot; no
    /// report is due.
    pub fn mute(&mut self) {
        self.changes.mute();
        self.changes.said.excuse();
    }

    /// Reports that what was changed means nothing to others.
    pub fn say_nothing(&mut self) {
        self.changes.said.said();
    }

    /// Reports a change that no command asked for.
    pub fn say_unasked(&mut self, event: Event, key: &Key<'_>, args: impl FnOnce() -> OwnedArgs) {
        self.changes.said.said();
        if self.is_heard() {
            self.note_effect(key.keyspace, args());
            self.note_event(event, key);
        }
    }

    /// Sets arguments for what was changed, in place of those of the request.
    pub fn set_effect(&mut self, keyspace: KeyspaceId, args: OwnedArgs) {
        if self.is_heard() {
            self.thread.pending.has_own_effects = true;
            self.note_effect(keyspace, args);
        }
    }

    /// Keeps the arguments of the request out of the unit: what it changed was told already.
    pub fn leave_out_request(&mut self) {
        if self.is_heard() {
            self.thread.pending.has_own_effects = true;
        }
    }

    fn note_removal(&mut self, key: &Key<'_>, event: Event) {
        if self.changes.hears_effects() {
            self.note_del(key);
        }
        self.note_event(event, key);
    }

    /// Adds a DEL of a key to the unit, or the key to the DEL before it.
    fn note_del(&mut self, key: &Key<'_>) {
        let Some(database) = self.shards.keyspaces.database_of(key.keyspace) else { return };
        let last = self.thread.pending.unit.effects.last_mut();
        match last.and_then(|last| growing_del(last, database)) {
            Some(args) => args.push(key.bytes.to_vec()),
            None => self.note_effect(key.keyspace, vec![DEL.to_vec(), key.bytes.to_vec()]),
        }
    }

    /// Adds the event of a key to the unit.
    #[inline]
    pub fn note_event(&mut self, event: Event, key: &Key<'_>) {
        if self.changes.hears_events() {
            self.push_event(event, key);
        }
    }

    #[cold]
    fn push_event(&mut self, event: Event, key: &Key<'_>) {
        if let Some(database) = self.shards.keyspaces.database_of(key.keyspace) {
            let pending = &mut self.thread.pending;
            if event == Event::MISS && pending.unit.events.len() >= EVENTS_GATHERED {
                self.shards.tell_events(pending, self.thread.author);
            }
            pending.unit.events.push(Happened { event, database, key: key.bytes.to_vec() });
        }
    }

    /// Returns true if the last event of the unit is this one.
    pub fn has_last_event(&self, event: Event, key: &Key<'_>) -> bool {
        self.find_event(event, key)
            .is_some_and(|at| at + 1 == self.thread.pending.unit.events.len())
    }

    /// Puts the last such event of a key behind all others of the unit.
    pub fn put_off_event(&mut self, event: Event, key: &Key<'_>) {
        if let Some(at) = self.find_event(event, key) {
            self.thread.pending.unit.events[at..].rotate_left(1);
        }
    }

    /// Finds the last such event of a key in the unit.
    fn find_event(&self, event: Event, key: &Key<'_>) -> Option<usize> {
        let database = self.shards.keyspaces.database_of(key.keyspace)?;
        self.thread
            .pending
            .unit
            .events
            .iter()
            .rposition(|it| it.event == event && it.database == database && it.key == key.bytes)
    }

    /// Adds a plain command with the effect of a change to the unit.
    #[cold]
    pub fn note_effect(&mut self, keyspace: KeyspaceId, args: OwnedArgs) {
        if self.changes.hears_effects()
            && let Some(database) = self.shards.keyspaces.database_of(keyspace)
        {
            let words = EffectWords::Args(args);
            self.thread.pending.unit.effects.push(Effect { database, words });
        }
    }

    /// Returns true if only a part of a command was done.
    #[inline]
    pub fn is_partial(&self) -> bool {
        self.thread.pending.is_partial
    }

    /// Returns the keys that were changed by a command of which only a part was done, if that is
    /// so, and takes its request out of the unit. A command names the keys that it changes.
    #[cold]
    pub fn take_partial(&mut self) -> Vec<(KeyspaceId, Vec<u8>)> {
        let pending = &mut self.thread.pending;
        if !std::mem::take(&mut pending.is_partial) {
            return Vec::new();
        }
        let request =
            pending.request.take().map(|(begin, _)| pending.unit.requests.split_off(begin));
        let changed = pending.changed.take();
        let mut keys = Vec::new();
        for word in request.map_or(Vec::new(), |request| split_request(&request)) {
            let hash = self.shards.hasher.hash(&word);
            let from = changed.partition_point(|changed| changed.0 < hash);
            let named = changed[from..].iter().take_while(|changed| changed.0 == hash);
            keys.extend(named.map(|changed| (changed.1, word.clone())));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The value of a key, whatever its deadline.
    pub fn value_of(&self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        Some(ValueRef::new(self, self.find(key)?))
    }

    /// Ends the unit, before the locks are released.
    #[inline(never)]
    fn finish_unit(&mut self) {
        let is_for_others = self.changes.is_told() || self.thread.lent.is_any();
        let pending = &mut self.thread.pending;
        // Most units are one request and nothing else, for the journal alone.
        let Some(keyspace) = pending.lone_request().filter(|_| !is_for_others) else {
            return self.finish_other_unit();
        };
        let database = self.shards.keyspaces.database_of(keyspace);
        if let (Some(database), Some(log)) = (database, &mut pending.log) {
            pending.position = log.put_request(database, &pending.unit.requests);
        }
        (pending.request, pending.is_said) = (None, false);
        pending.changed.clear();
        pending.unit.clear_requests();
    }

    #[inline(never)]
    fn finish_other_unit(&mut self) {
        let pending = &mut self.thread.pending;
        let is_told = pending.is_said && !pending.has_own_effects;
        (pending.is_said, pending.has_own_effects, pending.is_partial) = (false, false, false);
        pending.changed.clear();
        if let Some((begin, keyspace)) = pending.request.take() {
            let database = self.shards.keyspaces.database_of(keyspace);
            match database.filter(|_| is_told) {
                Some(database) => {
                    let words = EffectWords::Request(begin..pending.unit.requests.len());
                    pending.unit.effects.push(Effect { database, words });
                }
                None => pending.unit.requests.truncate(begin),
            }
        }
        // Under lent locks the unit goes on in the next command that borrows them.
        if !self.thread.lent.is_any() {
            self.shards.tell_unit(&mut self.thread.pending, self.thread.author);
        }
    }
}

impl Shards {
    /// Gives the unit of a thread, whose locks are held, to the journal and to listeners, unless
    /// nothing was changed.
    pub(crate) fn tell_unit(&self, pending: &mut Pending, author: Author) {
        if pending.unit.is_empty() {
            return pending.unit.clear();
        }
        let heard = self.listeners.heard();
        debug_assert!(
            heard & JOURNAL == 0 || pending.log.is_some(),
            "a thread that changes data has its way into the journal"
        );
        if heard & JOURNAL != 0
            && !pending.unit.effects.is_empty()
            && let Some(log) = &mut pending.log
        {
            pending.position = log.put(&pending.unit);
        }
        if heard & (EFFECTS | EVENTS) & !JOURNAL != 0 {
            self.listeners.tell(|listener| listener.unit(&pending.unit, author));
        }
        pending.unit.clear();
    }

    /// Tells listeners of the events of a unit that goes on, ahead of its end.
    #[cold]
    pub(crate) fn tell_events(&self, pending: &mut Pending, author: Author) {
        let events = std::mem::take(&mut pending.unit.events);
        if !events.is_empty() && self.listeners.heard() & EVENTS != 0 {
            let begin = Unit { events, ..Unit::default() };
            self.listeners.tell(|listener| listener.unit(&begin, author));
        }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_heard() {
            self.finish_unit();
        }
        self.release();
        self.changes.said.check();
    }
}

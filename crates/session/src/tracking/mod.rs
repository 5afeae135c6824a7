//! Client-side caching: clients are notified when keys change that they may have cached.
//!
//! ```text
//! a read    under the lock of its key: the client into the table         table.rs
//! a change  under the lock of its key: its trackers leave the table ──┐
//!           the key begins with a prefix ────────────────────────────┴─▶ pending.rs
//! send      without locks, at the end of a batch: letters to workers     delivery.rs
//! ```
//! A client is entered under the lock under which it reads: entered later, a change in between
//! would leave the old value with it for ever. Messages come as mail, so they stand behind the
//! reply to the read. What a client's own command has changed is written behind the reply to that
//! command; what was evicted to make room for it, before.
//!
//! The reply to a client that has waited is mail too, and is left after the locks of its keys are
//! given up. Until it is, nothing that is pending is sent.
//!
//! Databases do not matter, as in Valkey: a key of any database makes its name invalid.

mod delivery;
mod own;
mod pending;
mod prefixes;
mod table;
mod tracker;

pub use own::OwnTracking;
pub use prefixes::Prefix;
pub use tracker::Tracker;
pub use tracker::TrackingOptions;

use crate::clients::Clients;
use crate::sparse::smaller_room;
use base::mutex::{RwLock, RwLockReadGuard};
use base::{KeyHasher, PositionHash};
use delivery::Delivery;
use pending::{Pending, PendingInvalidation};
use prefixes::Prefixes;
use settings::Settings;
use settings::limits::TRACKING_TABLE_MAX_KEYS;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use store::{Author, Change, Databases, Listener, Presence};
use table::{PARTS, Table, TrackerIds};
use tracker::Invalid;

/// Most keys that are taken out of a full table at a time.
const EVICTED_AT_ONCE: usize = 1000;
/// Parts of the table that are swept at a time.
const SWEPT_AT_ONCE: usize = PARTS / 8;

/// Table of client-side caching: which clients are notified when which keys change.
#[derive(Debug)]
pub struct Tracking {
    table: Table,
    prefixes: Prefixes,
    pending: Pending,
    /// Clients that are notified, by id.
    trackers: RwLock<HashMap<u64, Arc<Tracker>>>,
    count: AtomicUsize,
    /// Parts of the table to be swept of clients that are notified no more.
    unswept: AtomicUsize,
    settings: Arc<Settings>,
}

impl Tracking {
    pub(crate) fn new(hasher: KeyHasher, settings: Arc<Settings>) -> Tracking {
        Tracking {
            table: Table::new(hasher),
            prefixes: Prefixes::default(),
            pending: Pending::default(),
            trackers: RwLock::default(),
            count: AtomicUsize::new(0),
            unswept: AtomicUsize::new(0),
            settings,
        }
    }

    /// Returns the number of clients that are notified.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Returns the number of keys in the table.
    pub fn keys(&self) -> usize {
        self.table.keys()
    }

    /// Returns the sum of the numbers of clients that have read each key.
    pub fn tracked_reads(&self) -> usize {
        self.table.tracked_reads()
    }

    /// Returns the number of prefixes.
    pub fn prefixes(&self) -> usize {
        self.prefixes.count()
    }

    /// Tells a client from now on, or in another way than before.
    pub fn begin(&self, tracker: &Arc<Tracker>) {
        let mut trackers = self.trackers.write();
        trackers.insert(tracker.client.id, Arc::clone(tracker));
        self.count.store(trackers.len(), Relaxed);
    }

    /// Adds a prefix of a client that is notified of all changes behind it.
    pub fn add_prefix(&self, prefix: &[u8], tracker: &Arc<Tracker>) -> Prefix {
        self.prefixes.add(prefix, tracker)
    }

    /// Has a client notified of changes behind one of its prefixes as `tracker` says from now on.
    pub fn replace_prefix(&self, prefix: &Prefix, tracker: &Arc<Tracker>) {
        self.prefixes.replace(prefix, tracker);
    }

    /// Removes a prefix of a client.
    pub fn remove_prefix(&self, prefix: &Prefix, client: u64) {
        self.prefixes.remove(prefix, client);
    }

    /// Tells a client no more. What it has read leaves the table by and by.
    pub fn end(&self, client: u64) {
        let mut trackers = self.trackers.write();
        if trackers.remove(&client).is_some() {
            if let Some(room) = smaller_room(trackers.len(), trackers.capacity()) {
                trackers.shrink_to(room);
            }
            self.count.store(trackers.len(), Relaxed);
            self.unswept.store(PARTS, Relaxed);
        }
    }

    /// Prefetches the place of a key in the table.
    pub fn prefetch(&self, hash: PositionHash) {
        self.table.prefetch(hash);
    }

    /// Enters a client as a tracker of a key, whose lock is held.
    #[inline]
    pub fn note_read(&self, hash: PositionHash, key: &[u8], client: u64) {
        self.table.enter(hash, key, client);
    }

    /// Notes that a client which has waited has its reply, which is not on its way yet; before the
    /// locks of its keys are given up.
    pub fn begin_answer(&self) {
        self.pending.begin_reply();
    }

    /// Notes that such a reply is on its way.
    pub fn end_answer(&self) {
        self.pending.end_reply();
    }

    /// Returns true if there is something to send, or the table is too large.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.pending.has_some() || (self.count() > 0 && self.is_too_large())
    }

    fn is_too_large(&self) -> bool {
        let most = TRACKING_TABLE_MAX_KEYS.get(&self.settings);
        most > 0 && self.table.keys() as u64 > most
    }

    /// Sends what is pending; to be called without locks. Returns true if a worker has more mail
    /// than it is to have.
    #[cold]
    pub(crate) fn send_pending(&self, clients: &Clients) -> bool {
        self.shrink();
        self.pending.send(|pending| {
            if pending.is_empty() {
                return false;
            }
            let mut delivery = Delivery::new(clients);
            delivery.add(pending, &self.prefixes.read());
            delivery.leave()
        })
    }

    /// Takes keys out of a table that is too large: their trackers cannot cache them any more.
    fn shrink(&self) {
        let mut invalidations = Vec::new();
        for _ in 0..EVICTED_AT_ONCE {
            if !self.is_too_large() {
                break;
            }
            let Some((key, ids)) = self.table.take_any() else { break };
            let trackers = self.trackers_of(&ids, |_| true);
            if !trackers.is_empty() {
                invalidations
                    .push(PendingInvalidation::Read { invalid: Invalid::Key(key), trackers });
            }
        }
        if !invalidations.is_empty() {
            self.pending.put_back(invalidations);
        }
    }

    /// Removes clients that are notified no more from a share of the table.
    pub fn sweep(&self) {
        let unswept = self.unswept.load(Relaxed);
        if unswept > 0 {
            let rest = unswept.saturating_sub(SWEPT_AT_ONCE);
            for part in rest..unswept {
                self.table.sweep(part, |client| self.trackers().contains_key(&client));
            }
            // Unless another client has left meanwhile.
            let _ = self.unswept.compare_exchange(unswept, rest, Relaxed, Relaxed);
        } else if self.count() == 0 && self.keys() > 0 {
            // A read for a client that had waited came behind its end.
            self.unswept.store(PARTS, Relaxed);
        }
    }

    /// Returns true if no client is tracked, and no key of former ones is left in the table.
    pub fn is_idle(&self) -> bool {
        self.count() == 0 && self.keys() == 0
    }

    fn trackers(&self) -> RwLockReadGuard<'_, HashMap<u64, Arc<Tracker>>> {
        self.trackers.read()
    }

    /// Returns those of some trackers that are notified of what they have read, and fit.
    fn trackers_of(
        &self,
        ids: &TrackerIds,
        fits: impl Fn(&Tracker) -> bool,
    ) -> SmallVec<[Arc<Tracker>; 1]> {
        let trackers = self.trackers();
        let trackers_of_key = ids.iter().filter_map(|client| trackers.get(&client));
        trackers_of_key
            .filter(|tracker| !tracker.is_broadcast() && fits(tracker))
            .cloned()
            .collect()
    }
}

/// Returns true if a client's own thread executes the command that changes something, so that it is
/// notified beside the reply.
fn gets_invalidation_beside_reply(tracker: &Tracker, author: Author) -> bool {
    author.client == tracker.client.id && !author.is_served && tracker.redirection == 0
}

impl Listener for Tracking {
    fn before(&self, change: &Change<'_>) {
        // What was read by clients that are notified no more leaves the table too: they may begin
        // anew.
        if self.is_idle() {
            return;
        }
        let (key, author) = (&change.key, change.author);
        let by = if change.is_asked_for() { author.client } else { 0 };
        if self.prefixes.has_any_of(key.bytes) {
            let invalidation = PendingInvalidation::Changed { key: key.bytes.into(), author: by };
            self.pending.add(key.hash, invalidation);
        }
        let Some(ids) = self.table.take(key.hash, key.bytes) else { return };
        let wants = |it: &Tracker| !(it.has_no_loop() && it.client.id == by);
        let mut trackers = self.trackers_of(&ids, wants);
        let invalid = Invalid::Key(key.bytes.into());
        trackers.retain(|tracker| {
            let is_own = gets_invalidation_beside_reply(tracker, author);
            if is_own {
                tracker.note_own(invalid.clone());
            }
            !is_own
        });
        if !trackers.is_empty() {
            self.pending.add(key.hash, PendingInvalidation::Read { invalid, trackers });
        }
    }

    fn before_databases(
        &self,
        _: &Databases,
        author: Author,
        _: &mut dyn FnMut(usize, &[u8], PositionHash) -> Presence,
    ) {
        self.table.clear();
        let mut trackers: SmallVec<[Arc<Tracker>; 1]> = self.trackers().values().cloned().collect();
        trackers.retain(|tracker| {
            let is_own = gets_invalidation_beside_reply(tracker, author);
            if is_own {
                tracker.note_own(Invalid::Everything);
            }
            !is_own
        });
        if !trackers.is_empty() {
            let invalidation = PendingInvalidation::Read { invalid: Invalid::Everything, trackers };
            self.pending.add(PositionHash(0), invalidation);
        }
    }
}

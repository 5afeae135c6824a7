//! Clients that wait until what they wrote is acknowledged: WAIT by replicas, WAITAOF by files, its
//! own and those of replicas.
//!
//! ```text
//! WAIT, WAITAOF ──▶ a waiter without keys, in the list with the position of its last unit
//! more is synced, or acknowledged ──▶ answer: clients get what they wait for, if it is there
//! timeout, CLIENT UNBLOCK         ──▶ time_out: what is acknowledged so far
//! ```

use crate::waiter::Waiter;
use base::mutex::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Clients that wait for the journal.
#[derive(Debug, Default)]
pub struct Acknowledged {
    places: Mutex<Vec<Place>>,
    /// Number of places, so that a thread can ask whether there is one without the lock.
    count: AtomicUsize,
}

/// A client in the list.
#[derive(Debug)]
pub struct Place {
    /// The client with its command.
    pub waiter: Arc<Waiter>,
    /// Position behind what it waits for.
    pub position: u64,
    /// What it waits for.
    pub wanted: Wanted,
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// So many replicas that have it.
    Replicas(usize),
    /// So many replicas whose files have it, and those of this server if that is true.
    Files(usize, bool),
}

impl Wanted {
    /// Number of replicas that are waited for.
    pub fn replicas(self) -> usize {
        match self {
            Wanted::Replicas(count) | Wanted::Files(count, _) => count,
        }
    }
}

impl Acknowledged {
    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock()
    }

    /// Returns true if nobody waits. What has come later is seen by the one who has entered it.
    pub fn is_empty(&self) -> bool {
        self.count.load(SeqCst) == 0
    }

    /// Adds a client. Where there is no room, clients that do not wait any more are forgotten
    /// first, and then there is room for as many again as are left: so each is seldom looked at.
    pub fn add(&self, place: Place) {
        let mut places = self.places();
        if places.len() == places.capacity() {
            places.retain(|place| !place.waiter.is_over());
            let left = places.len();
            places.reserve(left + 1);
        }
        places.push(place);
        self.count.store(places.len(), SeqCst);
    }

    /// Keeps those for which `keep` returns true.
    pub fn retain(&self, keep: impl FnMut(&Place) -> bool) {
        let mut places = self.places();
        places.retain(keep);
        self.count.store(places.len(), SeqCst);
    }

    /// Returns the number of clients.
    pub fn count(&self) -> usize {
        self.places().len()
    }
}

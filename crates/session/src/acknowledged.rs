//! Clients that wait until what they wrote is acknowledged: WAIT by replicas, WAITAOF by the
//! journal too.
//!
//! ```text
//! WAITAOF ──▶ a waiter without keys, in the list with the position of its last unit
//! the journal has synced more ──▶ answer: those whose position is synced are answered
//! timeout, CLIENT UNBLOCK     ──▶ time_out: what is acknowledged so far
//! ```
//! There are no replicas, so who waits for one waits until its time is over.

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

#[derive(Debug)]
/// A client in the list.
pub struct Place {
    /// The client with its command.
    pub waiter: Arc<Waiter>,
    /// Position behind what it waits for.
    pub position: u64,
    /// True if it waits for replicas too.
    pub wants_replicas: bool,
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

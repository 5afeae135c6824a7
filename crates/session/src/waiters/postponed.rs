//! Waiters whose turn has come in a pause.
//!
//! ```text
//! their turn comes in a pause ──▶ out of all lines, here ──▶ its end ──▶ run like new requests
//! ```
//! Meanwhile neither its timeout nor CLIENT UNBLOCK ends the wait of one, only the end of its
//! client does. A waiter that finds nothing then waits anew: behind all others, for its whole time.
//!
//! When the pause ends, they run ahead of the requests that it postponed, and of all later writes.

use crate::waiter::Waiter;
use base::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

/// Waiters that are postponed, in the order in which their turns came.
#[derive(Debug, Default)]
pub struct Postponed {
    waiters: Mutex<BTreeMap<u64, Arc<Waiter>>>,
    /// Held by the thread that runs them, before it has any other lock: a thread that comes behind
    /// it finds them served.
    running: Mutex<()>,
    /// False if none is postponed, or runs.
    is_any: AtomicBool,
}

impl Postponed {
    fn waiters(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Waiter>>> {
        self.waiters.lock()
    }

    /// Returns true if some may be postponed, or run.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.is_any.load(SeqCst)
    }

    /// Number of waiters that are postponed.
    pub fn len(&self) -> usize {
        self.waiters().len()
    }

    /// Adds a waiter at a place behind all others.
    pub fn add(&self, place: u64, waiter: &Arc<Waiter>) {
        let mut waiters = self.waiters();
        waiters.insert(place, Arc::clone(waiter));
        self.is_any.store(true, SeqCst);
    }

    /// Removes the waiter at a place, if it is still there.
    pub fn remove(&self, place: u64) {
        self.waiters().remove(&place);
    }

    /// Takes all waiters and runs them, one after the other. Those that are postponed again stay.
    pub fn run_all(&self, run: impl FnMut(&Arc<Waiter>)) {
        let _running = self.running.lock_patiently();
        let taken = std::mem::take(&mut *self.waiters());
        taken.values().for_each(run);
        let waiters = self.waiters();
        self.is_any.store(!waiters.is_empty(), SeqCst);
    }
}

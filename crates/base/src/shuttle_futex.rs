//! Futex for shuttle: a parked thread stays parked until it is woken, so a lost wake-up shows as a
//! deadlock.

use crate::sync::{AtomicU32, Ordering};
use shuttle::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;

/// Sleeping threads, by the address of their word and a ticket, in the order in which they came.
#[derive(Default)]
struct Sleepers {
    words: Vec<(usize, u64)>,
    tickets: u64,
}

shuttle::lazy_static! {
    static ref SLEEPERS: Mutex<Sleepers> = Mutex::new(Sleepers::default());
    static ref WOKEN: Condvar = Condvar::new();
}

/// Waits on `word` if it holds `seen`, until it is woken.
pub(crate) fn park(word: &AtomicU32, seen: u32) {
    let mut sleepers = sleepers();
    if word.load(Ordering::SeqCst) != seen {
        return;
    }
    sleepers.tickets += 1;
    let mine = (address(word), sleepers.tickets);
    sleepers.words.push(mine);
    while sleepers.words.contains(&mine) {
        sleepers = WOKEN.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Wakes the first thread that waits on `word`.
pub(crate) fn unpark_one(word: &AtomicU32) {
    let mut sleepers = sleepers();
    if let Some(first) = sleepers.words.iter().position(|(at, _)| *at == address(word)) {
        sleepers.words.remove(first);
        WOKEN.notify_all();
    }
}

/// Wakes all threads that wait on `word`.
pub(crate) fn unpark_all(word: &AtomicU32) {
    sleepers().words.retain(|(at, _)| *at != address(word));
    WOKEN.notify_all();
}

fn sleepers() -> MutexGuard<'static, Sleepers> {
    SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

//! Atomics and futex that locks are built on: those of std and the kernel, or of loom or shuttle
//! when interleavings are explored.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

#[cfg(shuttle)]
pub(crate) use crate::shuttle_futex::{park, unpark_all, unpark_one};

/// Sleeps while `word` holds `seen`; may also return for no reason.
#[cfg(not(any(loom, shuttle, miri)))]
pub(crate) fn park(word: &AtomicU32, seen: u32) {
    use rustix::thread::futex;
    // An error means that the word has changed or a signal came: both are reasons to look again.
    let _ = futex::wait(word, futex::Flags::PRIVATE, seen, None);
}

/// As `park`, for less than a second. Returns true if it has slept that long.
#[cfg(not(any(loom, shuttle, miri)))]
pub(crate) fn park_within(word: &AtomicU32, seen: u32, most: std::time::Duration) -> bool {
    use rustix::io::Errno;
    use rustix::thread::futex;
    let most = futex::Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
    futex::wait(word, futex::Flags::PRIVATE, seen, Some(&most)) == Err(Errno::TIMEDOUT)
}

/// Wakes one thread that waits on `word`.
#[cfg(not(any(loom, shuttle, miri)))]
pub(crate) fn unpark_one(word: &AtomicU32) {
    use rustix::thread::futex;
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Wakes every thread that waits on `word`.
#[cfg(not(any(loom, shuttle, miri)))]
pub(crate) fn unpark_all(word: &AtomicU32) {
    use rustix::thread::futex;
    let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
}

// Loom has no futex, and Miri refuses that of rustix, which hands the word over as shared. Both
// yield to another thread here, as a parked thread may wake for no reason.
#[cfg(loom)]
use loom::thread::yield_now;
#[cfg(all(miri, not(any(loom, shuttle))))]
use std::thread::yield_now;

#[cfg(all(any(loom, miri), not(shuttle)))]
pub(crate) fn park(_: &AtomicU32, _: u32) {
    yield_now();
}

#[cfg(any(loom, miri, shuttle))]
pub(crate) fn park_within(word: &AtomicU32, seen: u32, _: std::time::Duration) -> bool {
    park(word, seen);
    true
}

#[cfg(all(any(loom, miri), not(shuttle)))]
pub(crate) fn unpark_one(_: &AtomicU32) {}

#[cfg(all(any(loom, miri), not(shuttle)))]
pub(crate) fn unpark_all(_: &AtomicU32) {}

/// Tells the processor that this thread spins.
pub(crate) fn relax() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
    #[cfg(not(any(loom, shuttle)))]
    std::hint::spin_loop();
}

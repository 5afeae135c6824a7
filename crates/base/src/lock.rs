//! Lock that owns no data: spins a little, then waits in the kernel. A thread to which others are
//! lent serves them while that takes long.
//!
//! It guards index buckets and records, which other threads may read without it, as hints; so it
//! cannot own them as `std::sync::Mutex` would.

use crate::contention::count_lock;
use crate::meanwhile::Wait;
use crate::memory::prefetch_to_write;
use crate::sync::{AtomicU32, Ordering, relax, unpark_one};
use std::mem::ManuallyDrop;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a thread may sleep on it.
const CONTENDED: u32 = 2;
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 100 };

/// Lock of one 32-bit word, without data.
#[derive(Debug)]
pub struct Lock {
    word: AtomicU32,
}

/// Guard of a held lock; unlocks it when dropped.
#[derive(Debug)]
pub struct LockGuard<'a> {
    lock: &'a Lock,
}

impl Default for Lock {
    fn default() -> Lock {
        Lock::new()
    }
}

impl Lock {
    /// Returns a free lock.
    pub fn new() -> Lock {
        Lock { word: AtomicU32::new(FREE) }
    }

    /// Takes the lock, waiting until it is free.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_> {
        if let Some(guard) = self.try_lock() { guard } else { self.lock_slow() }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<LockGuard<'_>> {
        let taken = self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        taken.ok().map(|_| LockGuard { lock: self })
    }

    /// Unlocks the lock.
    ///
    /// # Safety
    /// The caller holds the lock, and its guard was [dropped without
    /// unlocking](LockGuard::leave_locked).
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.word.swap(FREE, Ordering::Release) == CONTENDED {
            unpark_one(&self.word);
        }
    }

    /// Prefetches the lock, which will be taken soon.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_to_write(&raw const self.word);
    }

    /// Waits until the lock is free, without keeping it.
    pub fn wait_until_free(&self) {
        drop(self.lock());
    }

    #[cold]
    fn lock_slow(&self) -> LockGuard<'_> {
        count_lock(|| self.wait())
    }

    fn wait(&self) -> LockGuard<'_> {
        for _ in 0..SPINS {
            if self.word.load(Ordering::Relaxed) == FREE
                && let Some(guard) = self.try_lock()
            {
                return guard;
            }
            relax();
        }
        // A thread that has slept must assume that others still do.
        let mut wait = Wait::new();
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            wait.park(&self.word, CONTENDED);
        }
        LockGuard { lock: self }
    }
}

impl LockGuard<'_> {
    /// Leaves the lock held, for a later call of [`Lock::unlock`].
    #[inline]
    pub fn leave_locked(self) {
        let _held = ManuallyDrop::new(self);
    }
}

impl Drop for LockGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a guard exists only while its lock is held, and this one is gone now.
        unsafe { self.lock.unlock() };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Guarded(Lock, UnsafeCell<u64>);
    // SAFETY: the cell is touched only while the lock is held.
    unsafe impl Sync for Guarded {}

    impl Guarded {
        fn increment(&self) {
            let _held = self.0.lock();
            // SAFETY: the lock is held.
            unsafe { *self.1.get() += 1 };
        }
    }

    #[test]
    fn increments_under_the_lock_are_never_lost() {
        let shared = Guarded(Lock::new(), UnsafeCell::new(0));
        let rounds = if cfg!(miri) { 100 } else { 100_000 };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..rounds).for_each(|_| shared.increment()));
            }
        });
        assert_eq!(shared.1.into_inner(), 4 * rounds);
    }

    #[test]
    fn a_held_lock_is_not_taken_twice() {
        let lock = Lock::new();
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(held);
        assert!(lock.try_lock().is_some());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    #[test]
    fn two_threads_never_hold_the_lock_together() {
        loom::model(|| {
            let shared = Arc::new((Lock::new(), UnsafeCell::new(0)));
            let other = Arc::clone(&shared);
            let add = |shared: &(Lock, UnsafeCell<u32>)| {
                let _held = shared.0.lock();
                // SAFETY: the lock is held; loom reports any overlap.
                shared.1.with_mut(|value| unsafe { *value += 1 });
            };
            let thread = loom::thread::spawn(move || add(&other));
            add(&shared);
            thread.join().unwrap();
            // SAFETY: the other thread has ended.
            shared.1.with(|value| assert_eq!(unsafe { *value }, 2));
        });
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn those_who_sleep_on_a_lock_are_woken_one_after_the_other() {
        shuttle::check_random(
            || {
                let shared = Arc::new((Lock::new(), AtomicBool::new(false)));
                let hold = |shared: &(Lock, AtomicBool)| {
                    let _held = shared.0.lock();
                    assert!(!shared.1.swap(true, Ordering::Relaxed));
                    shuttle::thread::yield_now();
                    shared.1.store(false, Ordering::Relaxed);
                };
                let spawn = |_| {
                    let shared = Arc::clone(&shared);
                    shuttle::thread::spawn(move || (0..3).for_each(|_| hold(&shared)))
                };
                let threads: Vec<_> = (0..4).map(spawn).collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            },
            5_000,
        );
    }
}

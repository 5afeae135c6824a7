//! Waits for locks, counted in builds with the feature `contention`; in others all counts stay zero
//! and cost nothing.

use std::ops::{Add, Sub};

/// True if waits are counted.
pub const IS_COUNTED: bool = cfg!(feature = "contention");

/// Waits of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Times that a [`Lock`](crate::Lock) was not free.
    pub locks: u64,
    /// Nanoseconds until it was taken.
    pub lock_nanos: u64,
    /// Times that a [`Mutex`](crate::mutex::Mutex) was not free.
    pub mutexes: u64,
    /// Nanoseconds until it was taken.
    pub mutex_nanos: u64,
}

impl Waits {
    fn with(self, other: Waits, join: impl Fn(u64, u64) -> u64) -> Waits {
        Waits {
            locks: join(self.locks, other.locks),
            lock_nanos: join(self.lock_nanos, other.lock_nanos),
            mutexes: join(self.mutexes, other.mutexes),
            mutex_nanos: join(self.mutex_nanos, other.mutex_nanos),
        }
    }
}

impl Add for Waits {
    type Output = Waits;

    fn add(self, other: Waits) -> Waits {
        self.with(other, u64::wrapping_add)
    }
}

impl Sub for Waits {
    type Output = Waits;

    fn sub(self, other: Waits) -> Waits {
        self.with(other, u64::wrapping_sub)
    }
}

pub use counts::waits;
pub(crate) use counts::{count_lock, count_mutex};

#[cfg(not(feature = "contention"))]
mod counts {
    use super::Waits;

    /// Waits since the process started.
    pub fn waits() -> Waits {
        Waits::default()
    }

    #[inline(always)]
    pub(crate) fn count_lock<T>(wait: impl FnOnce() -> T) -> T {
        wait()
    }

    #[inline(always)]
    pub(crate) fn count_mutex<T>(wait: impl FnOnce() -> T) -> T {
        wait()
    }
}

#[cfg(feature = "contention")]
mod counts {
    use super::Waits;
    use crossbeam_utils::CachePadded;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Instant;

    #[derive(Debug)]
    struct Counts {
        waits: AtomicU64,
        nanos: AtomicU64,
    }

    static LOCKS: CachePadded<Counts> = CachePadded::new(Counts::new());
    static MUTEXES: CachePadded<Counts> = CachePadded::new(Counts::new());

    impl Counts {
        const fn new() -> Counts {
            Counts { waits: AtomicU64::new(0), nanos: AtomicU64::new(0) }
        }

        fn count<T>(&self, wait: impl FnOnce() -> T) -> T {
            let began = Instant::now();
            let done = wait();
            self.waits.fetch_add(1, Relaxed);
            self.nanos.fetch_add(narrow::low_u64(began.elapsed().as_nanos()), Relaxed);
            done
        }
    }

    /// Waits since the process started.
    pub fn waits() -> Waits {
        Waits {
            locks: LOCKS.waits.load(Relaxed),
            lock_nanos: LOCKS.nanos.load(Relaxed),
            mutexes: MUTEXES.waits.load(Relaxed),
            mutex_nanos: MUTEXES.nanos.load(Relaxed),
        }
    }

    pub(crate) fn count_lock<T>(wait: impl FnOnce() -> T) -> T {
        LOCKS.count(wait)
    }

    pub(crate) fn count_mutex<T>(wait: impl FnOnce() -> T) -> T {
        MUTEXES.count(wait)
    }
}

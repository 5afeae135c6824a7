//! Locks of std that a panic does not poison, or those of loom or shuttle when interleavings are
//! explored.
//!
//! A panic ends the release server, so no thread comes to a lock behind one. In a test it may: the
//! thread that panicked has failed the test already, and another error would hide which.

#[cfg(loom)]
use loom::sync;
#[cfg(shuttle)]
use shuttle::sync;
#[cfg(not(any(loom, shuttle)))]
use std::sync;

use crate::{contention, meanwhile};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;
pub use sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Time between two looks at a mutex by a thread that serves others meanwhile.
const LOOK: Duration = Duration::from_micros(200);

/// A value for one thread at a time, whose other threads sleep meanwhile.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// An unlocked mutex.
    #[cfg(loom)]
    pub fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Sleeps until the value is free.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if contention::IS_COUNTED
            && let Some(guard) = self.try_lock()
        {
            return guard;
        }
        contention::count_mutex(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the value is free, and serves the others that are lent to this thread while that
    /// takes long: for a mutex whose holder may wait for long itself.
    pub fn lock_patiently(&self) -> MutexGuard<'_, T> {
        while meanwhile::is_lent() {
            match self.try_lock() {
                Some(guard) => return guard,
                None => meanwhile::sleep(LOOK),
            }
        }
        self.lock()
    }

    /// The value if it is free, without sleeping.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value of a mutex that nobody else has any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value for one writer, or for any number of readers.
#[derive(Debug, Default)]
pub struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub fn new(value: T) -> RwLock<T> {
        RwLock(sync::RwLock::new(value))
    }

    /// Sleeps while a writer has the value.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps while anyone has the value.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where threads that hold a [`Mutex`] sleep until another thread rings.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Where nobody sleeps yet.
    pub fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    /// Gives the mutex up, sleeps until another thread rings, and takes it again. May return for no
    /// reason.
    pub fn wait<'m, T>(&self, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until `is_so` says `false` of what the mutex guards.
    pub fn wait_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut is_so: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'m, T> {
        while is_so(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// Sleeps until it is woken, or for so long at most.
    #[cfg(not(loom))]
    pub fn wait_for<'m, T>(&self, guard: MutexGuard<'m, T>, most: Duration) -> MutexGuard<'m, T> {
        self.0.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

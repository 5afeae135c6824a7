//! The values at run time, shared by all threads.

use crate::rows::{COUNT, all};
use crate::value::{Value, default_of};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Applies a change, or says why it cannot be applied. It sees the new values; when it fails,
/// the old ones are restored and it is called once more to apply them.
pub type Hook = dyn Fn(&Settings) -> Result<(), String> + Send + Sync;

/// The values of all settings.
pub struct Settings {
    /// What has a number for a value, again, so that reading it needs no lock.
    numbers: [AtomicU64; COUNT],
    values: RwLock<Vec<Value>>,
    generation: AtomicU64,
    /// Held from the first check of a change until its last hook has run.
    change: Mutex<()>,
    /// Slot and what to call when its value has changed.
    hooks: RwLock<Vec<(usize, Arc<Hook>)>>,
}

impl Settings {
    /// Every setting at its default.
    pub fn new() -> Settings {
        let values: Vec<Value> = all().map(default_of).collect();
        let numbers = std::array::from_fn(|slot| AtomicU64::new(bits_of(&values[slot])));
        Settings {
            numbers,
            values: RwLock::new(values),
            generation: AtomicU64::new(0),
            change: Mutex::new(()),
            hooks: RwLock::new(Vec::new()),
        }
    }

    /// Rises with every change of any value, so that a thread can keep what it has read and
    /// read again only when this number differs.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Calls `hook` whenever CONFIG SET has changed the setting `name`. One hook may be given
    /// to several settings as clones of one `Arc`; it is then called once per change. A hook
    /// must not change settings itself.
    ///
    /// # Panics
    /// If there is no such setting: names of hooks are constants of the program.
    pub fn on_change(&self, name: &str, hook: Arc<Hook>) {
        let slot = crate::query::slot_of(name.as_bytes())
            .unwrap_or_else(|| panic!("there is no setting '{name}'"));
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        hooks.push((slot, hook));
    }

    #[inline]
    pub(crate) fn bits(&self, slot: usize) -> u64 {
        self.numbers[slot].load(Ordering::Relaxed)
    }

    /// Lets `read` look at a value.
    pub(crate) fn value<T>(&self, slot: usize, read: impl FnOnce(&Value) -> T) -> T {
        read(&self.values.read().unwrap_or_else(PoisonError::into_inner)[slot])
    }

    /// Replaces values at once; readers of several settings may still see some of them earlier.
    pub(crate) fn store(&self, changes: &[(usize, Value)]) {
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        for (slot, value) in changes {
            self.numbers[*slot].store(bits_of(value), Ordering::Relaxed);
            values[*slot] = value.clone();
        }
        drop(values);
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hooks_of(&self, slot: usize) -> Vec<Arc<Hook>> {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        hooks.iter().filter(|(of, _)| *of == slot).map(|(_, hook)| hook.clone()).collect()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}

/// Values may be secret, so none are shown.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("generation", &self.generation()).finish_non_exhaustive()
    }
}

fn bits_of(value: &Value) -> u64 {
    match value {
        Value::YesNo(yes) => u64::from(*yes),
        // Two's complement keeps negative values; the ranges of rows fit into 64 bits.
        Value::Number(n, _) => *n as u64,
        Value::OneOf(position, _) => *position as u64,
        Value::AnyOf(bits, _) => u64::from(*bits),
        _ => 0,
    }
}

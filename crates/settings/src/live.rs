//! Values of settings at run time, shared by all threads.

use crate::value::Value;
use base::mutex::{Mutex, MutexGuard, RwLock};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Function that applies a change, or returns the reason why it cannot be applied. It sees the new
/// values; when it fails, the old ones are restored and it is called once more to apply them.
pub(crate) type Hook = dyn Fn(&Settings) -> Result<(), String> + Send + Sync;

/// Largest possible number of settings.
pub(crate) const SLOTS_MAX: usize = 320;

/// Values of all settings.
pub struct Settings {
    /// Copies of the values that are numbers, by index, so that reading them needs no lock.
    numbers: [AtomicU64; SLOTS_MAX],
    values: RwLock<Vec<Value>>,
    generation: AtomicU64,
    /// Held from the first check of a change until its last hook has run.
    change: Mutex<()>,
    /// Indices, each with a function to call when its value has changed.
    hooks: RwLock<Vec<(usize, Arc<Hook>)>>,
    /// Lines `user` of the configuration at the start.
    user_lines: Mutex<Vec<UserLine>>,
}

/// A line `user` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLine {
    /// Where it stands, for errors.
    pub place: String,
    /// Its words behind `user`: the name, and rules.
    pub words: Vec<Vec<u8>>,
}

impl Settings {
    /// Returns settings with these values, in the order of their indices.
    pub(crate) fn of(values: Vec<Value>) -> Settings {
        let bits = |index: usize| values.get(index).map_or(0, bits_of);
        let numbers = std::array::from_fn(|index| AtomicU64::new(bits(index)));
        Settings {
            numbers,
            values: RwLock::new(values),
            generation: AtomicU64::new(0),
            change: Mutex::new(()),
            hooks: RwLock::new(Vec::new()),
            user_lines: Mutex::default(),
        }
    }

    pub(crate) fn add_user_line(&self, line: UserLine) {
        self.user_lines.lock().push(line);
    }

    /// Returns the lines `user` of the configuration, in their order.
    pub fn user_lines(&self) -> Vec<UserLine> {
        self.user_lines.lock().clone()
    }

    /// Returns a number that rises with every change of any value, so that a thread can keep what
    /// it has read and read again only when this number differs.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn bits(&self, index: usize) -> u64 {
        self.numbers[index].load(Ordering::Relaxed)
    }

    /// Calls `read` with a value, under the read lock.
    pub(crate) fn value<T>(&self, index: usize, read: impl FnOnce(&Value) -> T) -> T {
        read(&self.values.read()[index])
    }

    /// Replaces values at once; threads that read several settings may still see some of them
    /// earlier.
    pub(crate) fn store(&self, changes: &[(usize, Value)]) {
        let mut values = self.values.write();
        for (index, value) in changes {
            self.numbers[*index].store(bits_of(value), Ordering::Relaxed);
            values[*index] = value.clone();
        }
        drop(values);
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.change.lock()
    }

    pub(crate) fn add_hook(&self, index: usize, hook: Arc<Hook>) {
        let mut hooks = self.hooks.write();
        hooks.push((index, hook));
    }

    pub(crate) fn hooks_of(&self, index: usize) -> Vec<Arc<Hook>> {
        let hooks = self.hooks.read();
        hooks.iter().filter(|(of, _)| *of == index).map(|(_, hook)| hook.clone()).collect()
    }
}

/// Shows no values, as they may be secret.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("generation", &self.generation()).finish_non_exhaustive()
    }
}

fn bits_of(value: &Value) -> u64 {
    match value {
        Value::YesNo(yes) => u64::from(*yes),
        // Two's complement keeps negative values; the ranges of rows fit into 64 bits.
        Value::Number(n, _) => narrow::low_u64(n.cast_unsigned()),
        Value::OneOf(position, _) => *position as u64,
        Value::AnyOf(bits, _) => u64::from(*bits),
        Value::EventClasses(classes) => u64::from(classes.bits()),
        _ => 0,
    }
}

//! Files that are kept though a newer base has replaced them, since the stream in them may be
//! wanted yet.

use base::mutex::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// The names of such files. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct KeptFiles(Arc<Mutex<HashSet<String>>>);

/// Keeps some files until it is dropped.
#[derive(Debug)]
#[must_use = "the files are kept no longer than this"]
pub struct Keeper(KeptFiles);

impl KeptFiles {
    /// Has these files kept, and no others.
    pub fn keep(&self, names: HashSet<String>) -> Keeper {
        *self.0.lock() = names;
        Keeper(self.clone())
    }

    /// True while a file of this name is kept.
    pub fn contains(&self, name: &str) -> bool {
        self.0.lock().contains(name)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.0.lock().clear();
    }
}

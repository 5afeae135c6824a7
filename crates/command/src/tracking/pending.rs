//! What clients are to be told, until a thread without locks sends it.

use super::tracker::{Invalid, Tracker};
use base::PositionHash;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of lists, so that threads that change different keys seldom meet.
const LISTS: usize = 16;

/// Something that clients are to be told.
#[derive(Debug)]
pub(super) enum Told {
    /// These clients have read what is not valid any more.
    Read { invalid: Invalid, readers: SmallVec<[Arc<Tracker>; 1]> },
    /// A key has changed that begins with a prefix, by a command of the client with this id; zero:
    /// of nobody.
    Changed { key: Box<[u8]>, author: u64 },
}

/// Lists of what is to be told.
#[derive(Debug, Default)]
pub(super) struct Pending {
    lists: [Mutex<Vec<Told>>; LISTS],
    has_some: AtomicBool,
}

impl Pending {
    /// Returns true if there is something.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.has_some.load(SeqCst)
    }

    /// Adds something about a key, whose lock is held.
    pub fn add(&self, hash: PositionHash, told: Told) {
        lock(&self.lists[hash.shard().index() % LISTS]).push(told);
        self.has_some.store(true, SeqCst);
    }

    /// Adds something that was taken out and could not be sent.
    pub fn put_back(&self, mut told: Vec<Told>) {
        let mut list = lock(&self.lists[0]);
        told.append(&mut list);
        *list = told;
        drop(list);
        self.has_some.store(true, SeqCst);
    }

    /// Takes everything out.
    pub fn take(&self) -> Vec<Told> {
        self.has_some.store(false, SeqCst);
        self.lists.iter().flat_map(|list| std::mem::take(&mut *lock(list))).collect()
    }
}

fn lock(list: &Mutex<Vec<Told>>) -> MutexGuard<'_, Vec<Told>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

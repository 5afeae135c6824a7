//! A store that files are loaded into.

use base::{KeyHasher, Millis};
use rdb::Checks;
use snapshot::{Expired, Limits, Load, LoadError, Progress};
use store::value::hash::HashLimit;
use store::value::list::ListLimit;
use store::value::set::SetLimit;
use store::value::sorted_set::SortedSetLimit;
use store::{Store, StoreConfig, ThreadContext};

/// Present time of all tests.
pub const NOW: Millis = Millis(1_700_000_000_000);

/// A store with two databases, and who loads into it.
pub struct World {
    pub store: Store,
    pub thread: ThreadContext,
    pub progress: Progress,
}

/// Limits of packed values, as by default.
pub fn limits() -> Limits {
    Limits {
        list: ListLimit::of_setting(-2),
        set: SetLimit { integers: 512, members: 128, member_bytes: 64 },
        sorted_set: SortedSetLimit { members_max: 128, member_bytes_max: 64 },
        hash: HashLimit { fields: 512, text_bytes: 64 },
    }
}

impl World {
    pub fn new() -> World {
        let hasher = KeyHasher::from_seed(1);
        let config = StoreConfig { databases: 2, hasher, address_space: Some(512 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("a thread");
        World { store, thread, progress: Progress::default() }
    }

    /// Loads a file with so many threads.
    pub fn load(&mut self, bytes: &[u8], threads: usize, replaces: bool) -> Result<(), LoadError> {
        self.store.enter(&self.thread);
        let mut load = Load {
            store: &self.store,
            thread: &mut self.thread,
            bytes: bytes.len() as u64,
            threads,
            limits: limits(),
            now: NOW,
            expired: Expired::Go,
            replaces,
            beside: None,
            checks: Checks::ALL,
            progress: &self.progress,
        };
        let loaded = load.read(bytes);
        self.store.leave(&self.thread);
        loaded.map(drop)
    }
}

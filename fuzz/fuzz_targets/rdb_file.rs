//! Any file is loaded or refused.
#![no_main]

use base::{KeyHasher, Millis};
use libfuzzer_sys::fuzz_target;
use rdb::Checks;
use snapshot::{Expired, Limits, Load, Progress};
use store::value::hash::HashLimit;
use store::value::list::ListLimit;
use store::value::set::SetLimit;
use store::value::sorted_set::SortedSetLimit;
use store::{Flush, Store, StoreConfig};

const NOW: Millis = Millis(1_700_000_000_000);

fuzz_target!(|data: &[u8]| {
    let hasher = KeyHasher::from_seed(1);
    let config = StoreConfig { databases: 2, hasher, address_space: Some(64 << 20) };
    let store = Store::new(config).expect("address space");
    let mut thread = store.thread_context().expect("a thread");
    store.enter(&thread);
    let progress = Progress::default();
    let mut load = Load {
        store: &store,
        thread: &mut thread,
        bytes: data.len() as u64,
        threads: 1 + data.len() % 3,
        limits: Limits {
            list: ListLimit::of_setting(-1),
            set: SetLimit { integers: 4, members: 4, member_bytes: 8 },
            sorted_set: SortedSetLimit { members_max: 4, member_bytes_max: 8 },
            hash: HashLimit { fields: 4, text_bytes: 8 },
        },
        now: NOW,
        expired: if data.len().is_multiple_of(2) { Expired::GoUntold } else { Expired::Stay },
        replaces: data.len().is_multiple_of(3),
        beside: None,
        checks: Checks { checksum: false, version: true },
        progress: &progress,
    };
    let _ = load.read(data);
    // A store that is dropped keeps its tables of nodes.
    store.flush(&mut thread, Flush::All);
    while store.free_some(&mut thread, usize::MAX) {}
    store.leave(&thread);
});

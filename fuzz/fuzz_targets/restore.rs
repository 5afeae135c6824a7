//! A payload is refused or stored, and what is stored returns from its own payload.
#![no_main]

use base::{KeyHasher, Millis};
use libfuzzer_sys::fuzz_target;
use rdb::{Checks, Version, seal_payload};
use snapshot::{Limits, dump, read_payload};
use store::value::hash::HashLimit;
use store::value::list::ListLimit;
use store::value::set::SetLimit;
use store::value::sorted_set::SortedSetLimit;
use store::{Flush, Store, StoreConfig, ThreadContext};

const NOW: Millis = Millis(1_700_000_000_000);

fn limits() -> Limits {
    Limits {
        list: ListLimit::of_setting(-1),
        set: SetLimit { integers: 4, members: 4, member_bytes: 8 },
        sorted_set: SortedSetLimit { members_max: 4, member_bytes_max: 8 },
        hash: HashLimit { fields: 4, text_bytes: 8 },
    }
}

/// Stores a payload, and returns that of what was stored.
fn stored(store: &Store, thread: &mut ThreadContext, payload: &[u8]) -> Option<Vec<u8>> {
    let checks = Checks { version: false, ..Checks::ALL };
    let value = read_payload(payload, checks, store.hasher()).ok()?;
    let keyspace = store.keyspace(0).expect("the first database");
    let key = store.key(keyspace, b"key");
    store.reserve(thread, value.byte_len(), NOW).expect("room");
    let mut access = store.lock(thread, &key, NOW).muted();
    value.store(&mut access, &key, None, &limits()).expect("room");
    dump(&access, &key, Version::VALKEY, true)
}

fuzz_target!(|data: &[u8]| {
    let Some((version, value)) = data.split_first() else { return };
    let version = [Version::COMMON, Version::REDIS, Version::VALKEY][usize::from(version % 3)];
    let hasher = KeyHasher::from_seed(1);
    let config = StoreConfig { databases: 1, hasher, address_space: Some(64 << 20) };
    let store = Store::new(config).expect("address space");
    let mut thread = store.thread_context().expect("a thread");
    store.enter(&thread);
    if let Some(payload) = stored(&store, &mut thread, &seal_payload(value.to_vec(), version)) {
        let again = stored(&store, &mut thread, &payload).expect("its own payload");
        assert_eq!(again.len(), payload.len());
    }
    // A store that is dropped keeps its tables of nodes.
    store.flush(&mut thread, Flush::All);
    while store.free_some(&mut thread, usize::MAX) {}
    store.leave(&thread);
});

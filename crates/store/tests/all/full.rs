//! A store at its limit without eviction: a write is made or refused, and never waits for good.

use base::{KeyHasher, Millis, Random};
use store::{Encoding, EvictionPolicy, Expiry, Limits, Store, StoreConfig};

const NOW: Millis = Millis(1_700_000_000_000);

/// Writes values of up to `len_max` bytes to 256 keys of each of `lens`, whose memory may not
/// suffice; returns how many were refused.
fn writes_refused(maxmemory: u64, lens: &[u64], writes: u64, seed: u64) -> u64 {
    let config = StoreConfig {
        databases: 1,
        hasher: KeyHasher::from_seed(seed),
        address_space: Some(1 << 30),
    };
    let store = Store::new(config).expect("address space");
    store.set_limits(&Limits {
        maxmemory,
        other_bytes: 0,
        workers: 1,
        eviction: EvictionPolicy::NoEviction,
        reclaim: heap::ReclaimPolicy::Greedy,
        lfu_log_factor: 10,
        lfu_decay_minutes: 1,
    });
    let mut thread = store.thread_context().expect("a thread");
    let (mut random, mut refused) = (Random::from_seed(seed), 0);
    let keyspace = store.keyspace(0).expect("a database");
    for _ in 0..writes {
        let name = random.below(256).to_le_bytes();
        let key = store.key(keyspace, &name);
        let len_max = lens[random.below(lens.len() as u64) as usize];
        let value = vec![7; random.below(len_max) as usize];
        store.enter(&thread);
        let reserved = store.reserve(&mut thread, value.len() + 40, NOW);
        let written = reserved.and_then(|()| {
            store.lock(&mut thread, &key, NOW).muted().set_string(
                &key,
                &value,
                Encoding::Raw,
                Expiry::Never,
            )
        });
        refused += u64::from(written.is_err());
        store.upkeep(&mut thread, NOW);
        store.leave(&thread);
        let budget = store.heap().budget();
        assert!(store.heap().touched_bytes() <= budget);
    }
    refused
}

#[test]
fn large_values_that_do_not_fit_are_refused() {
    for seed in 0..4 {
        assert!(writes_refused(12 << 20, &[70_000, 140_000], 1_000, seed) > 0);
    }
}

#[test]
fn values_of_all_sizes_that_do_not_fit_are_refused() {
    for seed in 0..4 {
        assert!(writes_refused(12 << 20, &[40, 1_000, 70_000, 500_000], 1_000, seed) > 0);
    }
}

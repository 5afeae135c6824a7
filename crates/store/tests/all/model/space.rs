//! Space: how much of it the cleaner leaves to what is alive, and how little a limit evicts.

use super::{World, key};
use store::{Encoding, Expiry, Limits};

const LIMIT: u64 = 64 << 20;

impl World {
    fn utilisation(&self) -> f64 {
        let heap = self.store.heap();
        let in_use = heap.touched_bytes() - heap.pooled_bytes();
        self.store.live_bytes() as f64 / in_use as f64
    }

    /// Limits the process to 64 MiB, of which `other_bytes` are neither records nor index.
    fn limit(&self, other_bytes: u64, workers: u64) {
        self.store.set_limits(&Limits {
            maxmemory: LIMIT,
            other_bytes,
            workers,
            eviction: store::EvictionPolicy::AllKeysLru,
            reclaim: heap::ReclaimPolicy::Original,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
    }

    /// Sets a new key, which takes 1,016 bytes with its value, and returns what all of them take.
    fn push(&mut self, number: u64) -> u64 {
        let now = self.clock.now();
        let bytes = format!("key:{number:012}");
        let key = key(&self.store, 0, bytes.as_bytes());
        self.store.reserve(&mut self.thread, 1_100, now).expect("eviction makes room");
        let mut access = self.store.lock(&mut self.thread, &key, now).muted();
        access.set_string(&key, &[b'v'; 1_000], Encoding::Raw, Expiry::Never).expect("room");
        drop(access);
        self.store.upkeep(&mut self.thread, now);
        self.store.len(0) * 1_016
    }
}

#[test]
fn the_cleaner_keeps_live_bytes_above_85_percent_while_sizes_change() {
    if cfg!(miri) {
        return;
    }
    let mut world = World::new(9);
    let now = world.clock.now();
    for round in 0..6_u64 {
        for number in 0..400_000_u64 {
            let any = world.random.below(400_000);
            let bytes = format!("key:{:08}", if round == 0 { number } else { any });
            let key = key(&world.store, 0, bytes.as_bytes());
            let value = vec![b'v'; 100 + (round * 37 % 90) as usize];
            let mut access = world.store.lock(&mut world.thread, &key, now).muted();
            access.set_string(&key, &value, Encoding::Raw, Expiry::Never).expect("room");
            drop(access);
            world.store.upkeep(&mut world.thread, now);
        }
        let utilisation = world.utilisation();
        assert!(utilisation > 0.85, "round {round}: {utilisation}");
    }
    let store = &world.store;
    while store.clean_at_rest(&mut world.thread, 1 << 20, now) {}
    while store.heap().return_some(0) {}
    let utilisation = store.live_bytes() as f64 / store.heap().touched_bytes() as f64;
    assert!(utilisation > 0.93, "at rest: {utilisation}");
    let totals = store.totals();
    println!(
        "moved per appended byte: {}",
        totals.moved_bytes as f64 / totals.appended_bytes as f64
    );
}

#[test]
fn the_cleaner_keeps_up_with_removals_though_nothing_is_written() {
    if cfg!(miri) {
        return;
    }
    let mut world = World::new(10);
    let now = world.clock.now();
    let name = |number: u64| format!("key:{number:08}");
    let mut numbers: Vec<u64> = (0..400_000).collect();
    for number in &numbers {
        let bytes = name(*number);
        let key = key(&world.store, 0, bytes.as_bytes());
        let mut access = world.store.lock(&mut world.thread, &key, now).muted();
        access.set_string(&key, &[b'v'; 260], Encoding::Raw, Expiry::Never).expect("room");
    }
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, world.random.below(last as u64 + 1) as usize);
    }
    for number in &numbers[..numbers.len() * 9 / 10] {
        let bytes = name(*number);
        let key = key(&world.store, 0, bytes.as_bytes());
        assert!(world.store.lock(&mut world.thread, &key, now).muted().remove(&key));
        world.store.upkeep(&mut world.thread, now);
        let utilisation = world.utilisation();
        assert!(utilisation > 0.4, "{utilisation}");
    }
}

#[test]
fn a_limit_evicts_no_more_than_it_needs() {
    if cfg!(miri) {
        return;
    }
    let mut world = World::new(10);
    world.limit(6 << 20, 1);
    let mut lowest = u64::MAX;
    for number in 0..300_000 {
        let payload = world.push(number);
        let used = world.store.heap().touched_bytes() + world.store.index_bytes();
        assert!(used <= LIMIT - (6 << 20), "{used} after {number}");
        if number > 70_000 {
            lowest = lowest.min(payload);
        }
    }
    assert!(lowest as f64 > 0.72 * LIMIT as f64, "lowest payload {lowest}");
    let totals = world.store.totals();
    println!(
        "moved per appended byte: {}",
        totals.moved_bytes as f64 / totals.appended_bytes as f64
    );
}

#[test]
fn a_limit_that_tightens_evicts_no_more_than_it_needs() {
    if cfg!(miri) {
        return;
    }
    let mut world = World::new(11);
    let mut lowest = u64::MAX;
    for number in 0..200_000 {
        // Other memory of the process grows: buffers of clients, for instance.
        if number % 10_000 == 0 {
            world.limit((6 << 20) + number * 20, 16);
        }
        let payload = world.push(number);
        if number > 70_000 {
            lowest = lowest.min(payload);
        }
    }
    assert!(lowest as f64 > 0.6 * LIMIT as f64, "lowest payload {lowest}");
}

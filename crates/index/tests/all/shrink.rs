//! An index that has lost its keys is as small as one that never had them.
#![cfg(not(miri))]

use crate::hashes::Hashes;
use base::{Location, PositionHash, Random, ShardId};
use index::{Blocks, Entry, Index, Position};
use std::collections::BTreeSet;

struct Fixture {
    blocks: Blocks,
    index: Index,
    hashes: Hashes,
}

impl Fixture {
    fn new(keys: u64) -> Fixture {
        let hash = |key| PositionHash(Random::from_seed(key).next() >> 8);
        Fixture {
            blocks: Blocks::with_frames(256).expect("address space"),
            index: Index::default(),
            hashes: Hashes((0..keys).map(hash).collect()),
        }
    }

    fn insert(&self, keys: impl Iterator<Item = usize>) {
        for key in keys {
            let entry = Entry::new(Location::from_bits(key as u64), 0, false);
            let inserted =
                self.index.insert(&self.blocks, self.hashes.0[key], entry, None, &self.hashes);
            inserted.expect("room");
        }
    }

    fn has(&self, key: usize) -> bool {
        let is_it = |entry: Entry| entry.location().bits() == key as u64;
        self.index.find(&self.blocks, self.hashes.0[key], is_it).is_some()
    }

    /// Returns how many times a block was rebuilt, or that was tried.
    fn remove(&self, keys: impl Iterator<Item = usize>) -> usize {
        let mut tries = 0;
        for key in keys {
            let is_it = |entry: Entry| entry.location().bits() == key as u64;
            let hash = self.hashes.0[key];
            let (frame, _) = self.index.find(&self.blocks, hash, is_it).expect("it is there");
            self.index.remove(&self.blocks, frame);
            if self.index.wants_shrink(&self.blocks, hash) {
                self.index.shrink(&self.blocks, hash, &self.hashes);
                tries += 1;
            }
        }
        tries
    }
}

#[test]
fn what_a_few_keys_leave_behind_is_one_small_block() {
    let it = Fixture::new(100_000);
    it.insert(0..100_000);
    let full = it.blocks.touched_bytes();
    it.remove(50..100_000);
    assert!((0..50).all(|key| it.has(key)));
    assert!((50..100_000).all(|key| !it.has(key)));
    let (small, buckets) = (it.blocks.touched_bytes(), it.index.buckets(&it.blocks));
    assert!(small <= 4096 && buckets == 64, "{small} of {full} bytes, {buckets} buckets");
    it.insert(50..100_000);
    assert!((0..100_000).all(|key| it.has(key)));
    it.remove(0..100_000);
    it.index.clear(&it.blocks);
    assert_eq!(it.blocks.touched_bytes(), 0);
}

#[test]
fn memory_falls_with_the_keys() {
    let it = Fixture::new(200_000);
    it.insert(0..200_000);
    let mut left = 200_000;
    while left > 1_000 {
        it.remove(left / 2..left);
        left /= 2;
        assert!((0..left).step_by(31).all(|key| it.has(key)));
        let per_key = it.blocks.touched_bytes() as f64 / left as f64;
        assert!(per_key < 36.0, "{per_key:.1} bytes for each of {left} keys");
    }
}

/// Removal as by SCAN with DEL: what is left of a block crowds in its last buckets.
#[test]
fn keys_that_leave_in_the_order_of_their_positions_cost_few_rebuilds() {
    let it = Fixture::new(100_000);
    it.insert(0..100_000);
    let mut keys: Vec<_> = (0..100_000).collect();
    keys.sort_by_key(|key| it.hashes.0[*key].0);
    let mut tries = 0;
    for part in keys.chunks(1_000) {
        tries += it.remove(part.iter().copied());
        let last = part[part.len() - 1];
        let left = (0..100_000).filter(|key| it.hashes.0[*key].0 > it.hashes.0[last].0);
        assert!(left.step_by(97).all(|key| it.has(key)));
    }
    assert!(tries < 1_000, "{tries} rebuilds for 100,000 removals");
    assert!(it.blocks.touched_bytes() <= 4096);
}

#[test]
fn a_scan_returns_everything_that_stays_while_blocks_merge() {
    let it = Fixture::new(50_000);
    it.insert(0..50_000);
    let full = it.blocks.touched_bytes();
    let mut leaving = (0..50_000).filter(|key| key % 50 != 0);
    let (mut seen, mut at) = (BTreeSet::new(), Some(Position::of_shard(ShardId(0))));
    while let Some(from) = at {
        let from = Position::from_cursor(from.cursor());
        at = it.index.scan_bucket(&it.blocks, from, |_, entry| {
            seen.insert(entry.location().bits());
        });
        it.remove(leaving.by_ref().take(20));
    }
    assert!((0..50_000).step_by(50).all(|key| seen.contains(&key)));
    assert!(leaving.next().is_none() && it.blocks.touched_bytes() * 4 < full, "blocks have merged");
}

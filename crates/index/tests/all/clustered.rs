//! Positions far from uniform, as no secret hash gives them: growth ends in an error at worst.
#![cfg(not(miri))]

use crate::hashes::Hashes;
use base::{Location, PositionHash, Random};
use index::{Blocks, Entry, Index};

/// Inserts until the index refuses; everything inserted is found, and all memory goes back.
fn fill(hashes: Vec<PositionHash>, then_removes: bool) {
    let (blocks, index) = (Blocks::with_frames(64).expect("address space"), Index::default());
    let records = Hashes(hashes);
    let entry = |number: usize| Entry::new(Location::from_bits(number as u64), 0, false);
    let insert = |number: usize| {
        index.insert(&blocks, records.0[number], entry(number), None, &records).is_ok()
    };
    let placed = (0..records.0.len()).take_while(|number| insert(*number)).count();
    let find = |number: usize| {
        index.find(&blocks, records.0[number], |found| found == entry(number)).map(|it| it.0)
    };
    assert!((0..placed).all(|number| find(number).is_some()));
    if then_removes {
        for number in 0..placed {
            index.remove(&blocks, find(number).expect("still there"));
            if index.wants_shrink(&blocks, records.0[number]) {
                index.shrink(&blocks, records.0[number], &records);
            }
            assert!((number + 1..placed).step_by(97).all(|later| find(later).is_some()));
        }
        assert!(index.is_empty());
    }
    index.clear(&blocks);
    assert_eq!(blocks.touched_bytes(), 0);
}

fn position(position: u64, low: u64) -> PositionHash {
    PositionHash(position << 40 | low)
}

#[test]
fn more_keys_in_one_position_than_buckets_can_hold_are_refused() {
    fill((0..100).map(|low| position(77, low)).collect(), false);
}

#[test]
fn keys_in_one_bucket_of_a_large_block_are_kept_or_refused() {
    let spread = (0..4_000).map(|key| PositionHash(Random::from_seed(key).next() >> 8));
    let crowded = (0..100).map(|low| position(0x1234, low));
    fill(spread.chain(crowded).collect(), true);
}

#[test]
fn keys_in_half_of_the_positions_are_kept_or_refused() {
    let low_half = |key| PositionHash(Random::from_seed(key).next() >> 9);
    fill((0..9_000).map(low_half).collect(), true);
}

#[test]
fn few_positions_with_forty_keys_each_survive_growth_and_shrinking() {
    for gap in 1..40 {
        let many = (0..40).map(|low| (0..40).map(move |it| position(it * gap * 64, low)));
        fill(many.flatten().collect(), true);
    }
}

#[test]
fn a_block_that_cannot_shrink_as_far_as_wanted_counts_its_memory_right() {
    let spread = (0..1_500).map(|key| PositionHash(Random::from_seed(key).next() >> 8));
    let crowded =
        [0, 320, 640].into_iter().flat_map(|it| (0..30).map(move |low| position(it, low)));
    fill(spread.chain(crowded).collect(), true);
}

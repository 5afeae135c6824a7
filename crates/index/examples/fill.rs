//! Fills one shard's index with random hashes: nanoseconds per insertion and per look-up, and how
//! full blocks were before they grew.

use base::{Location, PositionHash, Random};
use index::{Blocks, Entry, Index, Records};
use std::time::Instant;

struct Hashes(Vec<PositionHash>);

impl Records for Hashes {
    fn hash_of(&self, at: Location) -> PositionHash {
        self.0[at.bits() as usize]
    }

    fn prefetch(&self, at: Location) {
        index::prefetch(&raw const self.0[at.bits() as usize]);
    }
}

fn main() {
    let keys = 100_000_usize;
    let mut random = Random::from_seed(1);
    let hashes = Hashes((0..keys).map(|_| PositionHash(random.next() >> 8)).collect());
    let blocks = Blocks::with_frames(256).expect("address space");
    let index = Index::default();
    let (mut slowest, mut buckets, mut worst, mut loads) = (0, 0, 0.0_f64, Vec::new());
    let began = Instant::now();
    for (number, hash) in hashes.0.iter().enumerate() {
        let location = Location::from_bits(number as u64);
        let entry = Entry::new(location, 0, false);
        let one = Instant::now();
        index.insert(&blocks, *hash, entry, None, &hashes).expect("room");
        slowest = slowest.max(one.elapsed().as_nanos());
        if number % 16 == 0 && number > 4_000 {
            let now = index.buckets(&blocks);
            worst = worst.max(blocks.touched_bytes() as f64 / number as f64);
            if now != buckets && buckets > 0 && now < 1100 {
                loads.push(format!("{buckets}:{:.3}", number as f64 / (buckets * 7) as f64));
            }
            buckets = now;
        }
    }
    let insert = began.elapsed().as_nanos() as f64 / keys as f64;
    let began = Instant::now();
    let mut found = 0;
    for (number, hash) in hashes.0.iter().enumerate() {
        let at = Location::from_bits(number as u64);
        found += usize::from(index.find(&blocks, *hash, |entry| entry.location() == at).is_some());
    }
    let find = began.elapsed().as_nanos() as f64 / keys as f64;
    assert_eq!(found, keys);
    println!("insert {insert:.0} ns, slowest {} us; find {find:.0} ns", slowest / 1000);
    println!("worst bytes per key {worst:.2}; load before growth {loads:?}");
}

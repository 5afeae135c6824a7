//! Cost of a lookup for the machine alone: reading a random line, then the record that the line
//! names. No server, no protocol, no locks, and eight lookups at a time, so that their misses
//! overlap.

use std::array;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::process;

/// Bytes of index per key, and of a record with key and value of 16 bytes.
const INDEX_BYTES_PER_KEY: u64 = 10;
const RECORD_WORDS: usize = 5;
const LINE_WORDS: usize = 8;
const GROUP: usize = 8;
const LOOKUPS: usize = 4_000_000;

type Line = [u64; LINE_WORDS];
type Record = [u64; RECORD_WORDS];

/// Returns microseconds per lookup on the core where servers run, in lines and records of the same
/// size as those of so many keys.
pub fn lookup_us(keys: u64) -> Result<f64> {
    let mut random = SmallRng::seed_from_u64(keys);
    let count = keys * INDEX_BYTES_PER_KEY / size_of::<Line>() as u64;
    let mut line = || array::from_fn(|_| random.random_range(0..keys));
    let lines: Vec<Line> = (0..count.max(1)).map(|_| line()).collect();
    let records: Vec<Record> = (0..keys).map(|key| [key; RECORD_WORDS]).collect();
    let measure = || {
        process::pin_this_thread(0);
        let began = Instant::now();
        black_box(look_up_many(&lines, &records));
        began.elapsed().as_nanos() as f64 / 1e3 / LOOKUPS as f64
    };
    thread::scope(|scope| scope.spawn(measure).join())
        .map_err(|_| anyhow!("measuring the memory of this machine failed"))
}

fn look_up_many(lines: &[Line], records: &[Record]) -> u64 {
    let mut random = SmallRng::seed_from_u64(1);
    let mut sum = 0;
    for _ in 0..LOOKUPS / GROUP {
        let places: [usize; GROUP] = array::from_fn(|_| random.random_range(0..lines.len()));
        let found = places.map(|line| lines[line][line % LINE_WORDS] as usize);
        sum += found.map(|record| records[record][RECORD_WORDS - 1]).iter().sum::<u64>();
    }
    sum
}

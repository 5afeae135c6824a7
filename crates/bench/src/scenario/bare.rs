//! Cost of a lookup for the machine alone: reading a random line, then the record that the line
//! names. No server, no protocol, no locks, and eight lookups at a time, so that their misses
//! overlap.

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

/// Lines and records of the same size as those of so many keys.
pub struct Bare {
    lines: Vec<[u64; LINE_WORDS]>,
    records: Vec<[u64; RECORD_WORDS]>,
}

impl Bare {
    /// Creates the lines and records for `keys` keys.
    pub fn new(keys: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(keys);
        let lines = keys * INDEX_BYTES_PER_KEY / (LINE_WORDS * size_of::<u64>()) as u64;
        let mut line = || std::array::from_fn(|_| random.random_range(0..keys));
        Self {
            lines: (0..lines.max(1)).map(|_| line()).collect(),
            records: (0..keys).map(|key| [key; RECORD_WORDS]).collect(),
        }
    }

    /// Returns nanoseconds per lookup, on the core where servers run.
    pub fn nanos_per_lookup(&self) -> Result<f64> {
        let measure = || {
            process::pin_this_thread(0);
            let began = Instant::now();
            black_box(self.look_up_many());
            began.elapsed().as_nanos() as f64 / LOOKUPS as f64
        };
        thread::scope(|scope| scope.spawn(measure).join())
            .map_err(|_| anyhow!("measuring the memory of this machine failed"))
    }

    fn look_up_many(&self) -> u64 {
        let mut random = SmallRng::seed_from_u64(1);
        let mut sum = 0;
        for _ in 0..LOOKUPS / GROUP {
            let lines: [usize; GROUP] =
                std::array::from_fn(|_| random.random_range(0..self.lines.len()));
            let records = lines.map(|line| self.lines[line][line % LINE_WORDS] as usize);
            let values = records.map(|record| self.records[record][RECORD_WORDS - 1]);
            sum += values.iter().sum::<u64>();
        }
        sum
    }
}

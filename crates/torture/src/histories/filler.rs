//! A client that fills the memory with keys that may be evicted, so that those of all are too.

use super::play::{PATIENCE, Place};
use crate::client::{Client, encoded};
use crate::hammer::chance::Chance;
use crate::hammer::words::words;
use anyhow::Result;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Fills until the end of a round. A write that is refused for want of memory has done its part.
pub(super) fn fill(place: &Place, end: Instant) -> Result<()> {
    let mut client = Client::open(place.port, PATIENCE)?;
    let mut chance = Chance::new(place.seed, FILLER);
    let value = "v".repeat(LENGTH);
    while Instant::now() < end {
        let request = |chance: &mut Chance| {
            let key = format!("fill:{}", chance.below(KEYS));
            encoded(&words!["SET", key, value, "EX", chance.within(10, 100)])
        };
        let requests: Vec<u8> = (0..AT_ONCE).flat_map(|_| request(&mut chance)).collect();
        client.send(&requests)?;
        for _ in 0..AT_ONCE {
            client.receive()?;
        }
        sleep(REST);
    }
    Ok(())
}

const FILLER: u64 = 1 << 40;
const LENGTH: usize = 16 << 10;
const KEYS: usize = 16_000;
const AT_ONCE: usize = 40;
const REST: Duration = Duration::from_millis(4);

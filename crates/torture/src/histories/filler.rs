//! A client that fills the memory with keys that may be evicted, so that those of all are too.

use super::action::APART;
use super::play::{PATIENCE, Place};
use crate::client::{Client, encoded};
use crate::hammer::chance::Chance;
use crate::hammer::words::{fine, words};
use anyhow::Result;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Fills the memory, in a database of its own, as those of all are flushed now and then.
pub(super) fn fill_up(place: &Place) -> Result<()> {
    let mut filler = Filler::open(place)?;
    (0..KEYS / AT_ONCE).try_for_each(|_| filler.put())
}

/// Goes on until the end of a round.
pub(super) fn fill(place: &Place, end: Instant) -> Result<()> {
    let mut filler = Filler::open(place)?;
    while Instant::now() < end {
        filler.put()?;
        sleep(REST);
    }
    Ok(())
}

struct Filler {
    client: Client,
    chance: Chance,
    value: String,
}

impl Filler {
    fn open(place: &Place) -> Result<Self> {
        let mut client = Client::open(place.addresses.next(), PATIENCE)?;
        fine(&client.ask(&words!["SELECT", APART + 1])?)?;
        let chance = Chance::new(place.seed, FILLER);
        Ok(Self { client, chance, value: "v".repeat(LENGTH) })
    }

    /// Sets some keys. A write that is refused for want of memory has done its part.
    fn put(&mut self) -> Result<()> {
        let mut requests = Vec::new();
        for _ in 0..AT_ONCE {
            let key = format!("fill:{}", self.chance.below(KEYS));
            let seconds = self.chance.within(10, 100);
            requests.extend(encoded(&words!["SET", key, self.value, "EX", seconds]));
        }
        self.client.send(&requests)?;
        (0..AT_ONCE).try_for_each(|_| self.client.receive().map(drop))
    }
}

const FILLER: u64 = 1 << 40;
const LENGTH: usize = 16 << 10;
const KEYS: usize = 16_000;
const AT_ONCE: usize = 40;
const REST: Duration = Duration::from_millis(1);

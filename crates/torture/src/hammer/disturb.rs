//! Connections beside those with invariants, which must not break these.

use super::chance::Chance;
use super::content::{check, value};
use super::line::{Burst, Part};
use super::phase::{Kind, Place, Shape};
use super::words::{Words, error, fine, text, texts, words};
use crate::client::Reply;
use anyhow::{Result, bail};
use std::time::Duration;

/// Database that may be flushed at any time.
pub(super) const FLUSHED: usize = 3;

/// Connection that changes settings, pauses clients, and flushes.
pub(super) struct Disturber {
    shape: Shape,
    is_there: bool,
}

impl Disturber {
    pub(super) fn new(place: &Place) -> Self {
        Self { shape: place.shape.clone(), is_there: false }
    }

    fn setting(&self, chance: &mut Chance) -> Words {
        let entries = *chance.pick(&[0, 1, 2, 8, 128, 512, 1024, 10_000]);
        let bytes = *chance.pick(&[0, 1, 16, 64, 200, 1000, 8000]);
        let (name, value) = match chance.below(9) {
            0 => ("hash-max-listpack-entries", entries),
            1 => ("hash-max-listpack-value", bytes),
            2 => ("set-max-intset-entries", entries),
            3 => ("set-max-listpack-entries", entries),
            4 => ("set-max-listpack-value", bytes),
            5 => ("zset-max-listpack-entries", entries),
            6 => ("zset-max-listpack-value", bytes),
            7 => ("stream-node-max-entries", entries),
            _ => {
                let size = *chance.pick(&["-1", "-2", "-5", "1", "10", "1000"]);
                return words!["CONFIG", "SET", "list-max-listpack-size", size];
            }
        };
        words!["CONFIG", "SET", name, value]
    }

    fn look_around(chance: &mut Chance) -> Words {
        match chance.below(9) {
            0 => words!["INFO", "everything"],
            1 => words!["MEMORY", "STATS"],
            2 => words!["DEBUG", "HTSTATS", 0],
            3 => words!["DEBUG", "DIGEST"],
            4 => words!["CLIENT", "LIST"],
            5 => words!["CONFIG", "GET", "*"],
            6 => words!["DEBUG", "SLEEP", "0.05"],
            7 => words!["DBSIZE"],
            _ => words!["CONFIG", "RESETSTAT"],
        }
    }

    /// Adds requests that fill the flushed database.
    fn fill(burst: &mut Burst<Self>, chance: &mut Chance) {
        let (number, length) = (chance.below(20) as u32, chance.length(200_000));
        let string = value(number, length, chance);
        burst.ask(words!["SET", format!("s{number}"), string], allowed);
        burst.ask(words!["GET", format!("s{number}")], move |_, reply| {
            text(reply)?.map_or(Ok(()), |bytes| check(number, &bytes))
        });
        let mut request = words!["RPUSH", format!("l{number}")];
        request.extend((0..chance.length(3000).max(1)).flat_map(|place| words![place]));
        burst.ask(request, allowed);
        request_members(burst, chance);
    }
}

fn request_members(burst: &mut Burst<Disturber>, chance: &mut Chance) {
    let mut request = words!["SADD", "s"];
    request.extend((0..chance.length(3000).max(1)).flat_map(|place| words![place * 7]));
    burst.ask(request, allowed);
}

impl Part for Disturber {
    const NAME: &'static str = "disturbance";
    const DEPTH_MAX: usize = 6;
    const REST: Duration = Duration::from_millis(20);

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        if !std::mem::replace(&mut self.is_there, true) {
            burst.ask(words!["SELECT", FLUSHED], allowed);
        }
        let how = chance.word(&["ASYNC", "SYNC"]);
        let is_everything = self.shape.kind == Kind::Everything;
        match chance.below(61) {
            0..=29 => burst.ask(self.setting(chance), allowed),
            30..=37 => burst.ask(Self::look_around(chance), allowed),
            38..=48 => Self::fill(burst, chance),
            49..=53 => burst.ask(words!["FLUSHDB", how], allowed),
            54 if !is_everything => burst.ask(words!["FLUSHALL", how], allowed),
            55 => {
                let what = chance.word(&["ALL", "WRITE"]);
                burst.ask(words!["CLIENT", "PAUSE", chance.within(1, 100), what], allowed);
            }
            56 => burst.ask(words!["CLIENT", "UNPAUSE"], allowed),
            57 => burst.ask(words!["MEMORY", "PURGE"], allowed),
            58 if !is_everything => burst.ask(words!["EVAL", "redis.call('FLUSHDB')", 0], allowed),
            59 => burst.ask(words![chance.word(&["BGREWRITEAOF", "BGSAVE"])], |_, _| Ok(())),
            _ => burst.ask(Self::look_around(chance), allowed),
        }
    }
}

/// Accepts a reply to a write; with a memory limit, it may be refused.
fn allowed(disturber: &mut Disturber, reply: Reply) -> Result<()> {
    match error(&reply) {
        Some(text) if disturber.shape.kind != Kind::Everything && text.starts_with(b"OOM ") => {
            Ok(())
        }
        _ => fine(&reply),
    }
}

/// Connection that reads keys known from replies.
pub(super) struct Reader {
    known: Vec<Vec<u8>>,
    cursor: Vec<u8>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { known: vec![b"absent".to_vec()], cursor: b"0".to_vec() }
    }

    fn look(&self, chance: &mut Chance) -> Words {
        let key = chance.pick(&self.known).clone();
        let count = chance.within(1, 500);
        match chance.below(16) {
            0 => words!["HSCAN", key, 0, "COUNT", count],
            1 => words!["SSCAN", key, 0, "COUNT", count],
            2 => words!["ZSCAN", key, 0, "COUNT", count],
            3 => words!["OBJECT", "ENCODING", key],
            4 => words!["OBJECT", "IDLETIME", key],
            5 => words!["MEMORY", "USAGE", key, "SAMPLES", 0],
            6 => words!["TYPE", key],
            7 => words!["PTTL", key],
            8 => words!["DEBUG", "OBJECT", key],
            9 => words!["LRANGE", key, 0, count],
            10 => words!["ZRANGE", key, 0, count, "WITHSCORES"],
            11 => words!["HGETALL", key],
            12 => words!["SMEMBERS", key],
            13 => words!["GETRANGE", key, 0, 100_000],
            14 => words!["EXISTS", key, key],
            _ => words!["DEBUG", "DIGEST-VALUE", key],
        }
    }
}

impl Part for Reader {
    const NAME: &'static str = "readers";
    const DEPTH_MAX: usize = 32;
    const REST: Duration = Duration::from_millis(2);

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        match chance.below(12) {
            0 => burst.ask(words!["RANDOMKEY"], |reader, reply| {
                reader.known.extend(text(reply)?);
                Ok(())
            }),
            1 => {
                let count = chance.within(1, 100);
                let request = words!["SCAN", self.cursor, "COUNT", count];
                burst.ask(request, |reader, reply| {
                    let mut found = texts(reply)?;
                    reader.cursor = found.remove(0);
                    if reader.known.len() > 300 {
                        reader.known.drain(..200);
                    }
                    reader.known.extend(found);
                    Ok(())
                });
            }
            _ => burst.ask(self.look(chance), |_, reply| match error(&reply) {
                None => Ok(()),
                Some(text) if text.starts_with(b"WRONGTYPE") => Ok(()),
                Some(b"ERR no such key") => Ok(()),
                // The request may not be supported under the current policy.
                Some(text) if text.starts_with(b"ERR An LFU maxmemory policy") => Ok(()),
                Some(text) => bail!("{}", text.escape_ascii()),
            }),
        }
    }
}

//! Collections whose fields and elements identify the family of their key.

use super::chance::Chance;
use super::content::{check, value};
use super::disturb::FLUSHED;
use super::line::{Burst, Part};
use super::phase::{Place, Shape};
use super::words::{Words, error, fine_or_absent, texts, words};
use crate::client::Reply;
use anyhow::{Context, Result, ensure};

/// Connection that writes and reads collections which others write, too.
pub(super) struct Collections {
    shape: Shape,
    evicts: bool,
}

impl Collections {
    pub(super) fn new(place: &Place) -> Self {
        Self { shape: place.shape.clone(), evicts: place.evicts() }
    }

    fn family(&self, chance: &mut Chance) -> u32 {
        chance.below(self.shape.families) as u32
    }

    fn element(&self, family: u32, chance: &mut Chance) -> Vec<u8> {
        let length = chance.length(self.shape.value_bytes.min(70_000));
        value(family, length, chance)
    }

    /// Returns many small elements, or a few of any size.
    fn several(&self, family: u32, chance: &mut Chance) -> Vec<Vec<u8>> {
        if chance.one_in(4) {
            return (0..chance.within(1, 3)).map(|_| self.element(family, chance)).collect();
        }
        let length = chance.within(16, 80);
        (0..chance.length(500).max(1)).map(|_| value(family, length, chance)).collect()
    }

    fn hash(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = self.family(chance);
        let key = key('h', family, chance);
        let fields = chance.pick(&[8, 100, 3000]);
        let field = field(chance.below(*fields));
        let soon = chance.within(1, 50);
        match chance.below(16) {
            0..=2 => self.write_fields(burst, &key, family, chance),
            3 => self.read_field(burst, words!["HGET", key, field], family, &field),
            4 => self.read_field(
                burst,
                words!["HGETEX", key, "PX", soon, "FIELDS", 1, field],
                family,
                &field,
            ),
            5 => self.read_field(burst, words!["HGETDEL", key, "FIELDS", 1, field], family, &field),
            6 => self.read_fields(burst, words!["HGETALL", key], family),
            7 => self.read_fields(burst, words!["HRANDFIELD", key, -5, "WITHVALUES"], family),
            8 => self.read_fields(burst, words!["HSCAN", key, 0, "COUNT", 50], family),
            9 => self.write(burst, words!["HDEL", key, field]),
            10 => self.write(burst, words!["HPEXPIRE", key, soon, "FIELDS", 1, field]),
            11 => self.write(burst, words!["HPERSIST", key, "FIELDS", 1, field]),
            12 => self.write(burst, words!["HEXPIRE", key, 1, "FIELDS", 1, field]),
            13 => {
                let new = self.field_value(family, &field, chance);
                self.write(burst, words!["HSETEX", key, "PX", soon, "FIELDS", 1, field, new]);
            }
            14 => self.write(burst, words!["HSTRLEN", key, field]),
            _ => self.read_field(burst, words!["HMGET", key, field], family, &field),
        }
    }

    fn field_value(&self, family: u32, field: &str, chance: &mut Chance) -> Vec<u8> {
        let length = chance.length(self.shape.value_bytes.min(70_000));
        value(family_of_field(family, field.as_bytes()), length, chance)
    }

    fn write_fields(&self, burst: &mut Burst<Self>, key: &str, family: u32, chance: &mut Chance) {
        let mut request = words!["HSET", key];
        let most = *chance.pick(&[8, 100, 3000]);
        let mut bytes = 0;
        for _ in 0..chance.length(400).max(1) {
            let field = field(chance.below(most));
            let value = self.field_value(family, &field, chance);
            bytes += value.len();
            request.extend(words![field, value]);
            if bytes > REQUEST_BYTES {
                break;
            }
        }
        self.write(burst, request);
    }

    fn list(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = self.family(chance);
        let key = key('l', family, chance);
        let [at, other] = [0, 1].map(|_| chance.below(100) as i64 - 50);
        let element = self.element(family, chance);
        match chance.below(12) {
            0..=2 => {
                let mut request = words![chance.word(&["LPUSH", "RPUSH"]), key];
                request.extend(self.several(family, chance));
                self.write(burst, request);
            }
            3 => self.read(burst, words!["LRANGE", key, at, other], family),
            4 => self.read(burst, words!["LRANGE", key, 0, -1], family),
            5 => self.read(burst, words!["LPOP", key, chance.length(600)], family),
            6 => self.try_write(burst, words!["LSET", key, at, element]),
            7 => self.write(burst, words!["LTRIM", key, chance.below(10), -2]),
            8 => self.read(burst, words!["LINDEX", key, at], family),
            9 => {
                // Found only if it is one of the few short ones.
                let pivot = value(family, chance.below(3), chance);
                self.write(burst, words!["LINSERT", key, "BEFORE", pivot, element]);
            }
            10 => self.write(burst, words!["LREM", key, 0, value(family, 2, chance)]),
            _ => self.write(burst, words!["SORT", key, "ALPHA", "LIMIT", 0, 50, "STORE", key]),
        }
    }

    fn set(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = self.family(chance);
        let [key, from, to] = [0, 1, 2].map(|_| key('s', family, chance));
        match chance.below(11) {
            0..=2 => {
                let mut request = words!["SADD", key];
                request.extend(self.several(family, chance));
                self.write(burst, request);
            }
            3 => self.read(burst, words!["SMEMBERS", key], family),
            4 => self.read(burst, words!["SPOP", key, chance.length(600)], family),
            5 => self.read(burst, words!["SRANDMEMBER", key, -20], family),
            6 => self.write(burst, words!["SREM", key, value(family, 9, chance)]),
            7 => self.scan(burst, words!["SSCAN", key, 0, "COUNT", 100], family),
            8 => self.read(burst, words!["SUNION", from, to], family),
            _ => {
                let store = chance.word(&["SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"]);
                self.write(burst, words![store, to, key, from]);
            }
        }
    }

    fn sorted_set(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = self.family(chance);
        let [key, from, to] = [0, 1, 2].map(|_| key('z', family, chance));
        let score = chance.below(1000);
        match chance.below(11) {
            0..=2 => {
                let mut request = words!["ZADD", key];
                for member in self.several(family, chance) {
                    request.extend(words![chance.below(1000), member]);
                }
                self.write(burst, request);
            }
            3 => self.read(burst, words!["ZRANGE", key, 0, -1], family),
            4 => self.read(burst, words!["ZRANGEBYSCORE", key, score, "+inf"], family),
            5 => self.read_scored(burst, words!["ZPOPMIN", key, chance.length(600)], family),
            6 => self.write(burst, words!["ZREMRANGEBYRANK", key, 0, chance.below(20)]),
            7 => self.read_scored(burst, words!["ZRANGE", key, 0, 20, "REV", "WITHSCORES"], family),
            8 => self.write(burst, words!["ZADD", key, score, value(family, 9, chance)]),
            9 => self.write(burst, words!["ZRANGESTORE", to, from, 0, chance.below(300)]),
            _ => {
                let store = chance.word(&["ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"]);
                self.write(burst, words![store, to, 2, key, from]);
            }
        }
    }

    fn keys(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let (family, letter) = (self.family(chance), *chance.pick(&['h', 'l', 's', 'z']));
        let [from, to] = [0, 1].map(|_| key(letter, family, chance));
        let request = match chance.below(10) {
            9 => words!["COPY", from, to, "DB", FLUSHED, "REPLACE"],
            0 => words!["RENAME", from, to],
            1 => words!["RENAMENX", from, to],
            2 => words!["COPY", from, to, "REPLACE"],
            3 => words!["DEL", from],
            4 => words!["UNLINK", from],
            5 => words!["PEXPIRE", from, chance.within(1, 50)],
            6 => words!["PERSIST", from],
            7 => words!["MEMORY", "USAGE", from, "SAMPLES", 0],
            _ => words!["OBJECT", "ENCODING", from],
        };
        self.write(burst, request);
    }

    fn write(&self, burst: &mut Burst<Self>, words: Words) {
        burst.ask(words, |collections, reply| collections.allowed(&reply));
    }

    /// Adds a write to a position that may not exist.
    fn try_write(&self, burst: &mut Burst<Self>, words: Words) {
        burst.ask(words, |collections, reply| match error(&reply) {
            Some(b"ERR index out of range") => Ok(()),
            _ => collections.allowed(&reply),
        });
    }

    fn read(&self, burst: &mut Burst<Self>, words: Words, family: u32) {
        burst.ask(words, move |collections, reply| {
            let found = collections.found(reply)?;
            found.iter().try_for_each(|element| check(family, element))
        });
    }

    fn scan(&self, burst: &mut Burst<Self>, words: Words, family: u32) {
        burst.ask(words, move |collections, reply| {
            let found = collections.found(reply)?;
            found.iter().skip(1).try_for_each(|element| check(family, element))
        });
    }

    fn read_scored(&self, burst: &mut Burst<Self>, words: Words, family: u32) {
        burst.ask(words, move |collections, reply| {
            let found = collections.found(reply)?;
            ensure!(found.len().is_multiple_of(2), "{} members and scores", found.len());
            found.iter().step_by(2).try_for_each(|element| check(family, element))
        });
    }

    fn read_field(&self, burst: &mut Burst<Self>, words: Words, family: u32, field: &str) {
        let family = family_of_field(family, field.as_bytes());
        let field = field.to_owned();
        burst.ask(words, move |collections, reply| {
            let found = collections.found(reply)?;
            ensure!(found.len() <= 1, "{} values of one field", found.len());
            let checked = found.iter().try_for_each(|value| check(family, value));
            checked.with_context(|| field)
        });
    }

    /// Adds a read of alternating fields and values, with or without a cursor in front.
    fn read_fields(&self, burst: &mut Burst<Self>, words: Words, family: u32) {
        let skipped = usize::from(words[0] == b"HSCAN");
        burst.ask(words, move |collections, reply| {
            let found = collections.found(reply)?;
            let found = found.get(skipped..).unwrap_or_default();
            ensure!(found.len().is_multiple_of(2), "{} fields and values", found.len());
            for pair in found.chunks(2) {
                let checked = check(family_of_field(family, &pair[0]), &pair[1]);
                checked.with_context(|| pair[0].escape_ascii().to_string())?;
            }
            Ok(())
        });
    }

    fn found(&self, reply: Reply) -> Result<Vec<Vec<u8>>> {
        if error(&reply).is_some() {
            return self.allowed(&reply).map(|()| Vec::new());
        }
        texts(reply)
    }

    fn allowed(&self, reply: &Reply) -> Result<()> {
        match error(reply) {
            Some(text) if self.evicts && text.starts_with(b"OOM ") => Ok(()),
            _ => fine_or_absent(reply),
        }
    }
}

impl Part for Collections {
    const NAME: &'static str = "collections";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        match chance.below(10) {
            0..=2 => self.hash(burst, chance),
            3 | 4 => self.list(burst, chance),
            5 | 6 => self.set(burst, chance),
            7 | 8 => self.sorted_set(burst, chance),
            _ => self.keys(burst, chance),
        }
    }
}

fn key(letter: char, family: u32, chance: &mut Chance) -> String {
    format!("tag:{letter}{family}:{}", chance.below(3))
}

fn field(number: usize) -> String {
    format!("f{number}")
}

/// Returns the family of the values of a field; it differs between fields.
fn family_of_field(family: u32, field: &[u8]) -> u32 {
    let number = field.iter().skip(1).fold(0, |sum, digit| sum * 10 + u32::from(digit & 15));
    family * 10_000 + number
}

const REQUEST_BYTES: usize = 256 << 10;

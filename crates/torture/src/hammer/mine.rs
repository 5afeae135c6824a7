//! Keys that only one connection writes: it knows their values, while other connections make the
//! server move and grow them.

use super::Fault;
use super::chance::Chance;
use super::content::value;
use super::line::{Burst, Part};
use super::phase::{Place, Shape};
use super::words::{Words, fine, integer, text, words};
use anyhow::ensure;
use std::collections::HashMap;

/// Connection that writes keys of its own, and knows their values.
pub(super) struct Mine {
    number: u64,
    shape: Shape,
    strings: HashMap<usize, Vec<u8>>,
    fields: HashMap<(usize, usize), Vec<u8>>,
    foreign: bool,
}

impl Mine {
    pub(super) fn new(place: &Place, number: u64) -> Self {
        Self {
            number,
            shape: place.shape.clone(),
            strings: HashMap::new(),
            fields: HashMap::new(),
            foreign: place.fault == Some(Fault::ForeignWrite),
        }
    }

    fn key(&self, letter: char, key: usize) -> String {
        format!("mine{}:{letter}{key}", self.number)
    }

    fn string(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let at = chance.below(KEYS);
        let (key, length) = (self.key('s', at), chance.length(self.shape.value_bytes));
        let new = value(at as u32, length, chance);
        let old = self.strings.get(&at).map_or(0, Vec::len);
        match chance.below(8) {
            0 | 1 => {
                burst.ask(words!["SET", key, new], |_, reply| fine(&reply));
                self.strings.insert(at, new);
            }
            2 if old < STRING_BYTES => {
                let string = self.strings.entry(at).or_default();
                string.extend(&new);
                expect_integer(burst, words!["APPEND", key, new], string.len());
            }
            3 if old < STRING_BYTES && !new.is_empty() => {
                let offset = chance.below(old + 1000);
                let string = self.strings.entry(at).or_default();
                string.resize(string.len().max(offset + new.len()), 0);
                string[offset..offset + new.len()].copy_from_slice(&new);
                expect_integer(burst, words!["SETRANGE", key, offset, new], string.len());
            }
            4 => {
                let was = usize::from(self.strings.remove(&at).is_some());
                expect_integer(burst, words!["UNLINK", key], was);
            }
            5 => {
                let to = (at + 1) % KEYS;
                let copied = words!["COPY", key, self.key('s', to), "REPLACE"];
                expect_integer(burst, copied, usize::from(self.strings.contains_key(&at)));
                if let Some(string) = self.strings.get(&at).cloned() {
                    self.strings.insert(to, string);
                }
            }
            _ => expect(burst, words!["GET", key], self.strings.get(&at).cloned()),
        }
    }

    fn hash(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let (at, field) = (chance.below(4), chance.below(self.shape.fields.max(8)));
        let (key, name) = (self.key('h', at), format!("f{field}"));
        let length = chance.length(self.shape.value_bytes);
        match chance.below(6) {
            0..=2 => {
                let new = value(field as u32, length, chance);
                let is_new = self.fields.insert((at, field), new.clone()).is_none();
                expect_integer(burst, words!["HSET", key, name, new], usize::from(is_new));
            }
            3 => {
                let was = usize::from(self.fields.remove(&(at, field)).is_some());
                expect_integer(burst, words!["HDEL", key, name], was);
            }
            4 if chance.one_in(20) => {
                self.fields.retain(|place, _| place.0 != at);
                burst.ask(words!["UNLINK", key], |_, reply| integer(&reply).map(|_| ()));
            }
            _ => expect(burst, words!["HGET", key, name], self.fields.get(&(at, field)).cloned()),
        }
    }
}

impl Part for Mine {
    const NAME: &'static str = "keys of its own";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        if std::mem::take(&mut self.foreign) {
            let other = format!("mine{}:s0", self.number ^ 8);
            burst.ask(words!["SET", other, "foreign"], |_, reply| fine(&reply));
        }
        if chance.one_in(2) { self.string(burst, chance) } else { self.hash(burst, chance) }
    }
}

fn expect_integer(burst: &mut Burst<Mine>, words: Words, expected: usize) {
    burst.ask(words, move |_, reply| {
        let found = integer(&reply)?;
        ensure!(found == expected as i64, "{found} instead of {expected}");
        Ok(())
    });
}

fn expect(burst: &mut Burst<Mine>, words: Words, expected: Option<Vec<u8>>) {
    burst.ask(words, move |_, reply| {
        let found = text(reply)?;
        ensure!(found == expected, "{} instead of {}", shown(&found), shown(&expected));
        Ok(())
    });
}

fn shown(bytes: &Option<Vec<u8>>) -> String {
    bytes.as_ref().map_or("nothing".to_owned(), |bytes| {
        let first = bytes[..bytes.len().min(40)].escape_ascii();
        format!("{} bytes that begin with {first}", bytes.len())
    })
}

const KEYS: usize = 10;
const STRING_BYTES: usize = 1 << 20;

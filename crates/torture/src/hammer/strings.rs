//! Strings that identify their family: whole values, and blocks that are written one at a time.

use super::Fault;
use super::chance::Chance;
use super::content::{HEADER, check, check_blocks, check_header, value};
use super::disturb::FLUSHED;
use super::line::{Burst, Part};
use super::phase::Place;
use super::words::{Words, elements, error, fine, fine_or_absent, text, words};
use crate::client::Reply;
use anyhow::{Result, ensure};

/// Connection that writes and reads strings which others write, too.
pub(super) struct Strings {
    families: usize,
    value_bytes: usize,
    evicts: bool,
    corrupt: bool,
}

impl Strings {
    pub(super) fn new(place: &Place) -> Self {
        Self {
            families: place.shape.families,
            value_bytes: place.shape.value_bytes,
            evicts: place.evicts(),
            corrupt: place.fault == Some(Fault::CorruptTag),
        }
    }

    fn whole(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = chance.below(self.families) as u32;
        let [key, other] = [0, 1].map(|_| whole_key(family, chance));
        let (length, soon) = (chance.length(self.value_bytes), chance.within(1, 50));
        let mut new = value(family, length, chance);
        if length >= HEADER && self.corrupt {
            new[length - 1] ^= 1;
        }
        match chance.below(14) {
            0 => self.write(burst, words!["SET", key, new]),
            1 => self.write(burst, words!["SET", key, new, "PX", soon]),
            2 => self.write(burst, words!["SET", key, new, chance.word(&["NX", "XX", "KEEPTTL"])]),
            3 => self.read(burst, words!["SET", key, new, "GET"], family),
            4 => self.read(burst, words!["GETSET", key, new], family),
            5 => self.read(burst, words!["GETDEL", key], family),
            6 => self.read(burst, words!["GETEX", key, "PX", soon], family),
            7 => self.write(burst, words!["MSET", key, new, other, value(family, length, chance)]),
            8 => self.read_header(burst, &key, family),
            9 => self.read_several(burst, chance),
            _ => self.read(burst, words!["GET", key], family),
        }
    }

    /// Adds reads of a part and of the length, which match only if made at the same moment.
    fn read_header(&self, burst: &mut Burst<Self>, key: &str, family: u32) {
        burst.ask(words!["STRLEN", key], |_, reply| fine(&reply));
        burst.ask(words!["GETRANGE", key, 0, HEADER - 1], move |_, reply| match text(reply)? {
            Some(bytes) if bytes.len() == HEADER => check_header(family, &bytes),
            Some(bytes) => check(family, &bytes),
            None => Ok(()),
        });
    }

    fn read_several(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let families: Vec<_> = (0..4).map(|_| chance.below(self.families) as u32).collect();
        let mut request = words!["MGET"];
        request.extend(families.iter().map(|family| whole_key(*family, chance).into_bytes()));
        burst.ask(request, move |_, reply| {
            let values = elements(reply)?;
            ensure!(
                values.len() == families.len(),
                "{} values of {}",
                values.len(),
                families.len()
            );
            for (family, reply) in families.iter().zip(values) {
                text(reply)?.map_or(Ok(()), |bytes| check(*family, &bytes))?;
            }
            Ok(())
        });
    }

    /// Adds commands that move, copy and remove keys of one family.
    fn keys(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = chance.below(self.families) as u32;
        let is_whole = chance.one_in(2);
        let name = if is_whole { whole_key } else { block_key };
        let [from, to] = [0, 1].map(|_| name(family, chance));
        let request = match chance.below(12) {
            11 => words!["COPY", from, to, "DB", FLUSHED, "REPLACE"],
            0 => words!["RENAME", from, to],
            1 => words!["RENAMENX", from, to],
            2 => words!["COPY", from, to, "REPLACE"],
            3 => words!["COPY", from, to],
            4 => words!["DEL", from],
            5 => words!["UNLINK", from],
            6 => words!["PEXPIRE", from, chance.within(1, 50)],
            7 => words!["PERSIST", from],
            8 => words!["BITOP", "OR", to, from],
            9 => words!["MEMORY", "USAGE", from],
            _ => words!["OBJECT", "ENCODING", from],
        };
        self.write(burst, request);
    }

    fn blocks(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let family = chance.below(self.families) as u32;
        let key = block_key(family, chance);
        let block = block_bytes(family);
        let most = (self.value_bytes / block).max(2);
        let count = chance.length(most.min(64)).max(1);
        let bytes: Vec<_> = (0..count).flat_map(|_| value(family, block, chance)).collect();
        let at = chance.below(most) * block;
        match chance.below(8) {
            0 => self.write(burst, words!["SET", key, bytes]),
            1 => self.write(burst, words!["SET", key, bytes, "PX", chance.within(1, 50)]),
            2 | 3 => self.write(burst, words!["SETRANGE", key, at, bytes]),
            // Strings that are only appended to would grow without end.
            4 if chance.one_in(30) => self.write(burst, words!["UNLINK", key]),
            4 | 5 => self.write(burst, words!["APPEND", key, bytes]),
            6 => self.read_blocks(burst, words!["GET", key], family),
            _ => {
                let end = at + chance.within(1, 8) * block - 1;
                self.read_blocks(burst, words!["GETRANGE", key, at, end], family);
            }
        }
    }

    /// Adds writes to strings that are mostly holes and are never read as a whole.
    fn holes(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let (key, block) = (format!("hole:{}", chance.below(3)), block_bytes(0));
        let at = chance.below(HOLES / block) * block;
        match chance.below(8) {
            0..=2 => self.write(burst, words!["SETRANGE", key, at, value(0, block, chance)]),
            3 => self.write(burst, words!["UNLINK", key]),
            4 => self.write(burst, words!["SETBIT", format!("{key}:bit"), at, 1]),
            _ => self.read_blocks(burst, words!["GETRANGE", key, at, at + 8 * block - 1], 0),
        }
    }

    fn sketches(&self, burst: &mut Burst<Self>, chance: &mut Chance) {
        let [one, other] = [0, 1].map(|_| format!("hll:{}", chance.below(4)));
        let request = match chance.below(5) {
            0 => words!["PFMERGE", one, other],
            1 => words!["PFCOUNT", one, other],
            2 => words!["DEL", one],
            _ => {
                let mut request = words!["PFADD", one];
                request.extend((0..chance.length(60)).flat_map(|_| words![chance.below(100_000)]));
                request
            }
        };
        self.write(burst, request);
    }

    /// Adds a request whose reply only must not be an error.
    fn write(&self, burst: &mut Burst<Self>, words: Words) {
        burst.ask(words, |strings, reply| strings.allowed(&reply));
    }

    fn read(&self, burst: &mut Burst<Self>, words: Words, family: u32) {
        burst.ask(words, move |strings, reply| match strings.found(reply)? {
            Some(bytes) => check(family, &bytes),
            None => Ok(()),
        });
    }

    fn read_blocks(&self, burst: &mut Burst<Self>, words: Words, family: u32) {
        burst.ask(words, move |strings, reply| match strings.found(reply)? {
            Some(bytes) => check_blocks(family, block_bytes(family), &bytes),
            None => Ok(()),
        });
    }

    /// Returns the value of a reply; with a memory limit, a write may be refused.
    fn found(&self, reply: Reply) -> Result<Option<Vec<u8>>> {
        if error(&reply).is_some() {
            return self.allowed(&reply).map(|()| None);
        }
        text(reply)
    }

    fn allowed(&self, reply: &Reply) -> Result<()> {
        match error(reply) {
            Some(text) if self.evicts && text.starts_with(b"OOM ") => Ok(()),
            _ => fine_or_absent(reply),
        }
    }
}

impl Part for Strings {
    const NAME: &'static str = "strings";

    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance) {
        match chance.below(12) {
            0..=4 => self.whole(burst, chance),
            5..=7 => self.blocks(burst, chance),
            8 | 9 => self.keys(burst, chance),
            10 => self.holes(burst, chance),
            _ => self.sketches(burst, chance),
        }
    }
}

fn whole_key(family: u32, chance: &mut Chance) -> String {
    format!("tag:w{family}:{}", chance.below(3))
}

fn block_key(family: u32, chance: &mut Chance) -> String {
    format!("tag:b{family}:{}", chance.below(3))
}

/// Returns the bytes of a block.
fn block_bytes(family: u32) -> usize {
    [16, 40, 64, 1000, 4096, 16_384, 20_000][family as usize % 7]
}

const HOLES: usize = 64 << 20;

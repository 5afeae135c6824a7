//! One command on the keys of all, and what its reply tells.

use super::history::{Held, Key, Transaction};
use crate::client::Reply;
use crate::hammer::chance::Chance;
use crate::hammer::words::{Words, error, text, words};
use anyhow::{Context, Result, bail, ensure};

/// A command.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// GET
    Get(Key),
    /// MGET
    GetAll(Vec<Key>),
    /// SET with GET
    Swap(Key, u64),
    /// SET
    Put(Key, u64),
    /// MSET
    PutAll(Vec<(Key, u64)>),
    /// GETDEL
    Take(Key),
    /// GETEX, with a deadline soon if the key may have one
    Hurry(Key),
    /// HGET, which is refused where the key holds something
    Mistake(Key),
    /// FLUSHDB
    Flush,
}

/// Keys of which half get deadlines.
pub(super) const KEYS: usize = 10;

/// The name of a key.
pub(super) fn name(key: Key) -> String {
    format!("{}:{key}", if may_expire(key) { "short" } else { "long" })
}

fn may_expire(key: Key) -> bool {
    key % 2 == 1
}

impl Action {
    /// Returns any action; `fresh` gives values that nobody wrote.
    pub(super) fn any(chance: &mut Chance, mut fresh: impl FnMut() -> u64) -> Self {
        let key = chance.below(KEYS);
        match chance.below(12) {
            0 | 1 => Self::Get(key),
            2 => Self::GetAll(several(chance)),
            3..=6 => Self::Swap(key, fresh()),
            7 => Self::Put(key, fresh()),
            8 => Self::PutAll(several(chance).into_iter().map(|key| (key, fresh())).collect()),
            9 => Self::Take(key),
            10 => Self::Hurry(key),
            _ => Self::Mistake(key),
        }
    }

    /// The request.
    pub(super) fn words(&self, chance: &mut Chance) -> Words {
        match self {
            Self::Get(key) => words!["GET", name(*key)],
            Self::GetAll(keys) => {
                let names = keys.iter().map(|key| name(*key).into_bytes());
                [b"MGET".to_vec()].into_iter().chain(names).collect()
            }
            Self::Swap(key, value) => {
                with_deadline(words!["SET", name(*key), value, "GET"], *key, chance)
            }
            Self::Put(key, value) => with_deadline(words!["SET", name(*key), value], *key, chance),
            Self::PutAll(pairs) => {
                let pairs = pairs.iter().flat_map(|(key, value)| words![name(*key), value]);
                [b"MSET".to_vec()].into_iter().chain(pairs).collect()
            }
            Self::Take(key) => words!["GETDEL", name(*key)],
            Self::Hurry(key) => with_deadline(words!["GETEX", name(*key)], *key, chance),
            Self::Mistake(key) => words!["HGET", name(*key), "field"],
            Self::Flush => words!["FLUSHDB"],
        }
    }

    /// Notes what the reply tells.
    ///
    /// # Errors
    /// If it is not a reply to this command, or not one that a transaction may get.
    pub(super) fn note(&self, reply: Reply, into: &mut Transaction) -> Result<()> {
        if let Self::Mistake(key) = self {
            return mistaken(*key, &reply, into);
        }
        if let Some(message) = error(&reply) {
            bail!("{self:?}: {}", String::from_utf8_lossy(message));
        }
        match self {
            Self::Get(key) | Self::Hurry(key) => into.reads(*key, held(text(reply)?)?)?,
            Self::GetAll(keys) => {
                let Reply::Array(found) = reply else { bail!("MGET: {reply:?}") };
                ensure!(found.len() == keys.len(), "{found:?} for {keys:?}");
                for (key, found) in keys.iter().zip(found) {
                    into.reads(*key, held(text(found)?)?)?;
                }
            }
            Self::Swap(key, value) => {
                into.reads(*key, held(text(reply)?)?)?;
                into.writes(*key, Some(*value));
            }
            Self::Put(key, value) => into.writes(*key, Some(*value)),
            Self::PutAll(pairs) => {
                pairs.iter().for_each(|(key, value)| into.writes(*key, Some(*value)));
            }
            Self::Take(key) => {
                into.reads(*key, held(text(reply)?)?)?;
                into.writes(*key, None);
            }
            Self::Mistake(_) => {}
            Self::Flush => (0..KEYS).for_each(|key| into.writes(key, None)),
        }
        Ok(())
    }
}

/// Each key at most once, in any order.
pub(super) fn several(chance: &mut Chance) -> Vec<Key> {
    let (first, step) = (chance.below(KEYS), *chance.pick(&[1, 3, 7, 9]));
    (0..chance.within(1, 4)).map(|at| (first + at * step) % KEYS).collect()
}

fn with_deadline(mut request: Words, key: Key, chance: &mut Chance) -> Words {
    if may_expire(key) && chance.one_in(2) {
        request.extend(words!["PX", chance.within(1, 40)]);
    }
    request
}

/// A key that holds nothing has no field; one that holds a value is of the wrong type.
fn mistaken(key: Key, reply: &Reply, into: &Transaction) -> Result<()> {
    let own = into.written(key).or_else(|| into.read(key));
    let is_refused = error(reply).is_some_and(|message| message.starts_with(b"WRONGTYPE"));
    let is_nothing = matches!(reply, Reply::NilBulk | Reply::Null);
    ensure!(is_refused || is_nothing, "HGET {}: {reply:?}", name(key));
    if let Some(own) = own {
        ensure!(own.is_some() == is_refused, "key {key} holds {own:?}, HGET gave {reply:?}");
    }
    Ok(())
}

fn held(found: Option<Vec<u8>>) -> Result<Held> {
    let number = |bytes: Vec<u8>| -> Result<u64> { Ok(std::str::from_utf8(&bytes)?.parse()?) };
    found.map(number).transpose().context("a value that nobody writes")
}

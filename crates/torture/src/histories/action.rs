//! One command on the keys of all, and what its reply tells.

use super::history::{Held, KEYS, SPACES, SWAPS, Transaction};
use crate::client::Reply;
use crate::hammer::chance::Chance;
use crate::hammer::words::{Words, error, text, words};
use anyhow::{Context, Result, bail, ensure};

/// Number of a key in its space.
pub(super) type Name = usize;

/// A command.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// GET
    Get(Name),
    /// MGET
    GetAll(Vec<Name>),
    /// SET with GET
    Swap(Name, u64),
    /// SET
    Put(Name, u64),
    /// MSET
    PutAll(Vec<(Name, u64)>),
    /// GETDEL
    Take(Name),
    /// GETEX, with a deadline soon if the key may have one
    Hurry(Name),
    /// HGET, which is refused where the key holds something
    Mistake(Name),
    /// FLUSHDB
    Flush,
    /// SELECT
    Select(usize),
    /// GET of the number of the space in a database, and what was read there of watched keys
    Enter(usize, Vec<(Name, Held)>),
    /// MOVE of that number
    MoveNumber(usize),
    /// GET of the number of swaps, which is in `APART`
    CountSwaps,
    /// INCR of it
    AddSwap,
    /// SWAPDB
    SwapDatabases,
}

/// Database of what is in no space.
pub(super) const APART: usize = SPACES;
/// Key of the number of a space.
pub(super) const NUMBER: &str = "number";
/// Key of the number of swaps.
const COUNT: &str = "swaps";

/// The name of a key.
pub(super) fn name(key: Name) -> String {
    format!("{}:{key}", if may_expire(key) { "short" } else { "long" })
}

fn may_expire(key: Name) -> bool {
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
            Self::Select(database) => words!["SELECT", database],
            Self::Enter(..) => words!["GET", NUMBER],
            Self::MoveNumber(database) => words!["MOVE", NUMBER, database],
            Self::CountSwaps => words!["GET", COUNT],
            Self::AddSwap => words!["INCR", COUNT],
            Self::SwapDatabases => words!["SWAPDB", 0, 1],
        }
    }

    /// Returns true if the word at this place of the request is a key.
    pub(super) fn is_key(&self, at: usize) -> bool {
        match self {
            Self::Flush | Self::Select(_) | Self::SwapDatabases => false,
            Self::GetAll(_) => at > 0,
            Self::PutAll(_) => at % 2 == 1,
            _ => at == 1,
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
            Self::Get(name) | Self::Hurry(name) => {
                into.reads(into.key(*name), held(text(reply)?)?)?;
            }
            Self::GetAll(names) => {
                let Reply::Array(found) = reply else { bail!("MGET: {reply:?}") };
                ensure!(found.len() == names.len(), "{found:?} for {names:?}");
                for (name, found) in names.iter().zip(found) {
                    into.reads(into.key(*name), held(text(found)?)?)?;
                }
            }
            Self::Swap(name, value) => {
                into.reads(into.key(*name), held(text(reply)?)?)?;
                into.writes(into.key(*name), Some(*value));
            }
            Self::Put(name, value) => into.writes(into.key(*name), Some(*value)),
            Self::PutAll(pairs) => {
                pairs.iter().for_each(|(name, value)| into.writes(into.key(*name), Some(*value)));
            }
            Self::Take(name) => {
                into.reads(into.key(*name), held(text(reply)?)?)?;
                into.writes(into.key(*name), None);
            }
            Self::Flush => (0..KEYS).for_each(|name| into.writes(into.key(name), None)),
            Self::Enter(database, watched) => {
                into.space = space_of(*database, held(text(reply)?)?, into.swaps())?;
                for (name, held) in watched {
                    into.reads(into.key(*name), *held)?;
                }
            }
            Self::MoveNumber(_) => ensure!(reply == Reply::Integer(1), "MOVE: {reply:?}"),
            Self::CountSwaps => into.reads(SWAPS, held(text(reply)?)?)?,
            Self::AddSwap => {
                let Reply::Integer(count) = reply else { bail!("INCR: {reply:?}") };
                let count = u64::try_from(count)?;
                into.reads(SWAPS, count.checked_sub(1).filter(|before| *before > 0))?;
                into.writes(SWAPS, Some(count));
            }
            Self::Mistake(_) | Self::Select(_) | Self::SwapDatabases => {}
        }
        Ok(())
    }
}

/// Returns the space that a database has behind so many swaps, which its number must be.
fn space_of(database: usize, number: Held, swaps: u64) -> Result<usize> {
    let space = (database as u64 + swaps) % SPACES as u64;
    ensure!(
        number == Some(space),
        "database {database} has space {number:?}, not {space}, behind {swaps} swaps"
    );
    Ok(usize::try_from(space)?)
}

/// Each key at most once, in any order.
pub(super) fn several(chance: &mut Chance) -> Vec<Name> {
    let (first, step) = (chance.below(KEYS), *chance.pick(&[1, 3, 7, 9]));
    (0..chance.within(1, 4)).map(|at| (first + at * step) % KEYS).collect()
}

fn with_deadline(mut request: Words, key: Name, chance: &mut Chance) -> Words {
    if may_expire(key) && chance.one_in(2) {
        request.extend(words!["PX", chance.within(1, 40)]);
    }
    request
}

/// A key that holds nothing has no field; one that holds a value is of the wrong type.
fn mistaken(key: Name, reply: &Reply, into: &Transaction) -> Result<()> {
    let own = into.written(into.key(key)).or_else(|| into.read(into.key(key)));
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

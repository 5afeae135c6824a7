//! Commands of a stream as another server is to execute them.
//!
//! | in the stream | sent |
//! |---|---|
//! | SELECT, PING, REPLCONF | nothing: a command goes to the database that its own becomes |
//! | EXPIRE k 100, SETEX k 100 v, SET k v EX 100, RESTORE k 100 ... | the moment, below |
//! | MOVE, COPY ... DB, SWAPDB | the same with the numbers that databases get |
//! | MOVE to a database, RENAME to a name that is left out | DEL |
//! | FLUSHALL, FLUSHDB, where not everything is taken | FLUSHDB, or the removal of what is taken |
//! | DEL, UNLINK, MSET, MSETNX, where some keys are taken | the same of those keys |
//! | anything else that only reads keys that are taken | nothing |
//! | anything else with keys that are and that are not | nothing, and that is told |
//! | what no client may send (`to_client.rs`) | nothing |
//!
//! Servers before Redis 7 send times to live. They count from the moment at which they came, and
//! become PEXPIREAT, SET with PEXPIREAT behind it, and RESTORE ... ABSTTL.

use crate::payload::Request;
use crate::scope::Scope;
use crate::to_client::to_client;
use command::{FoundKeys, KeyFlags, KeySearch};
use std::borrow::Cow;
use text::{parse_i64, parse_u64};

/// What becomes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Translated {
    /// It is sent as it came, to this database.
    AsItCame(u64),
    /// Others are sent, each to its database. There may be none.
    Instead(Vec<(u64, Request)>),
    /// All keys that are taken are to be removed of these databases.
    Empties(Vec<u64>),
    /// It is left out.
    LeftOut(Reason),
}

/// Why a command is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It reads what is not taken and changes what is.
    CutInTwo,
    /// Which keys it has is not known, and only some are taken.
    UnknownKeys,
    /// Function libraries are not taken.
    Function,
    /// It changes no data.
    NoData,
}

impl Reason {
    /// Text for people.
    pub fn text(self) -> &'static str {
        match self {
            Reason::CutInTwo => "it reads keys that are not taken, and changes some that are",
            Reason::UnknownKeys => "its keys are not known, and only some are taken",
            Reason::Function => "--no-functions leaves libraries out",
            Reason::NoData => "it changes no data",
        }
    }
}

/// Translator of one stream.
#[derive(Clone, Debug)]
pub struct Translator {
    scope: Scope,
    takes_functions: bool,
    /// The database that is selected in the stream.
    pub database: u64,
}

impl Translator {
    /// Begins where a database is selected.
    pub fn new(scope: Scope, takes_functions: bool, database: u64) -> Translator {
        Translator { scope, takes_functions, database }
    }

    /// Translates a command that came at `came_at`, in milliseconds since the Unix epoch. It has a
    /// name.
    pub fn translate(&mut self, words: &[&[u8]], came_at: u64) -> Translated {
        let name = words[0].to_ascii_uppercase();
        match &name[..] {
            b"SELECT" => {
                self.database = number(words, 1).unwrap_or(self.database);
                return nothing();
            }
            b"PING" | b"REPLCONF" => return nothing(),
            b"FUNCTION" if !self.takes_functions => return Translated::LeftOut(Reason::Function),
            b"FLUSHALL" => return self.flush_all(words),
            b"SWAPDB" => return self.swap(words),
            _ => {}
        }
        let Some(sendable) = to_client(words) else { return Translated::LeftOut(Reason::NoData) };
        let Some(target) = self.scope.target_of(self.database) else {
            return self.of_other_database(&name, words);
        };
        match &name[..] {
            b"FLUSHDB" if !self.scope.takes_all_keys() => return Translated::Empties(vec![target]),
            b"MOVE" => return self.move_key(words, target),
            b"COPY" => return self.copy(words, target),
            _ => {}
        }
        let taken = match self.scope.takes_all_keys() {
            true => Cow::Borrowed(&sendable[..]),
            false => match self.of_taken_keys(&name, &sendable) {
                Ok(Some(words)) => words,
                Ok(None) => return nothing(),
                Err(reason) => return Translated::LeftOut(reason),
            },
        };
        match absolute(&name, &taken, came_at) {
            Some(requests) => {
                Translated::Instead(requests.into_iter().map(|it| (target, it)).collect())
            }
            None if taken.len() == words.len() => Translated::AsItCame(target),
            None => Translated::Instead(vec![(target, owned(&taken))]),
        }
    }

    /// The keys of a command that are taken; `None` if they are not known.
    pub fn keys_of<'w>(words: &[&'w [u8]]) -> Option<Vec<&'w [u8]>> {
        Some(found_keys(words)?.0.into_iter().map(|(key, _)| key).collect())
    }

    /// What is left of a command if only some keys are taken; `None` if that is nothing.
    fn of_taken_keys<'w, 's>(
        &self,
        name: &[u8],
        words: &'s [&'w [u8]],
    ) -> Result<Option<Cow<'s, [&'w [u8]]>>, Reason> {
        let (keys, is_certain) = found_keys(words).ok_or(Reason::UnknownKeys)?;
        let is_taken = |key: &[u8]| self.scope.has(key);
        let taken = keys.iter().filter(|(key, _)| is_taken(key)).count();
        if taken == keys.len() && is_certain {
            return Ok(Some(Cow::Borrowed(words)));
        }
        if taken == 0 {
            return Ok(None);
        }
        let step = match name {
            b"DEL" | b"UNLINK" => 1,
            b"MSET" | b"MSETNX" => 2,
            _ if keys.iter().all(|(key, flags)| !is_taken(key) || is_read(*flags)) => {
                return Ok(None);
            }
            // The one that is taken goes away, whatever becomes of it elsewhere.
            b"RENAME" | b"RENAMENX" if keys.first().is_some_and(|(key, _)| is_taken(key)) => {
                return Ok(Some(Cow::Owned(vec![&b"DEL"[..], keys[0].0])));
            }
            _ => return Err(Reason::CutInTwo),
        };
        let arguments = words[1..].chunks(step).filter(|it| is_taken(it[0])).flatten();
        Ok(Some(Cow::Owned(words[..1].iter().chain(arguments).copied().collect())))
    }

    fn flush_all(&self, words: &[&[u8]]) -> Translated {
        match (self.scope.databases(), self.scope.takes_all_keys()) {
            (None, true) => Translated::Instead(vec![(self.database, owned(words))]),
            (Some(databases), true) => {
                let flush = |(_, to): &(u64, u64)| (*to, vec![b"FLUSHDB".to_vec()]);
                Translated::Instead(databases.iter().map(flush).collect())
            }
            (Some(databases), false) => {
                Translated::Empties(databases.iter().map(|(_, to)| *to).collect())
            }
            (None, false) => Translated::Empties(Vec::new()),
        }
    }

    fn swap(&self, words: &[&[u8]]) -> Translated {
        let of = |at| number(words, at).and_then(|it| self.scope.target_of(it));
        match (of(1), of(2)) {
            (None, None) => nothing(),
            (Some(one), Some(other)) if self.scope.takes_all_keys() => {
                let [one, other] = [one, other].map(decimal);
                let any = self.scope.first_target();
                Translated::Instead(vec![(any, vec![b"SWAPDB".to_vec(), one, other])])
            }
            _ => Translated::LeftOut(Reason::CutInTwo),
        }
    }

    fn move_key(&self, words: &[&[u8]], from: u64) -> Translated {
        let (Some(key), Some(to)) = (words.get(1), number(words, 2)) else {
            return Translated::AsItCame(from);
        };
        if !self.scope.has(key) {
            return nothing();
        }
        let request = match self.scope.target_of(to) {
            Some(to) => vec![b"MOVE".to_vec(), key.to_vec(), decimal(to)],
            None => vec![b"DEL".to_vec(), key.to_vec()],
        };
        Translated::Instead(vec![(from, request)])
    }

    fn copy(&self, words: &[&[u8]], from: u64) -> Translated {
        let [_, key, copied, options @ ..] = words else { return Translated::AsItCame(from) };
        let at = options.iter().position(|it| it.eq_ignore_ascii_case(b"DB"));
        let named = at.and_then(|at| number(options, at + 1));
        let to = self.scope.target_of(named.unwrap_or(self.database));
        match (self.scope.has(copied), to) {
            (false, _) | (_, None) => nothing(),
            (true, Some(_)) if !self.scope.has(key) => Translated::LeftOut(Reason::CutInTwo),
            (true, Some(to)) => {
                let mut request = owned(words);
                if let Some(number) = at.and_then(|at| request.get_mut(3 + at + 1)) {
                    *number = decimal(to);
                }
                Translated::Instead(vec![(from, request)])
            }
        }
    }

    /// A command of a database that is not taken.
    fn of_other_database(&self, name: &[u8], words: &[&[u8]]) -> Translated {
        let is_taken =
            |number: Option<u64>| number.is_some_and(|it| self.scope.target_of(it).is_some());
        let reaches = match name {
            b"MOVE" => {
                is_taken(number(words, 2)) && words.get(1).is_some_and(|it| self.scope.has(it))
            }
            b"COPY" => {
                let options = words.get(3..).unwrap_or_default();
                let at = options.iter().position(|it| it.eq_ignore_ascii_case(b"DB"));
                let is_there = words.get(2).is_some_and(|it| self.scope.has(it));
                is_there && is_taken(at.and_then(|at| number(options, at + 1)))
            }
            // What belongs to no database.
            b"FUNCTION" | b"SCRIPT" | b"PUBLISH" | b"SPUBLISH" => {
                return Translated::AsItCame(self.scope.first_target());
            }
            _ => false,
        };
        if reaches { Translated::LeftOut(Reason::CutInTwo) } else { nothing() }
    }
}

/// Nothing is sent.
fn nothing() -> Translated {
    Translated::Instead(Vec::new())
}

/// Keys of a command with their use, and whether those are all; `None` if they are not known.
fn found_keys<'w>(words: &[&'w [u8]]) -> Option<(FoundKeys<'w>, bool)> {
    let row = families::table().find(words[0])?;
    let row = match row.spec.subcommands {
        [] => row,
        _ => row.find_child(words.get(1)?)?,
    };
    if !row.spec.accepts(words.len()) {
        return None;
    }
    let is_unknown = |spec: &command::KeySpec| matches!(spec.search, KeySearch::Unknown);
    // Of these only SORT names patterns of keys, and only behind these words.
    let is_plain_sort = row.spec.name == "SORT"
        && !words
            .iter()
            .any(|it| it.eq_ignore_ascii_case(b"BY") || it.eq_ignore_ascii_case(b"GET"));
    let is_certain = is_plain_sort || !row.spec.keys.iter().any(|it| it.is_key() && is_unknown(it));
    Some(((row.spec.find_keys)(row.spec.keys, words)?, is_certain))
}

fn is_read(flags: KeyFlags) -> bool {
    flags.contains(KeyFlags::RO)
}

/// Commands with a moment in place of a time to live; `None` if there is none.
fn absolute(name: &[u8], words: &[&[u8]], came_at: u64) -> Option<Vec<Request>> {
    let moment = |at: usize, unit: i64| {
        let span = words.get(at).and_then(|it| parse_i64(it))?.saturating_mul(unit);
        Some(
            i64::try_from(came_at)
                .unwrap_or(i64::MAX)
                .saturating_add(span)
                .to_string()
                .into_bytes(),
        )
    };
    let key = words.get(1)?.to_vec();
    let expire = |at| vec![b"PEXPIREAT".to_vec(), key.clone(), at];
    let unit = |seconds: &[u8]| if name == seconds { 1000 } else { 1 };
    match name {
        b"EXPIRE" | b"PEXPIRE" => {
            let mut request = expire(moment(2, unit(b"EXPIRE"))?);
            request.extend(words[3..].iter().map(|it| it.to_vec()));
            Some(vec![request])
        }
        b"SETEX" | b"PSETEX" => {
            let (at, value) = (moment(2, unit(b"SETEX"))?, words.get(3)?.to_vec());
            Some(vec![vec![b"SET".to_vec(), key.clone(), value], expire(at)])
        }
        b"SET" | b"GETEX" => {
            let first = if name == b"SET" { 3 } else { 2 };
            let options = words.get(first..)?;
            let is = |it: &&[u8], word: &[u8]| it.eq_ignore_ascii_case(word);
            let at = first + options.iter().position(|it| is(it, b"EX") || is(it, b"PX"))?;
            let at_moment = moment(at + 1, if is(&words[at], b"EX") { 1000 } else { 1 })?;
            if name == b"GETEX" {
                return Some(vec![expire(at_moment)]);
            }
            let mut request = owned(words);
            request.drain(at..at + 2);
            Some(vec![request, expire(at_moment)])
        }
        b"RESTORE" => {
            let has = |word: &[u8]| words.iter().skip(4).any(|it| it.eq_ignore_ascii_case(word));
            if words.get(2).is_none_or(|it| *it == b"0") || has(b"ABSTTL") {
                return None;
            }
            let mut request = owned(words);
            request[2] = moment(2, 1)?;
            request.push(b"ABSTTL".to_vec());
            Some(vec![request])
        }
        _ => None,
    }
}

fn number(words: &[&[u8]], at: usize) -> Option<u64> {
    words.get(at).and_then(|it| parse_u64(it))
}

fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

pub(super) fn owned(words: &[&[u8]]) -> Request {
    words.iter().map(|word| word.to_vec()).collect()
}

#[cfg(test)]
mod tests;

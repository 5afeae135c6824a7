//! Where the keys of commands are, and what happens to them.

use crate::spec::{Flags, KeyFlags, KeySpec};
use crate::table::Row;
use smallvec::SmallVec;

/// How keys are found, as COMMAND INFO tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// From one position to another.
    Range(KeySpec),
    /// Behind an argument that tells how many there are.
    Counted {
        /// Position of that argument.
        at: i16,
        /// Arguments from one key to the next.
        step: i16,
        flags: KeyFlags,
    },
    /// Behind a word, which is looked for from a position on.
    Keyword { word: &'static str, from: i16, flags: KeyFlags },
    /// The first half of what stands behind a word, which is looked for from a position on.
    Behind { word: &'static str, from: i16, flags: KeyFlags },
    /// In a way that cannot be told.
    Untold(KeyFlags),
}

impl Search {
    fn word(&self) -> Option<&'static str> {
        match self {
            Search::Keyword { word, .. } => Some(word),
            _ => None,
        }
    }
}

pub(crate) type Searches = SmallVec<[Search; 2]>;

const READ: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const SET: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);
const CHANGE: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE);
const TAKE: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE);

const ADD: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);

const fn at(position: i16, last: i16, flags: KeyFlags) -> Search {
    Search::Range(KeySpec { first: position, last, step: 1, flags })
}

/// Streams that are read, with as many ids behind them.
const fn streams(from: i16) -> Search {
    Search::Behind { word: "STREAMS", from, flags: READ }
}

/// The key specifications of a row. A row has one of them; where the keys of a command differ in
/// what happens to them, they are told apart here.
pub(crate) fn specs(row: &Row) -> Searches {
    let pair = |first, second| Searches::from_buf([first, second]);
    match row.full_name.as_str() {
        "bitop" => pair(at(2, 2, SET), at(3, -1, READ)),
        "copy" => pair(at(1, 1, READ), at(2, 2, SET)),
        "pfmerge" => pair(at(1, 1, row.spec.keys.flags), at(2, -1, READ)),
        "rename" => pair(at(1, 1, TAKE), at(2, 2, SET)),
        "renamenx" => pair(at(1, 1, TAKE), at(2, 2, KeyFlags::OW.union(KeyFlags::INSERT))),
        "lmove" | "blmove" | "rpoplpush" | "brpoplpush" => pair(at(1, 1, TAKE), at(2, 2, ADD)),
        "lmpop" => Searches::from_iter([Search::Counted { at: 1, step: 1, flags: TAKE }]),
        "blmpop" | "bzmpop" => {
            Searches::from_iter([Search::Counted { at: 2, step: 1, flags: TAKE }])
        }
        "zunionstore" | "zinterstore" | "zdiffstore" => {
            pair(at(1, 1, SET), Search::Counted { at: 2, step: 1, flags: READ })
        }
        "zunion" | "zinter" | "zdiff" | "zintercard" => {
            Searches::from_iter([Search::Counted { at: 1, step: 1, flags: READ }])
        }
        "zmpop" => Searches::from_iter([Search::Counted { at: 1, step: 1, flags: TAKE }]),
        "georadius" => around(6),
        "georadiusbymember" => around(5),
        "zrangestore" | "geosearchstore" => pair(at(1, 1, SET), at(2, 2, READ)),
        "sdiffstore" | "sinterstore" | "sunionstore" => pair(at(1, 1, SET), at(2, -1, READ)),
        "sintercard" => Searches::from_iter([Search::Counted { at: 1, step: 1, flags: READ }]),
        "smove" => pair(at(1, 1, TAKE), at(2, 2, ADD)),
        "msetex" => Searches::from_iter([Search::Counted { at: 1, step: 2, flags: SET }]),
        // Patterns name keys too, which only the data tells.
        "sort" => Searches::from_iter([at(1, 1, READ), Search::Untold(READ), Search::Untold(SET)]),
        "sort_ro" => pair(at(1, 1, READ), Search::Untold(READ)),
        "xread" => Searches::from_iter([streams(1)]),
        "xreadgroup" => Searches::from_iter([streams(4)]),
        _ if row.spec.keys.is_some() => Searches::from_iter([Search::Range(row.spec.keys)]),
        _ => Searches::new(),
    }
}

/// The first position at which a search around a place may say where to store what it finds.
const STORE_FROM: usize = 5;

/// A search around a place, which may store what it finds.
fn around(options_at: i16) -> Searches {
    let flags = SET.union(KeyFlags::VARIABLE);
    let store = |word| Search::Keyword { word, from: options_at, flags };
    Searches::from_iter([at(1, 1, READ), store("STORE"), store("STOREDIST")])
}

/// The keys of a request; `None` when it does not say where they are.
pub(crate) fn find<'c>(
    row: &Row,
    specs: &[Search],
    request: &[&'c [u8]],
) -> Option<Vec<(&'c [u8], KeyFlags)>> {
    let (mut found, mut is_stored_behind) = (Vec::new(), false);
    for spec in specs {
        match spec {
            Search::Range(keys) => {
                let flags = flags_of(row, keys.flags, request);
                let mut positions = keys.positions(request.len()).peekable();
                positions.peek()?;
                found.extend(positions.map(|at| (request[at], flags)));
            }
            Search::Counted { at, step, flags } => {
                let (at, step) = (usize::try_from(*at).ok()?, usize::try_from(*step).ok()?);
                let count = text::parse_i64(request.get(at)?).filter(|count| *count > 0)?;
                let count = usize::try_from(count).ok()?;
                let keys = request[at + 1..].iter().step_by(step).take(count);
                if keys.len() < count {
                    return None;
                }
                found.extend(keys.map(|key| (*key, *flags)));
            }
            Search::Keyword { .. } => is_stored_behind = true,
            Search::Untold(_) => {}
            Search::Behind { word, from, flags } => {
                let mut words = request.iter().skip(usize::try_from(*from).ok()?);
                words.find(|it| it.eq_ignore_ascii_case(word.as_bytes()))?;
                // Of an odd number, the word in the middle is no key.
                let count = words.len() / 2;
                if count == 0 {
                    return None;
                }
                found.extend(words.take(count).map(|key| (*key, *flags)));
            }
        }
    }
    if is_stored_behind {
        let is_word = |it: &[u8]| {
            let words = specs.iter().filter_map(Search::word);
            words.into_iter().any(|word| it.eq_ignore_ascii_case(word.as_bytes()))
        };
        let key = last_behind(request.get(STORE_FROM..)?, is_word);
        found.extend(key.map(|key| (key, SET)));
    }
    if row.full_name == "sort" {
        found.extend(sort_destination(request).map(|key| (key, SET)));
    }
    Some(found)
}

/// Where SORT puts what it has sorted: the last STORE counts.
fn sort_destination<'c>(request: &[&'c [u8]]) -> Option<&'c [u8]> {
    let (mut words, mut destination) = (request.iter().skip(2), None);
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_slice() {
            b"limit" => drop(words.nth(1)),
            b"by" | b"get" => drop(words.next()),
            // An option may stand here again: SORT itself refuses what is no sense.
            b"store" => destination = words.clone().next().copied().or(destination),
            _ => {}
        }
    }
    destination
}

/// What stands behind the last of some words.
fn last_behind<'c>(rest: &[&'c [u8]], is_word: impl Fn(&[u8]) -> bool) -> Option<&'c [u8]> {
    let (mut at, mut last) = (0, None);
    while at + 1 < rest.len() {
        if is_word(rest[at]) {
            at += 1;
            last = Some(rest[at]);
        }
        at += 1;
    }
    last
}

/// What happens to the keys of this very request.
fn flags_of(row: &Row, flags: KeyFlags, request: &[&[u8]]) -> KeyFlags {
    match row.full_name.as_str() {
        "set" if request.iter().skip(3).any(|it| it.eq_ignore_ascii_case(b"GET")) => CHANGE,
        "set" => SET,
        "bitfield" if only_gets(request.get(2..).unwrap_or_default()) => READ,
        "bitfield" => CHANGE,
        _ => flags,
    }
}

/// Whether BITFIELD reads only: what it would refuse may write.
fn only_gets(operations: &[&[u8]]) -> bool {
    let mut rest = operations;
    while let [operation, behind @ ..] = rest {
        let words = match operation.to_ascii_lowercase().as_slice() {
            b"get" => 2,
            b"overflow" => 1,
            _ => return false,
        };
        let Some(next) = behind.get(words..) else { return false };
        rest = next;
    }
    true
}

/// Position of the first key, the last one and the step between, as the first version of COMMAND
/// INFO told them: of all keys in one, if they follow a pattern.
pub(crate) fn range(row: &Row) -> (i16, i16, i16) {
    let specs = specs(row);
    let mut ranges = specs.iter().filter_map(|spec| match spec {
        Search::Range(keys) => Some(keys),
        _ => None,
    });
    match (ranges.clone().next(), ranges.next_back()) {
        (Some(first), Some(last)) => (first.first, last.last, last.step),
        _ => (0, 0, 0),
    }
}

/// Whether a look at the arguments is needed to find the keys.
pub(crate) fn are_movable(row: &Row) -> bool {
    row.spec.flags.contains(Flags::MOVABLE_KEYS)
        || specs(row).iter().any(|spec| !matches!(spec, Search::Range(_)))
}

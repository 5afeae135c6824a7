//! Accepted differences, each with a reason that a user would accept. The list only shrinks;
//! `docs/memcached.md` tells users of it.

use super::answer::{Answer, Unit};
use super::side::base64;
use super::step::{Step, Word};

/// Accepted difference.
pub struct Known {
    /// Reason, as a user would be told.
    pub reason: &'static str,
    /// True if both hold the same items afterwards; otherwise all items of both are removed.
    pub only_the_answer: bool,
    /// Predicate for the difference, as narrow as possible.
    is: fn(&Seen<'_>) -> bool,
}

/// What was done to a key in a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    /// True if its number was changed.
    pub reckoned: bool,
    /// True if it was made or emptied by a line without a value.
    pub emptied: bool,
    /// True if it was given the CAS of none.
    pub unnumbered: bool,
}

/// Difference between two answers.
pub struct Seen<'a> {
    /// The line.
    pub step: &'a Step,
    /// Answer of Varve.
    pub varve: &'a Answer,
    /// Answer of Memcached.
    pub peer: &'a Answer,
    /// Index of the first line that differs.
    pub at: usize,
    /// What was done to its key.
    pub past: Past,
}

impl<'a> Seen<'a> {
    fn units(&self) -> Option<(&'a Unit, &'a Unit)> {
        Some((self.varve.units.get(self.at)?, self.peer.units.get(self.at)?))
    }

    /// Returns the words of both lines that differ, if they have as many.
    fn words(&self) -> Vec<(&'a [u8], &'a [u8])> {
        let Some((one, other)) = self.units() else { return Vec::new() };
        let ones = one.line.split(|byte| *byte == b' ');
        let others = other.line.split(|byte| *byte == b' ');
        if ones.clone().count() != others.clone().count() {
            return Vec::new();
        }
        ones.zip(others).filter(|(one, other)| one != other).collect()
    }

    fn has_long_opaque(&self) -> bool {
        let is_long = |text: &[u8]| text.len() > OPAQUE_MAX;
        ["mg", "ma"].contains(&self.step.name().as_str())
            && self.step.flag(b'O').is_some_and(is_long)
    }

    fn has_expiry_at_once(&self) -> bool {
        let is_past = |word: &Word| matches!(word, Word::Time(_, ..=0));
        self.step.words.iter().any(is_past)
            || [b'T', b'N'].iter().any(|letter| {
                let number = self.step.flag(*letter).map(String::from_utf8_lossy);
                let number = number.and_then(|it| it.parse::<i64>().ok());
                number.is_some_and(|it| it < 0 || (RELATIVE_MAX + 1..LONG_AGO).contains(&it))
            })
    }
}

/// Returns the entry for a difference.
pub fn find(seen: &Seen<'_>) -> Option<&'static Known> {
    KNOWN.iter().find(|known| (known.is)(seen))
}

/// Returns the entry for answers that agree, where the items do not.
pub fn silent(seen: &Seen<'_>) -> Option<&'static Known> {
    if seen.has_long_opaque() {
        return Some(&LONG_OPAQUE);
    }
    let is_done = |unit: &Unit| [&b"HD"[..], b"VA"].iter().any(|word| unit.line.starts_with(word));
    let reckons = seen.step.name() == "ma" && seen.varve.units.iter().any(is_done);
    let gives = seen.step.has_flag("T") || seen.step.has_flag("E");
    (reckons && gives).then_some(&GIVEN_TO_NUMBER)
}

const GIVEN_TO_NUMBER: Known = Known {
    reason: "T and E of ma count also for an item that was fetched",
    only_the_answer: false,
    is: |_| false,
};

const LONG_OPAQUE: Known = Known {
    reason: "a line that is refused for its opaque text has done nothing",
    only_the_answer: false,
    is: |seen| seen.has_long_opaque(),
};

/// All accepted differences.
const KNOWN: &[Known] = &[
    LONG_OPAQUE,
    Known {
        reason: "a number that loses a digit gets shorter, where Memcached keeps a blank behind it",
        only_the_answer: false,
        is: |seen| {
            seen.units().is_some_and(|(one, other)| match (&one.data, &other.data) {
                (Some(one), Some(other)) => {
                    other.len() > one.len() && other.trim_ascii_end() == *one && seen.past.reckoned
                }
                _ => false,
            })
        },
    },
    Known {
        reason: "an item whose number gains a digit stays stale and won",
        only_the_answer: false,
        is: |seen| {
            let marks = |unit: &Unit| {
                let words = unit.line.split(|byte| *byte == b' ');
                words.filter(|word| [&b"X"[..], b"Z"].contains(word)).count()
            };
            seen.past.reckoned && seen.units().is_some_and(|(one, other)| marks(one) > marks(other))
        },
    },
    Known {
        reason: "a line that begins with a blank names no command",
        only_the_answer: true,
        is: |seen| seen.step.name().is_empty() && seen.step.words.len() > 1,
    },
    Known {
        reason: "a key that is too long is an error, and nothing else is answered",
        only_the_answer: false,
        is: |seen| {
            let error = b"CLIENT_ERROR bad command line format";
            seen.step.has_long_key()
                && seen.varve.units.len() == 1
                && seen.varve.units[0].line == error
        },
    },
    Known {
        reason: "an item made without a block, emptied or extended knows of its key in base64",
        only_the_answer: true,
        is: |seen| {
            let key = &seen.step.key;
            let (name, mut plain) = (base64(key), b" k".to_vec());
            plain.extend_from_slice(key);
            let given = [&b" k"[..], &name, b" b"].concat();
            let told = |(one, other): (&Unit, &Unit)| {
                if seen.step.name() == "me" {
                    let begin = [b"ME ", key.as_slice(), b" "].concat();
                    return Some(other.line.starts_with(&begin));
                }
                let has = |line: &[u8], part: &[u8]| line.windows(part.len()).any(|it| it == part);
                Some(has(&one.line, &given) && has(&other.line, &plain))
            };
            seen.past.emptied && seen.units().and_then(told) == Some(true)
        },
    },
    Known {
        reason: "me takes a key in base64",
        only_the_answer: true,
        is: |seen| seen.step.name() == "me" && seen.step.has_flag("b"),
    },
    Known {
        reason: "a CAS of 0 that is given is none: who asks next gets one",
        only_the_answer: false,
        is: |seen| {
            let words = seen.words();
            let is_none = |(_, other): &(&[u8], &[u8])| [&b"c0"[..], b"0"].contains(other);
            seen.past.unnumbered && !words.is_empty() && words.iter().all(is_none)
        },
    },
    Known {
        reason: "an item that is over at once has no seconds left, and no CAS",
        only_the_answer: true,
        is: |seen| {
            let words = seen.words();
            let is_listed = |(one, _): &(&[u8], &[u8])| matches!(one.first(), Some(b't' | b'c'));
            seen.has_expiry_at_once() && !words.is_empty() && words.iter().all(is_listed)
        },
    },
];

/// Most bytes of an opaque text.
const OPAQUE_MAX: usize = 31;
/// Most seconds of an expiry that counts from now.
const RELATIVE_MAX: i64 = 2_592_000;
/// A time that is past.
const LONG_AGO: i64 = 1_500_000_000;

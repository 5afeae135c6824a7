//! Accepted differences, each with a reason that a user would accept. The list only shrinks;
//! `docs/memcached.md` tells users of it.
//!
//! ```text
//! a line differs    rules put into both answers what is the same; do they agree now?
//! answers differ    rules look at the whole of both
//! answers agree     some rules know that the items differ all the same
//! ```

use super::answer::{Answer, Numbers, Unit, first_difference};
use super::base64;
use super::looks::Look;
use super::step::{Block, Step, Word};

/// Accepted difference.
pub struct Known {
    /// Reason, as a user would be told.
    pub reason: &'static str,
    /// True if both hold the same items afterwards; otherwise all items of both are removed.
    pub only_the_answer: bool,
    rule: Rule,
}

/// When a difference is accepted: as narrow as possible.
enum Rule {
    /// Changes lines of Varve and of Memcached where they differ.
    Line(fn(&Seen<'_>, &mut Unit, &mut Unit)),
    /// Returns true for answers that may differ in any way.
    Answer(fn(&Seen<'_>) -> bool),
    /// Returns true if the items differ, and the answers do not.
    Silent(fn(&Seen<'_>) -> bool),
}

/// What was done to an item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    /// True if a number has been changed in its place since, and nothing else.
    pub stays: bool,
    /// True if Memcached has put its number elsewhere.
    pub moved: bool,
    /// True if it was made or emptied by a line without a value, or extended.
    pub emptied: bool,
    /// True if it may take more than Memcached keeps in one piece.
    pub is_large: bool,
    /// True if it was stored as blanks alone.
    pub is_blank: bool,
}

impl Past {
    /// Keeps what a step does that Varve answers so.
    pub fn note(&mut self, step: &Step, varve: &Answer, look: Look) {
        let first = line_of(varve);
        let is_stored = first.starts_with(b"STORED") || first.starts_with(b"HD");
        if step.replaces() && is_stored {
            let blank = |it: &Block| it.bytes.iter().all(|byte| b" \t\n\x0b\x0c\r".contains(byte));
            *self = Past { is_blank: step.block.as_ref().is_some_and(blank), ..Past::default() };
        }
        let is_look = ["get", "me"].contains(&step.name().as_str()) || step.has_flag("u");
        self.stays = look.stays || self.stays && is_look;
        self.moved |= look.moves;
        self.emptied |= step.empties();
        self.is_large |= step.block.as_ref().is_some_and(|it| it.bytes.len() > LARGE);
    }
}

/// Difference between two answers.
pub struct Seen<'a> {
    /// The line.
    pub step: &'a Step,
    /// Answer of Varve.
    pub varve: &'a Answer,
    /// Answer of Memcached.
    pub peer: &'a Answer,
    /// What was done to its item.
    pub past: Past,
    /// What Memcached did with its number.
    pub look: Look,
}

impl Seen<'_> {
    fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.step.name().as_str())
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

    /// Returns the one line that both answer.
    fn lines(&self) -> Option<(&[u8], &[u8])> {
        match (&self.varve.units[..], &self.peer.units[..]) {
            ([one], [other]) => Some((&one.line, &other.line)),
            _ => None,
        }
    }
}

/// Returns the entries for a difference; none if it is not accepted.
pub fn find(seen: &Seen<'_>, numbers: &mut Numbers) -> Vec<&'static Known> {
    let (mut varve, mut peer) = (seen.varve.clone(), seen.peer.clone());
    let mut used = Vec::new();
    for known in KNOWN {
        match known.rule {
            Rule::Answer(is) if is(seen) => return vec![known],
            Rule::Line(change) => {
                let before = (varve.clone(), peer.clone());
                for (one, other) in varve.units.iter_mut().zip(&mut peer.units) {
                    if one != other {
                        change(seen, one, other);
                    }
                }
                if (&varve, &peer) != (&before.0, &before.1) {
                    used.push(known);
                }
            }
            _ => {}
        }
    }
    match first_difference(seen.step, &varve, &peer, numbers) {
        None => used,
        Some(_) => Vec::new(),
    }
}

/// Returns the entry for answers that agree, where the items do not.
pub fn silent(seen: &Seen<'_>) -> Option<&'static Known> {
    KNOWN.iter().find(|known| matches!(known.rule, Rule::Silent(is) if is(seen)))
}

/// All accepted differences.
const KNOWN: &[Known] = &[
    Known {
        reason: "T and E of ma count also where Memcached puts the number elsewhere",
        only_the_answer: false,
        rule: Rule::Silent(|seen| {
            let gives = seen.step.has_flag("T") || seen.step.has_flag("E");
            seen.is(&["ma"]) && seen.look.moves && gives
        }),
    },
    Known {
        reason: "a line that is refused for its opaque text has done nothing",
        only_the_answer: false,
        rule: Rule::Silent(|seen| {
            let is_refused = |(one, _): (&[u8], &[u8])| one == OPAQUE_TOO_LONG;
            seen.is(&["mg", "ma"]) && seen.lines().is_some_and(is_refused)
        }),
    },
    Known {
        reason: "a CAS of 0 that is given is none: who asks next gets one",
        only_the_answer: false,
        rule: Rule::Silent(|seen| {
            let is_none = seen.step.flag(b'E').is_some_and(|it| it == b"0");
            seen.is(&["mg", "ma", "md"]) && is_none
        }),
    },
    Known {
        reason: "an item made without a block, emptied or extended, or whose number Memcached \
                 puts elsewhere, knows of its key in base64",
        only_the_answer: true,
        rule: Rule::Line(|seen, one, other| {
            let (key, given) = (&seen.step.key[..], base64::encode(&seen.step.key));
            let told = if seen.is(&["me"]) {
                [[&b"ME "[..], &given, b" "].concat(), [b"ME ", key, b" "].concat()]
            } else {
                [[&b" k"[..], &given, b" b"].concat(), [b" k", key].concat()]
            };
            let at = one.line.windows(told[0].len()).position(|part| part == told[0]);
            let is_plain = other.line.windows(told[1].len()).any(|part| part == told[1]);
            if let Some(at) = at
                && is_plain
                && (seen.past.emptied || seen.past.moved)
            {
                one.line.splice(at..at + told[0].len(), told[1].clone());
            }
        }),
    },
    Known {
        reason: "a CAS of 0 that is given is none: the line itself tells of another",
        only_the_answer: false,
        rule: Rule::Line(|seen, one, other| {
            if seen.step.flag(b'E') == Some(b"0") && seen.is(&["mg", "ma"]) {
                replace_word(one, other, |_, other| other == b"c0");
            }
        }),
    },
    Known {
        reason: "a number that loses a digit gets shorter, where Memcached keeps blanks behind it",
        only_the_answer: false,
        rule: Rule::Line(|seen, one, other| {
            let (Some(value), Some(padded)) = (&one.data, &other.data) else { return };
            if seen.past.stays && value.len() < padded.len() && padded.trim_ascii_end() == *value {
                let len = padded.len().to_string();
                other.data = Some(value.clone());
                replace_word(one, other, |_, other| other == len.as_bytes());
            }
        }),
    },
    Known {
        reason: "a number stays stale and won also where Memcached puts it elsewhere",
        only_the_answer: false,
        rule: Rule::Line(|seen, one, other| {
            if seen.past.moved && marks(one) > marks(other) {
                remove_marks(one);
                remove_marks(other);
            }
        }),
    },
    Known {
        reason: "an item that is over at once has no seconds left, and no CAS",
        only_the_answer: true,
        rule: Rule::Line(|seen, one, other| {
            if seen.has_expiry_at_once() {
                replace_word(one, other, |one, other| match other.split_first() {
                    Some((b't', left)) => one == b"t0" && left.len() == 10,
                    Some((b'c', _)) => one == b"c0" && seen.is(&["ma", "ms"]),
                    _ => false,
                });
            }
        }),
    },
    Known {
        reason: "a number is as fetched as it was also where Memcached puts it elsewhere",
        only_the_answer: false,
        rule: Rule::Line(|seen, one, other| {
            if seen.past.moved {
                replace_word(one, other, |one, other| match one {
                    b"fetch=yes" => other == b"fetch=no",
                    b"h1" => other == b"h0",
                    _ => false,
                });
            }
        }),
    },
    Known {
        reason: "a line whose opaque text is too long is refused for that",
        only_the_answer: false,
        rule: Rule::Answer(|seen| {
            let refusal = match seen.step.name().as_str() {
                "ma" => NON_NUMERIC,
                "ms" => b"SERVER_ERROR object too large for cache",
                _ => return false,
            };
            seen.lines() == Some((OPAQUE_TOO_LONG, refusal))
        }),
    },
    Known {
        reason: "blanks alone are no number: Memcached reads on in what was there before",
        only_the_answer: false,
        rule: Rule::Answer(|seen| {
            let is_listed = line_of(seen.varve) == NON_NUMERIC && is_done(line_of(seen.peer));
            seen.step.reckons() && seen.past.is_blank && is_listed
        }),
    },
    Known {
        reason: "me takes a key in base64 without a further word",
        only_the_answer: true,
        rule: Rule::Answer(|seen| seen.is(&["me"]) && seen.step.has_flag("b")),
    },
    Known {
        reason: "a key that is too long is an error, and nothing else is answered",
        only_the_answer: false,
        rule: Rule::Answer(|seen| {
            let error = b"CLIENT_ERROR bad command line format";
            let units = &seen.varve.units;
            seen.step.has_long_key() && units.len() == 1 && units[0].line == error
        }),
    },
    Known {
        reason: "a value near 512 KiB may be a number, as it is in one piece",
        only_the_answer: false,
        rule: Rule::Answer(|seen| {
            let line = line_of(seen.varve);
            let is_read = line.starts_with(b"EX") || is_done(line);
            let is_listed = is_read && line_of(seen.peer) == NON_NUMERIC;
            seen.step.reckons() && seen.past.is_large && is_listed
        }),
    },
    Known {
        reason: "a value near 512 KiB may be a number, and blanks are none: nothing is answered",
        only_the_answer: false,
        rule: Rule::Silent(|seen| {
            let is_silent = seen.varve.units.is_empty() && seen.peer.units.is_empty();
            seen.step.reckons() && (seen.past.is_large || seen.past.is_blank) && is_silent
        }),
    },
];

/// Errors of both servers.
const OPAQUE_TOO_LONG: &[u8] = b"CLIENT_ERROR opaque token too long";
const NON_NUMERIC: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value";

/// Returns the first line of an answer; an empty one if there is none.
fn line_of(answer: &Answer) -> &[u8] {
    answer.units.first().map(|unit| unit.line.as_slice()).unwrap_or_default()
}

/// Returns true if a line answers that a number was changed; none does so where that is asked for.
fn is_done(line: &[u8]) -> bool {
    let is_meta = line.starts_with(b"HD") || line.starts_with(b"VA ");
    is_meta || line.iter().all(u8::is_ascii_digit)
}

fn words(unit: &Unit) -> Vec<Vec<u8>> {
    unit.line.split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect()
}

/// Puts Varve's words in place of Memcached's where they differ so.
fn replace_word(one: &Unit, other: &mut Unit, is: impl Fn(&[u8], &[u8]) -> bool) {
    let (ones, mut others) = (words(one), words(other));
    if ones.len() == others.len() {
        for (one, other) in ones.iter().zip(&mut others) {
            if one != other && is(one, other) {
                other.clone_from(one);
            }
        }
        other.line = others.join(&b' ');
    }
}

fn is_mark(word: &[u8]) -> bool {
    matches!(word, b"X" | b"Z" | b"W")
}

/// Returns how many words tell that an item is stale or won.
fn marks(unit: &Unit) -> usize {
    words(unit).iter().filter(|word| matches!(word[..], [b'X' | b'Z'])).count()
}

fn remove_marks(unit: &mut Unit) {
    let mut words = words(unit);
    words.retain(|word| !is_mark(word));
    unit.line = words.join(&b' ');
}

/// Most seconds of an expiry that counts from now.
const RELATIVE_MAX: i64 = 2_592_000;
/// A time that is past.
const LONG_AGO: i64 = 1_500_000_000;
/// Bytes of a value which Memcached may keep in several pieces.
const LARGE: usize = 500_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        let text = format!("{text}\r\nMN\r\n");
        Answer::read(&mut text.as_bytes(), b"MN").expect("an answer")
    }

    /// Returns how many entries explain a difference.
    fn found(line: &str, past: Past, varve: &str, peer: &str) -> usize {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        let (step, look) = (Step::of(b"foo", &words), Look::default());
        let (varve, peer) = (answer(varve), answer(peer));
        let seen = Seen { step: &step, varve: &varve, peer: &peer, past, look };
        find(&seen, &mut Numbers::default()).len()
    }

    #[test]
    fn blanks_are_accepted_behind_a_number_that_has_just_stayed() {
        let stays = Past { stays: true, ..Past::default() };
        let (short, padded) = ("VALUE foo 0 1\r\n9", "VALUE foo 0 2\r\n9 ");
        assert_eq!(found("get foo", stays, short, padded), 1);
        assert_eq!(found("get foo", Past::default(), short, padded), 0);
        assert_eq!(found("get foo", stays, padded, short), 0);
        assert_eq!(found("get foo", stays, short, "VALUE foo 0 2\r\n8 "), 0);
        assert_eq!(found("get foo", stays, short, "VALUE foo 5 2\r\n9 "), 0);
    }

    #[test]
    fn marks_are_accepted_where_the_number_was_moved() {
        let moved = Past { moved: true, ..Past::default() };
        assert_eq!(found("mg foo f", moved, "HD f5 X W", "HD f5"), 1);
        assert_eq!(found("mg foo f", moved, "HD f5 X W", "HD f6"), 0);
        assert_eq!(found("mg foo f", moved, "HD f5", "HD f5 X W"), 0);
        assert_eq!(found("mg foo f", Past::default(), "HD f5 X W", "HD f5"), 0);
        assert_eq!(found("mg foo h", moved, "HD h1", "HD h0"), 1);
        assert_eq!(found("mg foo h", moved, "HD h0", "HD h1"), 0);
    }

    #[test]
    fn a_large_value_may_be_a_number() {
        let large = Past { is_large: true, ..Past::default() };
        let error = "CLIENT_ERROR cannot increment or decrement non-numeric value";
        for varve in ["EX", "EX kfoo", "HD", "VA 1\r\n8"] {
            assert_eq!(found("ma foo C5 v", large, varve, error), 1, "{varve:?}");
            assert_eq!(found("ma foo C5 v", Past::default(), varve, error), 0, "{varve:?}");
            assert_eq!(found("ma foo C5 v", large, error, varve), 0, "{varve:?}");
        }
    }

    #[test]
    fn several_entries_explain_a_line_together() {
        let emptied = Past { emptied: true, ..Past::default() };
        let (varve, peer) = ("HD t0 kZm9v b f5 W", "HD t4294967234 kfoo f5 W");
        assert_eq!(found("mg foo N-1 t k f", emptied, varve, peer), 2);
        assert_eq!(found("mg foo N100 t k f", emptied, varve, peer), 0);
        assert_eq!(found("mg foo N-1 t k f", Past::default(), varve, peer), 0);
        assert_eq!(found("mg foo N-1 t k f", emptied, "HD t0 kZm9v b f6 W", peer), 0);
    }
}

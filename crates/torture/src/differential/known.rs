//! Accepted differences, each with a reason that a user would accept. The list only shrinks.

use super::rule::{Rule, agree, elements, pairs};
use super::step::{called, name};
use crate::client::Reply;

/// Accepted difference.
pub struct Known {
    /// Reason, as a user would be told.
    pub reason: &'static str,
    /// True if both hold the same values afterwards; otherwise all keys of both are removed.
    pub only_the_reply: bool,
    /// Predicate for the difference, as narrow as possible.
    is: fn(&Seen<'_>) -> bool,
}

/// Difference between two replies.
struct Seen<'a> {
    name: &'a str,
    request: &'a [Vec<u8>],
    varve: &'a Reply,
    valkey: &'a Reply,
}

/// Returns the entry for a difference.
pub fn find(request: &[Vec<u8>], varve: &Reply, valkey: &Reply) -> Option<&'static Known> {
    let (name, request) = (name(request), called(request));
    let seen = Seen { name: &name, request, varve, valkey };
    KNOWN.iter().find(|known| (known.is)(&seen))
}

/// All accepted differences.
const KNOWN: &[Known] = &[
    Known {
        reason: "sums are exact in decimal, where Valkey rounds to a float of 80 bits",
        only_the_reply: false,
        is: |seen| seen.name.ends_with("INCRBYFLOAT") && are_almost_equal(seen.varve, seen.valkey),
    },
    Known {
        reason: "a script calls FLUSHALL, FLUSHDB or SWAPDB only where the word stands in it",
        only_the_reply: false,
        is: |seen| {
            let begin = b"ERR A script that calls this command has its name in its source";
            matches!(seen.varve, Reply::Error(text) if text.starts_with(begin))
        },
    },
    Known {
        reason: "SORT reads a small sorted set without changing how it is kept",
        only_the_reply: true,
        is: |seen| {
            seen.name == "OBJECT ENCODING"
                && !seen.request.last().is_some_and(|key| key.starts_with(b"z") && key != b"zs")
                && is_text(seen.varve, b"listpack")
                && is_text(seen.valkey, b"skiplist")
        },
    },
    Known {
        reason: "how a list or string is kept is told from what it is, not from how it came to be",
        only_the_reply: true,
        is: |seen| {
            // A deadline, which the string may have had, would make it too long to be embedded.
            let had_deadline = || {
                seen.request.last().is_some_and(|key| key.starts_with(b"se"))
                    && is_text(seen.varve, b"embstr")
                    && is_text(seen.valkey, b"raw")
            };
            // Valkey does not look at a number that a script gives.
            let is_of_script = || {
                is_text(seen.varve, b"int")
                    && (is_text(seen.valkey, b"embstr") || is_text(seen.valkey, b"raw"))
            };
            seen.name == "OBJECT ENCODING"
                && (is_text(seen.varve, b"quicklist")
                    || is_text(seen.valkey, b"quicklist")
                    || had_deadline()
                    || is_of_script())
        },
    },
    Known {
        reason: "scores that read back as the same number, by shorter digits or the sign of zero",
        only_the_reply: true,
        is: |seen| match seen.name {
            "ZSCAN" => are_same_pages(seen.varve, seen.valkey),
            _ if seen.name.starts_with('Z') || seen.name.starts_with("BZ") => {
                are_same_numbers(seen.varve, seen.valkey)
            }
            _ => false,
        },
    },
    Known {
        reason: "a zero byte does not end a text that SORT compares",
        only_the_reply: true,
        is: |seen| {
            seen.name.starts_with("SORT")
                && seen.request.iter().any(|it| it.eq_ignore_ascii_case(b"ALPHA"))
                && agree(Rule::Members, seen.varve, seen.valkey)
                && elements(seen.varve)
                    .iter()
                    .any(|it| matches!(it, Reply::Bulk(text) if text.contains(&0)))
        },
    },
    Known {
        reason: "LSET takes all of an index, where Valkey takes its lower 32 bits",
        only_the_reply: false,
        is: |seen| {
            seen.name == "LSET"
                && is_error(seen.varve, b"ERR index out of range")
                && seen.request.get(2).and_then(|it| text::parse_i64(it)).is_some_and(is_wide)
        },
    },
    Known {
        reason: "a negative offset of LIMIT finds nothing in any form of a sorted set",
        only_the_reply: false,
        is: |seen| {
            let at = seen.request.iter().rposition(|it| it.eq_ignore_ascii_case(b"LIMIT"));
            seen.name.starts_with('Z')
                && elements(seen.varve).is_empty()
                && at.is_some_and(|at| {
                    seen.request.get(at + 1).is_some_and(|it| it.starts_with(b"-"))
                })
        },
    },
    Known {
        reason: "a zero byte does not end a number, a bound or an id",
        only_the_reply: false,
        is: |seen| {
            let errors: [&[u8]; 4] = [
                b"ERR min or max not valid string range item",
                b"ERR Invalid stream ID specified as stream command argument",
                b"ERR min or max is not a float",
                b"ERR invalid cursor",
            ];
            // A word that is no id is an option of XCLAIM.
            let is_option = matches!(seen.varve, Reply::Error(text)
                if text.starts_with(b"ERR Unrecognized XCLAIM option"));
            (is_option || errors.iter().any(|error| is_error(seen.varve, error)))
                && seen.request.iter().any(|it| it.contains(&0))
        },
    },
    Known {
        reason: "a zero byte does not end a weight of SORT",
        only_the_reply: false,
        is: |seen| {
            seen.name.starts_with("SORT")
                && is_error(seen.varve, b"ERR One or more scores can't be converted into double")
                && seen.request.iter().any(|it| it.eq_ignore_ascii_case(b"BY"))
        },
    },
    Known {
        reason: "a cursor below zero is none, however many zeros stand before it",
        only_the_reply: true,
        is: |seen| {
            is_error(seen.varve, b"ERR invalid cursor")
                && seen.request.iter().any(|it| it.trim_ascii_start().starts_with(b"-"))
        },
    },
    Known {
        reason: "the number of a field of BITFIELD does not wrap around to a small offset",
        only_the_reply: false,
        is: |seen| {
            let wraps = |it: &Vec<u8>| {
                let number = it.strip_prefix(b"#").and_then(text::parse_i64);
                number.is_some_and(|it| it.unsigned_abs() > 1 << 56)
            };
            seen.name.starts_with("BITFIELD")
                && is_error(seen.varve, b"ERR bit offset is not an integer or out of range")
                && seen.request.iter().any(wraps)
        },
    },
    Known {
        reason: "a string of more than 512 KiB is no HyperLogLog, damaged or not",
        only_the_reply: true,
        is: |seen| {
            seen.name.starts_with("PF")
                && is_error(seen.varve, b"WRONGTYPE Key is not a valid HyperLogLog string value.")
                && (is_error(seen.valkey, b"INVALIDOBJ Corrupted HLL object detected")
                    // Without elements Valkey reads the header alone.
                    || seen.name == "PFADD" && seen.request.len() == 2)
        },
    },
    Known {
        reason: "COMMAND GETKEYS reads a count as its command does, not only its first digits",
        only_the_reply: true,
        is: |seen| {
            let begins_as_number = |it: &Vec<u8>| {
                let it = it.trim_ascii_start();
                let digits = it.strip_prefix(b"+").unwrap_or(it);
                digits.first().is_some_and(u8::is_ascii_digit)
            };
            seen.name.starts_with("COMMAND GETKEYS")
                && is_error(seen.varve, b"ERR Invalid arguments specified for command")
                && seen
                    .request
                    .iter()
                    .any(|it| begins_as_number(it) && text::parse_i64(it).is_none())
        },
    },
    Known {
        reason: "XAUTOCLAIM allocates nothing by its COUNT, so none is too high",
        only_the_reply: false,
        is: |seen| {
            let text =
                b"ERR Insufficient memory, failed allocating transient memory, COUNT too high.";
            seen.name == "XAUTOCLAIM" && is_error(seen.valkey, text)
        },
    },
];

/// Returns true if two numbers agree up to the digits of an 80-bit float.
fn are_almost_equal(varve: &Reply, valkey: &Reply) -> bool {
    let (Reply::Bulk(one), Reply::Bulk(other)) = (varve, valkey) else { return false };
    // Numbers beyond the range of a double lose the same digits on both sides.
    let whole = |text: &[u8]| text.iter().position(|it| *it == b'.').unwrap_or(text.len());
    let dropped = whole(one).min(whole(other)).saturating_sub(250);
    let number = |text: &[u8]| {
        let end = if dropped > 0 { whole(text) - dropped } else { text.len() };
        text::parse_f64(&text[..end])
    };
    matches!((number(one), number(other)), (Some(one), Some(other))
        if (one - other).abs() <= other.abs() * 1e-14)
}

fn are_same_numbers(one: &Reply, other: &Reply) -> bool {
    match (one, other) {
        (Reply::Double(one), Reply::Double(other)) | (Reply::Bulk(one), Reply::Bulk(other)) => {
            one == other
                || text::parse_f64(one).is_some_and(|it| text::parse_f64(other) == Some(it))
        }
        _ => {
            let (ones, others) = (elements(one), elements(other));
            one == other
                || (!ones.is_empty()
                    && ones.len() == others.len()
                    && ones.iter().zip(others).all(|(one, other)| are_same_numbers(one, other)))
        }
    }
}

/// Returns true for equal pages, or whole replies, of members and scores in any order.
fn are_same_pages(one: &Reply, other: &Reply) -> bool {
    let page = |reply| {
        let mut page = match elements(reply) {
            [_, page @ Reply::Array(_)] => pairs(page),
            _ => pairs(reply),
        };
        page.sort_by_key(|pair| match pair.first() {
            Some(Reply::Bulk(member)) => member.clone(),
            _ => Vec::new(),
        });
        page
    };
    let (ones, others) = (page(one), page(other));
    let same = |(one, other): (&&[Reply], &&[Reply])| match (one, other) {
        ([member, score], [other_member, other_score]) => {
            member == other_member && are_same_numbers(score, other_score)
        }
        _ => false,
    };
    ones.len() == others.len() && ones.iter().zip(&others).all(same)
}

fn is_wide(index: i64) -> bool {
    i32::try_from(index).is_err()
}

fn is_text(reply: &Reply, wanted: &[u8]) -> bool {
    matches!(reply, Reply::Bulk(text) if text == wanted)
}

fn is_error(reply: &Reply, wanted: &[u8]) -> bool {
    matches!(reply, Reply::Error(text) if text == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(words: &[&str], varve: Reply, valkey: Reply) -> bool {
        find(&super::super::step::request(words), &varve, &valkey).is_some()
    }

    #[test]
    fn a_sum_may_differ_beyond_the_digits_of_a_long_double_and_no_earlier() {
        let bulk = |text: &str| Reply::Bulk(text.as_bytes().to_vec());
        let request = ["INCRBYFLOAT", "k", "0.102"];
        assert!(is_known(&request, bulk("5.102"), bulk("5.1019999999999999996")));
        assert!(!is_known(&request, bulk("5.102"), bulk("5.101")));
        assert!(!is_known(&["GET", "k"], bulk("5.102"), bulk("5.1019999999999999996")));
        let (one, other) = ("7".repeat(300), format!("{}3", "7".repeat(299)));
        assert!(is_known(&request, bulk(&format!("{one}.5")), bulk(&other)));
    }

    #[test]
    fn scores_are_told_apart_by_their_numbers() {
        let double = |text: &str| Reply::Double(text.as_bytes().to_vec());
        let request = ["ZSCORE", "z", "m"];
        assert!(is_known(&request, double("5e+22"), double("49999999999999996000000")));
        assert!(!is_known(&request, double("5e+22"), double("5.1e+22")));
    }

    #[test]
    fn the_list_only_shrinks() {
        assert!(KNOWN.len() <= 15);
    }
}

//! Dumps: `lru_crawler metadump` lists what is known of each item, and `lru_crawler mgdump` the
//! requests that read them.
//!
//! ```text
//! a part: a few keys from where the walk is ──▶ the reply ──▶ not at the end: Unanswered::GoesOn
//! the executor ──▶ others have their turn; the output has room ──▶ the line is parsed again
//!                                                                  └─▶ the next part
//! ```
//! So a dump holds what one part writes, however slowly its client reads. It is a walk as that of
//! SCAN: what is there from its begin to its end is listed, some of it perhaps twice. The place of
//! the walk counts in a part that is not the first of its line, and in no other.

use super::answer;
use crate::generic::object::idle_seconds;
use command::{Call, Outcome, Unanswered};
use memcached::{KEY_BYTES_MAX, base64, is_word, number, percent_encode, reply};
use session::{LineParts, Refusal};
use std::num::NonZeroU64;
use store::{Attributes, Kind, ScanFilter, Scanned, ValueRef};
use text::IntegerText;

/// Place of the word that says which items.
const CLASSES: usize = 2;
/// Keys that a part looks at, about.
const KEYS_PER_PART: usize = 256;
/// Classes of items that Memcached may have. Here all are in the first one.
const CLASSES_MAX: u32 = 63;

pub fn metadump(call: &mut Call<'_>) -> Outcome {
    let now = call.now.0 / 1000;
    let knows_uses = !call.instance.store.eviction_policy().counts_uses();
    let write = |out: &mut Vec<u8>, value: ValueRef<'_>| {
        let idle = if knows_uses { idle_seconds(value.access_bits()) } else { 0 };
        write_facts(out, value, now.saturating_sub(idle.into()));
    };
    dump(call, write, reply::END)
}

pub fn mgdump(call: &mut Call<'_>) -> Outcome {
    dump(call, write_request, reply::END_OF_REQUESTS)
}

/// Writes the next part of a dump.
fn dump(
    call: &mut Call<'_>,
    write: impl Fn(&mut Vec<u8>, ValueRef<'_>),
    end: &'static [u8],
) -> Outcome {
    let Some(line) = call.session.line.get() else { return Err(Refusal::SYNTAX.into()) };
    let Some(has_all) = asks_for_all(call.args.get(CLASSES)) else {
        answer(call, reply::INVALID_CLASS);
        return Ok(());
    };
    let mut cursor = call.session.line.take_parts().map_or(0, |parts| parts.walked_to);
    if line.request.is_first {
        call.reply.raw(reply::OK);
        cursor = 0;
    }
    if has_all {
        let filter = ScanFilter { kind: Some(Kind::String), pattern: None };
        let scanned = Scanned { keyspace: call.keyspace(), now: call.now, filter };
        let (store, mut out) = (&call.instance.store, Vec::new());
        let visit = |value: ValueRef<'_>| write(&mut out, value);
        cursor = store.scan_values(call.thread, scanned, cursor, KEYS_PER_PART, visit);
        call.reply.raw(&out);
    }
    if cursor == 0 {
        call.reply.raw(end);
        return Ok(());
    }
    call.session.line.keep_parts(LineParts::of_walk(cursor));
    Err(Unanswered::GoesOn)
}

/// Returns true if a word asks for all items, false if it asks for classes that have none; `None`
/// if it names no classes.
fn asks_for_all(word: &[u8]) -> Option<bool> {
    if matches!(word, b"all" | b"hash") {
        return Some(true);
    }
    let mut is_first_among = None;
    for class in word.split(|byte| *byte == b',').filter(|class| !class.is_empty()) {
        let class = number::unsigned32(class).filter(|it| (1..=CLASSES_MAX).contains(it))?;
        is_first_among = Some(is_first_among.unwrap_or(false) || class == 1);
    }
    is_first_among
}

/// Writes what is known of an item that was used at this time.
fn write_facts(out: &mut Vec<u8>, value: ValueRef<'_>, used: u64) {
    let key = value.key();
    if !(1..=KEY_BYTES_MAX).contains(&key.len()) {
        return;
    }
    let Attributes { flags, cas, .. } = value.attributes();
    let mut number = IntegerText::new();
    out.extend_from_slice(b"key=");
    percent_encode(key, out);
    out.extend_from_slice(b" exp=");
    match value.deadline() {
        Some(deadline) => {
            out.extend_from_slice(number.format_unsigned(deadline.0 / 1000));
        }
        None => out.extend_from_slice(b"-1"),
    }
    for (name, value) in [
        (&b" la="[..], used),
        (b" cas=", cas.number().map_or(0, NonZeroU64::get)),
        (if value.is_fetched() { b" fetch=yes cls=" } else { b" fetch=no cls=" }, 1),
        (b" size=", value.live_bytes().into()),
        (b" flags=", flags.into()),
    ] {
        out.extend_from_slice(name);
        out.extend_from_slice(number.format_unsigned(value));
    }
    out.extend_from_slice(b" \n");
}

/// Writes the request that reads an item, if a line can name its key.
fn write_request(out: &mut Vec<u8>, value: ValueRef<'_>) {
    let key = value.key();
    if !(1..=KEY_BYTES_MAX).contains(&key.len()) {
        return;
    }
    let begin = out.len();
    out.extend_from_slice(b"mg ");
    if is_word(key) && !value.attributes().is_key_in_base64 {
        out.extend_from_slice(key);
    } else {
        let before = out.len();
        base64::encode(key, out);
        if out.len() - before > KEY_BYTES_MAX {
            return out.truncate(begin);
        }
        out.extend_from_slice(b" b");
    }
    out.extend_from_slice(reply::LINE_END);
}

#[cfg(test)]
mod tests {
    use super::asks_for_all;

    #[test]
    fn classes_are_asked_for_as_measured() {
        for word in ["all", "hash", "1", "01", "1,2", "2,1", ",1", "1,", "63,1"] {
            assert_eq!(asks_for_all(word.as_bytes()), Some(true), "{word}");
        }
        for word in ["2", "62", "63", "2,3"] {
            assert_eq!(asks_for_all(word.as_bytes()), Some(false), "{word}");
        }
        for word in ["0", "64", "x", "1x", "1,x", "1,64", "-1", "ALL", "allx", "hashx", "noreply"] {
            assert_eq!(asks_for_all(word.as_bytes()), None, "{word}");
        }
    }
}

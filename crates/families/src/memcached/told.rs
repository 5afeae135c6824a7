//! What is told of items by meta commands, and what all of these have in common.

use base::Millis;
use command::Call;
use memcached::meta::Common;
use memcached::{base64, is_word, reply};
use session::{Args, Refusal};
use std::num::NonZeroU64;
use store::{Cas, Expiry, Kind, ValueRef};
use text::IntegerText;

/// Places of the words.
pub(super) const KEY: usize = 1;
pub(super) const FLAGS: usize = 2;

/// A key with which flags can be read once more: the one of the line is decoded by now.
pub(super) const ANY_KEY: &[u8] = b"AAAA";

/// What is told of an item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub(super) cas: Option<NonZeroU64>,
    pub(super) flags: u32,
    pub(super) was_fetched: bool,
    /// Seconds since it was used last.
    pub(super) idle: u64,
    pub(super) len: usize,
    /// Seconds that it has left; `None` without a deadline.
    pub(super) left: Option<u64>,
    pub(super) is_key_in_base64: bool,
    pub(super) is_won_before: bool,
    pub(super) is_stale: bool,
    pub(super) wins: bool,
}

/// Writes the flags of a reply: those that were asked for in their order, and then the state.
pub(super) fn write_flags(out: &mut Vec<u8>, key: &[u8], common: &Common<'_>, told: &Told) {
    let mut number = IntegerText::new();
    for letter in common.echoes.letters() {
        out.push(b' ');
        out.push(*letter);
        let value = match letter {
            b'c' => told.cas.map_or(0, NonZeroU64::get),
            b'f' => told.flags.into(),
            b'h' => told.was_fetched.into(),
            b'l' => told.idle,
            b's' => told.len as u64,
            b't' => match told.left {
                Some(left) => left,
                None => {
                    out.extend_from_slice(b"-1");
                    continue;
                }
            },
            b'k' => {
                // A client of RESP may have written a key that would end the line.
                write_key(out, key, told.is_key_in_base64 || !is_word(key));
                continue;
            }
            _ => {
                out.extend_from_slice(common.opaque);
                continue;
            }
        };
        out.extend_from_slice(number.format_unsigned(value));
    }
    for (is_told, letter) in
        [(told.is_won_before, b" Z"), (told.is_stale, b" X"), (told.wins, b" W")]
    {
        if is_told {
            out.extend_from_slice(letter);
        }
    }
}

pub(super) fn write_key(out: &mut Vec<u8>, key: &[u8], is_in_base64: bool) {
    if is_in_base64 {
        base64::encode(key, out);
        out.extend_from_slice(b" b");
    } else {
        out.extend_from_slice(key);
    }
}

/// Answers with a word, and the flags that are told where there is no item.
pub(super) fn answer_without_item(call: &mut Call<'_>, word: &[u8], common: &Common<'_>) {
    let mut out = word.to_vec();
    let key = call.args.get(KEY);
    for letter in common.echoes.letters() {
        match letter {
            b'k' => {
                out.extend_from_slice(b" k");
                write_key(&mut out, key, common.is_base64);
            }
            b'O' => {
                out.extend_from_slice(b" O");
                out.extend_from_slice(common.opaque);
            }
            _ => {}
        }
    }
    out.extend_from_slice(reply::LINE_END);
    call.reply.raw(&out);
}

/// Seconds that are left until a deadline, as clients see them.
pub(super) fn left_of(call_now: Millis, deadline: Option<Millis>) -> Option<u64> {
    deadline.map(|deadline| deadline.since(call_now).div_ceil(1000))
}

pub(super) fn key_for_flags<'c>(call: &Call<'c>, is_base64: bool) -> &'c [u8] {
    if is_base64 { ANY_KEY } else { call.args.get(KEY) }
}

pub(super) fn is_base64(call: &Call<'_>) -> bool {
    call.session.line.get().is_some_and(|line| line.request.is_base64)
}

/// Makes room for attributes of an item that it may not have yet.
pub(super) fn make_room(call: &mut Call<'_>) -> Result<(), Refusal> {
    let (access, key, _) = call.on_key(KEY);
    let bytes = access.bytes_to_draw(&key);
    drop(access);
    if bytes > 0 { call.reserve(bytes) } else { Ok(()) }
}

/// What flag N or T says of an expiry, if it is there: `None` inside is at once.
pub(super) type Asked = Option<Option<Expiry>>;

/// Deadlines of an item, as the flags of its line change them one after the other.
#[derive(Clone, Copy, Default)]
pub(super) struct Deadlines {
    at_first: Option<Millis>,
    /// That which N gives an item that it makes.
    vivified: Option<Option<Millis>>,
    /// That which T gives.
    set: Option<Option<Millis>>,
}

impl Deadlines {
    /// Creates those of an item that had a deadline before its line. `vivified` is absent unless
    /// the line makes the item.
    pub(super) fn new(
        now: Millis,
        at_first: Option<Millis>,
        vivified: Asked,
        set: Asked,
    ) -> Deadlines {
        let deadline = |asked: Option<Expiry>| match asked {
            None => Some(now),
            Some(Expiry::At(deadline)) => Some(deadline),
            Some(_) => None,
        };
        Deadlines { at_first, vivified: vivified.map(deadline), set: set.map(deadline) }
    }

    /// Returns the deadline that a flag finds, since flags are followed in their order.
    pub(super) fn found_by(&self, args: &Args<'_>, letter: u8) -> Option<Millis> {
        let mut found = self.at_first;
        for flag in args.from(FLAGS) {
            match flag.first() {
                Some(first) if *first == letter => break,
                Some(b'N') => found = self.vivified.unwrap_or(found),
                Some(b'T') => found = self.set.unwrap_or(found),
                _ => {}
            }
        }
        found
    }
}

/// Returns the expiry that an item has which a line makes: of N and T the later one counts.
pub(super) fn expiry_of_made(args: &Args<'_>, vivified: Asked, set: Asked) -> Asked {
    let mut asked = args.from(FLAGS).filter_map(|flag| match flag.first() {
        Some(b'N') => vivified,
        Some(b'T') => set,
        _ => None,
    });
    asked.next_back()
}

pub(super) fn is_item(value: ValueRef<'_>) -> bool {
    value.kind() == Kind::String
}

pub(super) fn given(cas: Option<u64>) -> Cas {
    cas.and_then(NonZeroU64::new).map_or(Cas::None, Cas::Given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memcached::meta::GetFlags;

    #[test]
    fn a_key_that_would_end_its_line_is_told_in_base64() {
        for (key, is_stored_so, expected) in [
            (&b"foo"[..], false, &b" kfoo"[..]),
            (b"foo", true, b" kZm9v b"),
            (b"a b", false, b" kYSBi b"),
            (b"a\r\nEN", false, b" kYQ0KRU4= b"),
        ] {
            let flags = GetFlags::parse(ANY_KEY, [&b"b"[..], b"k"].into_iter()).expect("flags");
            let told = Told { is_key_in_base64: is_stored_so, ..Told::default() };
            let mut out = Vec::new();
            write_flags(&mut out, key, &flags.common, &told);
            assert_eq!(out, expected, "{}", key.escape_ascii());
        }
    }
}

//! A note of what a string has besides its value: attributes that clients of Memcached know.
//!
//! ```text
//! f5 c1200 s w b      flags 5, a CAS of 1200 that a client gave, stale, won, key given in base64
//! ```
//! Words are in any order, and what is not told is not there. In an RDB file the text stands before
//! the key, in a field named `va`. In a stream of commands and its files it stands before the
//! command that writes the string, in an ECHO whose text begins with `varve:`. No server writes an
//! ECHO there by itself, and Redis 8.0.6 and Valkey 9.1.2 pass over both, as servers that load and
//! as replicas. A client gives and gets the same text by VARVE.NOTED and VARVE.ATTRIBUTES.

use crate::integer::{parse_u64, write_u64};
use std::num::NonZeroU64;

/// What is noted of a string besides its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeNote {
    /// Number that clients keep with the value.
    pub flags: u32,
    /// CAS that a client has given; one that a server drew means nothing elsewhere.
    pub cas: Option<NonZeroU64>,
    /// True if the value was marked as out of date.
    pub is_stale: bool,
    /// True if a client was told that it is the one to write the value anew.
    pub is_won: bool,
    /// True if the client that wrote the value gave its key in base64.
    pub is_key_in_base64: bool,
}

impl AttributeNote {
    /// Name of the field of an RDB file that has the text.
    pub const FIELD: &[u8] = b"va";
    /// Command that has the text in a stream.
    pub const COMMAND: &[u8] = b"ECHO";
    /// What stands before the text there.
    pub const BEGIN: &[u8] = b"varve:";

    /// Itself; `None` if it tells nothing.
    pub fn unless_empty(self) -> Option<AttributeNote> {
        (self != AttributeNote::default()).then_some(self)
    }

    /// The text of the command that has it in a stream.
    pub fn to_command_text(self) -> Vec<u8> {
        [AttributeNote::BEGIN, &self.to_text()].concat()
    }

    /// Returns the text that a command of a stream notes for the next one; `None` if it is another
    /// command.
    pub fn text_of<'w>(mut words: impl ExactSizeIterator<Item = &'w [u8]>) -> Option<&'w [u8]> {
        if words.len() != 2 || !words.next()?.eq_ignore_ascii_case(AttributeNote::COMMAND) {
            return None;
        }
        words.next()?.strip_prefix(AttributeNote::BEGIN)
    }

    /// Reads the text; words that are unknown are passed over. `None` if a number cannot be read.
    pub fn parse(text: &[u8]) -> Option<AttributeNote> {
        let mut attributes = AttributeNote::default();
        for word in text.split(|byte| *byte == b' ') {
            match word.split_first() {
                Some((b'f', number)) => {
                    attributes.flags = u32::try_from(parse_u64(number)?).ok()?;
                }
                Some((b'c', number)) => attributes.cas = NonZeroU64::new(parse_u64(number)?),
                Some((b's', [])) => attributes.is_stale = true,
                Some((b'w', [])) => attributes.is_won = true,
                Some((b'b', [])) => attributes.is_key_in_base64 = true,
                _ => {}
            }
        }
        Some(attributes)
    }

    /// The text, which is empty if there are none.
    pub fn to_text(self) -> Vec<u8> {
        let mut text = Vec::new();
        if self.flags > 0 {
            text.push(b'f');
            write_u64(&mut text, self.flags.into());
        }
        if let Some(cas) = self.cas {
            begin_word(&mut text, b'c');
            write_u64(&mut text, cas.get());
        }
        let marks = [(self.is_stale, b's'), (self.is_won, b'w'), (self.is_key_in_base64, b'b')];
        for (_, mark) in marks.into_iter().filter(|(is_set, _)| *is_set) {
            begin_word(&mut text, mark);
        }
        text
    }
}

fn begin_word(text: &mut Vec<u8>, letter: u8) {
    if !text.is_empty() {
        text.push(b' ');
    }
    text.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn attributes_are_told_in_few_words() {
        let cas = NonZeroU64::new(u64::MAX);
        let all = AttributeNote {
            flags: u32::MAX,
            cas,
            is_stale: true,
            is_won: true,
            is_key_in_base64: true,
        };
        assert_eq!(all.to_text(), b"f4294967295 c18446744073709551615 s w b");
        assert_eq!(AttributeNote { flags: 5, ..AttributeNote::default() }.to_text(), b"f5");
        assert_eq!(AttributeNote { is_won: true, ..AttributeNote::default() }.to_text(), b"w");
        assert_eq!(AttributeNote::default().to_text(), b"");
    }

    #[test]
    fn words_that_are_unknown_are_passed_over_and_numbers_that_are_none_are_not() {
        let told = AttributeNote { flags: 5, is_stale: true, ..AttributeNote::default() };
        assert_eq!(AttributeNote::parse(b"x9 s  sw f5 c0 q"), Some(told));
        for text in [&b"f"[..], b"f4294967296", b"f-1", b"c18446744073709551616", b"s cx"] {
            assert_eq!(AttributeNote::parse(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn an_echo_with_a_certain_begin_is_a_note() {
        let text = |words: &[&'static str]| {
            AttributeNote::text_of(words.iter().map(|word| word.as_bytes()))
        };
        assert_eq!(text(&["echo", "varve:f5 s"]), Some(&b"f5 s"[..]));
        assert_eq!(text(&["ECHO", "varve:"]), Some(&b""[..]));
        for other in [&["ECHO", "varve"][..], &["ECHO"], &["ECHO", "varve:", "x"], &["E", "varve:"]]
        {
            assert_eq!(text(other), None);
        }
    }

    proptest! {
        #[test]
        fn what_was_told_is_read(flags: u32, cas: u64, marks in any::<[bool; 3]>()) {
            let cas = NonZeroU64::new(cas);
            let [is_stale, is_won, is_key_in_base64] = marks;
            let told = AttributeNote { flags, cas, is_stale, is_won, is_key_in_base64 };
            prop_assert_eq!(AttributeNote::parse(&told.to_text()), Some(told));
        }

        #[test]
        fn whatever_stands_there_is_read_or_refused(text in any::<Vec<u8>>()) {
            let read = AttributeNote::parse(&text);
            prop_assert!(read.is_none_or(|it| AttributeNote::parse(&it.to_text()) == Some(it)));
        }
    }
}

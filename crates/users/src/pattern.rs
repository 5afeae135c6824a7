//! Patterns of keys and channels. Most are a text, or a text and `*`, and are compared as such.

use text::glob_match;

/// A pattern, as KEYS and PSUBSCRIBE have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Box<[u8]>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The text itself.
    Literal,
    /// The text before the star at its end, and anything behind it.
    Prefix,
    /// Any other.
    Glob,
}

impl Pattern {
    /// Reads a pattern; any bytes are one.
    pub fn new(text: &[u8]) -> Pattern {
        let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
        let kind = match text.iter().position(is_special) {
            None => Kind::Literal,
            Some(at) if at + 1 == text.len() && text[at] == b'*' => Kind::Prefix,
            Some(_) => Kind::Glob,
        };
        Pattern { text: text.into(), kind }
    }

    /// The bytes that it was read from.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns true for `*` itself.
    pub fn is_star(&self) -> bool {
        *self.text == *b"*"
    }

    /// Returns true if a text matches. As in Valkey, not even `*` matches the empty one.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        match (self.kind, &*self.text) {
            (Kind::Literal, own) => own == text,
            (Kind::Prefix, [prefix @ .., _]) => !text.is_empty() && text.starts_with(prefix),
            (_, own) => glob_match(own, text, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn each_kind_matches_what_a_glob_matches(
            own in "[ab*?\\[\\]\\\\]{0,4}",
            text in "[ab*]{0,4}",
        ) {
            let (own, text) = (own.as_bytes(), text.as_bytes());
            prop_assert_eq!(Pattern::new(own).matches(text), glob_match(own, text, false));
        }
    }
}

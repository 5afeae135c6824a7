//! Patterns of keys and channels. Most are a text, or a text and `*`, and are compared as such.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use text::glob_match;

/// A pattern, as KEYS and PSUBSCRIBE have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Box<[u8]>,
    kind: Kind,
    /// The first bytes that any match has, and the bits that these take: most texts that do not
    /// match differ there, and of a short prefix there is no more.
    head: u64,
    mask: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The text itself.
    Literal,
    /// The text before the star at its end, and anything behind it.
    Prefix,
    /// Anything, a text, and anything.
    Inside,
    /// Texts with stars between them.
    Pieces,
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
            Some(_) if text.iter().all(|byte| *byte == b'*' || !is_special(byte)) => {
                let stars = text.iter().filter(|byte| **byte == b'*').count();
                let is_inside = stars == 2 && text.starts_with(b"*") && text.ends_with(b"*");
                if is_inside { Kind::Inside } else { Kind::Pieces }
            }
            Some(_) => Kind::Glob,
        };
        let literal = text.iter().take_while(|byte| !is_special(byte)).count();
        let shared = if kind == Kind::Glob { 0 } else { literal.min(HEAD_BYTES) };
        let mut head = [0; HEAD_BYTES];
        head[..shared].copy_from_slice(&text[..shared]);
        let mask = u64::MAX.checked_shr(64 - 8 * shared as u32).unwrap_or(0);
        Pattern { text: text.into(), kind, head: u64::from_le_bytes(head), mask }
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
        if let Some(head) = text.first_chunk::<HEAD_BYTES>() {
            if u64::from_le_bytes(*head) & self.mask != self.head {
                return false;
            }
            if self.kind == Kind::Prefix && self.text.len() <= HEAD_BYTES + 1 {
                return true;
            }
        }
        self.matches_behind_head(text)
    }

    fn matches_behind_head(&self, text: &[u8]) -> bool {
        match (self.kind, &*self.text) {
            (Kind::Literal, own) => own == text,
            (Kind::Prefix, [prefix @ .., _]) => !text.is_empty() && text.starts_with(prefix),
            (Kind::Inside, [_, piece @ .., _]) if !text.is_empty() => find(text, piece).is_some(),
            (Kind::Pieces, own) if !text.is_empty() => has_pieces(own, text),
            (_, own) => glob_match(own, text, false),
        }
    }
}

/// Returns true if a text has what stands between the stars of a pattern, in this order: each piece
/// at the first place where it is found.
fn has_pieces(pattern: &[u8], text: &[u8]) -> bool {
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(mut piece) = pieces.next() else { return rest.is_empty() };
    for next in pieces {
        let Some(at) = find(rest, piece) else { return false };
        rest = &rest[at + piece.len()..];
        piece = next;
    }
    rest.ends_with(piece)
}

/// Returns the first place of a piece in a text.
#[inline]
fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    let Some(first) = piece.first() else { return Some(0) };
    if text.len() > SHORT_BYTES {
        return memchr::memmem::find(text, piece);
    }
    for (at, byte) in text.iter().enumerate() {
        if byte == first && text[at..].starts_with(piece) {
            return Some(at);
        }
    }
    None
}

/// Up to so many bytes a search is not worth its preparation.
const SHORT_BYTES: usize = 64;

/// Bytes that are compared at once.
const HEAD_BYTES: usize = 8;

/// Texts of many patterns, by their hashes, so that one that is added again is found at once. Few
/// are compared one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "users are many, and few of them have many patterns")]
pub struct Known(Option<Box<HashMap<u64, usize>>>);

/// Number of patterns up to which they are compared one by one.
const FEW: usize = 64;

impl Known {
    /// Of no patterns.
    pub const NONE: Known = Known(None);

    /// Returns the place of a text among patterns whose texts `text_at` tells, of which there are
    /// `len`. If it is none of them, it is noted as the next one.
    pub fn place<'p>(
        &mut self,
        text: &[u8],
        len: usize,
        text_at: impl Fn(usize) -> &'p [u8],
    ) -> Option<usize> {
        let one_by_one = || (0..len).find(|at| text_at(*at) == text);
        if len < FEW {
            return one_by_one();
        }
        let places = self.0.get_or_insert_with(|| {
            let places = (0..len).map(|at| (hash_of(text_at(at)), at));
            Box::new(places.collect())
        });
        match places.entry(hash_of(text)) {
            Entry::Vacant(entry) => {
                entry.insert(len);
                None
            }
            Entry::Occupied(entry) => {
                let at = *entry.get();
                // Two texts of one hash are as rare as that; then the others are looked at too.
                if text_at(at) == text { Some(at) } else { one_by_one() }
            }
        }
    }
}

fn hash_of(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert_eq, proptest};

    #[test]
    fn a_pattern_that_is_added_again_is_found_however_many_there_are() {
        let (mut known, mut texts) = (Known::NONE, Vec::<Vec<u8>>::new());
        for number in (0..200).chain(0..200).map(|number: u32| number.to_string().into_bytes()) {
            let place = known.place(&number, texts.len(), |at| &texts[at]);
            assert_eq!(place, texts.iter().position(|text| *text == number));
            texts.extend(place.is_none().then_some(number));
        }
        assert_eq!(texts.len(), 200);
    }

    proptest! {
        #[test]
        fn each_kind_matches_what_a_glob_matches(
            own in "[ab*?\\[\\]\\\\]{0,4}",
            text in "[ab*]{0,4}",
        ) {
            let (own, text) = (own.as_bytes(), text.as_bytes());
            prop_assert_eq!(Pattern::new(own).matches(text), glob_match(own, text, false));
        }

        #[test]
        fn long_ones_do_so_too(
            own in "(a{0,10}|[ab]{0,3})[*]{0,2}([ab]{1,3}[*]){0,3}[ab]{0,3}",
            text in "(a{0,12}|[ab]{0,100})[ab]{0,12}",
        ) {
            let (own, text) = (own.as_bytes(), text.as_bytes());
            prop_assert_eq!(Pattern::new(own).matches(text), glob_match(own, text, false));
        }
    }
}

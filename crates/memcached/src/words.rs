//! Words of a line, parted by blanks alone.

use memchr::memchr;
use wire::Span;

/// Most bytes of a key.
pub const KEY_BYTES_MAX: usize = 250;
/// Returns true if a line can name a key as it is: nothing in it parts words or ends the line.
pub fn is_word(key: &[u8]) -> bool {
    !key.iter().any(|byte| matches!(byte, b' ' | b'\r' | b'\n'))
}

/// Words of a line that are looked at: what is behind them means nothing.
pub(crate) const WORDS_MAX: usize = 23;

/// Returns the place of the word that begins at `at` or behind the blanks there.
#[inline(always)]
pub(crate) fn next_word(line: &[u8], mut at: usize) -> Option<Span> {
    while line.get(at) == Some(&b' ') {
        at += 1;
    }
    let rest = line.get(at..).filter(|rest| !rest.is_empty())?;
    let len = memchr(b' ', rest).unwrap_or(rest.len());
    Some(Span { start: narrow::to_u32(at), len: narrow::to_u32(len) })
}

/// Returns the offset behind a word.
#[inline(always)]
pub(crate) fn end_of(word: Span) -> usize {
    word.start as usize + word.len as usize
}

/// Words of a line other than one of keys.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    line: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Words<'a> {
    /// Appends the places of the words of a line whose first word is `first`. Returns the words.
    #[inline]
    pub(crate) fn split(line: &'a [u8], first: Span, spans: &'a mut Vec<Span>) -> Words<'a> {
        let before = spans.len();
        let mut next = Some(first);
        while let Some(word) = next {
            if spans.len() - before == WORDS_MAX {
                break;
            }
            spans.push(word);
            next = next_word(line, end_of(word));
        }
        Words { line, spans: &spans[before..] }
    }

    /// Returns the number of words, at most [`WORDS_MAX`].
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns a word; empty if there is none.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> &'a [u8] {
        self.spans.get(at).map(|word| word.of(self.line)).unwrap_or_default()
    }

    /// Returns true if blanks stand before the first word.
    pub(crate) fn are_indented(&self) -> bool {
        self.line.first() == Some(&b' ')
    }

    /// Returns the words behind the first `at`.
    #[inline]
    pub(crate) fn behind(&self, at: usize) -> impl Iterator<Item = &'a [u8]> + Clone {
        let line = self.line;
        self.spans.get(at..).unwrap_or_default().iter().map(move |word| word.of(line))
    }

    /// Returns the last word; empty if there is none.
    #[inline]
    pub(crate) fn last(&self) -> &'a [u8] {
        self.get(self.len().saturating_sub(1))
    }

    /// Returns true if the client wants no reply.
    #[inline]
    pub(crate) fn end_with_noreply(&self) -> bool {
        self.last() == b"noreply"
    }
}

//! The arguments of a request, where they lie in the connection's buffer.

use crate::refusal::Refusal;
use wire::Span;

/// The words of a request, the command's name first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'c> {
    request: &'c [u8],
    spans: &'c [Span],
}

impl<'c> Args<'c> {
    /// The words that `spans` cut out of `request`.
    #[inline]
    pub fn new(request: &'c [u8], spans: &'c [Span]) -> Args<'c> {
        Args { request, spans }
    }

    /// Words, the name included.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a request has at least its name")]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The word at `at`; empty beyond the end.
    #[inline]
    pub fn get(&self, at: usize) -> &'c [u8] {
        self.spans.get(at).map_or(&[], |span| span.of(self.request))
    }

    /// The words from `at` on.
    pub fn from(self, at: usize) -> impl DoubleEndedIterator<Item = &'c [u8]> + ExactSizeIterator {
        let spans = self.spans.get(at..).unwrap_or(&[]);
        spans.iter().map(move |span| span.of(self.request))
    }

    /// Whether the word at `at` is `word`, in upper or lower case. False beyond the end.
    pub fn is(&self, at: usize, word: &str) -> bool {
        at < self.len() && self.get(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// The word at `at` as an integer.
    ///
    /// # Errors
    /// When it is none, or out of the range of 64 bits.
    #[inline]
    pub fn integer(&self, at: usize) -> Result<i64, Refusal> {
        text::parse_i64(self.get(at)).ok_or(Refusal::NOT_INTEGER)
    }

    /// All bytes of the words, for reserving room before locks are taken.
    #[inline]
    pub fn bytes(&self) -> usize {
        // The words lie in order, so the last one's end is close to their sum.
        self.spans.last().map_or(0, |span| span.start as usize + span.len as usize)
    }
}

//! The arguments of a request, where they lie in the connection's buffer.

use crate::refusal::Refusal;
use wire::Span;

/// The arguments of a request, the command's name first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'c> {
    request: &'c [u8],
    spans: &'c [Span],
}

impl<'c> Args<'c> {
    /// The arguments that `spans` cut out of `request`.
    #[inline]
    pub fn new(request: &'c [u8], spans: &'c [Span]) -> Args<'c> {
        Args { request, spans }
    }

    /// Arguments, the name included.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a request has at least its name")]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The argument at `at`; empty beyond the end.
    #[inline]
    pub fn get(&self, at: usize) -> &'c [u8] {
        self.spans.get(at).map_or(&[], |span| span.of(self.request))
    }

    /// The first sixteen bytes of the name, zeros behind it.
    #[inline]
    pub(crate) fn name_bytes(&self) -> u128 {
        let Some(span) = self.spans.first() else { return 0 };
        let (start, len) = (span.start as usize, span.len as usize);
        // The name is followed by other arguments mostly, so all sixteen can be read at once.
        if let (Some(bytes), 1..16) = (self.request.get(start..start + 16), len) {
            let bytes = bytes.try_into().map_or(0, u128::from_le_bytes);
            return bytes & ((1 << (8 * len)) - 1);
        }
        let mut bytes = [0; 16];
        let name = span.of(self.request);
        let len = name.len().min(16);
        bytes[..len].copy_from_slice(&name[..len]);
        u128::from_le_bytes(bytes)
    }

    /// The arguments from `at` on.
    pub fn from(
        self,
        at: usize,
    ) -> impl DoubleEndedIterator<Item = &'c [u8]> + ExactSizeIterator + Clone {
        let spans = self.spans.get(at..).unwrap_or(&[]);
        spans.iter().map(move |span| span.of(self.request))
    }

    /// Whether the argument at `at` is `word`, in upper or lower case. False beyond the end.
    pub fn is(&self, at: usize, word: &str) -> bool {
        at < self.len() && self.get(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// The argument at `at` as an integer.
    ///
    /// # Errors
    /// When it is none, or out of the range of 64 bits.
    #[inline]
    pub fn integer(&self, at: usize) -> Result<i64, Refusal> {
        text::parse_i64(self.get(at)).ok_or(Refusal::NOT_INTEGER)
    }

    /// The argument at `at` as an integer above `low`.
    ///
    /// # Errors
    /// When it is none, or not above.
    pub fn integer_above(&self, at: usize, low: i64) -> Result<i64, Refusal> {
        let value = self.integer(at)?;
        if value > low { Ok(value) } else { Err(Refusal::new(out_of_range(low + 1))) }
    }

    /// The argument at `at` as a number that is not negative.
    ///
    /// # Errors
    /// When it is none.
    pub fn positive(&self, at: usize) -> Result<u64, Refusal> {
        self.positive_or(at, "ERR value is out of range, must be positive")
    }

    /// The same, with the text of the error for all that is wrong.
    ///
    /// # Errors
    /// When it is no number, or negative.
    pub fn positive_or(&self, at: usize, otherwise: &'static str) -> Result<u64, Refusal> {
        let value = text::parse_i64(self.get(at)).and_then(|value| u64::try_from(value).ok());
        value.ok_or(Refusal::of(otherwise))
    }

    /// The argument at `at` as a number from one on.
    ///
    /// # Errors
    /// When it is none.
    pub fn at_least_one(&self, at: usize, otherwise: &'static str) -> Result<u64, Refusal> {
        let value = self.positive_or(at, otherwise)?;
        if value > 0 { Ok(value) } else { Err(Refusal::of(otherwise)) }
    }

    /// All bytes of the arguments, for reserving room before locks are taken.
    #[inline]
    pub fn bytes(&self) -> usize {
        // The arguments lie in order, so the last one's end is close to their sum.
        self.spans.last().map_or(0, |span| span.start as usize + span.len as usize)
    }
}

/// What is told of an integer that is too small.
fn out_of_range(least: i64) -> String {
    format!("ERR value is out of range, value must between {least} and {}", i64::MAX)
}

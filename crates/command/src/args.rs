//! Arguments of a request, read in place from the connection's buffer.

use crate::refusal::Refusal;
use wire::Span;

/// The arguments of a request, the command's name first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'c> {
    request: &'c [u8],
    spans: &'c [Span],
}

impl<'c> Args<'c> {
    /// Creates the arguments that `spans` mark in `request`.
    #[inline]
    pub fn new(request: &'c [u8], spans: &'c [Span]) -> Args<'c> {
        Args { request, spans }
    }

    /// Number of arguments, the name included.
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

    /// Returns the first sixteen bytes of the name, padded with zeros, as a little-endian number.
    #[inline]
    pub(crate) fn name_bytes(&self) -> u128 {
        let Some(span) = self.spans.first() else { return 0 };
        let (start, len) = (span.start as usize, span.len as usize);
        // Other arguments mostly follow the name, so all sixteen bytes can be read at once.
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

    /// Returns true if the argument at `at` is `word`, ignoring ASCII case; false beyond the end.
    pub fn is(&self, at: usize, word: &str) -> bool {
        at < self.len() && self.get(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// The argument at `at` as an integer.
    ///
    /// # Errors
    /// When it is no integer, or out of the range of 64 bits.
    #[inline]
    pub fn integer(&self, at: usize) -> Result<i64, Refusal> {
        text::parse_i64(self.get(at)).ok_or(Refusal::NOT_INTEGER)
    }

    /// The argument at `at` as an integer above `low`.
    ///
    /// # Errors
    /// When it is no integer, or not above `low`.
    pub fn integer_above(&self, at: usize, low: i64) -> Result<i64, Refusal> {
        let value = self.integer(at)?;
        if value > low { Ok(value) } else { Err(Refusal::new(out_of_range(low + 1))) }
    }

    /// The argument at `at` as an integer that is not negative.
    ///
    /// # Errors
    /// When it is no such integer.
    pub fn positive(&self, at: usize) -> Result<u64, Refusal> {
        self.positive_or(at, "ERR value is out of range, must be positive")
    }

    /// The argument at `at` as an integer that is not negative; `otherwise` is the text of any
    /// error.
    ///
    /// # Errors
    /// When it is no integer, or negative.
    pub fn positive_or(&self, at: usize, otherwise: &'static str) -> Result<u64, Refusal> {
        let value = text::parse_i64(self.get(at)).and_then(|value| u64::try_from(value).ok());
        value.ok_or(Refusal::of(otherwise))
    }

    /// The argument at `at` as an integer of at least one; `otherwise` is the text of any error.
    ///
    /// # Errors
    /// When it is no such integer.
    pub fn at_least_one(&self, at: usize, otherwise: &'static str) -> Result<u64, Refusal> {
        let value = self.positive_or(at, otherwise)?;
        if value > 0 { Ok(value) } else { Err(Refusal::of(otherwise)) }
    }

    /// Returns approximately the total bytes of the arguments, by which memory is reserved before
    /// locks are taken.
    #[inline]
    pub fn bytes(&self) -> usize {
        // The arguments lie in order, so the last one's end is close to their sum.
        self.spans.last().map_or(0, |span| span.start as usize + span.len as usize)
    }
}

/// Returns the error text for an integer below `least`.
fn out_of_range(least: i64) -> String {
    format!("ERR value is out of range, value must between {least} and {}", i64::MAX)
}

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
    pub fn name_bytes(&self) -> u128 {
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

    /// The arguments behind the first `count`.
    pub fn behind(self, count: usize) -> Args<'c> {
        Args { spans: self.spans.get(count..).unwrap_or(&[]), ..self }
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

    /// Appends copies of the request and of the places of its arguments in it.
    pub fn copy_to(&self, bytes: &mut Vec<u8>, spans: &mut Vec<Span>) {
        // The line end behind the last word belongs to the request; an inline one has none.
        let end = self.bytes().min(self.request.len());
        let end = if self.as_request().is_some() { end + 2 } else { end };
        bytes.extend_from_slice(&self.request[..end]);
        spans.extend_from_slice(self.spans);
    }

    /// Appends the request in RESP, as its bytes came unless it was an inline one. It is out of the
    /// way of commands that nobody hears of.
    #[inline(never)]
    pub fn write_request(&self, to: &mut Vec<u8>) {
        match self.as_request() {
            Some(bytes) => to.extend_from_slice(bytes),
            None => self.write_out(to),
        }
    }

    /// Appends a request of the arguments from an index on.
    pub fn write_request_from(&self, first: usize, to: &mut Vec<u8>) {
        write_words(self.from(first), to);
    }

    #[cold]
    fn write_out(&self, to: &mut Vec<u8>) {
        write_words(self.from(0), to);
    }

    /// The bytes of the request, if it came as an array of bulks: headers stand before its words.
    /// They are those that `write_out` would write, as no length can be spelled in two ways.
    #[inline]
    fn as_request(&self) -> Option<&'c [u8]> {
        let (first, last) = (self.spans.first()?, self.spans.last()?);
        let end = last.start as usize + last.len as usize + 2;
        self.request.get(..end).filter(|_| first.start > 0)
    }

    /// Returns a number of bytes that the arguments do not exceed: those that came with the request
    /// and behind it.
    #[inline]
    pub fn bytes_at_most(&self) -> usize {
        self.request.len()
    }

    /// Returns the bytes of the request as it came; an inline one is taken to have one blank
    /// between words.
    pub fn request_bytes(&self) -> usize {
        let of_words = || self.from(0).map(|word| word.len() + 1).sum::<usize>() + 1;
        self.as_request().map_or_else(of_words, <[u8]>::len)
    }

    /// Returns approximately the total bytes of the arguments, by which memory is reserved before
    /// locks are taken.
    #[inline]
    pub fn bytes(&self) -> usize {
        // The arguments lie in order, so the last one's end is close to their sum.
        self.spans.last().map_or(0, |span| span.start as usize + span.len as usize)
    }
}

/// Appends the request of these words in RESP, and where they lie in it.
pub fn write_request(words: &[&[u8]], request: &mut Vec<u8>, spans: &mut Vec<Span>) {
    write_header(b'*', words.len(), request);
    for word in words {
        write_header(b'$', word.len(), request);
        spans.push(Span { start: narrow::to_u32(request.len()), len: narrow::to_u32(word.len()) });
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
}

/// Appends the request of these words in RESP.
pub(crate) fn write_words<'w>(words: impl ExactSizeIterator<Item = &'w [u8]>, to: &mut Vec<u8>) {
    write_header(b'*', words.len(), to);
    for word in words {
        write_header(b'$', word.len(), to);
        to.extend_from_slice(word);
        to.extend_from_slice(b"\r\n");
    }
}

#[inline]
fn write_header(mark: u8, length: usize, to: &mut Vec<u8>) {
    if length < 10 {
        return to.extend_from_slice(&[mark, b'0' + narrow::low_u8(length as u64), b'\r', b'\n']);
    }
    to.push(mark);
    to.extend_from_slice(text::IntegerText::new().format_unsigned(length as u64));
    to.extend_from_slice(b"\r\n");
}

/// Returns the error text for an integer below `least`.
fn out_of_range(least: i64) -> String {
    format!("ERR value is out of range, value must between {least} and {}", i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Limits, Progress, RequestParser};

    /// Parses a request, and returns how it is written and whether that was a copy.
    fn written(request: &[u8]) -> (String, bool) {
        let (mut spans, mut bytes) = (Vec::new(), Vec::new());
        let parsed = RequestParser::new().parse(request, &mut spans, &Limits::default());
        let words = match parsed.expect("a request") {
            Progress::Inline { arguments, .. } => arguments,
            progress => {
                assert_eq!(progress, Progress::Complete { consumed: request.len() });
                let args = Args::new(request, &spans);
                args.write_request(&mut bytes);
                let text = String::from_utf8(bytes).expect("text");
                return (text, args.as_request().is_some());
            }
        };
        let (request, spans) = (words.concat(), Span::of_joined(&words));
        let args = Args::new(&request, &spans);
        args.write_request(&mut bytes);
        (String::from_utf8(bytes).expect("text"), args.as_request().is_some())
    }

    #[test]
    fn a_request_is_copied_as_it_came_unless_it_was_an_inline_one() {
        let plain = "*2\r\n$3\r\nGET\r\n$10\r\n0123456789\r\n";
        assert_eq!(written(plain.as_bytes()), (plain.to_owned(), true));
        let empty = "*2\r\n$3\r\nGET\r\n$0\r\n\r\n";
        assert_eq!(written(empty.as_bytes()), (empty.to_owned(), true));
        assert_eq!(written(b"GET 0123456789\r\n"), (plain.to_owned(), false));
        assert_eq!(written(b"\"*2\" \"\"\r\n"), ("*2\r\n$2\r\n*2\r\n$0\r\n\r\n".to_owned(), false));
    }

    #[test]
    fn the_bytes_of_an_array_are_those_that_would_be_written() {
        let lengths =
            ["1", "2", "9", "10", "99", "100", "999", "1000", "01", "+1", "1 ", "001", "010"];
        for (count, len) in lengths.iter().flat_map(|count| lengths.map(|len| (count, len))) {
            let words: usize = count.trim().trim_start_matches(['0', '+']).parse().expect("digits");
            let bytes: usize = len.trim().trim_start_matches(['0', '+']).parse().expect("digits");
            let word = format!("${len}\r\n{}\r\n", "x".repeat(bytes));
            let request = format!("*{count}\r\n{}", word.repeat(words)).into_bytes();
            let mut spans = Vec::new();
            let parsed = RequestParser::new().parse(&request, &mut spans, &Limits::default());
            if parsed.is_err() {
                continue;
            }
            let mut out = Vec::new();
            let args = Args::new(&request, &spans);
            args.write_out(&mut out);
            assert_eq!(Some(&out[..]), args.as_request(), "*{count} ${len}");
        }
    }
}

//! Requests: multibulk in place, inline through the rules of quoted words.
//!
//! A request that is complete in the buffer, the common case, leaves nothing behind in the parser.
//! One that is still arriving leaves its finished arguments and its position in a box, so that
//! bytes are not read again for each piece that arrives, and an idle parser is one pointer long.

use crate::ProtocolError;
use crate::lengths::{Line, find_line, take_short};

/// Limits of a client's requests.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of one argument.
    pub bulk_bytes_max: u64,
    /// Most arguments of one request.
    pub arguments_max: u64,
    /// Most bytes of an inline request, and of any line that holds a count.
    pub inline_bytes_max: usize,
    /// True if the client may send requests of any size within the limits above. Before, ten
    /// arguments of 16 KiB are enough for the requests that authenticate.
    pub authenticated: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bulk_bytes_max: 512 << 20,
            arguments_max: i32::MAX as u64,
            inline_bytes_max: 64 << 10,
            authenticated: true,
        }
    }
}

impl Limits {
    #[inline(always)]
    fn check_count(&self, count: u64) -> Result<(), ProtocolError> {
        if count > self.arguments_max {
            return Err(ProtocolError::ArgumentCountInvalid);
        }
        if count > UNAUTHENTICATED_ARGUMENTS_MAX && !self.authenticated {
            return Err(ProtocolError::ArgumentCountUnauthenticated);
        }
        Ok(())
    }

    #[inline(always)]
    fn check_bulk(&self, len: u64) -> Result<(), ProtocolError> {
        if len > self.bulk_bytes_max {
            return Err(ProtocolError::BulkLengthInvalid);
        }
        if len > UNAUTHENTICATED_BULK_BYTES_MAX && !self.authenticated {
            return Err(ProtocolError::BulkLengthUnauthenticated);
        }
        Ok(())
    }
}

/// Place of an argument, in bytes from the first byte of its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// Returns the argument's bytes in `request`, which begins where the parsed input began; empty
    /// if `request` is too short.
    #[inline]
    pub fn of<'a>(&self, request: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize;
        request.get(start..start + self.len as usize).unwrap_or_default()
    }

    /// Returns the places of words that stand one behind the other with nothing in between, as
    /// `concat` joins them. Together they take less than 4 GiB.
    pub fn of_joined(words: &[impl AsRef<[u8]>]) -> Vec<Span> {
        let mut start = 0;
        let lengths = words.iter().map(|word| narrow::to_u32(word.as_ref().len()));
        let spans = lengths.map(|len| {
            let span = Span { start, len };
            start += len;
            span
        });
        spans.collect()
    }
}

/// Result of parsing a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The request is complete; its arguments are in the spans. The next one begins after
    /// `consumed` bytes.
    Complete {
        /// Bytes that the request took.
        consumed: usize,
    },
    /// The request was a line with at least one word; nothing was added to the spans.
    Inline {
        /// Bytes that the line took.
        consumed: usize,
        /// The words, without their quotes.
        arguments: Vec<Vec<u8>>,
    },
    /// The request goes on beyond the input.
    Incomplete {
        /// Bytes that are known to be missing, at least 1: a hint for reading. It rests on what the
        /// client announced, so it may reach the limit of an argument: do not allocate that much at
        /// once.
        wanted: usize,
    },
}

/// Parser that finds the arguments of one request after the other. Any result but
/// [`Progress::Incomplete`] leaves it ready for the next request.
#[derive(Default, Debug)]
pub struct RequestParser {
    unfinished: Option<Box<Unfinished>>,
}

impl RequestParser {
    /// Returns a parser at the beginning of a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if part of a request was parsed and the rest is awaited.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Returns the bytes that are missing of an argument whose length was announced, given that
    /// `received` bytes of its request are there: a hint, as the client chose the length.
    pub fn announced(&self, received: usize) -> usize {
        match self.unfinished.as_deref() {
            Some(Unfinished { at, stage: Stage::Body(len), .. }) => {
                (at + len + LINE_END_LEN).saturating_sub(received)
            }
            _ => 0,
        }
    }

    /// Returns the arguments of an unfinished request that are whole, and the length of the one
    /// that is arriving behind them; `None` while that is not known.
    pub fn arriving(&self) -> Option<(&[Span], usize)> {
        match self.unfinished.as_deref() {
            Some(Unfinished { spans, stage: Stage::Body(len), .. }) => Some((spans, *len)),
            _ => None,
        }
    }

    /// Leaves the bytes of the argument that is arriving to the caller: the request goes on as if
    /// that was empty, with its line end.
    pub fn leave_out(&mut self) {
        if let Some(Unfinished { stage: Stage::Body(len), .. }) = self.unfinished.as_deref_mut() {
            *len = 0;
        }
    }

    /// Returns the bytes of an unfinished request that were parsed: arguments that are whole, and
    /// lengths.
    pub fn taken(&self) -> usize {
        self.unfinished.as_ref().map_or(0, |unfinished| unfinished.at)
    }

    /// Returns the bytes of memory held for an unfinished request, to be counted for its
    /// connection.
    pub fn heap_bytes(&self) -> usize {
        self.unfinished.as_ref().map_or(0, |unfinished| {
            size_of::<Unfinished>() + unfinished.spans.capacity() * size_of::<Span>()
        })
    }

    /// Reads the request at the start of `input`; after [`Progress::Incomplete`], call again with
    /// the same bytes and more. The spans of a whole request are appended to `spans`; a request
    /// without arguments adds none.
    ///
    /// The result does not depend on the pieces in which the bytes arrive.
    ///
    /// # Errors
    /// When the input is not a valid request; `spans` is unchanged.
    #[inline]
    pub fn parse(
        &mut self,
        input: &[u8],
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Result<Progress, ProtocolError> {
        if self.unfinished.is_none() {
            let spans_before = spans.len();
            if let Some(consumed) = parse_whole(input, spans, limits) {
                return Ok(Progress::Complete { consumed });
            }
            spans.truncate(spans_before);
        }
        self.parse_rest(input, spans, limits)
    }

    /// Parses everything but a multibulk request that is complete and within the limits.
    #[inline(never)]
    fn parse_rest(
        &mut self,
        input: &[u8],
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Result<Progress, ProtocolError> {
        let Some(first) = input.first() else { return Ok(Progress::Incomplete { wanted: 1 }) };
        let mut unfinished = self.unfinished.take().unwrap_or_default();
        let progress = if *first == b'*' {
            unfinished.advance(input, spans, limits)?
        } else {
            unfinished.advance_inline(input, limits)?
        };
        if matches!(progress, Progress::Incomplete { .. }) {
            self.unfinished = Some(unfinished);
        }
        Ok(progress)
    }
}

/// Reads a multibulk request that lies whole in `input`; `None`, with some spans pushed, for
/// anything else.
#[inline]
fn parse_whole(input: &[u8], spans: &mut Vec<Span>, limits: &Limits) -> Option<usize> {
    let input = input.get(..REQUEST_BYTES_MAX).unwrap_or(input);
    let (count, mut rest) = take_length(input, b'*', limits)?;
    limits.check_count(count as u64).ok()?;
    for _ in 0..count {
        let (len, body) = take_length(rest, b'$', limits)?;
        limits.check_bulk(len as u64).ok()?;
        let [b'\r', b'\n', tail @ ..] = body.get(len..)? else { return None };
        spans.push(Span {
            start: narrow::to_u32(input.len() - body.len()),
            len: narrow::to_u32(len),
        });
        rest = tail;
    }
    Some(input.len() - rest.len())
}

/// Takes a line with a count or a length; `None` unless it is whole and well formed.
#[inline(always)]
fn take_length<'a>(input: &'a [u8], prefix: u8, limits: &Limits) -> Option<(usize, &'a [u8])> {
    take_short(input, prefix).or_else(|| take_long(input, prefix, limits))
}

#[inline(never)]
fn take_long<'a>(input: &'a [u8], prefix: u8, limits: &Limits) -> Option<(usize, &'a [u8])> {
    let window = &input[..input.len().min(LENGTH_LINE_BYTES_MAX)];
    let Ok(Line::Whole([first, digits @ ..], taken)) =
        find_line(window, 0, limits.inline_bytes_max, ProtocolError::LineEndInvalid)
    else {
        return None;
    };
    let value = text::parse_u64(digits).filter(|_| *first == prefix)?;
    Some((usize::try_from(value).ok()?, input.get(taken..)?))
}

/// State of a request that is still arriving.
#[derive(Default, Debug)]
struct Unfinished {
    /// Arguments that have arrived; they take more bytes in the stream than here.
    spans: Vec<Span>,
    /// Offset of the first byte not taken yet.
    at: usize,
    /// Number of bytes from there on that are known to hold no line end.
    searched: usize,
    /// Number of arguments that have not arrived, once their count is known.
    remaining: u64,
    stage: Stage,
}

/// Element of a request that begins at the first byte not taken.
#[derive(Clone, Copy, Default, Debug)]
enum Stage {
    #[default]
    Count,
    Length,
    Body(usize),
}

impl Unfinished {
    /// Continues a multibulk request.
    fn advance(
        &mut self,
        input: &[u8],
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Result<Progress, ProtocolError> {
        loop {
            let wanted = match self.stage {
                Stage::Count => self.take_count(input, limits)?,
                Stage::Length if self.remaining == 0 => {
                    spans.append(&mut self.spans);
                    return Ok(Progress::Complete { consumed: self.at });
                }
                Stage::Length => self.take_bulk_length(input, limits)?,
                Stage::Body(len) => self.take_body(input, len)?,
            };
            if let Some(wanted) = wanted {
                return Ok(Progress::Incomplete { wanted });
            }
        }
    }

    /// Takes the line with the number of arguments, or returns the number of bytes wanted for it.
    fn take_count(
        &mut self,
        input: &[u8],
        limits: &Limits,
    ) -> Result<Option<usize>, ProtocolError> {
        let too_long = ProtocolError::ArgumentCountTooLong;
        let (line, taken) =
            match find_line(input, self.searched, limits.inline_bytes_max, too_long)? {
                Line::Open(searched) => return Ok(self.wait_for_line(input, searched)),
                Line::Torn => return Err(ProtocolError::LineEndInvalid),
                Line::Whole(line, taken) => (line, taken),
            };
        let count =
            line.get(1..).and_then(text::parse_i64).ok_or(ProtocolError::ArgumentCountInvalid)?;
        self.remaining = u64::try_from(count).unwrap_or(0);
        limits.check_count(self.remaining)?;
        self.go_to(taken, Stage::Length);
        Ok(None)
    }

    /// Takes the line with the length of an argument, or returns the number of bytes wanted for it.
    fn take_bulk_length(
        &mut self,
        input: &[u8],
        limits: &Limits,
    ) -> Result<Option<usize>, ProtocolError> {
        let rest = input.get(self.at..).unwrap_or_default();
        let too_long = ProtocolError::BulkLengthTooLong;
        let line = find_line(rest, self.searched, limits.inline_bytes_max, too_long)?;
        if let Line::Open(searched) = line {
            return Ok(self.wait_for_line(input, searched));
        }
        // The first byte is checked once the line has ended but before its line end is, as clients'
        // tests expect.
        if let Some(first) = rest.first().filter(|first| **first != b'$') {
            return Err(ProtocolError::BulkExpected(*first));
        }
        let Line::Whole(line, taken) = line else { return Err(ProtocolError::LineEndInvalid) };
        let len = line.get(1..).and_then(text::parse_i64).and_then(|len| u64::try_from(len).ok());
        let len = len.ok_or(ProtocolError::BulkLengthInvalid)?;
        limits.check_bulk(len)?;
        let at = self.at + taken;
        let len = usize::try_from(len).map_err(|_| ProtocolError::RequestTooLong)?;
        if len.saturating_add(at).saturating_add(LINE_END_LEN) > REQUEST_BYTES_MAX {
            return Err(ProtocolError::RequestTooLong);
        }
        self.go_to(at, Stage::Body(len));
        Ok(None)
    }

    /// Takes an argument with its line end, or returns the number of bytes wanted for it.
    fn take_body(&mut self, input: &[u8], len: usize) -> Result<Option<usize>, ProtocolError> {
        let end = self.at + len;
        let Some(line_end) = input.get(end..end + LINE_END_LEN) else {
            return Ok(Some((end + LINE_END_LEN).saturating_sub(input.len()).max(1)));
        };
        if line_end != b"\r\n" {
            return Err(ProtocolError::LineEndInvalid);
        }
        self.spans.push(Span { start: narrow::to_u32(self.at), len: narrow::to_u32(len) });
        self.remaining -= 1;
        self.go_to(end + LINE_END_LEN, Stage::Length);
        Ok(None)
    }

    /// Continues an inline request.
    fn advance_inline(&mut self, input: &[u8], limits: &Limits) -> Result<Progress, ProtocolError> {
        let window = &input[..input.len().min(limits.inline_bytes_max.saturating_add(1))];
        let searched = self.searched.min(window.len());
        let Some(found) = memchr::memchr(b'\n', &window[searched..]) else {
            if input.len() > limits.inline_bytes_max {
                return Err(ProtocolError::InlineTooLong);
            }
            self.searched = input.len();
            return Ok(Progress::Incomplete { wanted: 1 });
        };
        let end = searched + found;
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        let arguments = text::split_args(line).ok_or(ProtocolError::UnbalancedQuotes)?;
        let consumed = end + 1;
        if arguments.is_empty() {
            return Ok(Progress::Complete { consumed });
        }
        Ok(Progress::Inline { consumed, arguments })
    }

    fn wait_for_line(&mut self, input: &[u8], searched: usize) -> Option<usize> {
        self.searched = searched;
        // Either only the line feed is missing, or carriage return and line feed are.
        let carriage_return = self.at + searched < input.len();
        Some(if carriage_return { 1 } else { LINE_END_LEN })
    }

    fn go_to(&mut self, at: usize, stage: Stage) {
        self.at = at;
        self.searched = 0;
        self.stage = stage;
    }
}

const UNAUTHENTICATED_ARGUMENTS_MAX: u64 = 10;
const UNAUTHENTICATED_BULK_BYTES_MAX: u64 = 16 << 10;
const LINE_END_LEN: usize = 2;
/// Bytes enough for a prefix, the digits of any length and the line end.
const LENGTH_LINE_BYTES_MAX: usize = 24;
/// Most bytes of a request, as spans count in 32 bits.
const REQUEST_BYTES_MAX: usize = u32::MAX as usize;
const _: () = assert!(size_of::<RequestParser>() == size_of::<usize>());
const _: () = assert!(size_of::<Span>() == 8);

#[cfg(test)]
mod tests;

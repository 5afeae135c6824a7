//! Replies, appended to a connection's output in the protocol it speaks.
//!
//! Each method writes one element. An aggregate (`array`, `map`, ...) announces how many follow;
//! the caller writes them. A reply may have a limit: nothing is written from the element on with
//! which it would exceed the limit, and [`Reply::is_over_limit`] returns true from then on. The
//! output is no complete reply then, and must not be sent.

use crate::{Lent, LentBytes};

mod deferred;

pub use deferred::Mark;

/// Version of the protocol that a connection has chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// Strings, integers, errors and arrays.
    #[default]
    Resp2,
    /// Adds maps, sets, doubles, booleans, pushes and more.
    Resp3,
}

/// Writes the elements of replies at the end of `out`.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    /// Largest length of `out`, nearly; zero once the reply is over its limit.
    most: usize,
    protocol: Protocol,
    /// What is left out of `out`; `None` if everything is to be written there.
    lent: Option<&'a mut Lent>,
}

impl<'a> Reply<'a> {
    /// Returns a writer that appends to `out`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self::with_limit(out, protocol, usize::MAX)
    }

    /// Returns a writer that appends to `out`, for a reply with which `out` holds no more than
    /// `most` bytes, but for some headers and numbers. `most` is not zero.
    #[inline]
    pub fn with_limit(out: &'a mut Vec<u8>, protocol: Protocol, most: usize) -> Self {
        debug_assert!(most > 0, "a limit of zero says that a reply was over its limit");
        Self { out, most, protocol, lent: None }
    }

    /// Lets long bytes be lent instead of written.
    #[inline]
    pub fn lending(self, lent: &'a mut Lent) -> Self {
        Self { lent: Some(lent), ..self }
    }

    /// Returns true if the reply went beyond its limit.
    #[inline]
    pub fn is_over_limit(&self) -> bool {
        self.most == 0
    }

    /// Returns a writer of the same reply, borrowed from this one, to which nothing can be lent.
    pub fn reborrow(&mut self) -> Reply<'_> {
        Reply { out: self.out, most: self.most, protocol: self.protocol, lent: None }
    }

    /// Takes over the state of a reborrowed writer: whether the reply was over its limit, and the
    /// protocol of the elements that follow.
    pub fn take_over(&mut self, is_over_limit: bool, protocol: Protocol) {
        self.protocol = protocol;
        if is_over_limit {
            self.mark_over_limit();
        }
    }

    /// Clears `out` and returns a writer to it, for a part of this reply that is appended later.
    pub fn part<'p>(&self, out: &'p mut Vec<u8>) -> Reply<'p> {
        let room = self.most.saturating_sub(self.out.len()).max(1);
        out.clear();
        Reply::with_limit(out, self.protocol, room)
    }

    /// Appends a part. If the part is over its limit, so is the whole reply.
    pub fn append(&mut self, part: &Reply<'_>) {
        if part.is_over_limit() { self.mark_over_limit() } else { self.raw(part.out) }
    }

    /// Returns the protocol of the replies.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Changes the protocol of the elements that follow.
    #[inline]
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Returns all bytes of the output, including those from before this reply.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.out
    }

    /// Returns true if bytes were lent.
    #[inline]
    pub fn is_lending(&self) -> bool {
        self.lent.as_ref().is_some_and(|lent| !lent.is_empty())
    }

    /// Number of bytes that were lent.
    pub fn lent_bytes(&self) -> u64 {
        self.lent.as_ref().map_or(0, |lent| lent.len() as u64)
    }

    /// Writes the status `OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// Writes the status `QUEUED`.
    #[inline]
    pub fn queued(&mut self) {
        self.out.extend_from_slice(b"+QUEUED\r\n");
    }

    /// Writes a status; line ends in it become blanks.
    #[inline]
    pub fn simple(&mut self, status: &str) {
        self.line(b'+', status.as_bytes());
    }

    /// Writes an error; `text` begins with the error code. Line ends in it become blanks.
    #[inline]
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.line(b'-', text.as_ref());
    }

    /// Writes the error reply to bytes that are not a valid request.
    pub fn protocol_error(&mut self, error: &crate::ProtocolError) {
        self.error([b"ERR ", &error.text()[..]].concat());
    }

    /// Writes an integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.header(b':', value);
    }

    /// Writes a bulk string.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        if !self.has_room(bytes.len()) {
            return self.mark_over_limit();
        }
        self.out.reserve(bytes.len() + HEADER_LEN_MAX + LINE_END.len());
        self.begin_bulk(bytes.len());
        self.out.extend_from_slice(bytes);
        self.end_bulk();
    }

    /// Writes a bulk string from several slices.
    pub fn bulk_parts(&mut self, parts: &[&[u8]]) {
        let len = parts.iter().map(|part| part.len()).sum();
        if !self.has_room(len) {
            return self.mark_over_limit();
        }
        self.out.reserve(len + HEADER_LEN_MAX + LINE_END.len());
        self.begin_bulk(len);
        for part in parts {
            self.raw(part);
        }
        self.end_bulk();
    }

    /// Writes a bulk string of `len` bytes from an iterator of pieces.
    pub fn bulk_pieces<'p>(&mut self, len: usize, pieces: impl Iterator<Item = &'p [u8]>) {
        if !self.has_room(len) {
            return self.mark_over_limit();
        }
        self.out.reserve(len + HEADER_LEN_MAX + LINE_END.len());
        self.begin_bulk(len);
        pieces.for_each(|piece| self.raw(piece));
        self.end_bulk();
    }

    /// Writes a bulk string of `len` bytes that `lend` gives, if they can be lent; returns false if
    /// not.
    pub fn bulk_lent(
        &mut self,
        len: usize,
        lend: impl FnOnce() -> Option<Box<dyn LentBytes>>,
    ) -> bool {
        let Some(lent) = self.lent.as_mut() else { return false };
        if self.out.len() + lent.len() + len > self.most {
            self.mark_over_limit();
            return true;
        }
        let Some(bytes) = lend() else { return false };
        self.begin_bulk(len);
        if let Some(lent) = &mut self.lent {
            lent.add(self.out.len(), bytes);
        }
        self.end_bulk();
        true
    }

    /// Writes `len` bytes as they are, which `lend` gives, if they can be lent; returns false if
    /// not.
    pub fn raw_lent(
        &mut self,
        len: usize,
        lend: impl FnOnce() -> Option<Box<dyn LentBytes>>,
    ) -> bool {
        let Some(lent) = self.lent.as_mut() else { return false };
        if self.out.len() + lent.len() + len > self.most {
            self.mark_over_limit();
            return true;
        }
        let Some(bytes) = lend() else { return false };
        lent.add(self.out.len(), bytes);
        true
    }

    /// Writes a bulk string with the text of an integer.
    #[inline]
    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(text::IntegerText::new().format(value));
    }

    /// Writes the header of a bulk string of `len` bytes, which follow through [`Self::raw`], and
    /// then [`Self::end_bulk`].
    #[inline]
    pub fn begin_bulk(&mut self, len: usize) {
        self.count(b'$', len);
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        if !self.has_room(bytes.len()) {
            return self.mark_over_limit();
        }
        self.out.extend_from_slice(bytes);
    }

    /// Writes bytes as they are, all of these or none.
    #[inline]
    pub fn raw_parts(&mut self, parts: &[&[u8]]) {
        let len = parts.iter().map(|part| part.len()).sum();
        if !self.has_room(len) {
            return self.mark_over_limit();
        }
        self.out.reserve(len);
        parts.iter().for_each(|part| self.out.extend_from_slice(part));
    }

    /// Ends a bulk string begun by [`Self::begin_bulk`].
    #[inline]
    pub fn end_bulk(&mut self) {
        self.out.extend_from_slice(LINE_END);
    }

    /// Writes a null in the place of a string or a number.
    #[inline]
    pub fn null(&mut self) {
        self.out.extend_from_slice(self.choose(b"$-1\r\n", b"_\r\n"));
    }

    /// Writes a null in the place of an array.
    #[inline]
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(self.choose(b"*-1\r\n", b"_\r\n"));
    }

    /// Writes the header of an array of `len` elements.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.count(b'*', len);
    }

    /// Writes the header of a map of `len` pairs of key and value.
    #[inline]
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.count(b'*', len * 2),
            Protocol::Resp3 => self.count(b'%', len),
        }
    }

    /// Writes the header of a set of `len` elements.
    #[inline]
    pub fn set(&mut self, len: usize) {
        self.count(self.choose(b'*', b'~'), len);
    }

    /// Writes the header of a push message of `len` elements.
    #[inline]
    pub fn push(&mut self, len: usize) {
        self.count(self.choose(b'*', b'>'), len);
    }

    /// Writes the header of an attribute of `len` pairs about the element that follows them.
    /// Returns false if the protocol has no attributes; nothing was written then, and the pairs
    /// must not be written.
    #[inline]
    pub fn attribute(&mut self, len: usize) -> bool {
        if self.protocol == Protocol::Resp2 {
            return false;
        }
        self.count(b'|', len);
        true
    }

    /// Writes a double.
    pub fn double(&mut self, value: f64) {
        match self.protocol {
            Protocol::Resp2 => {
                let digits_at = self.out.len() + DOUBLE_HEADER_LEN;
                self.out.extend_from_slice(b"$00\r\n");
                text::write_f64(self.out, value);
                let len = self.out.len() - digits_at;
                if len < 10 {
                    self.out[digits_at - 3] = b'0' + narrow::to_u8(len);
                    self.out.copy_within(digits_at - 3.., digits_at - 4);
                    self.out.pop();
                } else {
                    self.out[digits_at - 4] = b'0' + narrow::to_u8(len / 10);
                    self.out[digits_at - 3] = b'0' + narrow::to_u8(len % 10);
                }
            }
            Protocol::Resp3 => {
                self.out.push(b',');
                text::write_f64(self.out, value);
            }
        }
        self.out.extend_from_slice(LINE_END);
    }

    /// Writes a number given by its text, such as an exact decimal, as a bulk string or a double.
    pub fn double_text(&mut self, digits: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits),
            Protocol::Resp3 => self.line(b',', digits),
        }
    }

    /// Writes a boolean.
    #[inline]
    pub fn boolean(&mut self, value: bool) {
        let bytes: &[u8] = match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        };
        self.out.extend_from_slice(bytes);
    }

    /// Writes a verbatim string: text for people, with its format in three bytes, such as `txt`.
    pub fn verbatim(&mut self, format: &[u8; 3], text: &[u8]) {
        if self.protocol == Protocol::Resp2 {
            return self.bulk(text);
        }
        let len = text.len() + format.len() + 1;
        if !self.has_room(len) {
            return self.mark_over_limit();
        }
        self.count(b'=', len);
        self.out.extend_from_slice(format);
        self.out.push(b':');
        self.out.extend_from_slice(text);
        self.end_bulk();
    }

    /// Writes an integer of any size, given by its digits.
    pub fn big_number(&mut self, digits: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits),
            Protocol::Resp3 => self.line(b'(', digits),
        }
    }

    /// Returns true if the limit leaves room for `more` bytes.
    #[inline]
    fn has_room(&self, more: usize) -> bool {
        // The sum cannot wrap, as no slice is that long.
        self.out.len() + more <= self.most
    }

    #[cold]
    fn mark_over_limit(&mut self) {
        self.most = 0;
    }

    #[inline]
    fn choose<T>(&self, resp2: T, resp3: T) -> T
    where
        T: Copy,
    {
        if self.protocol == Protocol::Resp2 { resp2 } else { resp3 }
    }

    /// Writes a prefix and a count or length, which is short most of the time.
    #[inline]
    fn count(&mut self, prefix: u8, len: usize) {
        if len < 10 {
            self.out.extend_from_slice(&[prefix, b'0' + narrow::to_u8(len), b'\r', b'\n']);
        } else if len < 100 {
            let (tens, ones) = (narrow::to_u8(len / 10), narrow::to_u8(len % 10));
            self.out.extend_from_slice(&[prefix, b'0' + tens, b'0' + ones, b'\r', b'\n']);
        } else {
            self.header_long(prefix, i64::try_from(len).unwrap_or(i64::MAX));
        }
    }

    #[inline]
    fn header(&mut self, prefix: u8, value: i64) {
        match value {
            0..100 => self.count(prefix, narrow::to_usize(value.cast_unsigned())),
            _ => self.header_long(prefix, value),
        }
    }

    fn header_long(&mut self, prefix: u8, value: i64) {
        if !self.has_room(0) {
            return self.mark_over_limit();
        }
        self.out.reserve(HEADER_LEN_MAX);
        self.out.push(prefix);
        text::write_i64(self.out, value);
        self.out.extend_from_slice(LINE_END);
    }

    /// Writes a prefix and the rest of a line. Line ends become blanks, so that no client can end
    /// the line early by what it sent.
    fn line(&mut self, prefix: u8, content: &[u8]) {
        if !self.has_room(content.len()) {
            return self.mark_over_limit();
        }
        self.out.reserve(content.len() + 1 + LINE_END.len());
        self.out.push(prefix);
        let start = self.out.len();
        self.out.extend_from_slice(content);
        if memchr::memchr2(b'\r', b'\n', content).is_some() {
            for byte in &mut self.out[start..] {
                if matches!(byte, b'\r' | b'\n') {
                    *byte = b' ';
                }
            }
        }
        self.out.extend_from_slice(LINE_END);
    }
}

const LINE_END: &[u8] = b"\r\n";
/// Most bytes of a header: a prefix, the digits of any `i64` and the line end.
const HEADER_LEN_MAX: usize = 1 + 20 + 2;
const DOUBLE_HEADER_LEN: usize = 5;

#[cfg(test)]
mod tests;

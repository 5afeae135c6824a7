//! The one reader of replies: it counts them by kind, checks their form, and keeps their contents
//! for those who ask. The byte stream may be cut anywhere.
//!
//! | RESP2 | memcached's text protocol | counts as |
//! |---|---|---|
//! | `+OK` | `STORED` | status |
//! | `$n`, and n bytes | `VALUE key flags n`, n bytes, `END` | bulk; further values as elements |
//! | `$-1`, `*-1`, `_` | `END` alone | nil |
//! | `:n` | `DELETED`, `NOT_FOUND` | integer; zero too, where it is 0 or `NOT_FOUND` |
//! | `*n`, and all that is in it | - | array |
//! | `-text` | `ERROR`, `NOT_STORED` and others | error |

use super::Protocol;

/// Number of replies by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replies {
    /// `+OK` and other simple strings.
    pub status: u64,
    /// Bulk strings with a value.
    pub bulk: u64,
    /// Absent values.
    pub nil: u64,
    /// Integers.
    pub integer: u64,
    /// Errors.
    pub error: u64,
    /// Arrays, with everything that is in them.
    pub array: u64,
    /// Elements of arrays; a nested array counts by its elements.
    pub elements: u64,
    /// Integers that were zero.
    pub zero: u64,
}

impl Replies {
    /// Returns the number of all replies; an array is one.
    #[inline]
    pub fn total(&self) -> u64 {
        self.status + self.bulk + self.nil + self.integer + self.error + self.array
    }

    /// Adds the counts of another part of the stream.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        let Self { status, bulk, nil, integer, error, array, elements, zero } = other;
        self.status += status;
        self.bulk += bulk;
        self.nil += nil;
        self.integer += integer;
        self.error += error;
        self.array += array;
        self.elements += elements;
        self.zero += zero;
    }
}

/// Kind of reply that a request must bring; any request may also bring an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A simple string.
    Status,
    /// A bulk string, or nil.
    Value,
    /// An integer.
    Integer,
    /// An array, or nil.
    Array,
    /// A reply of any kind.
    Any,
}

impl Answer {
    /// Returns the kind of reply to a request, by its first word; an integer unless known to be
    /// another.
    pub fn to(request: &str) -> Self {
        match request.split(' ').next().unwrap_or_default() {
            "SET" | "BGSAVE" | "FLUSHALL" | "HMSET" | "RENAME" | "add" | "replace" => Self::Status,
            "GET" | "GETRANGE" | "HGET" | "LMOVE" | "BLMOVE" | "LPOP" | "RPOPLPUSH" | "XADD"
            | "ZSCORE" | "get" => Self::Value,
            "BLPOP" | "HGETALL" | "LRANGE" | "SINTER" | "XREAD" | "ZRANGEBYSCORE" => Self::Array,
            _ => Self::Integer,
        }
    }
}

/// The replies that a batch must bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected([u64; 5]);

impl Expected {
    /// Adds one reply of a kind.
    #[inline]
    pub fn count(&mut self, answer: Answer) {
        self.0[answer as usize] += 1;
    }

    /// Returns the number of all replies.
    #[inline]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns true if these replies answer the batch.
    #[inline]
    pub fn is_met_by(&self, replies: &Replies) -> bool {
        let [statuses, values, integers, arrays, any] = self.0;
        any > 0 && replies.total() == self.total()
            || replies.status <= statuses
                && replies.bulk <= values
                && replies.array <= arrays
                && replies.nil <= values + arrays
                && replies.integer <= integers
                && replies.total() == self.total()
    }
}

/// One value of a stream: a reply, or an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A simple string or a bulk string; of memcached a value or a line of its statistics.
    Text(Vec<u8>),
    /// An error, with its prefix.
    Error(String),
    /// An integer.
    Integer(i64),
    /// Absent value.
    Nil,
}

/// Error: the stream holds something that is no reply of its protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Unexpected(pub String);

/// Reader of replies; [`ReplyReader::feed`] may be called with any cut of the stream.
#[derive(Default)]
pub struct ReplyReader {
    protocol: Protocol,
    counted: Replies,
    /// Bytes of a value and its line end that have not arrived.
    body_left: usize,
    /// Beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// RESP: values of the current array that have not arrived. Memcached: values since the last
    /// `END`.
    open: u64,
    first_error: Option<String>,
    /// Values that arrived, those in arrays too, if they are kept; the last may be incomplete.
    kept: Option<Vec<Value>>,
}

impl ReplyReader {
    /// Creates a reader that counts.
    pub fn new(protocol: Protocol) -> Self {
        Self { protocol, ..Self::default() }
    }

    /// Creates a reader that also keeps the values.
    pub fn keeping(protocol: Protocol) -> Self {
        Self { protocol, kept: Some(Vec::new()), ..Self::default() }
    }

    /// Returns the counts since the last [`ReplyReader::take`].
    #[inline]
    pub fn counted(&self) -> &Replies {
        &self.counted
    }

    /// Returns the counts and starts again from zero; the position in the stream stays.
    #[inline]
    pub fn take(&mut self) -> Replies {
        std::mem::take(&mut self.counted)
    }

    /// Returns the values that were kept, in the order of the stream, and forgets them.
    pub fn take_values(&mut self) -> Vec<Value> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the text of the first error reply.
    pub fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// Counts the replies that end in `bytes`.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        let mut at = 0;
        if self.body_left > 0 || !self.line.is_empty() {
            at = self.resume(bytes)?;
        }
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match self.common(rest) {
                Some((header, body)) => header + self.body(&rest[header..], body)?,
                None => self.other(rest)?,
            };
        }
        Ok(())
    }

    /// Reads the front if it is one of the most frequent lines: returns the length of the line, and
    /// that of the value behind it with its line end.
    #[inline]
    fn common(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        let stored: &[u8] = match self.protocol {
            Protocol::Resp if bytes[0] == b'$' => {
                return length(&bytes[1..]).map(|(digits, body)| (1 + digits, body + 2));
            }
            Protocol::Resp => b"+OK\r\n",
            Protocol::Memcached if bytes.starts_with(b"END\r\n") => {
                self.end();
                return Some((5, 0));
            }
            Protocol::Memcached => b"STORED\r\n",
        };
        if self.kept.is_some() || !bytes.starts_with(stored) {
            return None;
        }
        self.arrived(|counted| &mut counted.status);
        Some((stored.len(), 0))
    }

    /// Continues the value or the line that the last bytes left unfinished.
    #[cold]
    fn resume(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        if self.body_left > 0 {
            return self.part_of_body(bytes);
        }
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return self.keep_line(bytes);
        };
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(&bytes[..=end]);
        let body = self.line(&line)?;
        Ok(end + 1 + self.body(&bytes[end + 1..], body)?)
    }

    #[cold]
    fn other(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return self.keep_line(bytes);
        };
        let body = self.line(&bytes[..=end])?;
        Ok(end + 1 + self.body(&bytes[end + 1..], body)?)
    }

    /// Takes what is there of a value that is `whole` bytes long with its line end; returns the
    /// number of bytes taken.
    #[inline]
    fn body(&mut self, bytes: &[u8], whole: usize) -> Result<usize, Unexpected> {
        if whole == 0 {
            return Ok(0);
        }
        if bytes.len() < whole || self.kept.is_some() {
            self.keep_value(Value::Text(Vec::new()))?;
            self.body_left = whole;
            return self.part_of_body(bytes);
        }
        if &bytes[whole - 2..whole] != b"\r\n" {
            return Err(unexpected(&bytes[whole - 2..whole]));
        }
        self.value_arrived();
        Ok(whole)
    }

    /// Takes the next part of a value whose beginning was taken before.
    #[cold]
    fn part_of_body(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        let left = self.body_left;
        let part = &bytes[..left.min(bytes.len())];
        let (text, line_end) = part.split_at(left.saturating_sub(2).min(part.len()));
        if !b"\r\n"[2_usize.saturating_sub(left)..].starts_with(line_end) {
            return Err(unexpected(line_end));
        }
        if let Some(Value::Text(kept)) = self.kept.as_mut().and_then(|kept| kept.last_mut()) {
            kept.extend_from_slice(text);
        }
        self.body_left -= part.len();
        if self.body_left == 0 {
            self.value_arrived();
        }
        Ok(part.len())
    }

    #[inline]
    fn value_arrived(&mut self) {
        match self.protocol {
            Protocol::Resp => self.arrived(|counted| &mut counted.bulk),
            Protocol::Memcached => self.open += 1,
        }
    }

    fn keep_line(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        self.line.extend_from_slice(bytes);
        if self.line.len() >= LINE_BYTES_MAX {
            return Err(unexpected(&self.line));
        }
        Ok(bytes.len())
    }

    /// Counts a line that includes its end; returns the length of the value that follows, with its
    /// line end, or zero.
    fn line(&mut self, line: &[u8]) -> Result<usize, Unexpected> {
        let text = line.strip_suffix(b"\r\n").filter(|_| line.len() <= LINE_BYTES_MAX);
        let text = text.ok_or_else(|| unexpected(line))?;
        let body = match self.protocol {
            Protocol::Resp => self.resp_line(text),
            Protocol::Memcached => self.memcached_line(text),
        };
        body?.ok_or_else(|| unexpected(line))
    }

    /// Counts a line of RESP; `None` if it is none.
    fn resp_line(&mut self, line: &[u8]) -> Result<Option<usize>, Unexpected> {
        let Some((kind, rest)) = line.split_first() else { return Ok(None) };
        let count = || length(&[rest, b"\r\n"].concat()).map(|(_, count)| count);
        let (value, counter): (_, fn(&mut Replies) -> &mut u64) = match kind {
            b'$' | b'*' if rest == b"-1" => (Value::Nil, |counted| &mut counted.nil),
            b'_' if rest.is_empty() => (Value::Nil, |counted| &mut counted.nil),
            b'$' => return Ok(count().map(|bytes| bytes + 2)),
            b'*' => return count().map(|values| self.array(values)).transpose(),
            b'+' => (Value::Text(rest.to_vec()), |counted| &mut counted.status),
            b':' => {
                let Some(number) = integer(rest) else { return Ok(None) };
                self.counted.zero += u64::from(self.open == 0 && number == 0);
                (Value::Integer(number), |counted| &mut counted.integer)
            }
            b'-' => {
                self.first_error.get_or_insert_with(|| text(rest));
                (Value::Error(text(rest)), |counted| &mut counted.error)
            }
            _ => return Ok(None),
        };
        self.keep_value(value)?;
        self.arrived(counter);
        Ok(Some(0))
    }

    /// Counts a line of memcached; `None` if it is none.
    fn memcached_line(&mut self, line: &[u8]) -> Result<Option<usize>, Unexpected> {
        let words = || line.split(|byte| *byte == b' ');
        match words().next().unwrap_or_default() {
            b"VALUE" => {
                let bytes = words().nth(3).filter(|_| words().count() == 4);
                let bytes = bytes.and_then(|digits| length(&[digits, b"\r\n"].concat()));
                return Ok(bytes.map(|(_, bytes)| bytes + 2));
            }
            b"STAT" => {
                self.keep_value(Value::Text(line.to_vec()))?;
                self.open += 1;
            }
            b"STORED" => self.counted.status += 1,
            b"END" => self.end(),
            b"DELETED" => self.counted.integer += 1,
            b"NOT_FOUND" => {
                self.counted.integer += 1;
                self.counted.zero += 1;
            }
            b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" | b"NOT_STORED" | b"EXISTS" => {
                self.counted.error += 1;
                self.first_error.get_or_insert_with(|| text(line));
                // No `END` follows values that an error cuts short.
                self.open = 0;
            }
            _ => return Ok(None),
        }
        Ok(Some(0))
    }

    /// Counts the end of memcached's values.
    #[inline]
    fn end(&mut self) {
        let values = std::mem::take(&mut self.open);
        self.counted.nil += u64::from(values == 0);
        self.counted.bulk += u64::from(values > 0);
        self.counted.elements += values.saturating_sub(1);
    }

    /// Counts a value of RESP, as a reply or as an element of the current array.
    #[inline]
    fn arrived(&mut self, kind: impl FnOnce(&mut Replies) -> &mut u64) {
        if self.open == 0 {
            *kind(&mut self.counted) += 1;
        } else {
            self.counted.elements += 1;
            self.open -= 1;
            self.counted.array += u64::from(self.open == 0);
        }
    }

    /// Counts the head of an array; the elements of a nested array take its place.
    fn array(&mut self, values: usize) -> Result<usize, Unexpected> {
        self.open = self.open.saturating_sub(1) + values as u64;
        if self.open > OPEN_MAX {
            return Err(Unexpected(format!("an array of {} values", self.open)));
        }
        self.counted.array += u64::from(self.open == 0);
        Ok(0)
    }

    fn keep_value(&mut self, value: Value) -> Result<(), Unexpected> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        if kept.len() >= KEPT_MAX {
            return Err(Unexpected(format!("more than {KEPT_MAX} values")));
        }
        kept.push(value);
        Ok(())
    }
}

/// Reads `<digits>\r\n` at the front; returns the number of bytes read, and the number.
#[inline]
fn length(bytes: &[u8]) -> Option<(usize, usize)> {
    let (mut length, mut at) = (0, 0);
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        length = length * 10 + usize::from(digit - b'0');
        at += 1;
        if at > LENGTH_DIGITS_MAX {
            return None;
        }
    }
    let ends = at > 0 && bytes.get(at..at + 2)? == b"\r\n";
    ends.then_some((at + 2, length))
}

fn integer(digits: &[u8]) -> Option<i64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

fn unexpected(bytes: &[u8]) -> Unexpected {
    Unexpected(text(&bytes[..bytes.len().min(80)]))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// Most bytes of a line with its end.
const LINE_BYTES_MAX: usize = 64 * 1024;
const LENGTH_DIGITS_MAX: usize = 12;
/// Most missing values of an array and the arrays in it.
const OPEN_MAX: u64 = 1 << 37;
/// Most values that are kept.
const KEPT_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams of each protocol with their counts and first error, streams that are no replies, and
    /// the beginning of a reply that goes on up to the end of its line.
    type Case =
        (Protocol, &'static [u8], Replies, &'static str, &'static [&'static [u8]], &'static str);

    fn counts(counts: [u64; 8]) -> Replies {
        let [status, bulk, nil, integer, error, array, elements, zero] = counts;
        Replies { status, bulk, nil, integer, error, array, elements, zero }
    }

    fn cases() -> [Case; 2] {
        [
            (
                Protocol::Resp,
                b"+OK\r\n$5\r\nhello\r\n$0\r\n\r\n$-1\r\n*-1\r\n_\r\n:12\r\n:0\r\n-ERR no\r\n\
                  +PONG\r\n*0\r\n*3\r\n:0\r\n*2\r\n$1\r\na\r\n*0\r\n-ERR in\r\n$2\r\n\r\n\r\n",
                counts([2, 3, 3, 2, 1, 2, 3, 1]),
                "ERR no",
                &[
                    b"?\r\n",
                    b"+OK\n",
                    b"$x\r\n",
                    b"$\r\n",
                    b"$1\r\nabc",
                    b"$1\r\na\rX",
                    b"$0\r\n\n\r",
                    b"$9999999999999\r\n",
                    b"*x\r\n",
                    b":x\r\n",
                    b"*999999999999\r\n",
                    b"\r\n",
                ],
                "-ERR ",
            ),
            (
                Protocol::Memcached,
                b"STORED\r\nVALUE k 0 16\r\n0123456789abcdef\r\nEND\r\nEND\r\nDELETED\r\n\
                  NOT_FOUND\r\nSERVER_ERROR out of memory\r\nERROR\r\nVALUE e 7 0\r\n\r\nEND\r\n\
                  VALUE k 0 5\r\nEND\r\n\r\nEND\r\n\
                  VALUE a 0 1\r\nx\r\nVALUE b 0 2\r\n\r\n\r\nEND\r\n",
                counts([1, 4, 1, 2, 2, 0, 1, 1]),
                "SERVER_ERROR out of memory",
                &[
                    b"+OK\r\n",
                    b"STORED\n",
                    b"VALUE k 0 x\r\n",
                    b"VALUE k 0 \r\n",
                    b"VALUE k 0 1\r\nabc",
                    b"VALUE k 0 1\r\na\rX",
                    b"VALUE k 0 9999999999999\r\n",
                ],
                "ERROR ",
            ),
        ]
    }

    fn fed<'part>(
        protocol: Protocol,
        parts: impl IntoIterator<Item = &'part [u8]>,
    ) -> Result<(Replies, Option<String>, Vec<Value>), Unexpected> {
        let mut counts = ReplyReader::new(protocol);
        let mut keeps = ReplyReader::keeping(protocol);
        for part in parts {
            counts.feed(part)?;
            keeps.feed(part)?;
        }
        assert_eq!(counts.counted(), keeps.counted());
        Ok((counts.take(), counts.first_error().map(str::to_owned), keeps.take_values()))
    }

    /// Returns all ways to cut a stream into three parts.
    fn cuts(stream: &[u8]) -> impl Iterator<Item = [&[u8]; 3]> {
        let firsts = 0..=stream.len();
        let pairs = firsts.flat_map(|first| (first..=stream.len()).map(move |it| (first, it)));
        pairs.map(|(first, second)| [&stream[..first], &stream[first..second], &stream[second..]])
    }

    #[test]
    fn a_cut_anywhere_changes_nothing() {
        for (protocol, stream, replies, first_error, ..) in cases() {
            let whole = fed(protocol, [stream]).unwrap();
            assert_eq!((whole.0, whole.1.as_deref()), (replies, Some(first_error)));
            for parts in cuts(stream) {
                assert_eq!(fed(protocol, parts).unwrap(), whole, "{:?}", parts.map(<[u8]>::len));
            }
            assert_eq!(fed(protocol, stream.chunks(1)).unwrap(), whole);
        }
    }

    #[test]
    fn what_is_no_reply_is_refused_however_it_is_cut() {
        for (protocol, _, _, _, refused, _) in cases() {
            for bytes in refused {
                let text = String::from_utf8_lossy(bytes);
                assert!(cuts(bytes).all(|parts| fed(protocol, parts).is_err()), "{text:?}");
                assert!(fed(protocol, bytes.chunks(1)).is_err(), "{text:?} byte by byte");
            }
        }
    }

    #[test]
    fn a_line_has_the_same_limit_however_it_is_cut() {
        for (protocol, .., line) in cases() {
            for (length, is_sound) in [(LINE_BYTES_MAX, true), (LINE_BYTES_MAX + 1, false)] {
                let text = "x".repeat(length - line.len() - 2);
                let stream = [line, &text, "\r\n"].concat().into_bytes();
                for piece in [length, length - 1, 1000] {
                    let fed = fed(protocol, stream.chunks(piece));
                    assert_eq!(fed.is_ok(), is_sound, "{length} bytes in pieces of {piece}");
                }
            }
        }
    }

    #[test]
    fn values_are_kept_in_the_order_of_the_stream() {
        let stream = b"*3\r\n$1\r\na\r\n:-7\r\n$-1\r\n-ERR x\r\n+OK\r\n";
        let (replies, _, values) = fed(Protocol::Resp, [&stream[..]]).unwrap();
        assert_eq!((replies.array, replies.elements, replies.total()), (1, 3, 3));
        let text = |text: &str| Value::Text(text.into());
        let error = Value::Error("ERR x".to_owned());
        assert_eq!(values, [text("a"), Value::Integer(-7), Value::Nil, error, text("OK")]);
    }

    #[test]
    fn replies_answer_a_batch_if_kinds_and_number_fit() {
        let mut expected = Expected::default();
        [Answer::Value, Answer::Integer].into_iter().for_each(|answer| expected.count(answer));
        let replies = |bulk, nil, integer, error| {
            expected.is_met_by(&Replies { bulk, nil, integer, error, ..Replies::default() })
        };
        assert!(replies(1, 0, 1, 0) && replies(0, 1, 1, 0) && replies(0, 0, 0, 2));
        assert!(!replies(2, 0, 0, 0) && !replies(0, 0, 2, 0) && !replies(1, 0, 0, 0));
    }
}

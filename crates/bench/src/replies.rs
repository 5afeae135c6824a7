//! The one reader of replies: it counts them by kind, checks their form, and keeps their contents
//! where the caller asks for that. The byte stream may be split anywhere.
//!
//! | RESP2 | memcached's text protocol | counts as |
//! |---|---|---|
//! | `+OK` | `STORED`, `OK`, `HD`, `MN` | status |
//! | `$n`, and n bytes | `VALUE key flags n`, n bytes, `END` | bulk; further values as elements |
//! | | `VA n`, n bytes | bulk |
//! | `$-1`, `*-1`, `_` | `END` alone, `EN` | nil |
//! | `:n` | digits, `DELETED`, `TOUCHED` | integer; zero too, where it is 0 |
//! | | `NOT_FOUND`, `NF` | integer, zero |
//! | `*n`, and all that is in it | - | array |
//! | `-text` | `ERROR`, `NOT_STORED`, `NS`, `EX` and others | error |

use crate::protocol::Protocol;

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
    /// Bytes of all values.
    pub bytes: u64,
}

impl Replies {
    /// Returns the number of all replies; an array is one.
    pub fn total(&self) -> u64 {
        self.status + self.bulk + self.nil + self.integer + self.error + self.array
    }

    /// Adds the counts of another part of the stream.
    pub fn add(&mut self, other: &Self) {
        let Self { status, bulk, nil, integer, error, array, elements, zero, bytes } = other;
        self.status += status;
        self.bulk += bulk;
        self.nil += nil;
        self.integer += integer;
        self.error += error;
        self.array += array;
        self.elements += elements;
        self.zero += zero;
        self.bytes += bytes;
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
    /// `HD` of Memcached, or what it says where nothing is found.
    Head,
}

impl Answer {
    /// Returns the kind of reply to a request, by its first word; an integer unless known to be
    /// another.
    pub fn to(request: &str) -> Self {
        let mut words = request.split(' ');
        match words.next().unwrap_or_default() {
            "mg" | "ms" | "md" | "ma" if words.any(|flag| flag == "v") => Self::Value,
            "mg" | "ms" | "md" | "ma" => Self::Head,
            "SET" | "ACL" | "AUTH" | "BGSAVE" | "FLUSHALL" | "FLUSHDB" | "HMSET" | "MSET"
            | "MULTI" | "PING" | "RENAME" | "add" | "append" | "mn" | "prepend" | "replace"
            | "set" => Self::Status,
            "GET" | "GETRANGE" | "HGET" | "LMOVE" | "BLMOVE" | "LPOP" | "RPOP" | "RPOPLPUSH"
            | "ECHO" | "SCRIPT" | "XADD" | "ZSCORE" | "get" | "gets" | "gat" | "gats" => {
                Self::Value
            }
            "BLPOP" | "EXEC" | "HGETALL" | "LRANGE" | "MGET" | "SINTER" | "SORT"
            | "SRANDMEMBER" | "XREAD" | "ZRANGEBYSCORE" => Self::Array,
            _ => Self::Integer,
        }
    }
}

/// The replies that a batch must bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected([u64; 5]);

impl Expected {
    /// Adds one reply of a kind.
    pub fn count(&mut self, answer: Answer) {
        self.0[answer as usize] += 1;
    }

    /// Returns the number of all replies.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns true if these replies answer the batch.
    pub fn is_met_by(&self, replies: &Replies) -> bool {
        let [statuses, values, integers, arrays, heads] = self.0;
        replies.status <= statuses + heads
            && replies.bulk <= values
            && replies.array <= arrays
            && replies.nil <= values + arrays + heads
            && replies.integer <= integers + heads
            && replies.total() == self.total()
    }
}

/// One value of a stream: a reply, or an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A simple string or a bulk string; of memcached also a line of its statistics.
    Text(Vec<u8>),
    /// An error, with its prefix.
    Error(String),
    /// An integer.
    Integer(i64),
    /// Absent value.
    Nil,
}

impl Value {
    /// Returns the text, if it is one.
    pub fn text(&self) -> Option<String> {
        let Self::Text(bytes) = self else { return None };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Error: the stream holds something that is no reply of its protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Unexpected(pub String);

/// Reader of replies; [`ReplyReader::feed`] may be called with any split of the stream.
#[derive(Clone, Default)]
pub struct ReplyReader {
    protocol: Protocol,
    /// Counts since the last [`ReplyReader::take`].
    pub counted: Replies,
    /// Beginning of a frame whose end has not arrived.
    partial: Vec<u8>,
    /// RESP: values of the current array that have not arrived. Memcached: values since the last
    /// `END`.
    open: u64,
    first_error: Option<String>,
    /// Values that arrived, those in arrays too, if they are kept.
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

    /// Returns the counts and starts again from zero; the position in the stream stays.
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
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        let mut partial = std::mem::take(&mut self.partial);
        let fed = read_on(&mut partial, bytes, |bytes| self.count_all(bytes));
        self.partial = partial;
        fed
    }

    fn count_all(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        let mut used = 0;
        while let Some((frame, length)) = frame(self.protocol, &bytes[used..])? {
            self.count(frame);
            used += length;
        }
        Ok(used)
    }

    fn count(&mut self, frame: Frame<'_>) {
        self.keep(&frame);
        let (counted, is_memcached) = (&mut self.counted, self.protocol == Protocol::Memcached);
        if let Frame::Value(bytes) = frame {
            counted.bytes += bytes.len() as u64;
        }
        let kind = match frame {
            Frame::Array(values) => {
                // The elements of a nested array take its place.
                self.open = self.open.saturating_sub(1) + values as u64;
                counted.array += u64::from(self.open == 0);
                return;
            }
            Frame::Value(_) if is_memcached => {
                self.open += 1;
                return;
            }
            Frame::End => {
                let values = std::mem::take(&mut self.open);
                counted.elements += values.saturating_sub(1);
                if values > 0 { &mut counted.bulk } else { &mut counted.nil }
            }
            Frame::Error(line) => {
                self.first_error.get_or_insert_with(|| text(line));
                if is_memcached {
                    // No `END` follows values that an error ends early.
                    self.open = 0;
                }
                &mut counted.error
            }
            Frame::Integer(number) => {
                counted.zero += u64::from(self.open == 0 && number == 0);
                &mut counted.integer
            }
            Frame::Item(bytes) => {
                counted.bytes += bytes.len() as u64;
                &mut counted.bulk
            }
            Frame::Value(_) => &mut counted.bulk,
            Frame::Line(_) => &mut counted.status,
            Frame::Nil => &mut counted.nil,
        };
        if self.open == 0 || is_memcached {
            *kind += 1;
        } else {
            counted.elements += 1;
            self.open -= 1;
            counted.array += u64::from(self.open == 0);
        }
    }

    fn keep(&mut self, frame: &Frame<'_>) {
        let Some(kept) = &mut self.kept else { return };
        kept.push(match frame {
            Frame::Value(bytes) | Frame::Item(bytes) | Frame::Line(bytes) => {
                Value::Text(bytes.to_vec())
            }
            Frame::Error(line) => Value::Error(text(line)),
            Frame::Integer(number) => Value::Integer(*number),
            Frame::Nil => Value::Nil,
            Frame::End if self.open == 0 => Value::Nil,
            Frame::Array(_) | Frame::End => return,
        });
    }
}

/// Has bytes read behind those that are left from before; keeps what is not used.
pub(crate) fn read_on<E>(
    partial: &mut Vec<u8>,
    bytes: &[u8],
    read: impl FnOnce(&[u8]) -> Result<usize, E>,
) -> Result<(), E> {
    if partial.is_empty() {
        let used = read(bytes)?;
        partial.extend_from_slice(&bytes[used..]);
    } else {
        partial.extend_from_slice(bytes);
        let used = read(partial)?;
        partial.drain(..used);
    }
    Ok(())
}

/// One line of a stream, with the value that it announces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// A simple string of RESP, or memcached's `STORED`.
    Line(&'a [u8]),
    /// A bulk string of RESP, or a value or a line of memcached's statistics.
    Value(&'a [u8]),
    /// A value of memcached's meta protocol, which no end follows.
    Item(&'a [u8]),
    Nil,
    Integer(i64),
    Error(&'a [u8]),
    /// Head of an array of so many values.
    Array(usize),
    /// End of memcached's values.
    End,
}

impl Frame<'_> {
    fn into_item(self) -> Self {
        if let Self::Value(bytes) = self { Self::Item(bytes) } else { self }
    }
}

/// Reads the frame at the front, and its length; `None` if its end has not arrived.
#[inline]
pub(crate) fn frame(
    protocol: Protocol,
    bytes: &[u8],
) -> Result<Option<(Frame<'_>, usize)>, Unexpected> {
    if protocol == Protocol::Resp
        && let Some(kind) = bytes.first()
        && let Some((number, from)) = numbered_line(bytes, *kind)
    {
        match kind {
            b'$' => return value(bytes, from, number),
            b'*' => return Ok(Some((Frame::Array(number), from))),
            b':' => return Ok(Some((Frame::Integer(number as i64), from))),
            _ => {}
        }
    }
    let Some(line) = first_line(bytes)? else { return Ok(None) };
    let from = line.len() + 2;
    let frame = match protocol {
        Protocol::Resp => resp(line),
        Protocol::Memcached => match value_length(line) {
            Some(length) if line.starts_with(b"VA ") => {
                let item = value(bytes, from, length)?;
                return Ok(item.map(|(it, length)| (it.into_item(), length)));
            }
            Some(length) => return value(bytes, from, length),
            None => memcached(line),
        },
    };
    frame.map(|frame| Some((frame, from))).ok_or_else(|| unexpected(line))
}

/// Reads a value of so many bytes behind its line, and the length of both.
#[inline]
fn value(
    bytes: &[u8],
    from: usize,
    length: usize,
) -> Result<Option<(Frame<'_>, usize)>, Unexpected> {
    let Some(value) = bytes.get(from..from + length + 2) else { return Ok(None) };
    match value.split_at(length) {
        (value, b"\r\n") => Ok(Some((Frame::Value(value), from + length + 2))),
        (_, line_end) => Err(unexpected(line_end)),
    }
}

/// Reads the number behind the first byte, and the length of its line: digit by digit, which costs
/// less than a search for the end of the line.
#[inline]
pub(crate) fn numbered_line(bytes: &[u8], kind: u8) -> Option<(usize, usize)> {
    let (_, digits) = bytes.split_first().filter(|(first, _)| **first == kind)?;
    let mut number = 0;
    for (at, byte) in digits.iter().enumerate().take(DIGITS_MAX + 1) {
        match byte {
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            b'\r' if at > 0 && digits.get(at + 1) == Some(&b'\n') => {
                return (number <= LENGTH_MAX).then_some((number, at + 3));
            }
            _ => return None,
        }
    }
    None
}

/// Returns the first line, whatever it is, without its end; `None` if that has not arrived.
fn first_line(bytes: &[u8]) -> Result<Option<&[u8]>, Unexpected> {
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return if bytes.len() < LINE_BYTES_MAX { Ok(None) } else { Err(unexpected(bytes)) };
    };
    let line = bytes[..end].strip_suffix(b"\r").filter(|_| end < LINE_BYTES_MAX);
    line.map(Some).ok_or_else(|| unexpected(&bytes[..=end]))
}

/// Reads any other line of RESP.
fn resp(line: &[u8]) -> Option<Frame<'_>> {
    let (kind, rest) = line.split_first()?;
    Some(match kind {
        b'+' => Frame::Line(rest),
        b'-' => Frame::Error(rest),
        b':' => Frame::Integer(str::from_utf8(rest).ok()?.parse().ok()?),
        b'$' | b'*' if rest == b"-1" => Frame::Nil,
        b'_' if rest.is_empty() => Frame::Nil,
        _ => return None,
    })
}

/// Returns the length of the value that a line of memcached announces.
fn value_length(line: &[u8]) -> Option<usize> {
    let number = |word: &[u8]| str::from_utf8(word).ok()?.parse::<u64>().ok();
    let mut words = line.split(|byte| *byte == b' ');
    let bytes = match words.next()? {
        b"VA" => words.next()?,
        b"VALUE" => {
            let bytes = words.nth(2)?;
            let is_cas = |word| number(word).is_some();
            (words.next().is_none_or(is_cas) && words.next().is_none()).then_some(bytes)?
        }
        _ => return None,
    };
    number(bytes)?.try_into().ok().filter(|length| *length <= LENGTH_MAX)
}

/// Reads any other line of memcached.
fn memcached(line: &[u8]) -> Option<Frame<'_>> {
    Some(match line.split(|byte| *byte == b' ').next()? {
        b"STORED" | b"OK" | b"HD" | b"MN" => Frame::Line(line),
        b"END" => Frame::End,
        b"EN" => Frame::Nil,
        b"STAT" => Frame::Value(line),
        b"DELETED" | b"TOUCHED" => Frame::Integer(1),
        b"NOT_FOUND" | b"NF" => Frame::Integer(0),
        b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" | b"NOT_STORED" | b"EXISTS" | b"NS"
        | b"EX" => Frame::Error(line),
        digits => Frame::Integer(str::from_utf8(digits).ok()?.parse::<u64>().ok()? as i64),
    })
}

/// Returns the error for bytes that are no reply, or no request.
pub(crate) fn unexpected(bytes: &[u8]) -> Unexpected {
    Unexpected(text(&bytes[..bytes.len().min(80)]))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// Most bytes of a line with its end.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Digits of [`LENGTH_MAX`].
const DIGITS_MAX: usize = 10;
/// Most bytes in a value, and values in an array.
const LENGTH_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests;

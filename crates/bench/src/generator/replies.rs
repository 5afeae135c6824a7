//! Counter of replies in a byte stream that may be cut anywhere; it also checks their form.

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
        self.status += other.status;
        self.bulk += other.bulk;
        self.nil += other.nil;
        self.integer += other.integer;
        self.error += other.error;
        self.array += other.array;
        self.elements += other.elements;
        self.zero += other.zero;
    }
}

/// Error: the stream holds something that is no reply of its protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Unexpected(pub String);

/// Counter of replies; [`ReplyCounter::feed`] may be called with any cut of the stream.
#[derive(Default)]
pub struct ReplyCounter {
    counted: Replies,
    /// Bytes of a value and its line end that have not arrived.
    body_left: usize,
    /// Beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// Values of the current array that have not arrived.
    open: u64,
    first_error: Option<String>,
}

impl ReplyCounter {
    /// Returns the counts since the last [`ReplyCounter::take`].
    #[inline]
    pub fn counted(&self) -> &Replies {
        &self.counted
    }

    /// Returns the counts and starts again from zero; the position in the stream stays.
    #[inline]
    pub fn take(&mut self) -> Replies {
        std::mem::take(&mut self.counted)
    }

    /// Returns the text of the first error reply.
    pub fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// Counts the replies that end in `bytes`.
    ///
    /// # Errors
    /// If the bytes are no reply of a known shape; the counter is of no use afterwards.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        let mut at = 0;
        if self.body_left > 0 || !self.line.is_empty() {
            at = self.resume(bytes)?;
        }
        while at < bytes.len() {
            let rest = &bytes[at..];
            if rest.starts_with(b"+OK\r\n") {
                self.arrived(|counted| &mut counted.status);
                at += 5;
            } else if let Some((header, body)) = header(b'$', rest) {
                at += self.bulk(&rest[header..], body)? + header;
            } else {
                at += self.other_line(rest)?;
            }
        }
        Ok(())
    }

    fn resume(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        if self.body_left > 0 {
            return self.part_of_bulk(bytes);
        }
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return self.keep(bytes);
        };
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(&bytes[..=end]);
        let body = self.whole_line(&line)?;
        let behind = &bytes[end + 1..];
        Ok(end + 1 + body.map_or(Ok(0), |body| self.bulk(behind, body))?)
    }

    /// Takes the part of a value of `body` bytes that is there; returns the number of bytes taken.
    #[inline]
    fn bulk(&mut self, bytes: &[u8], body: usize) -> Result<usize, Unexpected> {
        let whole = body + 2;
        if bytes.len() < whole {
            self.body_left = whole;
            return self.part_of_bulk(bytes);
        }
        if &bytes[body..whole] != b"\r\n" {
            return Err(unexpected(&bytes[body..whole]));
        }
        self.arrived(|counted| &mut counted.bulk);
        Ok(whole)
    }

    /// Takes the next part of a value whose beginning was taken before.
    #[cold]
    fn part_of_bulk(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        let taken = part_of_body(self.body_left, bytes)?;
        self.body_left -= taken;
        if self.body_left == 0 {
            self.arrived(|counted| &mut counted.bulk);
        }
        Ok(taken)
    }

    #[cold]
    fn other_line(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return self.keep(bytes);
        };
        match self.whole_line(&bytes[..=end])? {
            Some(_) => Err(unexpected(bytes)),
            None => Ok(end + 1),
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        self.line.extend_from_slice(bytes);
        if self.line.len() >= LINE_BYTES_MAX {
            return Err(unexpected(&self.line));
        }
        Ok(bytes.len())
    }

    /// Counts a line that includes its end; returns the length of the value if one follows.
    fn whole_line(&mut self, line: &[u8]) -> Result<Option<usize>, Unexpected> {
        if line.len() > LINE_BYTES_MAX {
            return Err(unexpected(line));
        }
        match line[0] {
            b'$' | b'*' if line[1..] == *b"-1\r\n" => self.arrived(|counted| &mut counted.nil),
            b'$' => return Ok(Some(header(b'$', line).ok_or_else(|| unexpected(line))?.1)),
            b'*' => self.array(header(b'*', line).ok_or_else(|| unexpected(line))?.1)?,
            _ if !line.ends_with(b"\r\n") => return Err(unexpected(line)),
            b'_' => self.arrived(|counted| &mut counted.nil),
            b'+' => self.arrived(|counted| &mut counted.status),
            b':' => {
                self.counted.zero += u64::from(self.open == 0 && line == b":0\r\n");
                self.arrived(|counted| &mut counted.integer);
            }
            b'-' => {
                self.arrived(|counted| &mut counted.error);
                self.first_error.get_or_insert_with(|| text(line));
            }
            _ => return Err(unexpected(line)),
        }
        Ok(None)
    }

    /// Counts a value, as a reply or as an element of the current array.
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
    fn array(&mut self, length: usize) -> Result<(), Unexpected> {
        self.open = self.open.saturating_sub(1) + length as u64;
        if self.open > OPEN_MAX {
            return Err(Unexpected(format!("an array of {} values", self.open)));
        }
        self.counted.array += u64::from(self.open == 0);
        Ok(())
    }
}

/// Reads `<kind><digits>\r\n` at the front; returns the number of bytes read, and the number.
#[inline]
fn header(kind: u8, bytes: &[u8]) -> Option<(usize, usize)> {
    if bytes.first() != Some(&kind) {
        return None;
    }
    let mut length = 0;
    let mut at = 1;
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        length = length * 10 + usize::from(digit - b'0');
        at += 1;
        if at > LENGTH_DIGITS_MAX {
            return None;
        }
    }
    let ends = at > 1 && bytes.get(at..at + 2)? == b"\r\n";
    ends.then_some((at + 2, length))
}

/// Takes the part that is there of a value and its line end, of which `left` bytes are missing;
/// returns the number of bytes taken.
#[cold]
pub(super) fn part_of_body(left: usize, bytes: &[u8]) -> Result<usize, Unexpected> {
    let part = &bytes[..left.min(bytes.len())];
    let line_end = &part[left.saturating_sub(2).min(part.len())..];
    if !b"\r\n"[2_usize.saturating_sub(left)..].starts_with(line_end) {
        return Err(unexpected(line_end));
    }
    Ok(part.len())
}

pub(super) fn unexpected(bytes: &[u8]) -> Unexpected {
    Unexpected(text(&bytes[..bytes.len().min(80)]))
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// Most bytes of a line with its end.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024;
const LENGTH_DIGITS_MAX: usize = 12;
/// Most missing values of an array and the arrays in it.
const OPEN_MAX: u64 = 1 << 37;

#[cfg(test)]
pub(super) mod tests {
    use super::super::protocol::tests::Case;
    use super::super::protocol::{Counter, Protocol};
    use super::Replies;

    const STREAM: &[u8] =
        b"+OK\r\n$16\r\n0123456789abcdef\r\n$-1\r\n:12\r\n-OOM no more\r\n$0\r\n\r\n\
        +PONG\r\n$5\r\n$1\r\n+\r\n_\r\n\
        *2\r\n$1\r\n*\r\n*3\r\n:0\r\n*0\r\n$-1\r\n*0\r\n*-1\r\n:0\r\n";

    pub fn case() -> Case {
        Case {
            new: || Counter::of(Protocol::Resp),
            stream: STREAM,
            replies: Replies {
                status: 2,
                bulk: 3,
                nil: 3,
                integer: 2,
                error: 1,
                array: 2,
                elements: 3,
                zero: 1,
            },
            first_error: "-OOM no more",
            refused: &[
                b"OK\r\n",
                b"\r\n",
                b"+OK\n",
                b"$x\r\n",
                b"$\r\n",
                b"$3\r\nabcdef",
                b"$3\r\nabcX",
                b"$3\r\nabc\rX",
                b"$0\r\n\n\r",
                b"*x\r\n",
                b"*99999999999\r\n*99999999999\r\n",
                b"$99999999999999\r\n",
            ],
            line: "-",
        }
    }
}

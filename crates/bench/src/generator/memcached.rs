//! Counter of replies of memcached's text protocol in a byte stream that may be cut anywhere.
//!
//! | reply | counts as |
//! |---|---|
//! | `VALUE key flags bytes`, the value, `END` | bulk; further values as elements |
//! | `END` alone | nil |
//! | `STORED` | status |
//! | `DELETED`, `NOT_FOUND` | integer; the latter also as zero |
//! | `ERROR`, `CLIENT_ERROR text`, `SERVER_ERROR text`, `NOT_STORED`, `EXISTS` | error |

use super::replies::{LINE_BYTES_MAX, Replies, Unexpected, part_of_body, text, unexpected};

/// Counter of replies; [`MemcachedCounter::feed`] may be called with any cut of the stream.
#[derive(Default)]
pub struct MemcachedCounter {
    counted: Replies,
    /// Bytes of a value and its line end that have not arrived.
    body_left: usize,
    /// Beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// Values since the last `END`.
    values: u64,
    first_error: Option<String>,
}

impl MemcachedCounter {
    /// Returns the counts since the last [`MemcachedCounter::take`].
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
        let mut at = self.resume(bytes)?;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if rest.starts_with(STORED) {
                self.counted.status += 1;
                at += STORED.len();
            } else if rest.starts_with(END) {
                self.end();
                at += END.len();
            } else if let Some(end) = memchr::memchr(b'\n', rest) {
                at += end + 1;
                if let Some(body) = self.whole_line(&rest[..=end])? {
                    at += self.body(&bytes[at..], body)?;
                }
            } else {
                return self.keep(rest);
            }
        }
        Ok(())
    }

    /// Continues the value or the line that the last bytes left unfinished.
    #[inline]
    fn resume(&mut self, bytes: &[u8]) -> Result<usize, Unexpected> {
        if self.body_left > 0 {
            let taken = part_of_body(self.body_left, bytes)?;
            self.body_left -= taken;
            return Ok(taken);
        }
        if self.line.is_empty() {
            return Ok(0);
        }
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.keep(bytes)?;
            return Ok(bytes.len());
        };
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(&bytes[..=end]);
        let behind = &bytes[end + 1..];
        let body = self.whole_line(&line)?;
        Ok(end + 1 + body.map_or(Ok(0), |body| self.body(behind, body))?)
    }

    /// Takes the part of a value of `body` bytes that is there; returns the number of bytes taken.
    #[inline]
    fn body(&mut self, bytes: &[u8], body: usize) -> Result<usize, Unexpected> {
        let whole = body + 2;
        if bytes.len() < whole {
            let taken = part_of_body(whole, bytes)?;
            self.body_left = whole - taken;
            return Ok(taken);
        }
        if &bytes[body..whole] != b"\r\n" {
            return Err(unexpected(&bytes[body..whole]));
        }
        Ok(whole)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        self.line.extend_from_slice(bytes);
        if self.line.len() >= LINE_BYTES_MAX {
            return Err(unexpected(&self.line));
        }
        Ok(())
    }

    /// Counts a line that includes its end; returns the length of the value if one follows.
    #[inline]
    fn whole_line(&mut self, line: &[u8]) -> Result<Option<usize>, Unexpected> {
        if line.len() > LINE_BYTES_MAX {
            return Err(unexpected(line));
        }
        if line.starts_with(b"VALUE ") {
            self.values += 1;
            return value_bytes(line).map(Some).ok_or_else(|| unexpected(line));
        }
        self.other_line(line)?;
        Ok(None)
    }

    fn other_line(&mut self, line: &[u8]) -> Result<(), Unexpected> {
        let line = line.strip_suffix(b"\r\n").ok_or_else(|| unexpected(line))?;
        match line {
            b"STORED" => self.counted.status += 1,
            b"END" => self.end(),
            b"DELETED" => self.counted.integer += 1,
            b"NOT_FOUND" => {
                self.counted.integer += 1;
                self.counted.zero += 1;
            }
            _ if ERRORS.iter().any(|error| line.starts_with(error)) => {
                self.counted.error += 1;
                self.first_error.get_or_insert_with(|| text(line));
                // No `END` follows values that an error cuts short.
                self.values = 0;
            }
            _ => return Err(unexpected(line)),
        }
        Ok(())
    }

    #[inline]
    fn end(&mut self) {
        if self.values == 0 {
            self.counted.nil += 1;
        } else {
            self.counted.bulk += 1;
            self.counted.elements += self.values - 1;
            self.values = 0;
        }
    }
}

/// Reads the number of bytes at the end of `VALUE key flags bytes\r\n`, backwards.
#[inline]
fn value_bytes(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\r\n")?;
    let (mut bytes, mut scale) = (0, 1);
    for (digits, byte) in line.iter().rev().enumerate() {
        match byte {
            b'0'..=b'9' if digits < LENGTH_DIGITS_MAX => {
                bytes += usize::from(byte - b'0') * scale;
                scale *= 10;
            }
            b' ' if digits > 0 => return Some(bytes),
            _ => return None,
        }
    }
    None
}

const STORED: &[u8] = b"STORED\r\n";
const END: &[u8] = b"END\r\n";
const ERRORS: [&[u8]; 5] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR", b"NOT_STORED", b"EXISTS"];
const LENGTH_DIGITS_MAX: usize = 12;

#[cfg(test)]
pub(super) mod tests {
    use super::super::protocol::tests::Case;
    use super::super::protocol::{Counter, Protocol};
    use super::Replies;

    const STREAM: &[u8] = b"STORED\r\nVALUE k 0 16\r\n0123456789abcdef\r\nEND\r\nEND\r\n\
        DELETED\r\nNOT_FOUND\r\nSERVER_ERROR out of memory storing object\r\nERROR\r\n\
        CLIENT_ERROR bad data chunk\r\nVALUE e 7 0\r\n\r\nEND\r\n\
        VALUE k 0 5\r\nEND\r\n\r\nEND\r\n\
        VALUE a 0 1\r\nx\r\nVALUE b 0 2\r\n\r\n\r\nEND\r\nSTORED\r\n";

    pub fn case() -> Case {
        let replies = Replies {
            status: 2,
            bulk: 4,
            nil: 1,
            integer: 2,
            zero: 1,
            error: 3,
            elements: 1,
            ..Replies::default()
        };
        Case {
            new: || Counter::of(Protocol::Memcached),
            stream: STREAM,
            replies,
            first_error: "SERVER_ERROR out of memory storing object",
            refused: &[
                b"+OK\r\n",
                b"STORED\n",
                b"VALUE k 0 x\r\n",
                b"VALUE k 0 \r\n",
                b"VALUE k 0 1\r\nabc",
                b"VALUE k 0 1\r\naX",
                b"VALUE k 0 1\r\na\rX",
                b"VALUE k 0 0\r\n\n\r",
                b"VALUE k 0 9999999999999\r\n",
            ],
            line: "ERROR ",
        }
    }
}

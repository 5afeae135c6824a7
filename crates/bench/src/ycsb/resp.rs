//! Whole replies of RESP2, as far as connectors look into them.

use anyhow::{Result, bail, ensure};

/// A reply that has arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The reply at the begin of `input`; `None` if it has not arrived whole.
    ///
    /// # Errors
    /// If the bytes are no reply.
    pub fn first_of(input: &'a [u8]) -> Result<Option<Frame<'a>>> {
        Ok(end_of(input, 0)?.map(|end| Frame { bytes: &input[..end] }))
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The text of an error.
    pub fn error(&self) -> Option<String> {
        let is_error = self.bytes[0] == b'-';
        is_error.then(|| String::from_utf8_lossy(&self.bytes[1..]).trim_end().to_owned())
    }

    /// Whether it is this simple string.
    pub fn is_status(&self, text: &str) -> bool {
        self.bytes[0] == b'+' && self.bytes[1..].strip_suffix(b"\r\n") == Some(text.as_bytes())
    }

    /// Elements of an array; `None` of anything else.
    pub fn count(&self) -> Option<u64> {
        if self.bytes[0] != b'*' {
            return None;
        }
        let (line, _) = line_of(self.bytes, 1)?;
        number_of(line).ok().and_then(|count| u64::try_from(count).ok())
    }

    /// The bulk strings of an array; those that are absent are left out.
    pub fn texts(&self) -> impl Iterator<Item = &'a [u8]> {
        let bytes = self.bytes;
        let mut at = line_of(bytes, 1).map_or(bytes.len(), |(_, end)| end);
        std::iter::from_fn(move || {
            while bytes.get(at) == Some(&b'$') {
                let (line, begin) = line_of(bytes, at + 1)?;
                let length = number_of(line).ok()?;
                let Ok(length) = usize::try_from(length) else {
                    at = begin;
                    continue;
                };
                at = begin + length + 2;
                return bytes.get(begin..begin + length);
            }
            None
        })
    }
}

/// Where the reply that begins at `at` ends; `None` if that has not arrived.
fn end_of(input: &[u8], at: usize) -> Result<Option<usize>> {
    // Values that have yet to come: those of arrays within arrays count like any other.
    let (mut at, mut open) = (at, 1_u64);
    while open > 0 {
        let Some(kind) = input.get(at) else { return Ok(None) };
        let Some((line, behind)) = line_of(input, at + 1) else {
            ensure!(input.len() - at < LINE_BYTES_MAX, "a line without an end");
            return Ok(None);
        };
        open -= 1;
        at = behind;
        match kind {
            b'+' | b'-' | b':' => {}
            // An absent value has nothing behind its length.
            b'$' => at += usize::try_from(number_of(line)?).map_or(0, |length| length + 2),
            b'*' => open += u64::try_from(number_of(line)?).unwrap_or(0),
            other => bail!("a reply begins with {:?}", char::from(*other)),
        }
        if at > input.len() {
            return Ok(None);
        }
    }
    Ok(Some(at))
}

/// The line from `from` on, without its end, and where the next one begins.
fn line_of(input: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let end = from + memchr::memchr(b'\n', input.get(from..)?)?;
    Some((input[from..end].strip_suffix(b"\r").unwrap_or(&input[from..end]), end + 1))
}

fn number_of(line: &[u8]) -> Result<i64> {
    let text = std::str::from_utf8(line).unwrap_or_default();
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => bail!("a length is {text:?}"),
    }
}

const LINE_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::Frame;

    #[test]
    fn a_reply_is_seen_once_it_is_whole() {
        let replies: [&[u8]; 8] = [
            b"+OK\r\n",
            b"-ERR no\r\n",
            b":1\r\n",
            b"$-1\r\n",
            b"$0\r\n\r\n",
            b"$5\r\na\r\nbc\r\n",
            b"*0\r\n",
            b"*3\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n$2\r\nbc\r\n",
        ];
        for reply in replies {
            for end in 0..reply.len() {
                let part = Frame::first_of(&reply[..end]).unwrap();
                assert_eq!(part, None, "{end} bytes of {reply:?}");
            }
            let whole = [reply, b"+next\r\n"].concat();
            assert_eq!(Frame::first_of(&whole).unwrap().unwrap().len(), reply.len());
        }
    }

    #[test]
    fn what_is_in_a_reply_can_be_looked_at() {
        let frame = |bytes: &'static [u8]| Frame::first_of(bytes).unwrap().unwrap();
        assert!(frame(b"+OK\r\n").is_status("OK") && !frame(b"+NO\r\n").is_status("OK"));
        assert_eq!(frame(b"-ERR no\r\n").error().as_deref(), Some("ERR no"));
        let array = frame(b"*3\r\n$1\r\na\r\n$-1\r\n$2\r\nbc\r\n");
        assert_eq!(array.count(), Some(3));
        assert_eq!(array.texts().collect::<Vec<_>>(), [&b"a"[..], b"bc"]);
        assert_eq!(frame(b":1\r\n").count(), None);
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in [&b"OK\r\n"[..], b"$x\r\n", b"*1.5\r\n"] {
            assert!(Frame::first_of(bytes).is_err(), "{bytes:?}");
        }
    }
}

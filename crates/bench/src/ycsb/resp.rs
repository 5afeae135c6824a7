//! Complete replies of RESP2, as far as connectors read them.

use anyhow::{Context, Result, bail, ensure};

use crate::generator::VALUE_BYTES_MAX;

/// A complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Returns the reply at the front of `input`; `None` if it is incomplete.
    ///
    /// # Errors
    /// If the bytes are no reply, or an excessively large one.
    pub fn first_of(input: &'a [u8]) -> Result<Option<Frame<'a>>> {
        Ok(end_of(input, VALUE_BYTES_MAX)?.map(|end| Frame { bytes: &input[..end] }))
    }

    /// Returns its length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a reply has at least its line end")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the text of an error.
    pub fn error(&self) -> Option<String> {
        let is_error = self.bytes[0] == b'-';
        is_error.then(|| String::from_utf8_lossy(&self.bytes[1..]).trim_end().to_owned())
    }

    /// Returns true if it is this simple string.
    pub fn is_status(&self, text: &str) -> bool {
        self.bytes[0] == b'+' && self.bytes[1..].strip_suffix(b"\r\n") == Some(text.as_bytes())
    }

    /// Returns the number of elements of an array; `None` for anything else.
    pub fn count(&self) -> Option<u64> {
        self.array().map(|(count, _)| count as u64)
    }

    /// Returns the bulk strings of an array; nil elements are left out.
    pub fn texts(&self) -> impl Iterator<Item = &'a [u8]> {
        let bytes = self.bytes;
        let mut at = self.array().map_or(bytes.len(), |(_, begin)| begin);
        std::iter::from_fn(move || {
            while bytes.get(at) == Some(&b'$') {
                let (line, begin) = line_of(bytes, at).ok()??;
                at = begin;
                if let Some(length) = length_of(&line[1..]).ok()? {
                    at += length + 2;
                    return bytes.get(begin..begin + length);
                }
            }
            None
        })
    }

    /// Returns the number of elements of an array, and the offset of the first.
    fn array(&self) -> Option<(usize, usize)> {
        let (line, begin) = line_of(self.bytes, 0).ok()??;
        let count = length_of(line.strip_prefix(b"*")?).ok()??;
        Some((count, begin))
    }
}

/// Returns the end of the reply at the front of `input`; `None` if it is incomplete. No value may
/// begin behind the first `bytes_max`.
fn end_of(input: &[u8], bytes_max: usize) -> Result<Option<usize>> {
    // Values seen, and values known to belong to the reply; a nested array is a value like any
    // other.
    let (mut at, mut seen, mut known) = (0, 0, 1);
    while seen < known {
        ensure!(at <= bytes_max && known <= VALUES_MAX, "a reply without an end");
        let Some((line, behind)) = line_of(input, at)? else { return Ok(None) };
        let (kind, rest) = line.split_first().context("an empty line")?;
        seen += 1;
        at = behind;
        match kind {
            b'+' | b'-' | b':' => {}
            b'$' => {
                // A nil value has nothing behind its length.
                let Some(length) = length_of(rest)? else { continue };
                let Some(end) = end_of_value(input, at, length)? else { return Ok(None) };
                at = end;
            }
            b'*' => known += length_of(rest)?.unwrap_or(0),
            other => bail!("a reply begins with {:?}", char::from(*other)),
        }
    }
    Ok(Some(at))
}

/// Returns the line at `from` without its end, and the offset of the next line; `None` if it is
/// incomplete.
pub(super) fn line_of(input: &[u8], from: usize) -> Result<Option<(&[u8], usize)>> {
    let rest = &input[from..input.len().min(from + LINE_BYTES_MAX)];
    let Some(end) = memchr::memchr(b'\n', rest) else {
        ensure!(rest.len() < LINE_BYTES_MAX, "a line without an end");
        return Ok(None);
    };
    let line = rest[..end].strip_suffix(b"\r").context("a line feed alone ends a line")?;
    Ok(Some((line, from + end + 1)))
}

/// Returns the end of a value and its line end that begin at `from`; `None` if they are incomplete.
pub(super) fn end_of_value(input: &[u8], from: usize, length: usize) -> Result<Option<usize>> {
    let end = from + length;
    let Some(line_end) = input.get(end..end + 2) else { return Ok(None) };
    ensure!(line_end == b"\r\n", "a value is longer than its length");
    Ok(Some(end + 2))
}

/// Returns the length of a value or array; `None` for nil.
pub(super) fn length_of(digits: &[u8]) -> Result<Option<usize>> {
    if digits == b"-1" {
        return Ok(None);
    }
    let text = str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit));
    let length = text.and_then(|text| text.parse().ok()).filter(|it| *it <= VALUE_BYTES_MAX);
    Ok(Some(length.with_context(|| format!("a length is {:?}", String::from_utf8_lossy(digits)))?))
}

/// Most values in a reply.
pub(super) const VALUES_MAX: usize = 1 << 20;
/// Most bytes of a line with its end.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::{Frame, LINE_BYTES_MAX, VALUES_MAX, end_of};

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
    fn only_an_array_has_texts() {
        let bulk = b"$25\r\n$9223372036854775807\r\na\r\n\r\n";
        assert_eq!(Frame::first_of(bulk).unwrap().unwrap().texts().count(), 0);
    }

    #[test]
    fn what_is_no_reply_is_refused_at_any_length() {
        for bytes in [
            &b"OK\r\n"[..],
            b"+OK\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"$+1\r\nx\r\n",
            b"$\r\n",
            b"*1.5\r\n",
            b"$1\r\nabc",
            b"$536870913\r\n",
            b"$9223372036854775807\r\n",
            b"*9223372036854775807\r\n*9223372036854775807\r\n*9223372036854775807\r\n",
            b"*1048576\r\n",
            b"*1000000\r\n:1\r\n*1000000\r\n",
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert!(Frame::first_of(bytes).is_err(), "{text:?}");
            let more = [bytes, b":1\r\n:1\r\n"].concat();
            assert!(Frame::first_of(&more).is_err(), "{text:?} and more");
        }
    }

    #[test]
    fn a_line_ends_within_its_limit_or_is_refused() {
        let line = |bytes: usize| ["+", &"x".repeat(bytes - 3), "\r\n"].concat().into_bytes();
        let largest = line(LINE_BYTES_MAX);
        assert_eq!(Frame::first_of(&largest).unwrap().map(|it| it.len()), Some(LINE_BYTES_MAX));
        assert_eq!(Frame::first_of(&largest[..LINE_BYTES_MAX - 1]).unwrap(), None);
        let larger = line(LINE_BYTES_MAX + 1);
        assert!(Frame::first_of(&larger).is_err());
        assert!(Frame::first_of(&larger[..LINE_BYTES_MAX]).is_err());
    }

    #[test]
    fn a_reply_without_an_end_is_refused() {
        let endless = b"*1\r\n".repeat(VALUES_MAX + 1);
        assert!(Frame::first_of(&endless).is_err());
        let three = b"*3\r\n$3\r\nabc\r\n$3\r\nabc\r\n$3\r\nabc\r\n";
        assert!(end_of(three, 21).is_err() && end_of(three, 22).unwrap() == Some(three.len()));
    }
}

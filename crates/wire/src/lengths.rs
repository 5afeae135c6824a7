//! Lines with a count or a length, `*3` and `$11`: a fast path for those complete and short, and a
//! search for line ends for all others.

use crate::ProtocolError;

/// Takes `prefix`, one to three digits without leading zero and the line end; `None` for any other
/// line.
#[inline(always)]
pub(crate) fn take_short(input: &[u8], prefix: u8) -> Option<(usize, &[u8])> {
    match input {
        [first, d0 @ b'0'..=b'9', b'\r', b'\n', tail @ ..] if *first == prefix => {
            Some((digit(*d0), tail))
        }
        [first, d0 @ b'1'..=b'9', d1 @ b'0'..=b'9', b'\r', b'\n', tail @ ..]
            if *first == prefix =>
        {
            Some((digit(*d0) * 10 + digit(*d1), tail))
        }
        [first, d0 @ b'1'..=b'9', d1 @ b'0'..=b'9', d2 @ b'0'..=b'9', b'\r', b'\n', tail @ ..]
            if *first == prefix =>
        {
            Some((digit(*d0) * 100 + digit(*d1) * 10 + digit(*d2), tail))
        }
        _ => None,
    }
}

/// State of a line that may still be arriving.
pub(crate) enum Line<'a> {
    /// The line without its end, and the bytes it takes with its end.
    Whole(&'a [u8], usize),
    /// No carriage return within this many bytes, so far.
    Open(usize),
    /// A carriage return with some other byte behind it.
    Torn,
}

/// Looks for the end of the line at the start of `input`, whose first `searched` bytes hold none.
///
/// A line whose carriage return lies beyond `line_bytes_max` is `too_long`, however its bytes
/// arrive.
pub(crate) fn find_line(
    input: &[u8],
    searched: usize,
    line_bytes_max: usize,
    too_long: ProtocolError,
) -> Result<Line<'_>, ProtocolError> {
    let window = &input[..input.len().min(line_bytes_max.saturating_add(1))];
    let searched = searched.min(window.len());
    let Some(found) = memchr::memchr(b'\r', &window[searched..]) else {
        return if input.len() > line_bytes_max {
            Err(too_long)
        } else {
            Ok(Line::Open(input.len()))
        };
    };
    let end = searched + found;
    Ok(match input.get(end + 1) {
        Some(b'\n') => Line::Whole(&input[..end], end + 2),
        Some(_) => Line::Torn,
        None => Line::Open(end),
    })
}

#[inline(always)]
fn digit(byte: u8) -> usize {
    usize::from(byte - b'0')
}

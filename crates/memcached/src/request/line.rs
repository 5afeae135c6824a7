//! Search for the end of a line, within the limits of its length.

use super::progress::Limits;
use memchr::memchr;

/// State of a line that may still be arriving.
pub(super) enum Found<'a> {
    /// The line without its end, and the bytes that it takes with its end.
    Line(&'a [u8], usize),
    /// No end so far.
    Open,
    /// More bytes than a line may have.
    TooLong,
}

/// Looks for the end of the line at the start of `input`, whose first `searched` bytes hold none.
#[inline]
pub(super) fn find_line<'a>(input: &'a [u8], searched: usize, limits: &Limits) -> Found<'a> {
    let found = find_within(input, searched, limits.line_bytes_max);
    if matches!(found, Found::TooLong) && limits.authenticated && is_of_keys(input) {
        return find_within(input, searched, limits.keys_line_bytes_max.min(LINE_BYTES_MAX));
    }
    found
}

#[inline(always)]
fn find_within(input: &[u8], searched: usize, line_bytes_max: usize) -> Found<'_> {
    let window = &input[..input.len().min(line_bytes_max.saturating_add(2))];
    let searched = searched.min(window.len());
    if let Some(found) = memchr(b'\n', &window[searched..]) {
        let end = searched + found;
        let line = &window[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        return if line.len() > line_bytes_max {
            Found::TooLong
        } else {
            Found::Line(line, end + 1)
        };
    }
    // A carriage return behind the last byte that a line may have can be the first half of its end.
    let is_within = window.len() <= line_bytes_max
        || window.len() == line_bytes_max + 1 && window.last() == Some(&b'\r');
    if is_within { Found::Open } else { Found::TooLong }
}

/// Returns true for a line of keys. Those have no limit but that of memory, as clients ask for
/// thousands of keys in one.
#[cold]
fn is_of_keys(input: &[u8]) -> bool {
    [&b"get "[..], b"gets ", b"gat ", b"gats "].iter().any(|begin| input.starts_with(begin))
}

/// Most bytes of any line, as spans count in 32 bits.
const LINE_BYTES_MAX: usize = (u32::MAX >> 1) as usize;

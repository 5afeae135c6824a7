//! Lines of keys: get, gets, gat and gats.
//!
//! Such a line promises nothing across its keys, so it is cut into parts that are requests of their
//! own. All that makes the whole line an error is found before the first part is handed out.

use crate::words::{KEY_BYTES_MAX, end_of, next_word};
use crate::{Command, Refusal, number};
use memchr::{memchr2, memrchr};
use wire::Span;

/// Most keys of a part of a line.
pub const KEYS_MAX: usize = 32;

/// Part of a line of keys.
pub(super) struct Part {
    pub(super) consumed: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
    /// Expiry of the line; 0 without one.
    pub(super) expiry: i32,
}

/// Appends the words before the keys and the first keys of a line, which takes `consumed` bytes
/// with its end, and checks all of it.
#[inline]
pub(super) fn take_first_keys(
    (line, consumed): (&[u8], usize),
    command: Command,
    first: Span,
    spans: &mut Vec<Span>,
) -> Result<Part, Refusal> {
    spans.push(first);
    let mut at = end_of(first);
    let mut expiry_word = None;
    if matches!(command, Command::Gat | Command::Gats) {
        let word = next_word(line, at).ok_or(Refusal::Format)?;
        spans.push(word);
        at = end_of(word);
        expiry_word = Some(word);
    }
    let mut key = next_word(line, at).ok_or(Refusal::Format)?;
    let expiry = match expiry_word {
        Some(word) => number::signed32(word.of(line)).ok_or(Refusal::Expiry)?,
        None => 0,
    };
    for _ in 0..KEYS_MAX {
        if key.len as usize > KEY_BYTES_MAX {
            return Err(Refusal::Format);
        }
        spans.push(key);
        let Some(next) = next_word(line, end_of(key)) else {
            return Ok(Part { consumed, is_first: true, is_last: true, expiry });
        };
        key = next;
    }
    let consumed = key.start as usize;
    check_rest(&line[consumed..])?;
    Ok(Part { consumed, is_first: true, is_last: false, expiry })
}

/// Appends the next keys of a line that is all there. Returns `None` where it is not.
pub(super) fn take_more_keys(
    input: &[u8],
    command: Command,
    expiry: i32,
    spans: &mut Vec<Span>,
) -> Option<Part> {
    let before = spans.len();
    let words_before = command.words_before_keys().unwrap_or_default();
    spans.extend(std::iter::repeat_n(Span::default(), words_before));
    let part = take_keys(input, spans);
    if part.is_none() {
        spans.truncate(before);
    }
    let (consumed, is_last) = part?;
    Some(Part { consumed, is_first: false, is_last, expiry })
}

/// Checks the keys that are for later parts. It need not find each: where each 251 bytes hold a
/// blank, no key is too long.
fn check_rest(mut rest: &[u8]) -> Result<(), Refusal> {
    while let Some(window) = rest.get(..=KEY_BYTES_MAX) {
        let blank = memrchr(b' ', window).ok_or(Refusal::Format)?;
        rest = &rest[blank + 1..];
    }
    Ok(())
}

/// Appends the keys of a part that begins `input`. Returns the bytes that it takes and whether the
/// line ends with it; `None` if that is not all there.
fn take_keys(input: &[u8], spans: &mut Vec<Span>) -> Option<(usize, bool)> {
    let mut at = 0;
    for _ in 0..KEYS_MAX {
        at += input.get(at..)?.iter().position(|byte| *byte != b' ')?;
        let end = at + memchr2(b' ', b'\n', &input[at..])?;
        let is_last = input[end] == b'\n';
        let word = &input[at..end];
        let key = if is_last { word.strip_suffix(b"\r").unwrap_or(word) } else { word };
        if !key.is_empty() {
            spans.push(Span { start: narrow::to_u32(at), len: narrow::to_u32(key.len()) });
        }
        if is_last {
            return Some((end + 1, true));
        }
        at = end;
    }
    at += input.get(at..)?.iter().position(|byte| *byte != b' ')?;
    match &input[at..] {
        [b'\n', ..] => Some((at + 1, true)),
        [b'\r', b'\n', ..] => Some((at + 2, true)),
        [b'\r'] => None,
        _ => Some((at, false)),
    }
}

//! Authentication: until a client has authenticated, a `set` whose block holds a user's name, a
//! blank and a password.
//!
//! Key, flags and expiry of that `set` mean nothing, and `noreply` does not either.

use super::text::{Asked, Line, Unfit};
use crate::words::{Words, next_word};
use crate::{Command, Refusal, number};
use memchr::memchr;
use wire::Span;

/// Appends the words of a line of a client that has not authenticated, and checks them.
#[cold]
pub(super) fn check(line: &[u8], spans: &mut Vec<Span>) -> Result<Line, Unfit> {
    let first = next_word(line, 0).filter(|word| word.start == 0).unwrap_or_default();
    let words = Words::split(line, first, spans);
    let len = match words.get(0) {
        b"quit" => return Ok(Line::Close),
        b"set" => number::unsigned32(words.get(4)),
        _ => None,
    };
    match len {
        None => Err(Unfit::line(Refusal::Unauthenticated)),
        Some(len) if len > CREDENTIALS_BYTES_MAX => Err(Unfit::line(Refusal::CredentialsTooLong)),
        Some(len) => Ok(Line::Block(Asked::new(Command::Authenticate, 1), len)),
    }
}

/// Appends the places of name and password in the block at `block`, if that ends where it was
/// announced to end.
pub(super) fn split_credentials(
    input: &[u8],
    block: Span,
    is_whole: bool,
    spans: &mut Vec<Span>,
) -> Result<(), Refusal> {
    if !is_whole {
        return Err(Refusal::CredentialsEnd);
    }
    let blank = memchr(b' ', block.of(input)).ok_or(Refusal::CredentialsFormat)?;
    let name_len = narrow::to_u32(blank);
    let behind = name_len + 1;
    spans.push(Span { start: block.start, len: name_len });
    spans.push(Span { start: block.start + behind, len: block.len - behind });
    Ok(())
}

/// Most bytes of a block that authenticates.
const CREDENTIALS_BYTES_MAX: u32 = 16 << 10;

//! Lines of an authenticated client, other than those of keys: which words each command needs, and
//! what is wrong with them.

use crate::base64::{KEY_ROOM, decode};
use crate::meta::{ArithmeticFlags, Common, DeleteFlags, GetFlags, SetFlags, have_first_letters};
use crate::words::{KEY_BYTES_MAX, Words};
use crate::{Command, Refusal, number};
use wire::Span;

/// Line that is refused.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) refusal: Refusal,
    /// True if nothing is answered.
    pub(super) is_quiet: bool,
    /// Length of the data block that it announced.
    pub(super) block: Option<u32>,
}

impl Unfit {
    /// Returns the refusal of a line without a data block.
    pub(super) fn line(refusal: Refusal) -> Unfit {
        Unfit { refusal, is_quiet: false, block: None }
    }
}

/// What a line asks for.
pub(super) enum Line {
    /// A request.
    Request(Asked),
    /// A request with a data block of this length.
    Block(Asked, u32),
    /// To be closed without a word.
    Close,
}

/// Request of the first so many words of a line.
pub(super) struct Asked {
    pub(super) command: Command,
    pub(super) words: usize,
    pub(super) is_quiet: bool,
    pub(super) is_base64: bool,
}

impl Asked {
    pub(super) fn new(command: Command, words: usize) -> Asked {
        Asked { command, words, is_quiet: false, is_base64: false }
    }
}

/// Appends the words of a line whose first word is `first`, and checks those that its command
/// needs.
#[inline]
pub(super) fn check(
    command: Option<Command>,
    line: &[u8],
    first: Span,
    spans: &mut Vec<Span>,
) -> Result<Line, Unfit> {
    let words = Words::split(line, first, spans);
    let Some(command) = command else { return check_unknown(words) };
    match command {
        Command::Set
        | Command::Add
        | Command::Replace
        | Command::Append
        | Command::Prepend
        | Command::Cas => check_storage(command, words),
        Command::MetaGet | Command::MetaDelete | Command::MetaArithmetic | Command::MetaDebug => {
            check_meta(command, words)
        }
        Command::MetaSet => check_meta_set(words),
        Command::Delete => check_key_and(command, words, |_| Ok(())),
        Command::Touch => check_key_and(command, words, |word| {
            number::signed32(word).map(|_| ()).ok_or(Refusal::Expiry)
        }),
        Command::Increment | Command::Decrement => check_key_and(command, words, |word| {
            number::unsigned64(word).map(|_| ()).ok_or(Refusal::Delta)
        }),
        Command::FlushAll => check_flush_all(words),
        Command::Verbosity => check_number(command, words, Refusal::Format),
        Command::CacheMemlimit => check_number(command, words, Refusal::Unknown),
        Command::Stats => Ok(Line::Request(Asked::new(command, words.len()))),
        _ => Ok(Line::Request(Asked::new(command, 1))),
    }
}

/// Checks set, add, replace, append, prepend and cas: key, flags, expiry, length, and cas.
#[inline]
fn check_storage(command: Command, words: Words<'_>) -> Result<Line, Unfit> {
    let is_cas = command == Command::Cas;
    let len = number::block_length(words.get(4)).ok_or(Unfit::line(Refusal::Format))?;
    let is_quiet = words.end_with_noreply();
    let is_valid = words.get(1).len() <= KEY_BYTES_MAX
        && number::item_flags(words.get(2)).is_some()
        && number::item_expiry(words.get(3)).is_some()
        && (!is_cas || number::unsigned64(words.get(5)).is_some());
    if !is_valid {
        return Err(Unfit { refusal: Refusal::Format, is_quiet, block: Some(len) });
    }
    let asked = Asked::new(command, 5 + usize::from(is_cas));
    Ok(Line::Block(Asked { is_quiet, ..asked }, len))
}

/// Checks a command of a key and, but for delete, a number.
fn check_key_and(
    command: Command,
    words: Words<'_>,
    check_number: impl FnOnce(&[u8]) -> Result<(), Refusal>,
) -> Result<Line, Unfit> {
    let needed = if command == Command::Delete { 2 } else { 3 };
    if words.len() < needed {
        return Err(Unfit::line(Refusal::Format));
    }
    let is_quiet = words.end_with_noreply();
    let checked = match words.get(1).len() {
        0..=KEY_BYTES_MAX => check_number(words.get(2)),
        _ => Err(Refusal::Format),
    };
    match checked {
        Ok(()) => Ok(Line::Request(Asked { is_quiet, ..Asked::new(command, needed) })),
        Err(refusal) => Err(Unfit { refusal, is_quiet, block: None }),
    }
}

/// Checks flush_all, whose delay may be missing.
fn check_flush_all(words: Words<'_>) -> Result<Line, Unfit> {
    let is_quiet = words.end_with_noreply();
    // A second word that is not the last is a delay, also if it is `noreply`.
    let has_delay = words.len() > 1 + usize::from(is_quiet);
    if has_delay && number::signed32(words.get(1)).is_none() {
        return Err(Unfit { refusal: Refusal::Expiry, is_quiet, block: None });
    }
    let asked = Asked::new(Command::FlushAll, 1 + usize::from(has_delay));
    Ok(Line::Request(Asked { is_quiet, ..asked }))
}

/// Checks a command of one number.
fn check_number(command: Command, words: Words<'_>, refusal: Refusal) -> Result<Line, Unfit> {
    let is_quiet = words.end_with_noreply();
    if number::unsigned32(words.get(1)).is_none() {
        return Err(Unfit { refusal, is_quiet, block: None });
    }
    Ok(Line::Request(Asked { is_quiet, ..Asked::new(command, 2) }))
}

/// Checks mg, md, ma and me.
#[inline]
fn check_meta(command: Command, words: Words<'_>) -> Result<Line, Unfit> {
    let key = words.get(1);
    let flags = words.behind(2);
    if key.is_empty() || !have_first_letters(flags.clone()) {
        return Err(Unfit::line(Refusal::Format));
    }
    let common = match command {
        Command::MetaGet => GetFlags::parse(key, flags).map(|flags| flags.common),
        Command::MetaDelete => DeleteFlags::parse(key, flags).map(|flags| flags.common),
        Command::MetaDebug => check_debug(words),
        _ => ArithmeticFlags::parse(key, flags).map(|flags| flags.common),
    };
    let Common { is_base64, .. } = common.map_err(Unfit::line)?;
    let count = if command == Command::MetaDebug { 2 } else { words.len() };
    Ok(Line::Request(Asked { is_base64, ..Asked::new(command, count) }))
}

/// Checks ms: key, length, flags.
fn check_meta_set(words: Words<'_>) -> Result<Line, Unfit> {
    let (key, flags) = (words.get(1), words.behind(3));
    let len = number::block_length(words.get(2)).filter(|_| have_first_letters(flags.clone()));
    let len = len.ok_or(Unfit::line(Refusal::Format))?;
    match SetFlags::parse(key, flags) {
        Ok(SetFlags { common: Common { is_base64, .. }, .. }) => {
            let asked = Asked::new(Command::MetaSet, words.len());
            Ok(Line::Block(Asked { is_base64, ..asked }, len))
        }
        Err(refusal) => Err(Unfit { refusal, is_quiet: false, block: Some(len) }),
    }
}

/// Checks me, whose only flag is a first `b`.
fn check_debug(words: Words<'_>) -> Result<Common<'_>, Refusal> {
    let key = words.get(1);
    let is_base64 = words.get(2).first() == Some(&b'b');
    let mut room = KEY_ROOM;
    if key.len() > KEY_BYTES_MAX || is_base64 && decode(key, &mut room).is_none() {
        return Err(Refusal::Format);
    }
    Ok(Common { is_base64, ..Common::default() })
}

/// Checks a line whose first word alone is no command.
#[cold]
fn check_unknown(words: Words<'_>) -> Result<Line, Unfit> {
    let (is_quiet, is_indented) = (words.end_with_noreply(), words.are_indented());
    let refuse = |refusal| Err(Unfit { refusal, is_quiet, block: None });
    let command = match (words.get(0), words.get(1)) {
        (b"lru_crawler", b"metadump") => Command::Metadump,
        (b"lru_crawler", b"mgdump") => Command::Mgdump,
        (b"lru_crawler", _) => return refuse(Refusal::Unknown),
        (b"watch", _) if !is_indented => return Err(Unfit::line(Refusal::Watch)),
        (b"shutdown", _) => return refuse(Refusal::Shutdown),
        _ if words.len() > 1 && words.last().starts_with(b"HTTP/") => return Ok(Line::Close),
        _ => return refuse(Refusal::Unknown),
    };
    if words.len() != 3 {
        return refuse(Refusal::Unknown);
    }
    Ok(Line::Request(Asked { is_quiet, ..Asked::new(command, 3) }))
}

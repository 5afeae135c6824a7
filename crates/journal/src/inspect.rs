//! What a file of commands is worth before it is loaded: whole, torn at its end, or damaged.
//!
//! A machine's death may leave anything in what was not synced: a tail that ends within a command,
//! or a hole with whole commands behind it. Such a tail is truncated. Where bytes were safe and are
//! wrong now, something else has happened, and nobody should start without them unasked. Sync lines
//! tell one from the other: each says how much of the file was safe before it, and there is one
//! each second. In a file without such lines, which others have written or a server that does not
//! sync, whole commands behind the break are the sign.
//!
//! What somebody has written behind the last command, or over it, is damage too: text, another
//! file, noise. A death leaves less: a block has what was last written to the disk, so behind what
//! is right there is nothing yet, zeros or padding, and something else only in another block.

use crate::disk::File;
use crate::reader::{AofReader, HEADER_BYTES_MAX, Item, ReadError, Verified, Why};
use crate::sync_line::{BEGIN, Checksum, LINE_BYTES_MAX, ReplicationId, SyncLine, parse_unchecked};
use std::io;

const WINDOW_BYTES: usize = 64 << 10;
/// Places at which whole commands are looked for behind a break; a file with more is damaged.
const TRIES_MAX: usize = 1_000;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Offset up to which the file is to be loaded.
    pub whole: u64,
    /// Units up to there.
    pub units: u64,
    /// Offset up to which bytes are known to be safe; `whole` if the file does not tell, as those
    /// of others do not.
    pub safe: u64,
    /// Bytes behind it.
    pub bytes_behind: u64,
    /// Position of the stream there, and whose it is, if the file tells.
    pub position: Option<(u64, ReplicationId)>,
    /// The last line that agrees with the bytes before it, and the offset behind it.
    pub line: Option<(SyncLine, u64)>,
    /// True if nothing of the stream is in the file, or there are no bytes.
    pub is_bare: bool,
    /// State of the file.
    pub state: State,
}

/// State of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it can be loaded.
    Whole,
    /// What is behind `whole` was never safe: it is to be truncated, in the last file of a set.
    Torn {
        /// Where the break is.
        offset: u64,
        /// What it is.
        why: Why,
    },
    /// What was safe is wrong: the operator has to decide.
    Damaged {
        /// Where the break is.
        offset: u64,
        /// What it is.
        why: Why,
    },
}

/// Reads a file from an offset on, without keeping anything.
///
/// # Errors
/// Those of the disk.
pub fn inspect<F: File>(file: &F, from: u64) -> io::Result<Inspection> {
    read_behind(file, Verified { end: from, ..Verified::default() })
}

/// As `inspect`, in a small part of the time: what sync lines vouch for is not read as commands,
/// and its units are not counted. A file without such lines is taken for whole at once, since only
/// its commands could tell; their execution finds a break.
///
/// # Errors
/// Those of the disk.
pub fn glance<F: File>(file: &F, from: u64) -> io::Result<Inspection> {
    let verified = verify(file, from)?;
    if verified.line.is_some() {
        return read_behind(file, verified);
    }
    let whole = file.bytes()?.max(from);
    let state = State::Whole;
    Ok(Inspection {
        whole,
        units: 0,
        safe: whole,
        bytes_behind: 0,
        position: None,
        line: None,
        is_bare: whole == 0,
        state,
    })
}

/// Finds the last line up to which each agrees with the bytes since the one before.
fn verify<F: File>(file: &F, from: u64) -> io::Result<Verified> {
    let mut verified = Verified { end: from, ..Verified::default() };
    let (mut checksum, mut summed) = (Checksum::default(), from);
    let (mut window, mut begin) = (vec![0; WINDOW_BYTES], from);
    // A line may stand at the begin, or behind the end of another one.
    let is_line = |bytes: &[u8], at: usize, offset: u64| {
        bytes[at..].starts_with(BEGIN) && (offset == from || at > 0 && bytes[at - 1] == b'\n')
    };
    loop {
        let read = fill(file, begin, &mut window)?;
        let bytes = &window[..read];
        let is_last = read < WINDOW_BYTES;
        // Of what begins behind this, the end may not be there.
        let sure = if is_last { read } else { read - LINE_BYTES_MAX };
        for at in memchr::memchr_iter(b'#', &bytes[..sure]) {
            let offset = begin + at as u64;
            let line = &bytes[at..read.min(at + LINE_BYTES_MAX)];
            let end = memchr::memchr(b'\n', line).map_or(0, |end| end + 1);
            if end == 0 || offset < verified.end || !is_line(bytes, at, offset) {
                continue;
            }
            checksum.update(&bytes[narrow::to_usize(summed - begin)..at]);
            summed = offset;
            if let Some(fields) = { checksum }.check(&line[..end]) {
                verified.end = offset + end as u64;
                verified.line = Some(fields);
                verified.first = verified.first.or(Some(fields.position));
                (checksum, summed) = (Checksum::default(), verified.end);
            }
        }
        if is_last {
            return Ok(verified);
        }
        // The byte before what comes next tells whether a line begins there.
        let next = begin + sure as u64 - 1;
        if summed < next {
            checksum.update(&bytes[narrow::to_usize(summed - begin)..sure - 1]);
            summed = next;
        }
        begin = next;
    }
}

/// Reads as much as there is and has room.
fn fill<F: File>(file: &F, at: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match file.read_at(at + read as u64, &mut into[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

fn read_behind<F: File>(file: &F, verified: Verified) -> io::Result<Inspection> {
    let mut reader = AofReader::behind(file, verified)?;
    let broken = loop {
        match reader.next_unit() {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(ReadError::Disk(error)) => return Err(error),
            Err(ReadError::Broken { offset, why }) => break Some((offset, why)),
        }
    };
    let verified = reader.verified();
    let (mut whole, mut units) = (reader.whole(), reader.units());
    let mut position = reader.position();
    if let Some((_, Why::Checksum)) = broken {
        // Which of the units since the last line is wrong is not known.
        (whole, units) = (verified.end, verified.units);
        position = verified.line.map(|line| line.position);
    }
    let is_own = !reader.is_continued() && verified.line.is_some();
    let tells = is_own && verified.line.is_some_and(|line| line.is_synced);
    let state = match broken {
        None => State::Whole,
        Some((offset, why)) => {
            let wrong_at = reader.offset();
            let is_left = why != Why::Format || is_left_by_death(file, offset, wrong_at, is_own)?;
            judge(file, whole, (offset, why), tells, is_left)?
        }
    };
    let id = verified.line.map(|line| line.id);
    let bytes_behind = file.bytes()?.saturating_sub(whole);
    let safe = verified.line.map_or(whole, |line| line.safe.min(whole));
    let is_bare = whole == 0 || verified.first.is_some() && verified.first == position;
    let position = position.zip(id);
    let line = verified.line.map(|line| (line, verified.end));
    Ok(Inspection { whole, safe, units, bytes_behind, position, line, is_bare, state })
}

/// Bytes that a disk writes all or none of.
const SECTOR_BYTES: u64 = 512;

/// True if a machine's death may have left what stands at `wrong_at` in a command that begins at
/// `offset`. The last one to write is only known to have written lines where `is_own`; what others
/// have left is zeros.
fn is_left_by_death<F: File>(
    file: &F,
    offset: u64,
    wrong_at: u64,
    is_own: bool,
) -> io::Result<bool> {
    if !is_own {
        return has_only_zeros(file, wrong_at);
    }
    let begins_sector = wrong_at / SECTOR_BYTES * SECTOR_BYTES >= offset;
    let mut here = [0; HEADER_BYTES_MAX];
    let read = fill(file, wrong_at, &mut here)?;
    let here = &here[..read];
    // The begin of a length or of an end of a line may be there, or the end of a line of padding.
    let begins_right = here.first().is_some_and(|first| b"*$\r\n".contains(first));
    let looked_at = if begins_right { here } else { &here[..read.min(1)] };
    let is_left = here == b"\n" || looked_at.iter().any(|byte| matches!(byte, 0 | b'#'));
    Ok(begins_sector || is_left)
}

/// True if nothing but zeros stands from an offset on, and at least one.
fn has_only_zeros<F: File>(file: &F, from: u64) -> io::Result<bool> {
    let (mut window, mut at) = (vec![0; WINDOW_BYTES], from);
    loop {
        let read = fill(file, at, &mut window)?;
        at += read as u64;
        if window[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if read < WINDOW_BYTES {
            return Ok(at > from);
        }
    }
}

/// Tells a torn file from a damaged one. `tells`: a line before it was written with a sync, as
/// there is one each second then. `is_left`: a machine's death may have left what stands there.
fn judge<F: File>(
    file: &F,
    whole: u64,
    (offset, why): (u64, Why),
    tells: bool,
    is_left: bool,
) -> io::Result<State> {
    let (torn, damaged) = (State::Torn { offset, why }, State::Damaged { offset, why });
    if !is_left || was_safe(file, whole)? {
        return Ok(damaged);
    }
    if tells {
        return Ok(torn);
    }
    // A file whose first bytes are wrong is none of commands.
    let is_other = why == Why::Format && offset == 0;
    let has_commands = why != Why::Unfinished && has_commands_behind(file, offset, why)?;
    Ok(if is_other || has_commands { damaged } else { torn })
}

/// True if bytes behind `whole` were safe once, by what lines behind it say.
fn was_safe<F: File>(file: &F, whole: u64) -> io::Result<bool> {
    let mut is_safe = false;
    search(file, whole.saturating_sub(1), b"\n", BEGIN, |at| {
        let mut line = [0; LINE_BYTES_MAX];
        let read = file.read_at(at, &mut line)?;
        let end = line[..read].iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if let Some(fields) = parse_unchecked(&line[..end]) {
            is_safe |= whole < fields.safe && fields.safe <= at;
        }
        Ok(is_safe)
    })?;
    Ok(is_safe)
}

/// True if there is a whole command behind a break. Where a command has no end, a value may look
/// like commands, and only such count that go on to the end of the file. Anything else may end
/// without a line.
fn has_commands_behind<F: File>(file: &F, broken_at: u64, why: Why) -> io::Result<bool> {
    let (mut is_found, mut tries) = (false, 0);
    let before: &[u8] = if why == Why::Ended { b"\n" } else { b"" };
    search(file, broken_at, before, b"*", |at| {
        tries += 1;
        let mut reader = AofReader::new(file, at)?;
        let first = whole_item(&mut reader)?;
        is_found |= match why {
            Why::Ended if first == Some(Some(Item::Command)) => loop {
                match whole_item(&mut reader)? {
                    None => break false,
                    Some(None) => break true,
                    Some(Some(_)) => {}
                }
            },
            _ => first == Some(Some(Item::Command)),
        };
        Ok(is_found || tries == TRIES_MAX)
    })?;
    Ok(is_found || tries == TRIES_MAX)
}

/// The next item; `None` if it is not whole.
fn whole_item<F: File>(reader: &mut AofReader<'_, F>) -> io::Result<Option<Option<Item>>> {
    match reader.next_item() {
        Ok(item) => Ok(Some(item)),
        Err(ReadError::Broken { .. }) => Ok(None),
        Err(ReadError::Disk(error)) => Err(error),
    }
}

/// Calls `found` with the offset of each `word` that stands behind `before`, from `from` on, until
/// it returns true.
fn search<F: File>(
    file: &F,
    from: u64,
    before: &[u8],
    word: &[u8],
    mut found: impl FnMut(u64) -> io::Result<bool>,
) -> io::Result<()> {
    let wanted = [before, word].concat();
    let (mut window, mut begin) = (vec![0; WINDOW_BYTES], from);
    loop {
        let read = file.read_at(begin, &mut window)?;
        for at in 0..(read + 1).saturating_sub(wanted.len()) {
            let is_here = window[at..read].starts_with(&wanted);
            if is_here && found(begin + (at + before.len()) as u64)? {
                return Ok(());
            }
        }
        if read < wanted.len() {
            return Ok(());
        }
        begin += (read + 1 - wanted.len()) as u64;
    }
}

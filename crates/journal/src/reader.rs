//! The reader of a file of commands, as Redis, Valkey and this crate write it: one unit after the
//! other, with bounded trust.
//!
//! ```text
//! file ──64 KiB──▶ buffer ─▶ items: command | # line ─▶ unit: a command, or those of MULTI to EXEC
//! ```
//! A note of attributes is a part of the command behind it, and so of its unit.
//!
//! Memory is that of the largest unit as far as it was read: announced lengths are only held
//! against the length of the file.

use crate::disk::File;
use crate::sync_line::{Checksum, ReplicationId, SyncLine};
use base::Millis;
use std::io;
use std::ops::Range;
use text::{AttributeNote, parse_u64};

mod error;
mod line;
mod padding;
mod pieces;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests;
mod unit;

pub use error::{ReadError, Why};
pub use pieces::Piece;
pub use unit::{Batch, Unit};

const READ_BYTES: usize = 64 << 10;
/// Consumed bytes at which the buffer is moved together.
const CONSUMED_BYTES_MAX: usize = 256 << 10;
/// Longest `*` or `$` line.
pub(crate) const HEADER_BYTES_MAX: usize = 24;
/// Longest `#` line; others read as many bytes of it.
const COMMENT_BYTES_MAX: usize = 1024;

/// Reader of a file.
#[derive(Debug)]
pub struct AofReader<'f, F> {
    file: &'f F,
    /// Offset at which nothing more is read.
    end: u64,
    buffer: Vec<u8>,
    /// Offset in the file of the first byte of the buffer.
    begin: u64,
    /// Index in the buffer of what is read next.
    at: usize,
    /// Index up to which bytes are in the checksum.
    summed: usize,
    checksum: Checksum,
    /// True until the first sync line, where bytes before the begin are in its checksum.
    lacks_bytes: bool,
    /// Bytes of the arguments of the unit, or of all units of a batch.
    args: Vec<Range<usize>>,
    /// Arguments of its commands.
    commands: Vec<Place>,
    /// Number of arguments before those of the unit that is being read.
    args_before: usize,
    verified: Verified,
    /// Offset behind the last whole unit.
    whole: u64,
    /// Lines since the verified one: those that were read, and those before `whole`.
    lines: Lines,
    lines_before: Lines,
    /// Units read.
    units: u64,
    /// True if bytes of the stream are no data.
    has_gaps: bool,
    /// The moment that a line has told last.
    moment: Option<Millis>,
    /// What the last line of earlier ids has told: the id then, and the text.
    history: Option<(ReplicationId, Vec<u8>)>,
    /// Padding that was found last: its end, and what it is.
    padding: Option<(u64, Padding)>,
}

/// Lines of a file which are no part of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    bytes: u64,
    /// Bytes of the stream for which some of them stand, as they are no data.
    gaps: u64,
}

/// Lines of nothing but `#`, as a writer leaves ahead of what it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Padding {
    /// All that is left of the file.
    Rest,
    /// Behind it somebody else has gone on at what was the end of the file.
    Continued,
    /// A part of what was to be written over it is missing.
    Hole,
}

/// The last line that agreed with the bytes before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Offset behind it.
    pub end: u64,
    /// What it says.
    pub line: Option<SyncLine>,
    /// Position that the first such line of the file has told.
    pub first: Option<u64>,
    /// Units before it.
    pub units: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Command,
    Line,
}

impl<'f, F: File> AofReader<'f, F> {
    /// A reader from an offset on: zero, or the end of a snapshot at the begin of the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn new(file: &'f F, offset: u64) -> io::Result<AofReader<'f, F>> {
        Ok(AofReader::between(file, offset, file.bytes()?))
    }

    /// A reader of the bytes from one offset to another, as if the file ended there.
    pub fn between(file: &'f F, offset: u64, end: u64) -> AofReader<'f, F> {
        AofReader {
            file,
            end,
            buffer: Vec::new(),
            begin: offset,
            at: 0,
            summed: 0,
            checksum: Checksum::default(),
            lacks_bytes: false,
            args: Vec::new(),
            commands: Vec::new(),
            args_before: 0,
            verified: Verified { end: offset, ..Verified::default() },
            whole: offset,
            lines: Lines::default(),
            lines_before: Lines::default(),
            units: 0,
            has_gaps: false,
            moment: None,
            history: None,
            padding: None,
        }
    }

    /// A reader of a part of what was read before, from any unit on: the first sync line is not
    /// held against the bytes before it.
    pub fn again(file: &'f F, offset: u64, end: u64) -> AofReader<'f, F> {
        AofReader { lacks_bytes: true, ..AofReader::between(file, offset, end) }
    }

    /// A reader that goes on behind what is verified, up to the end of the file.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn behind(file: &'f F, verified: Verified) -> io::Result<AofReader<'f, F>> {
        Ok(AofReader { verified, ..AofReader::new(file, verified.end)? })
    }

    /// The next unit; `None` at the end of the file.
    ///
    /// # Errors
    /// Those of the disk, and where the file is not whole.
    pub fn next_unit(&mut self) -> Result<Option<Unit<'_>>, ReadError> {
        loop {
            self.begin_batch();
            match self.step()? {
                Step::End => return Ok(None),
                Step::Line => {}
                Step::Unit { is_framed } => {
                    let Self { buffer, args, commands, moment, .. } = self;
                    return Ok(Some(Unit { buffer, args, commands, is_framed, moment: *moment }));
                }
            }
        }
    }

    /// The commands of the next units, some more than `most` at least; `None` at the end of the
    /// file.
    ///
    /// # Errors
    /// As those of `next_unit`, once the units before were taken.
    pub fn next_batch(&mut self, most: usize) -> Result<Option<Batch<'_>>, ReadError> {
        self.begin_batch();
        let (mut is_end, mut moment) = (false, self.moment);
        while !is_end && self.commands.len() < most && self.at < CONSUMED_BYTES_MAX {
            let (at, lines) = (self.at, self.lines);
            let (args, commands) = (self.args.len(), self.commands.len());
            let step = self.step();
            // A batch has one moment.
            let is_other = self.moment != moment && args > 0;
            match step {
                Ok(step) if !is_other => is_end = matches!(step, Step::End),
                Err(error) if args == 0 => return Err(error),
                _ => {
                    // It is met again when these are done.
                    (self.at, self.lines) = (at, lines);
                    self.args.truncate(args);
                    self.commands.truncate(commands);
                    break;
                }
            }
            moment = self.moment;
        }
        if is_end && self.args.is_empty() {
            return Ok(None);
        }
        let Self { buffer, args, commands, begin, .. } = self;
        Ok(Some(Batch { buffer, args, commands, begin: *begin, moment }))
    }

    /// Reads a unit, or a line between two.
    fn step(&mut self) -> Result<Step, ReadError> {
        let began = self.offset();
        self.args_before = self.args.len();
        let (mut is_framed, mut is_noted) = (false, false);
        loop {
            match self.next_item()? {
                None if is_framed || is_noted => {
                    return Err(ReadError::Broken { offset: began, why: Why::Unfinished });
                }
                None => return Ok(Step::End),
                Some(Item::Line) if is_framed || is_noted => {}
                Some(Item::Line) => return Ok(Step::Line),
                Some(Item::Command) if self.takes_note(&mut is_noted) => {}
                Some(Item::Command) => match self.frame() {
                    Some(Frame::Multi) if !is_framed => is_framed = self.commands.pop().is_some(),
                    Some(Frame::Exec) if is_framed => {
                        self.commands.pop();
                        break;
                    }
                    // Which commands were executed is not known.
                    Some(Frame::Discard) if is_framed => {
                        return Err(ReadError::Broken { offset: began, why: Why::Format });
                    }
                    // EXEC alone, or MULTI once more, changes nothing: a command like others.
                    _ if is_framed => {}
                    _ => break,
                },
            }
        }
        self.note_whole();
        self.units += 1;
        Ok(Step::Unit { is_framed })
    }

    fn note_whole(&mut self) {
        self.whole = self.offset();
        self.lines_before = self.lines;
    }

    /// Offset behind the last whole unit.
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// Number of units read.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The last line that agreed with the file.
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// Position of the stream behind the last whole unit, if a line has told one.
    pub fn position(&self) -> Option<u64> {
        let line = self.verified.line?;
        let Lines { bytes, gaps } = self.lines_before;
        let bytes = self.whole - self.verified.end - bytes;
        Some(line.position.saturating_add(bytes).saturating_add(gaps))
    }

    /// True if there were replicas when it was written, or a primary, whose other replicas may come
    /// here: what is no data is for them alone, and a line stands for no bytes where nothing is.
    pub fn had_replicas(&self) -> bool {
        self.has_gaps
    }

    /// The ids that the stream had before, as far as lines told them: the id that it had then, and
    /// their text.
    pub fn history(&self) -> Option<&(ReplicationId, Vec<u8>)> {
        self.history.as_ref()
    }

    /// True if somebody else has gone on behind the padding of the one who wrote the lines.
    pub(crate) fn is_continued(&self) -> bool {
        self.padding.is_some_and(|(_, padding)| padding == Padding::Continued)
    }

    pub(crate) fn offset(&self) -> u64 {
        self.begin + self.at as u64
    }

    /// Forgets the units before, and their bytes if they are many.
    fn begin_batch(&mut self) {
        self.args.clear();
        self.commands.clear();
        if self.at >= CONSUMED_BYTES_MAX || self.at == self.buffer.len() {
            self.sum_up();
            self.buffer.drain(..self.at);
            self.begin += self.at as u64;
            (self.at, self.summed) = (0, 0);
        }
    }

    fn sum_up(&mut self) {
        self.checksum.update(&self.buffer[self.summed..self.at]);
        self.summed = self.at;
    }

    /// Takes the last command out of the unit if it notes something for the next one; otherwise
    /// gives it what the one before has noted. Returns true if it was a note.
    fn takes_note(&mut self, is_noted: &mut bool) -> bool {
        let Self { buffer, args, commands, .. } = self;
        let Some(last) = commands.last_mut() else { return false };
        let words = args[last.words.clone()].iter().map(|word| &buffer[word.clone()]);
        if let Some(text) = AttributeNote::text_of(words) {
            let text_bytes = text.len();
            let word = &mut args[last.words.end - 1];
            word.start = word.end - text_bytes;
            commands.pop();
            *is_noted = true;
            return true;
        }
        last.is_noted = std::mem::take(is_noted);
        false
    }

    /// What the last command does to the unit, if it is one of those that frame units.
    fn frame(&self) -> Option<Frame> {
        let command = self.commands.last()?.words.clone();
        let name = self.args.get(command.start).filter(|_| command.len() == 1)?.clone();
        match &self.buffer[name] {
            name if name.eq_ignore_ascii_case(b"MULTI") => Some(Frame::Multi),
            name if name.eq_ignore_ascii_case(b"EXEC") => Some(Frame::Exec),
            name if name.eq_ignore_ascii_case(b"DISCARD") => Some(Frame::Discard),
            _ => None,
        }
    }

    /// Reads one command or line.
    pub(crate) fn next_item(&mut self) -> Result<Option<Item>, ReadError> {
        if !self.has(1)? {
            return Ok(None);
        }
        let offset = self.offset();
        let read = match self.buffer[self.at] {
            b'#' => match self.find_padding()? {
                Some(Padding::Rest) => return Ok(None),
                Some(Padding::Continued) => self.pass_line(),
                Some(Padding::Hole) => Err(Stop::Why(Why::Format)),
                None => self.read_line(),
            },
            b'*' => self.read_command(),
            _ => Err(Stop::Why(Why::Format)),
        };
        read.map(Some).map_err(|stop| match stop {
            Stop::Disk(error) => ReadError::Disk(error),
            Stop::Why(why) => ReadError::Broken { offset, why },
        })
    }

    fn read_command(&mut self) -> Result<Item, Stop> {
        let (first, begin) = (self.args.len(), self.at);
        let count = self.read_header(b'*')?;
        if count == 0 {
            self.at = begin;
            return Err(Stop::Why(Why::Format));
        }
        for _ in 0..count {
            let bytes = self.read_header(b'$')?;
            let Some(end) = bytes.checked_add(2).filter(|end| *end < u64::MAX / 2) else {
                return Err(Stop::Why(Why::Format));
            };
            if !self.has(end)? {
                return Err(Stop::Why(Why::Ended));
            }
            let arg = self.at..self.at + narrow::to_usize(bytes);
            self.at = arg.end;
            if !self.buffer[arg.end..].starts_with(b"\r\n") {
                return Err(Stop::Why(Why::Format));
            }
            self.at += 2;
            self.args.push(arg);
        }
        self.commands.push(Place { words: first..self.args.len(), is_noted: false });
        Ok(Item::Command)
    }

    /// Reads a mark and a number.
    #[inline]
    fn read_header(&mut self, mark: u8) -> Result<u64, Stop> {
        // Most numbers are short and all there.
        let (number, bytes) = match &self.buffer[self.at..] {
            [first, one @ b'0'..=b'9', b'\r', b'\n', ..] if *first == mark => (one - b'0', 4),
            [first, ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', b'\n', ..] if *first == mark => {
                ((ten - b'0') * 10 + (one - b'0'), 5)
            }
            _ => return self.read_any_header(mark),
        };
        self.at += bytes;
        Ok(u64::from(number))
    }

    fn read_any_header(&mut self, mark: u8) -> Result<u64, Stop> {
        let Some(line) = self.find_line(HEADER_BYTES_MAX)? else {
            return Err(Stop::Why(Why::Format));
        };
        let (first, number) = self.buffer[line.clone()].split_at(1);
        let number = if first == [mark] { loose_number(number) } else { None };
        let number = number.ok_or(Stop::Why(Why::Format))?;
        self.at = line.end;
        Ok(number)
    }

    /// Finds the line that begins here; `None` if it is longer than `bytes_max`.
    fn find_line(&mut self, bytes_max: usize) -> Result<Option<Range<usize>>, Stop> {
        let mut looked = 0;
        loop {
            let rest = &self.buffer[self.at + looked..];
            let rest = &rest[..rest.len().min(bytes_max - looked)];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.at..self.at + looked + end + 1));
            }
            looked += rest.len();
            if looked == bytes_max {
                return Ok(None);
            }
            if !self.has(looked as u64 + 1)? {
                return Err(Stop::Why(Why::Ended));
            }
        }
    }

    /// True if the file has so many bytes more, which are then in the buffer.
    #[inline]
    fn has(&mut self, bytes: u64) -> Result<bool, io::Error> {
        if (self.buffer.len() - self.at) as u64 >= bytes { Ok(true) } else { self.read_more(bytes) }
    }

    fn read_more(&mut self, bytes: u64) -> Result<bool, io::Error> {
        while ((self.buffer.len() - self.at) as u64) < bytes {
            if self.end.saturating_sub(self.offset()) < bytes {
                return Ok(false);
            }
            let read = self.buffer.len();
            let left = self.end - self.begin - read as u64;
            let room = usize::try_from(left).unwrap_or(usize::MAX).min(READ_BYTES);
            self.buffer.resize(read + room, 0);
            let outcome = self.file.read_at(self.begin + read as u64, &mut self.buffer[read..]);
            self.buffer.truncate(read + outcome.as_ref().map_or(0, |bytes| *bytes));
            if outcome? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Where the words of a command are among the arguments.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    words: Range<usize>,
    /// True if the argument before them is the text that was noted for it.
    is_noted: bool,
}

enum Step {
    Unit { is_framed: bool },
    Line,
    End,
}

enum Frame {
    Multi,
    Exec,
    Discard,
}

/// A number in any form that other servers read where the form leaves no doubt: with a sign, with
/// zeros or spaces around it, on a line without a carriage return.
fn loose_number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let zeros = text.iter().take_while(|byte| **byte == b'0').count();
    if zeros > 0 && zeros == text.len() { Some(0) } else { parse_u64(&text[zeros..]) }
}

enum Stop {
    Disk(io::Error),
    Why(Why),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Disk(error)
    }
}

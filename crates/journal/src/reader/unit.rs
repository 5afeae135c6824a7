//! What a reader finds: a unit, or the commands of several.

use super::Place;
use base::Millis;
use std::ops::Range;

/// A unit of a file.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'r> {
    pub(super) buffer: &'r [u8],
    pub(super) args: &'r [Range<usize>],
    pub(super) commands: &'r [Place],
    /// True if it was framed by MULTI and EXEC.
    pub is_framed: bool,
    /// The moment from which its times to live count, if a line has told one.
    pub moment: Option<Millis>,
}

impl<'r> Unit<'r> {
    /// Number of its commands for which attributes were noted.
    pub fn notes(&self) -> usize {
        self.commands.iter().filter(|command| command.is_noted).count()
    }

    /// What was noted for a command, by its number.
    pub fn note(&self, command: usize) -> Option<&'r [u8]> {
        let place = self.commands.get(command).filter(|it| it.is_noted)?;
        Some(&self.buffer[self.args.get(place.words.start.checked_sub(1)?)?.clone()])
    }

    /// Its commands: name and arguments of each, without notes. There may be none in a frame.
    pub fn commands(
        &self,
    ) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = &'r [u8]> + Clone> + Clone
    {
        let (buffer, args) = (self.buffer, self.args);
        self.commands
            .iter()
            .map(move |it| args[it.words.clone()].iter().map(move |arg| &buffer[arg.clone()]))
    }
}

/// Commands of several units.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'r> {
    pub(super) buffer: &'r [u8],
    pub(super) args: &'r [Range<usize>],
    pub(super) commands: &'r [Place],
    pub(super) begin: u64,
    /// The moment from which their times to live count, if a line has told one.
    pub moment: Option<Millis>,
}

impl<'r> Batch<'r> {
    /// The commands where they stand: bytes, and where in them the name and the arguments are; and
    /// whether a note's text is the first of these.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = (&'r [u8], &'r [Range<usize>], bool)> {
        let (buffer, args) = (self.buffer, self.args);
        self.commands.iter().map(move |Place { words, is_noted }| {
            (buffer, &args[words.start - usize::from(*is_noted)..words.end], *is_noted)
        })
    }

    /// Offset in the file of a command.
    pub fn offset(&self, command: usize) -> u64 {
        let first = self.commands.get(command).and_then(|it| self.args.get(it.words.start));
        let before = first.map_or(&[][..], |name| &self.buffer[..name.start]);
        let at = before.iter().rposition(|byte| *byte == b'*').unwrap_or(0);
        self.begin + at as u64
    }
}

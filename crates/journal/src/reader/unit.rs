//! What a reader finds: a unit, or the commands of several.

use base::Millis;
use std::ops::Range;

/// A unit of a file.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'r> {
    pub(super) buffer: &'r [u8],
    pub(super) args: &'r [Range<usize>],
    pub(super) commands: &'r [Range<usize>],
    /// True if it was framed by MULTI and EXEC.
    pub is_framed: bool,
    /// The moment from which its times to live count, if a line has told one.
    pub moment: Option<Millis>,
}

impl<'r> Unit<'r> {
    /// Its commands: name and arguments of each. There may be none in a frame.
    pub fn commands(
        &self,
    ) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = &'r [u8]> + Clone> + Clone
    {
        let (buffer, args) = (self.buffer, self.args);
        self.commands
            .iter()
            .map(move |command| args[command.clone()].iter().map(move |arg| &buffer[arg.clone()]))
    }
}

/// Commands of several units.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'r> {
    pub(super) buffer: &'r [u8],
    pub(super) args: &'r [Range<usize>],
    pub(super) commands: &'r [Range<usize>],
    pub(super) begin: u64,
    /// The moment from which their times to live count, if a line has told one.
    pub moment: Option<Millis>,
}

impl<'r> Batch<'r> {
    /// The commands where they stand: bytes, and where in them the name and the arguments are.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = (&'r [u8], &'r [Range<usize>])> {
        let (buffer, args) = (self.buffer, self.args);
        self.commands.iter().map(move |command| (buffer, &args[command.clone()]))
    }

    /// Offset in the file of a command.
    pub fn offset(&self, command: usize) -> u64 {
        let first = self.commands.get(command).and_then(|command| self.args.get(command.start));
        let before = first.map_or(&[][..], |name| &self.buffer[..name.start]);
        let at = before.iter().rposition(|byte| *byte == b'*').unwrap_or(0);
        self.begin + at as u64
    }
}

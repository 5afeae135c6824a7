//! A file as the bytes of the stream that it has: for replicas that lack some of them.

use super::{AofReader, Item, ReadError};
use crate::disk::File;
use crate::gap_line::parse_gap;

/// What stands at one place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'r> {
    /// Bytes of the stream: a command, or what frames several.
    Stream(&'r [u8]),
    /// So many bytes of the stream that are no data, and so are not in the file.
    Gap(u64),
    /// A line that is no part of the stream.
    Line,
}

impl<F: File> AofReader<'_, F> {
    /// The next piece; `None` at the end of the file.
    ///
    /// # Errors
    /// Those of the disk, and where the file is not whole.
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, ReadError> {
        self.begin_batch();
        self.args_before = self.args.len();
        let begin = self.at;
        let Some(item) = self.next_item()? else { return Ok(None) };
        let bytes = &self.buffer[begin..self.at];
        Ok(Some(match (item, parse_gap(bytes)) {
            (Item::Command, _) => Piece::Stream(bytes),
            (Item::Line, Some(gap)) => Piece::Gap(gap),
            (Item::Line, None) => Piece::Line,
        }))
    }
}

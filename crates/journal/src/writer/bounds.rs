//! Where a file of the stream begins and ends, and how far it has come.

use crate::sync_line::{Checksum, ReplicationId, SyncLine};
use crate::unit::encode_args;
use text::IntegerText;

/// What a file begins with, and how it is written.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Position of its first unit.
    pub position: u64,
    /// Selected database at that position.
    pub selected: usize,
    /// Whose stream it is.
    pub id: ReplicationId,
    /// Offset of position zero, which is what files tell in place of positions.
    pub shift: u64,
}

impl Start {
    /// The bytes that a file begins with, which are to be safe before the file is part of a set.
    /// Readers begin each file in database 0. The line is last, so that behind it there is the
    /// stream and nothing else.
    pub fn header(&self) -> Vec<u8> {
        let (mut header, mut checksum) = (Vec::new(), Checksum::default());
        if self.selected != 0 {
            let mut digits = IntegerText::new();
            let words = [&b"SELECT"[..], digits.format_unsigned(self.selected as u64)];
            encode_args(words.into_iter(), &mut |piece| header.extend_from_slice(piece));
        }
        checksum.update(&header);
        let offset = self.position.wrapping_add(self.shift);
        header.extend_from_slice(checksum.line(offset, self.id, 0, true).as_bytes());
        header
    }
}

/// End of a file in which the stream goes on.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Length of the file, all of which is safe.
    pub bytes: u64,
    /// Its last line, and the offset behind it.
    pub line: (SyncLine, u64),
}

/// Length of a file, and the position of the stream that it corresponds to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Bytes of the file.
    pub bytes: u64,
    /// Position of the stream.
    pub position: u64,
}

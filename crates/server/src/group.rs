//! Group of connections with few requests each, served together: their cache misses overlap as
//! those of one deep pipeline do.
//!
//! ```text
//! input  | bytes of one connection | of the next | ...           one batch for all of them
//!          member 1                  member 2
//! ```

use crate::batch::{Ahead, Batch, Part};
use crate::connection::Connection;
use command::Table;
use std::collections::VecDeque;
use std::ops::Range;

/// Most bytes that one read returns, so that other connections soon have their turn.
pub const READ_BYTES: usize = 16 << 10;
/// Bytes of the input buffer of a group.
const INPUT_BYTES: usize = 4 * READ_BYTES;

/// Members of a group and their input. Kept from group to group, so that nothing is allocated.
#[derive(Debug)]
pub struct Group {
    /// Input of its members, one behind the other.
    pub input: Vec<u8>,
    /// Bytes of `input` that are in use.
    filled: usize,
    /// Requests of all members.
    pub batch: Batch,
    /// Members that were not served yet.
    pub members: VecDeque<Member>,
    /// True if it must be served before another connection joins it.
    pub is_full: bool,
}

/// A connection, and the input read from it.
#[derive(Debug)]
pub struct Member {
    /// Its entry in the worker's table, which is empty meanwhile.
    pub at: usize,
    /// The connection itself.
    pub connection: Box<Connection>,
    /// Range of its bytes in the group's input.
    pub bytes: Range<usize>,
    /// Its requests in the group's batch.
    pub part: Part,
}

impl Group {
    /// Returns a group without members, whose requests name commands of a table.
    pub fn new(table: &'static Table) -> Group {
        Group {
            input: Vec::new(),
            filled: 0,
            batch: Batch::new(table),
            members: VecDeque::new(),
            is_full: false,
        }
    }

    /// Returns the part of the buffer for the next read.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        self.input.resize(INPUT_BYTES, 0);
        &mut self.input[self.filled..self.filled + READ_BYTES]
    }

    /// Adds a connection, with its place in the table, of which `read` bytes were read into the
    /// room.
    #[inline]
    pub fn add(&mut self, from: (usize, Box<Connection>), read: usize, ahead: &Ahead<'_>) {
        let (at, mut connection) = from;
        let bytes = self.filled..self.filled + read;
        self.filled += read;
        let part = self.batch.add(&mut connection.front, &self.input[bytes.clone()], 0, ahead);
        self.members.push_back(Member { at, connection, bytes, part });
        self.is_full = self.batch.len() >= ahead.most || self.filled + READ_BYTES > INPUT_BYTES;
    }

    /// Drops the input and requests of its members, once they are served.
    #[inline]
    pub fn clear(&mut self) {
        self.batch.clear();
        self.filled = 0;
        self.is_full = false;
    }
}

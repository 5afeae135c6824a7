//! Connections with little to read each, served together: their cache misses overlap as those of
//! one deep pipeline do.
//!
//! ```text
//! input  | bytes of one connection | of the next | ...           one batch for all of them
//!          member 1                  member 2
//! ```

use crate::batch::{Batch, Part};
use crate::connection::Connection;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes that one read may return, so that other connections soon have their turn.
pub const READ_BYTES: usize = 16 << 10;
/// Bytes for what a group has read.
const INPUT_BYTES: usize = 4 * READ_BYTES;

/// See the module page. Kept from group to group, so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Group {
    /// What its members have sent.
    pub input: Vec<u8>,
    /// Bytes of `input` that are in use.
    filled: usize,
    /// Their requests.
    pub batch: Batch,
    /// Those who were not served yet.
    pub members: VecDeque<Member>,
    /// Whether it is to be served before anybody joins it.
    pub is_full: bool,
}

/// A connection, and what was read from it.
#[derive(Debug)]
pub struct Member {
    /// Its place in the worker's table, which is empty meanwhile.
    pub at: usize,
    /// See there.
    pub connection: Box<Connection>,
    /// Its bytes in the group's input.
    pub bytes: Range<usize>,
    /// Its requests in the group's batch.
    pub part: Part,
}

impl Group {
    /// Room for one read.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        self.input.resize(INPUT_BYTES, 0);
        &mut self.input[self.filled..self.filled + READ_BYTES]
    }

    /// Takes what was read into the room, the last `read` bytes, as in use.
    #[inline]
    pub fn fill(&mut self, read: usize) -> Range<usize> {
        let begin = self.filled;
        self.filled += read;
        begin..self.filled
    }

    /// Adds a member whose requests were added to the batch, of which it may hold `most`.
    #[inline]
    pub fn add(&mut self, member: Member, most: usize) {
        self.members.push_back(member);
        self.is_full = self.batch.len() >= most || self.filled + READ_BYTES > INPUT_BYTES;
    }

    /// Forgets what its members have sent, once they are served.
    #[inline]
    pub fn clear(&mut self) {
        self.batch.clear();
        self.filled = 0;
        self.is_full = false;
    }
}

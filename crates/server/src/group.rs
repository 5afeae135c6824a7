//! Connections with little to read each, served together: their cache misses overlap as those of
//! one deep pipeline do.
//!
//! ```text
//! input  | bytes of one connection | of the next | ...           one batch for all of them
//!          member 1                  member 2
//! ```

use crate::batch::{Batch, Part};
use crate::connection::Connection;
use crate::serve::{Fate, look_ahead};
use crate::worker::Worker;
use std::io;

/// Bytes that one read may return, so that other connections soon have their turn.
pub const READ_BYTES: usize = 16 << 10;
/// Bytes for what a group has read.
const INPUT_BYTES: usize = 4 * READ_BYTES;

/// See the module page.
#[derive(Debug, Default)]
pub struct Group {
    input: Vec<u8>,
    /// Bytes of `input` that are in use.
    filled: usize,
    batch: Batch,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    /// Its place in the worker's table, which is empty meanwhile.
    at: usize,
    connection: Box<Connection>,
    /// Its bytes in `input`.
    begin: usize,
    end: usize,
    part: Part,
}

impl Group {
    /// Room for one read.
    fn room(&mut self) -> &mut [u8] {
        self.input.resize(INPUT_BYTES, 0);
        &mut self.input[self.filled..self.filled + READ_BYTES]
    }

    fn has_room(&self) -> bool {
        self.filled + READ_BYTES <= INPUT_BYTES
    }
}

impl Worker {
    /// Reads from a connection, which is served with its group.
    pub fn join(&mut self, at: usize) {
        let is_simple = |connection: &mut Box<Connection>| connection.is_simple();
        let slot = self.connections.get_mut(at).and_then(|slot| slot.take_if(is_simple));
        let Some(mut connection) = slot else { return self.read(at) };
        let mut group = std::mem::take(&mut self.group);
        match self.receive(&mut connection, group.room()) {
            Ok(Some(bytes)) => {
                let (begin, end) = (group.filled, group.filled + bytes);
                let ahead = look_ahead(&self.instance, &connection);
                let input = &group.input[begin..end];
                let part = group.batch.add(&mut connection.parser, input, 0, &ahead);
                let is_full = group.batch.len() >= ahead.most;
                group.filled = end;
                group.members.push(Member { at, connection, begin, end, part });
                self.group = group;
                if is_full || !self.group.has_room() {
                    self.serve_group();
                }
            }
            Ok(None) => {
                self.group = group;
                self.settle(at, connection, Ok(Fate::Keep), false);
            }
            Err(error) => {
                self.group = group;
                self.settle(at, connection, Err(error), false);
            }
        }
    }

    /// Serves all members of the group.
    pub fn serve_group(&mut self) {
        if self.group.members.is_empty() {
            return;
        }
        let mut group = std::mem::take(&mut self.group);
        self.now = self.instance.clock.now();
        group.batch.look_ahead(&self.instance.store);
        for mut member in group.members.drain(..) {
            let input = &group.input[member.begin..member.end];
            let outcome = self.serve_member(&mut member, &group.batch, input);
            let may_hold_more = input.len() == READ_BYTES;
            self.settle(member.at, member.connection, outcome, may_hold_more);
        }
        group.batch.clear();
        group.filled = 0;
        self.group = group;
    }

    fn serve_member(
        &mut self,
        member: &mut Member,
        batch: &Batch,
        input: &[u8],
    ) -> io::Result<Fate> {
        let connection = &mut member.connection;
        self.begin_slice(connection);
        let (served, fate) = match self.serve_part(connection, batch, &member.part, input) {
            Some(outcome) => outcome,
            None => self.serve_from(connection, input, member.part.parsed),
        };
        connection.query.keep(&input[served.min(input.len())..]);
        self.finish_serving(connection)?;
        Ok(fate)
    }
}

//! Units as bytes: plain commands in RESP, with the databases and the frame that they need.
//!
//! ```text
//! one, where selected   COMMAND
//! one, elsewhere        SELECT there, COMMAND, SELECT back
//! more than one         MULTI, COMMAND, COMMAND ..., EXEC
//! several databases     SELECT a, MULTI, COMMAND, SELECT b, COMMAND, EXEC, SELECT back
//! ```
//! A command may have a note before it, an ECHO, which belongs to it and makes no frame.
//!
//! So each unit begins and ends in the selected database, and no lane needs to know what came
//! before it.

use crate::ring::{Lane, Place};
use text::{AttributeNote, IntegerText};

/// Plain command, and the database in which it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Number of the database.
    pub database: usize,
    /// What is executed.
    pub words: Words<'a>,
}

/// Name of a command and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words<'a> {
    /// A whole request in RESP, as it came.
    Request(&'a [u8]),
    /// Words to be framed.
    Args(&'a [&'a [u8]]),
    /// Words to be framed.
    OwnedArgs(&'a [Vec<u8>]),
    /// Words to be framed, with a note before them of what their string has besides its value.
    Noted(AttributeNote, &'a [Vec<u8>]),
}

/// Number of bytes that `encode` writes.
pub fn encoded_bytes<'a>(selected: usize, unit: impl Iterator<Item = Command<'a>> + Clone) -> u64 {
    let mut bytes = 0;
    encode(selected, unit, &mut |piece| bytes += piece.len() as u64);
    bytes
}

/// Writes the commands of a unit, piece by piece. A request is one piece.
pub fn encode<'a>(
    selected: usize,
    unit: impl Iterator<Item = Command<'a>> + Clone,
    out: &mut impl FnMut(&[u8]),
) {
    let is_framed = unit.clone().nth(1).is_some();
    let first = unit.clone().next().map_or(selected, |command| command.database);
    encode_switch(selected, first, out);
    if is_framed {
        out(MULTI);
    }
    let mut database = first;
    for command in unit {
        encode_switch(database, command.database, out);
        database = command.database;
        match command.words {
            Words::Request(request) => out(request),
            Words::Args(args) => encode_args(args.iter().copied(), out),
            Words::OwnedArgs(args) => encode_args(args.iter().map(Vec::as_slice), out),
            Words::Noted(note, args) => {
                let text = note.to_command_text();
                encode_args([AttributeNote::COMMAND, &text].into_iter(), out);
                encode_args(args.iter().map(Vec::as_slice), out);
            }
        }
    }
    if is_framed {
        out(EXEC);
    }
    encode_switch(database, selected, out);
}

/// Writes one command of these words.
pub(crate) fn encode_args<'a>(
    args: impl ExactSizeIterator<Item = &'a [u8]>,
    out: &mut impl FnMut(&[u8]),
) {
    encode_header(b'*', args.len(), out);
    for arg in args {
        encode_header(b'$', arg.len(), out);
        if !arg.is_empty() {
            out(arg);
        }
        out(b"\r\n");
    }
}

fn encode_switch(from: usize, to: usize, out: &mut impl FnMut(&[u8])) {
    if from != to {
        let mut digits = IntegerText::new();
        encode_args([&b"SELECT"[..], digits.format_unsigned(to as u64)].into_iter(), out);
    }
}

/// Writes a length as one piece.
fn encode_header(mark: u8, count: usize, out: &mut impl FnMut(&[u8])) {
    let mut digits = IntegerText::new();
    let digits = digits.format_unsigned(count as u64);
    let mut header = [b'\n'; 1 + 20 + 2];
    header[0] = mark;
    header[1..=digits.len()].copy_from_slice(digits);
    header[digits.len() + 1] = b'\r';
    out(&header[..digits.len() + 3]);
}

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

impl Lane {
    /// Takes the place of a unit of commands. To be called while its locks are held.
    pub fn take_unit<'a>(&mut self, unit: impl Iterator<Item = Command<'a>> + Clone) -> Place {
        let selected = self.ring().selected_database();
        self.take(encoded_bytes(selected, unit))
    }

    /// Fills the place of a unit with the commands for which it was taken, which may be after its
    /// locks. The selected database must be the same.
    pub fn fill_unit<'a>(
        &mut self,
        mut place: Place,
        unit: impl Iterator<Item = Command<'a>> + Clone,
    ) {
        let selected = self.ring().selected_database();
        encode(selected, unit, &mut |piece| self.fill(&mut place, piece));
        assert_eq!(place.at(), place.end(), "another unit");
    }

    /// Takes the place of a unit that is one request in the selected database, as most are, fills
    /// it, and withdraws the announcement. Returns the position behind it.
    #[inline]
    pub fn put_request(&mut self, request: &[u8]) -> u64 {
        self.put(request)
    }

    /// Takes the place of a unit and fills it. Returns the position behind it.
    pub fn put_unit<'a>(&mut self, unit: impl Iterator<Item = Command<'a>> + Clone) -> u64 {
        let place = self.take_unit(unit.clone());
        let end = place.end();
        self.fill_unit(place, unit);
        end
    }

    /// Notes that another database is the selected one, where the stream says so by itself. To be
    /// called while no other lane puts anything.
    pub fn follow_selection(&mut self, selected: usize) {
        self.ring().set_selected_database(selected);
    }

    /// Says once more which database is the selected one, for readers that begin here.
    pub fn select_again(&mut self, selected: usize) {
        let (mut bytes, mut digits) = (Vec::new(), IntegerText::new());
        let words = [&b"SELECT"[..], digits.format_unsigned(selected as u64)];
        encode_args(words.into_iter(), &mut |piece| bytes.extend_from_slice(piece));
        let mut place = self.take(bytes.len() as u64);
        self.fill(&mut place, &bytes);
    }

    /// Makes another database the selected one: units in it need no SELECT from now on. To be
    /// called while no other lane puts anything. Returns the position behind the unit that says so.
    pub fn select_database(&mut self, selected: usize) -> u64 {
        let mut bytes = Vec::new();
        encode_switch(self.ring().selected_database(), selected, &mut |piece| {
            bytes.extend_from_slice(piece)
        });
        self.ring().set_selected_database(selected);
        let mut place = self.take(bytes.len() as u64);
        self.fill(&mut place, &bytes);
        place.end()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Ring;

    fn text(selected: usize, unit: &[Command<'_>]) -> String {
        let mut bytes = Vec::new();
        encode(selected, unit.iter().copied(), &mut |piece| bytes.extend_from_slice(piece));
        assert_eq!(bytes.len() as u64, encoded_bytes(selected, unit.iter().copied()));
        String::from_utf8(bytes).unwrap().replace("\r\n", " ")
    }

    fn del(database: usize) -> Command<'static> {
        Command { database, words: Words::Args(&[b"DEL", b"k"]) }
    }

    #[test]
    fn one_command_in_the_selected_database_stands_bare() {
        assert_eq!(text(3, &[del(3)]), "*2 $3 DEL $1 k ");
        let request = Words::Request(b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(text(0, &[Command { database: 0, words: request }]), "*1 $4 PING ");
    }

    #[test]
    fn a_set_of_sixteen_bytes_each_takes_59_and_46_more_abroad() {
        let args = [b"SET".to_vec(), vec![b'k'; 16], vec![b'v'; 16]];
        let set = |database| Command { database, words: Words::OwnedArgs(&args) };
        assert_eq!(encoded_bytes(0, [set(0)].into_iter()), 59);
        assert_eq!(encoded_bytes(0, [set(5)].into_iter()), 59 + 46);
    }

    #[test]
    fn a_note_stands_before_its_command_and_takes_40_bytes_at_most_for_flags() {
        let args = [b"SET".to_vec(), b"k".to_vec(), b"v".to_vec()];
        let note = AttributeNote { flags: 5, ..AttributeNote::default() };
        let noted = |flags| Command {
            database: 0,
            words: Words::Noted(AttributeNote { flags, ..note }, &args),
        };
        let bare = Command { database: 0, words: Words::OwnedArgs(&args) };
        assert_eq!(text(0, &[noted(5)]), "*2 $4 ECHO $8 varve:f5 *3 $3 SET $1 k $1 v ".to_owned());
        let bytes = |command| encoded_bytes(0, [command].into_iter());
        let more = |flags| bytes(noted(flags)) - bytes(bare);
        assert_eq!((more(5), more(u32::MAX)), (28, 38));
        let framed = text(0, &[noted(5), del(0)]);
        assert!(framed.starts_with("*1 $5 MULTI *2 $4 ECHO "), "{framed}");
    }

    #[test]
    fn another_database_is_selected_there_and_back() {
        let there = "*2 $6 SELECT $2 12 *2 $3 DEL $1 k *2 $6 SELECT $1 0 ";
        assert_eq!(text(0, &[del(12)]), there);
    }

    #[test]
    fn several_commands_are_framed() {
        let both = "*1 $5 MULTI *2 $3 DEL $1 k *2 $3 DEL $1 k *1 $4 EXEC ";
        assert_eq!(text(1, &[del(1), del(1)]), both);
        let abroad = "*2 $6 SELECT $1 2 *1 $5 MULTI *2 $3 DEL $1 k *2 $6 SELECT $1 3 \
                      *2 $3 DEL $1 k *1 $4 EXEC *2 $6 SELECT $1 0 ";
        assert_eq!(text(0, &[del(2), del(3)]), abroad);
    }

    #[test]
    fn words_may_be_empty() {
        let empty = Command { database: 0, words: Words::Args(&[b""]) };
        assert_eq!(text(0, &[empty]), "*1 $0  ");
        assert_eq!(text(0, &[]), "");
    }

    #[test]
    fn a_unit_is_filled_after_its_place_was_taken_and_a_selection_stands_in_the_stream() {
        let (mut lanes, ring) = Ring::with_lanes(0, 1, 1 << 20).expect("address space");
        let mut consumer = ring.read_from_end();
        let lane = &mut lanes[0];
        let place = lane.take_unit([del(0)].into_iter());
        let moved = lane.select_database(4);
        assert_eq!(moved - place.end(), 23);
        let end = lane.put_unit([del(4)].into_iter());
        assert_eq!(end - moved, place.end());
        let mut place = place;
        encode(0, [del(0)].into_iter(), &mut |piece| lane.fill(&mut place, piece));
        lane.withdraw();
        assert_eq!(consumer.whole(), end);
    }
}

//! A snapshot on its way to replicas: the saver puts its bytes in, each replica takes them at its
//! own speed.
//!
//! ```text
//! saver ─▶ [ what is in memory: newest bytes ] ─▶ replicas that keep up
//!            │ more than memory may be, and somebody has not taken it
//!            └─▶ a file without a name ─▶ replicas that are behind
//! ```
//! The saver never waits for a replica. Where the file cannot be written, replicas that are behind
//! lose their place, and the others go on.

use crate::door::Door;
use crate::saver::Sink;
use base::mutex::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A snapshot on its way.
#[derive(Debug)]
pub struct Parcel {
    state: Mutex<State>,
    /// Bytes that may be in memory.
    memory_max: usize,
    directory: PathBuf,
    door: Arc<Door>,
}

#[derive(Debug)]
struct State {
    /// The newest bytes, in pieces.
    pieces: VecDeque<Arc<Vec<u8>>>,
    /// Memory of one that nobody needs any more, for the next.
    spare: Vec<u8>,
    /// Bytes before the first of them, and behind the last.
    first: u64,
    end: u64,
    /// What is before the first, as far as somebody needs it.
    file: Option<Arc<File>>,
    /// Bytes up to which what was not taken in time is lost.
    lost: u64,
    /// Bytes that all have taken.
    taken: u64,
    /// How it has ended.
    outcome: Option<Result<(), String>>,
}

/// What can be had of a snapshot at some place.
#[derive(Debug)]
pub enum Part {
    /// These bytes, from an index on.
    Bytes(Arc<Vec<u8>>, usize),
    /// What a file has at this place, up to an offset.
    InFile(Arc<File>, u64),
    /// Nothing yet.
    Nothing,
    /// It is whole, and this is its end.
    End,
    /// Nothing any more: there was no room for it.
    Lost,
    /// It is not made, for this reason.
    Failed(String),
}

impl Parcel {
    /// One of which nothing has come yet, and nothing is taken before `take_up_to` says so.
    pub fn new(memory_max: usize, directory: PathBuf, door: Arc<Door>) -> Arc<Parcel> {
        let state = State {
            pieces: VecDeque::new(),
            spare: Vec::new(),
            first: 0,
            end: 0,
            file: None,
            lost: 0,
            taken: 0,
            outcome: None,
        };
        Arc::new(Parcel { state: Mutex::new(state), memory_max, directory, door })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// What stands at a place.
    pub fn at(&self, place: u64) -> Part {
        let state = self.state();
        if let Some(Err(reason)) = &state.outcome {
            return Part::Failed(reason.clone());
        }
        if place < state.lost {
            return Part::Lost;
        }
        if place < state.first {
            let file = state.file.as_ref().map(Arc::clone);
            return file.map_or(Part::Lost, |file| Part::InFile(file, state.first));
        }
        let mut begin = state.first;
        for piece in &state.pieces {
            let end = begin + piece.len() as u64;
            if place < end {
                return Part::Bytes(Arc::clone(piece), narrow::to_usize(place - begin));
            }
            begin = end;
        }
        if state.outcome.is_some() { Part::End } else { Part::Nothing }
    }

    /// Tells that nobody needs what is before a place.
    pub fn take_up_to(&self, place: u64) {
        self.state().taken = place;
    }

    /// Bytes so far, and whether that is all.
    pub fn length(&self) -> (u64, bool) {
        let state = self.state();
        (state.end, matches!(state.outcome, Some(Ok(()))))
    }

    /// Bytes in memory.
    pub fn bytes_in_memory(&self) -> u64 {
        let state = self.state();
        state.end - state.first
    }

    /// Takes note of how it has ended.
    pub fn end(&self, outcome: Result<(), String>) {
        self.state().outcome = Some(outcome);
        self.door.wake();
    }

    fn push(&self, bytes: &[u8]) {
        let mut piece = std::mem::take(&mut self.state().spare);
        piece.clear();
        piece.extend_from_slice(bytes);
        let mut state = self.state();
        state.end += bytes.len() as u64;
        state.pieces.push_back(Arc::new(piece));
        drop(state);
        self.make_room();
        self.door.nudge();
    }

    /// Moves the oldest bytes to the file while there are too many. Nobody waits for the disk
    /// meanwhile but the saver, which alone moves bytes.
    fn make_room(&self) {
        loop {
            let state = self.state();
            let in_memory = state.end - state.first;
            let Some(oldest) = state.pieces.front() else { return };
            if in_memory <= self.memory_max as u64 {
                return;
            }
            let (piece, first, taken) = (Arc::clone(oldest), state.first, state.taken);
            let file = state.file.as_ref().map(Arc::clone);
            drop(state);
            let end = first + piece.len() as u64;
            let kept = if taken < end { Some(self.keep(file, &piece, first)) } else { None };
            let mut state = self.state();
            match kept {
                Some(Ok(file)) => state.file = Some(file),
                Some(Err(error)) => {
                    tracing::warn!("A snapshot for slow replicas cannot be kept in `dir`: {error}");
                    state.lost = end;
                }
                None => {}
            }
            drop(piece);
            if let Some(piece) = state.pieces.pop_front().and_then(Arc::into_inner) {
                state.spare = piece;
            }
            state.first = end;
        }
    }

    fn keep(&self, file: Option<Arc<File>>, piece: &[u8], at: u64) -> io::Result<Arc<File>> {
        let file = match file {
            Some(file) => file,
            None => Arc::new(tempfile::tempfile_in(&self.directory)?),
        };
        file.write_all_at(piece, at)?;
        Ok(file)
    }
}

/// The saver's end of it.
pub struct ParcelSink(pub Arc<Parcel>);

impl Write for ParcelSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for ParcelSink {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn put_in_place(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::Mailbox;
    use session::Owner;

    fn parcel(directory: &std::path::Path) -> Arc<Parcel> {
        let (mailbox, _inbox) = Mailbox::new(|| {}, Arc::default());
        let door = Arc::new(Door::new(mailbox, Owner::default()));
        Parcel::new(1000, directory.to_owned(), door)
    }

    fn read_all(parcel: &Parcel) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let at = bytes.len() as u64;
            match parcel.at(at) {
                Part::Bytes(piece, from) => bytes.extend_from_slice(&piece[from..]),
                Part::InFile(file, end) => {
                    let mut room = vec![0; narrow::to_usize(end - at)];
                    file.read_exact_at(&mut room, at).expect("in the file");
                    bytes.extend_from_slice(&room);
                }
                Part::End | Part::Nothing => return bytes,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn who_is_behind_finds_all_of_it_and_memory_holds_little() {
        let directory = tempfile::tempdir().expect("a directory");
        let parcel = parcel(directory.path());
        let mut sink = ParcelSink(Arc::clone(&parcel));
        let mut all = Vec::new();
        for number in 0..100_u8 {
            let piece = vec![number; 77];
            sink.write_all(&piece).expect("it takes everything");
            all.extend_from_slice(&piece);
            assert!(parcel.bytes_in_memory() <= 1000);
        }
        assert!(matches!(parcel.at(7700), Part::Nothing));
        parcel.end(Ok(()));
        assert!(matches!(parcel.at(7700), Part::End));
        assert!(read_all(&parcel) == all);
        assert_eq!(parcel.length(), (7700, true));
    }

    #[test]
    fn what_all_have_taken_is_in_no_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let parcel = parcel(directory.path());
        for number in 0..100_u64 {
            ParcelSink(Arc::clone(&parcel)).write_all(&[1; 77]).expect("it takes everything");
            parcel.take_up_to(77 * number);
        }
        assert!(parcel.state().file.is_none());
        assert!(matches!(parcel.at(0), Part::Lost));
    }

    #[test]
    fn where_there_is_no_room_for_a_file_only_those_behind_lose_their_place() {
        let parcel = parcel(std::path::Path::new("/nosuch"));
        (0..20).for_each(|_| {
            ParcelSink(Arc::clone(&parcel)).write_all(&[1; 77]).expect("it takes everything");
        });
        assert!(matches!(parcel.at(0), Part::Lost));
        assert!(matches!(parcel.at(77 * 19), Part::Bytes(..)));
    }
}

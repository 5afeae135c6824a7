//! What has come of the source and was not applied yet: between the thread that receives and the
//! one that applies, in files without a name, so that a slow target costs the source no memory.

use base::Spool;
use base::mutex::{Condvar, Mutex, MutexGuard};
use replication::ReplicationId;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between two notes of how much had come when.
const BETWEEN_NOTES: Duration = Duration::from_millis(50);
/// Notes that are kept. If there are more, every second one is dropped.
const NOTES_MAX: usize = 4096;

/// Keys as they were at a place of the stream, in a file.
#[derive(Debug)]
pub struct Snapshot {
    /// An RDB file, from its begin.
    pub file: File,
    /// Whose stream follows.
    pub id: ReplicationId,
    /// Bytes of the stream that it stands for.
    pub offset: u64,
    /// Number of the stream that follows, among those that came; see `Backlog::next`.
    pub generation: u64,
}

/// What is to be applied next.
#[derive(Debug)]
pub enum Next {
    /// A snapshot, behind which the stream begins anew.
    Snapshot(Snapshot),
    /// So many bytes of the stream were put into the room.
    Bytes(usize),
    /// Nothing has come.
    Nothing,
}

/// See the module.
#[derive(Debug)]
pub struct Backlog {
    state: Mutex<State>,
    changed: Condvar,
    directory: PathBuf,
    /// Bytes of the stream that the target has.
    applied: AtomicU64,
    /// True once the source has asked for that number.
    is_asked: AtomicBool,
    has_ended: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Counts snapshots: what is told of an older stream counts for nothing.
    generation: u64,
    spool: Spool,
    /// Whose stream it is, and how much of it has come.
    received: Option<(ReplicationId, u64)>,
    snapshot: Option<Snapshot>,
    is_connected: bool,
    /// How much had come when; the newest is the last.
    notes: VecDeque<Note>,
}

#[derive(Clone, Copy, Debug)]
struct Note {
    received: u64,
    at: Instant,
    wall: u64,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// True while there is a link to the source.
    pub is_connected: bool,
    /// Bytes of the stream that have come.
    pub received: u64,
    /// Age of the oldest bytes that the target lacks.
    pub behind: Duration,
}

impl Backlog {
    /// Nothing has come but what `has` tells. Files are made in a directory.
    pub fn new(directory: PathBuf, has: Option<(ReplicationId, u64)>) -> Backlog {
        let state = State {
            generation: 0,
            spool: Spool::default(),
            received: has,
            snapshot: None,
            is_connected: false,
            notes: VecDeque::new(),
        };
        Backlog {
            state: Mutex::new(state),
            changed: Condvar::new(),
            directory,
            applied: AtomicU64::new(has.map_or(0, |(_, offset)| offset)),
            is_asked: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Whose stream has come, and how much of it: what the source is asked to go on from.
    pub fn received(&self) -> Option<(ReplicationId, u64)> {
        self.state().received
    }

    /// A new file for a snapshot.
    ///
    /// # Errors
    /// Those of the system.
    pub fn file(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.directory)
    }

    /// Notes that the source goes on, under another id if there is one.
    pub fn goes_on(&self, id: Option<ReplicationId>) {
        let mut state = self.state();
        if let (Some(received), Some(id)) = (&mut state.received, id) {
            received.0 = id;
        }
        state.is_connected = true;
    }

    /// Puts a snapshot in the place of all that has come.
    pub fn put_snapshot(&self, file: File, id: ReplicationId, offset: u64) {
        let mut state = self.state();
        state.spool.clear();
        state.notes.clear();
        state.generation += 1;
        state.received = Some((id, offset));
        state.snapshot = Some(Snapshot { file, id, offset, generation: state.generation });
        state.is_connected = true;
        self.applied.store(0, SeqCst);
        self.changed.notify_all();
    }

    /// Adds bytes of the stream.
    ///
    /// # Errors
    /// Those of the system; nothing was added then.
    pub fn push(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let Some((_, received)) = state.received else { return Ok(()) };
        state.spool.push(&self.directory, received, bytes)?;
        let received = received + bytes.len() as u64;
        state.received.as_mut().expect("it was there").1 = received;
        note(&mut state.notes, received);
        self.changed.notify_all();
        Ok(())
    }

    /// Notes that the link to the source is lost.
    pub fn disconnected(&self) {
        self.state().is_connected = false;
    }

    /// True while a snapshot waits to be taken.
    pub fn has_snapshot(&self) -> bool {
        self.state().snapshot.is_some()
    }

    /// Returns a snapshot, or bytes of the stream of a generation from an offset on, if something
    /// comes within a time.
    ///
    /// # Errors
    /// Those of the system.
    pub fn next(
        &self,
        (generation, from): (u64, u64),
        room: &mut [u8],
        most: Duration,
    ) -> io::Result<Next> {
        let mut state = self.state();
        let is_there = |state: &State| {
            let has_more = state.received.is_some_and(|(_, end)| end > from);
            state.snapshot.is_some() || state.generation == generation && has_more
        };
        if !is_there(&state) {
            state = self.changed.wait_for(state, most);
        }
        if let Some(snapshot) = state.snapshot.take() {
            return Ok(Next::Snapshot(snapshot));
        }
        if !is_there(&state) {
            return Ok(Next::Nothing);
        }
        state.spool.read(from, room).map(Next::Bytes)
    }

    /// Notes that the target has the stream up to an offset, and forgets what is before it.
    pub fn applied(&self, generation: u64, offset: u64) {
        let mut state = self.state();
        if state.generation != generation {
            return;
        }
        state.spool.forget(offset);
        while state.notes.front().is_some_and(|it| it.received <= offset) {
            state.notes.pop_front();
        }
        self.applied.store(offset, SeqCst);
    }

    /// When what stands at an offset came, in milliseconds since the Unix epoch.
    pub fn came_at(&self, offset: u64) -> u64 {
        let state = self.state();
        let at = state.notes.partition_point(|note| note.received <= offset);
        state.notes.get(at).map_or_else(wall, |note| note.wall)
    }

    /// Whose stream it is now, if it is still that of a generation.
    pub fn id(&self, generation: u64) -> Option<ReplicationId> {
        let state = self.state();
        state.received.filter(|_| state.generation == generation).map(|(id, _)| id)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        Progress {
            is_connected: state.is_connected,
            received: state.received.map_or(0, |(_, offset)| offset),
            behind: state.notes.front().map_or(Duration::ZERO, |note| note.at.elapsed()),
        }
    }

    /// Bytes of the stream that the target has, and whether the source has asked for that number
    /// since the last time.
    pub fn to_acknowledge(&self) -> (u64, bool) {
        (self.applied.load(SeqCst), self.is_asked.swap(false, SeqCst))
    }

    /// Notes that the source asks how far it is.
    pub fn ask(&self) {
        self.is_asked.store(true, SeqCst);
    }

    /// Ends the thread that receives.
    pub fn end(&self) {
        self.has_ended.store(true, SeqCst);
    }

    /// True once it is to end.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

fn note(notes: &mut VecDeque<Note>, received: u64) {
    // The last note is moved on until it is old enough: what it tells came later than its begin.
    match notes.back_mut() {
        Some(last) if last.at.elapsed() < BETWEEN_NOTES => last.received = received,
        _ => notes.push_back(Note { received, at: Instant::now(), wall: wall() }),
    }
    if notes.len() > NOTES_MAX {
        // An older time counts for what came between.
        let mut at = 0;
        let mut dropped: Option<Note> = None;
        notes.retain_mut(|it| {
            at += 1;
            match dropped.take() {
                None if at < NOTES_MAX => {
                    dropped = Some(*it);
                    false
                }
                Some(earlier) => {
                    (it.at, it.wall) = (earlier.at, earlier.wall);
                    true
                }
                None => true,
            }
        });
    }
}

fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Duration = Duration::ZERO;

    fn id(digit: u8) -> ReplicationId {
        ReplicationId::parse(&[digit; 40]).expect("digits")
    }

    #[test]
    fn what_has_come_is_taken_once_and_a_snapshot_takes_its_place() {
        let directory = tempfile::tempdir().expect("a directory");
        let backlog = Backlog::new(directory.path().to_owned(), Some((id(b'a'), 100)));
        let mut room = [0; 8];
        assert!(matches!(backlog.next((0, 100), &mut room, NOTHING), Ok(Next::Nothing)));
        backlog.push(b"abc").expect("room");
        assert!(matches!(backlog.next((0, 100), &mut room, NOTHING), Ok(Next::Bytes(3))));
        assert_eq!((&room[..3], backlog.received()), (&b"abc"[..], Some((id(b'a'), 103))));
        assert!(backlog.progress().behind > Duration::ZERO);
        backlog.applied(0, 103);
        assert_eq!(backlog.progress().behind, Duration::ZERO);
        backlog.goes_on(Some(id(b'b')));
        assert_eq!(backlog.id(0), Some(id(b'b')));
        backlog.push(b"lost").expect("room");
        let file = backlog.file().expect("a file");
        backlog.put_snapshot(file, id(b'c'), 7);
        assert!(backlog.has_snapshot() && backlog.id(0).is_none());
        backlog.push(b"x").expect("room");
        // What is told of the stream before does not touch this one.
        backlog.applied(0, 107);
        let next = backlog.next((0, 103), &mut room, NOTHING);
        assert!(matches!(next, Ok(Next::Snapshot(Snapshot { offset: 7, generation: 1, .. }))));
        assert!(matches!(backlog.next((0, 0), &mut room, NOTHING), Ok(Next::Nothing)));
        assert!(matches!(backlog.next((1, 7), &mut room, NOTHING), Ok(Next::Bytes(1))));
        assert_eq!(backlog.received(), Some((id(b'c'), 8)));
    }

    #[test]
    fn an_acknowledgement_is_wanted_once() {
        let backlog = Backlog::new(PathBuf::new(), None);
        backlog.ask();
        assert_eq!((backlog.to_acknowledge(), backlog.to_acknowledge()), ((0, true), (0, false)));
    }

    #[test]
    fn notes_are_few_and_tell_times_that_are_not_too_late() {
        let (mut notes, begin) = (VecDeque::new(), Instant::now());
        for number in 0..10_000_u64 {
            let at = begin + BETWEEN_NOTES * u32::try_from(number).expect("small");
            notes.push_back(Note { received: number, at, wall: number });
            note(&mut notes, number);
            assert!(notes.len() <= NOTES_MAX + 1);
        }
        let orderly =
            |one: &Note, other: &Note| one.received <= other.received && one.at <= other.at;
        assert!(notes.iter().zip(notes.iter().skip(1)).all(|(one, other)| orderly(one, other)));
        assert!(notes.iter().all(|it| it.wall <= it.received));
    }
}

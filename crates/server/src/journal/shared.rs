//! What all threads know of the journal.

use super::reasons::{Reason, Reasons};
use super::wake::Rest;
use crate::claim::Claims;
use crate::door::Door;
use crate::kept_files::KeptFiles;
use crate::output::ALL_SAFE;
use base::Millis;
use base::mutex::Mutex;
use journal::sync_line::ReplicationId;
use journal::{CHUNK_BYTES, CutMark, Lane, Ring};
use session::Instance;
use settings::memory::MAXMEMORY;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::ThreadContext;

/// Number of lanes: one for each thread that may pass the gate.
const LANES: usize = base::gate::MEMBERS_MAX;
/// Distance from the oldest position in memory to the tail that the ring has room for.
const SPAN_BYTES: usize = 16 << 30;
/// Bytes that wait for the file from which on the writer is woken before its time.
const WAKE_BYTES: u64 = 1 << 20;
/// Time between two looks at what was written.
const FLUSH_WAIT: Duration = Duration::from_millis(1);
/// Wait for what was put to be written, and each step of it. The system rounds waits for sockets up
/// to several milliseconds, but not these.
const WRITTEN_WITHIN: Duration = Duration::from_millis(1);
const WRITTEN_STEP: Duration = Duration::from_micros(50);
/// Wait for an id to be written.
const TOLD_WITHIN: Duration = Duration::from_millis(100);
/// Least bytes that may wait for the file before changes are stalled.
const BUDGET_MIN: u64 = 16 << 20;
/// Divisor of the live bytes: so much may wait for the file, if that is more.
const BUDGET_PART: u64 = 32;
/// Bytes that are kept in memory though they were written, in case their sync fails.
const KEPT_MAX: u64 = 4 << 20;
/// Divisor of `maxmemory`: neither those that wait nor those that are kept are more than this part.
const LIMIT_PART: u64 = 16;
/// Least bytes to which `maxmemory` bounds either: two chunks, of which one is being filled.
const LIMITED_MIN: u64 = 2 * CHUNK_BYTES as u64;

/// What all threads know of the journal.
#[derive(Debug)]
pub struct Journal {
    pub(super) ring: Arc<Ring>,
    /// Lanes that no thread has yet.
    pub(super) lanes: Mutex<Vec<Lane>>,
    pub(super) rest: Rest,
    /// Position up to which the stream was written to the file.
    pub(super) written: AtomicU64,
    /// Replies up to this position may leave.
    pub(super) safe: AtomicU64,
    /// Highest position that a reply waits for.
    pub(super) awaited: AtomicU64,
    /// Why units are put.
    pub reasons: Reasons,
    /// Offset of position zero. Changes while the gate is closed and nobody reads the stream.
    shift: AtomicU64,
    /// Selections of databases in the stream of a primary, for the files: position and database.
    pub(super) selections: Mutex<Vec<(u64, usize)>>,
    /// Id that the files tell; none while there are none, or the disk fails.
    told: Mutex<Option<ReplicationId>>,
    /// Positions at which units with times to live begin, and the moments from which those count.
    pub(super) moments: Mutex<Vec<(u64, Millis)>>,
    /// True if replies to changes wait until these are safe.
    pub(super) delays_replies: AtomicBool,
    /// True while the journal is turned off: replies go on waiting until all is safe.
    pub(super) is_closing: AtomicBool,
    /// True while the last file is no part of the set, or files of that are gone: it needs a new
    /// base first.
    pub(super) is_apart: AtomicBool,
    /// True while there is no space for what the files go on with: nothing was changed since they
    /// were loaded.
    pub(super) is_waiting: AtomicBool,
    /// Lock of what settings decide: whether the journal is on, and whether replies wait.
    pub(super) policy: Mutex<()>,
    /// Value of `dir` when the journal was turned on; none once the writer has closed its files.
    pub(super) directory: Mutex<Option<Arc<str>>>,
    /// Bytes that may wait for the file.
    pub(super) budget: AtomicU64,
    /// Bytes that are kept in memory though they were written.
    pub(super) kept_max: AtomicU64,
    /// Where the file is to end, during a rotation.
    pub(super) cut: CutMark,
    /// How often changes went on that were stalled.
    pub(super) resumes: AtomicU64,
    /// Position beyond which writers wait for a replica; `u64::MAX` while they wait for none.
    writers_end: AtomicU64,
    pub(super) unselected: Unselected,
    pub(super) asked: Asked,
    /// The thread that serves replicas, once it runs.
    door: OnceLock<Arc<Door>>,
    /// The files, once they may be written.
    pub(super) claims: Claims,
    /// Those of before the start that are not removed yet.
    pub kept_files: KeptFiles,
}

/// Units outside of the selected database, each of which takes two SELECTs.
#[derive(Debug, Default)]
pub(super) struct Unselected {
    pub(super) count: AtomicU64,
    /// Database of the last one.
    pub(super) database: AtomicUsize,
}

/// What other threads want of the writer.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The journal is to be on: the setting says so, and its files were looked at.
    pub(super) on: AtomicBool,
    /// It is to be turned off before, as its files are to be elsewhere.
    pub(super) reopen: AtomicBool,
    pub(super) rewrite: AtomicBool,
    /// A base was asked for since the journal was to be off: it is written behind the end of the
    /// files.
    pub(super) behind_end: AtomicBool,
    /// Somebody has asked for a base, so failures before that are no reason to rest.
    pub(super) at_once: AtomicBool,
    /// What is written is cancelled, and to be begun anew.
    pub(super) restart: AtomicBool,
    /// What is written is to be synced at once, whatever the settings say.
    pub(super) hurry: AtomicBool,
    pub(super) stop: AtomicBool,
}

/// True while the disk fails. Changes are refused then, so no client waits for room: the disk may
/// fail for ever, and commands that change nothing put next to nothing into the ring.
fn is_failing(instance: &Instance) -> bool {
    instance.journal.failure().is_some()
}

impl Journal {
    /// Returns a journal that is off. Nobody reads its ring.
    ///
    /// # Errors
    /// When the system refuses address space.
    pub fn new() -> io::Result<Arc<Journal>> {
        let (lanes, ring) = Ring::with_lanes(0, LANES, SPAN_BYTES)?;
        let journal = Journal {
            ring,
            lanes: Mutex::new(lanes),
            rest: Rest::default(),
            written: AtomicU64::new(0),
            safe: AtomicU64::new(ALL_SAFE),
            awaited: AtomicU64::new(0),
            reasons: Reasons::default(),
            shift: AtomicU64::new(0),
            selections: Mutex::default(),
            told: Mutex::default(),
            moments: Mutex::default(),
            delays_replies: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            is_apart: AtomicBool::new(false),
            is_waiting: AtomicBool::new(false),
            policy: Mutex::new(()),
            directory: Mutex::default(),
            budget: AtomicU64::new(BUDGET_MIN),
            kept_max: AtomicU64::new(KEPT_MAX),
            cut: CutMark::default(),
            resumes: AtomicU64::new(0),
            writers_end: AtomicU64::new(u64::MAX),
            unselected: Unselected::default(),
            asked: Asked::default(),
            door: OnceLock::new(),
            claims: Claims::default(),
            kept_files: KeptFiles::default(),
        };
        Ok(Arc::new(journal))
    }

    /// Takes a lane that no thread has. There are as many as threads may work on a store.
    pub fn take_lane(&self) -> Option<Lane> {
        self.lanes.lock().pop()
    }

    /// Replies up to this position may leave.
    #[inline]
    pub fn safe(&self) -> u64 {
        self.safe.load(SeqCst)
    }

    /// Sets the position up to which replies may leave.
    #[cfg(test)]
    pub fn set_safe(&self, position: u64) {
        self.safe.store(position, Release);
    }

    /// Returns true if the reply to a change waits until its unit, which ends at `position`, is
    /// safe; the writer knows then that somebody waits.
    #[inline]
    pub fn delays_reply(&self, position: u64) -> bool {
        let holds = self.delays_replies.load(Acquire) && position > self.safe();
        if holds {
            // In one order with `move_safe`: the writer sees that this reply waits and wakes its
            // worker, or the worker sees what is safe when it writes its output.
            self.awaited.fetch_max(position, SeqCst);
        }
        holds
    }

    /// To be called after a batch in which units were put, with no lock held: wakes the writer if
    /// it should write now, and stalls changes if it is far behind.
    pub fn after_batch(&self, instance: &Instance) {
        let (pending, has_files) = (self.pending_bytes(), self.reasons.has(Reason::FILES));
        let is_behind = has_files && pending > self.budget.load(Relaxed) && !is_failing(instance);
        if is_behind || instance.store.stalls_writers() || self.is_beyond_end() {
            instance.clients.stall_changes();
            self.rest.end_if(true);
            return self.nudge_sender();
        }
        if has_files {
            self.rest.end_if(pending >= WAKE_BYTES || self.delays_replies.load(Relaxed));
        }
        self.nudge_sender();
    }

    /// Wakes the thread that serves replicas, if there are some and it sleeps.
    #[inline]
    pub(super) fn nudge_sender(&self) {
        if self.reasons.has(Reason::REPLICAS)
            && let Some(door) = self.door()
        {
            door.nudge();
        }
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Offset of position zero.
    pub fn shift(&self) -> u64 {
        self.shift.load(Acquire)
    }

    /// Offset behind all that was put.
    pub fn offset(&self) -> u64 {
        self.tail().wrapping_add(self.shift())
    }

    /// Makes `offset` the one behind all that was put. To be called while the gate is closed.
    pub fn set_offset(&self, offset: u64) {
        self.shift.store(offset.wrapping_sub(self.tail()), Release);
    }

    /// Notes that the stream of a primary selects a database at a position.
    pub fn note_selection(&self, position: u64, database: usize) {
        if self.reasons.has(Reason::FILES) {
            self.selections.lock().push((position, database));
        }
    }

    /// Notes the moment at which the unit that is put next is executed, if it has times to live:
    /// the files tell it, or these would begin anew at each start.
    pub fn note_moment(&self, moment: Option<Millis>) {
        if let Some(moment) = moment
            && self.reasons.has(Reason::FILES)
        {
            self.moments.lock().push((self.tail(), moment));
        }
    }

    /// Has the files begin anew, with another base: the stream that they have is not the one that
    /// goes on.
    pub fn begin_anew(&self) {
        let _deciding = self.deciding();
        if self.asked.on.load(Relaxed) {
            self.asked.reopen.store(true, Relaxed);
            self.asked.at_once.store(true, Relaxed);
        }
        self.rest.end();
    }

    /// Returns true while so much of the stream waits for the files that no more may come.
    pub fn is_behind(&self) -> bool {
        self.reasons.has(Reason::FILES) && self.pending_bytes() > self.budget.load(Relaxed)
    }

    /// Has the files take more of the stream, and gives them a moment for that.
    pub fn wait_a_moment(&self) {
        self.rest.end_if(true);
        std::thread::sleep(FLUSH_WAIT);
    }

    /// Position behind all that was put.
    pub fn tail(&self) -> u64 {
        self.ring.tail()
    }

    /// Makes `position` the first of the stream, in which nothing was put yet and which nobody
    /// reads.
    pub fn begin_at(&self, position: u64, selected: usize) {
        self.ring.begin_at(position, selected);
        self.written.store(position, Relaxed);
    }

    /// Names the thread that serves replicas. To be called once.
    pub fn open_door(&self, door: Arc<Door>) {
        let _ = self.door.set(door);
    }

    /// The way to the thread that serves replicas; `None` in a server without one.
    pub fn door(&self) -> Option<&Arc<Door>> {
        self.door.get()
    }

    /// How far the stream, which is whole up to a position, may go to replicas: with files, not
    /// beyond what was written to them.
    pub fn may_leave(&self, whole: u64) -> u64 {
        if self.reasons.has(Reason::FILES) { self.written.load(Acquire).min(whole) } else { whole }
    }

    /// Ends the history of the stream: the data is not what it says any more.
    pub fn part(&self) {
        if self.reasons.has(Reason::REPLICAS)
            && let Some(door) = self.door()
        {
            door.part();
        }
    }

    /// Has what was put written without delay.
    pub fn write_soon(&self) {
        self.rest.end_if(true);
    }

    /// Has what was put written, and waits a little for that: for an acknowledgement that a client
    /// waits for. A disk that takes longer is not waited for.
    pub fn wait_until_written(&self) {
        let (tail, mut left) = (self.tail(), WRITTEN_WITHIN);
        while self.may_leave(tail) < tail && !left.is_zero() {
            self.write_soon();
            std::thread::sleep(WRITTEN_STEP);
            left = left.saturating_sub(WRITTEN_STEP);
        }
    }

    /// Notes which id the files tell.
    pub(super) fn note_told(&self, id: Option<ReplicationId>) {
        *self.told.lock() = id;
    }

    /// Waits a little for files, if there are some, to tell an id before replicas hear of it: a
    /// killed process comes back under the id in its files. A disk that takes longer is not waited
    /// for.
    pub fn wait_until_told(&self, id: ReplicationId) {
        let mut left = TOLD_WITHIN;
        while self.told.lock().is_some_and(|told| told != id) && !left.is_zero() {
            self.write_soon();
            std::thread::sleep(WRITTEN_STEP);
            left = left.saturating_sub(WRITTEN_STEP);
        }
    }

    /// Lets changes go on that were stalled, if there is room for them again, or if they are
    /// refused from now on. To be called by each thread that has made room.
    pub fn let_changes_go_on(&self, instance: &Instance) {
        let is_held = instance.store.stalls_writers() || self.is_beyond_end();
        if !instance.clients.stalls_changes() || is_held {
            return;
        }
        let has_room = self.pending_bytes() <= self.budget.load(Relaxed) / 4 * 3;
        if has_room || is_failing(instance) {
            self.resumes.fetch_add(1, Relaxed);
            instance.clients.resume_changes();
        }
    }

    /// Position beyond which writers wait for a replica.
    pub fn writers_may_go_to(&self) -> u64 {
        self.writers_end.load(Relaxed)
    }

    /// Lets writers go on up to a position, and lets those go on that wait if it is not reached.
    pub fn let_writers_go_to(&self, position: u64, instance: &Instance) {
        self.writers_end.store(position, Relaxed);
        self.let_changes_go_on(instance);
    }

    fn is_beyond_end(&self) -> bool {
        self.tail() > self.writers_end.load(Relaxed)
    }

    /// Bounds the memory of the stream by the data that there is, and by `maxmemory`.
    pub(super) fn bound_memory(&self, instance: &Instance) {
        let most = match MAXMEMORY.get(&instance.settings) {
            0 => u64::MAX,
            maxmemory => (maxmemory / LIMIT_PART).max(LIMITED_MIN),
        };
        let usual = (instance.store.live_bytes() / BUDGET_PART).max(BUDGET_MIN);
        self.budget.store(usual.min(most), Relaxed);
        self.kept_max.store(KEPT_MAX.min(most), Relaxed);
    }

    /// Bytes that were not written to the file yet.
    pub fn pending_bytes(&self) -> u64 {
        self.ring.tail().saturating_sub(self.written.load(Relaxed))
    }

    /// Tells how much memory the stream takes.
    pub fn tell_resident(&self, instance: &Instance) {
        instance.journal.resident_bytes.store(self.ring.resident_bytes(), Relaxed);
    }

    /// Waits until all that was changed before is in the files, and no base is being written. The
    /// thread is inside the gate, and leaves it meanwhile. Returns false if the disk fails, which
    /// may last.
    pub fn flush(&self, instance: &Instance, thread: &ThreadContext) -> bool {
        instance.store.leave(thread);
        let tail = self.ring.tail();
        let state = &instance.journal;
        let is_behind = || self.written.load(Acquire) < tail || state.is_rewriting.load(Relaxed);
        let is_waited_for = || state.is_on.load(Relaxed) && is_behind();
        while is_waited_for() && !is_failing(instance) {
            self.rest.end_if(true);
            std::thread::sleep(FLUSH_WAIT);
        }
        instance.store.enter(thread);
        !is_waited_for()
    }

    /// Asks for a new base.
    pub fn ask_for_rewrite(&self) {
        let _deciding = self.deciding();
        self.asked.at_once.store(true, Relaxed);
        self.asked.behind_end.store(!self.asked.on.load(Relaxed), Relaxed);
        self.asked.rewrite.store(true, Release);
        self.rest.end();
    }

    /// Has a new base, whose writing is about to be cancelled, written anew.
    pub fn restart_rewrite(&self) {
        self.asked.restart.store(true, Release);
    }

    /// Has the writer end, after all that was changed before is safe.
    pub fn stop(&self) {
        self.asked.stop.store(true, Release);
        self.rest.end();
    }
}

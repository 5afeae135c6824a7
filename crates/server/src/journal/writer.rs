//! The thread that writes the ring to files.
//!
//! ```text
//! round   settings ─▶ write what is whole ─▶ sync, or have it synced ─▶ notify waiters ─▶ rest
//! ```
//! It rests for milliseconds while there are changes, and is woken by the first one after a quiet
//! time; under `appendfsync always` by each batch. After a failure changes are refused, and it
//! tries again every second.

use super::base_job::Rotations;
use super::begin::Begin;
use super::disk_thread::DiskThread;
use super::latency;
use super::policy::sync_policy;
use super::reasons::Reason;
use super::retry::Retry;
use super::shared::Journal;
use super::wake::{Depth, Round};
use crate::saver::Saver;
use base::Steady;
use journal::disk::{Directory, OpenFile};
use journal::log::{Log, LogError};
use journal::set::Shortening;
use journal::sync_line::ReplicationId;
use journal::writer::{SyncJob, SyncPolicy, WriteError};
use journal::{Consumer, Lane};
use session::{Instance, Notice};
use settings::journal::AOF_TIMESTAMP_ENABLED;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use store::{Store, ThreadContext};

/// Time for which a snapshot whose sink stands still may stall changes at a stretch.
const SNAPSHOT_PATIENCE: Duration = Duration::from_millis(20);
/// The same for one whose sink takes what it is given: cores and disk may be busy with others.
const BUSY_PATIENCE: Duration = Duration::from_millis(50);
/// Bytes that a unit outside of the selected database takes more.
const UNSELECTED_BYTES: u64 = 46;
/// Part of the stream that such bytes may be before another database becomes the selected one.
const UNSELECTED_PART: u64 = 4;

type Syncer = DiskThread<SyncJob<OpenFile>>;
type Remover = DiskThread<Shortening<OpenFile>>;

/// The thread, and what it owns.
pub struct JournalThread {
    pub(super) instance: Arc<Instance>,
    pub(super) journal: Arc<Journal>,
    pub(super) saver: Arc<Saver>,
    pub(super) rotations: Rotations,
    pub(super) thread: ThreadContext,
    /// What is not in the files yet; none while the journal is off.
    pub(super) consumer: Option<Consumer>,
    /// For the units that select another database.
    lane: Lane,
    /// The files, while the journal is on.
    pub(super) log: Option<Log<Directory>>,
    /// What the log begins with, until there is space for it.
    pub(super) waiting: Option<Box<Begin>>,
    pub(super) id: ReplicationId,
    pub(super) syncer: Syncer,
    pub(super) remover: Remover,
    pub(super) sync_began: Option<Instant>,
    /// When the next file, or a sync of names, is tried again that has failed.
    pub(super) retry: Retry,
    /// Since when a write waits for space that what else is written may give back.
    pub(super) waits_for_space: Option<Instant>,
    quiet_rounds: u32,
    pub(super) second: Second,
    /// Bytes of the files of the set but the last.
    pub(super) other_bytes: u64,
    snapshot_behind: Option<Stall>,
}

/// Changes that are stalled for a snapshot.
#[derive(Debug)]
struct Stall {
    since: Instant,
    /// How often they had gone on before.
    resumes: u64,
    /// What the sink of the snapshot was at then.
    step: Option<u64>,
}

/// What is looked at once a second.
#[derive(Debug)]
pub(super) struct Second {
    began: Instant,
    tail: u64,
    unselected: u64,
    /// True if the removal of a file has failed since.
    pub(super) has_failed_to_delete: bool,
}

impl Second {
    fn new(tail: u64, unselected: u64) -> Second {
        Second { began: Instant::now(), tail, unselected, has_failed_to_delete: false }
    }
}

/// Waits before a write, as tests ask for.
fn pause(instance: &Instance) {
    let micros = instance.journal.pause_micros.load(Relaxed);
    if micros > 0 {
        thread::sleep(Duration::from_micros(micros));
    }
}

impl JournalThread {
    /// Starts the thread. If `begin` is given, the journal is on from then on.
    ///
    /// # Errors
    /// When the system refuses a thread, or the next file of the set.
    pub fn start(
        instance: Arc<Instance>,
        journal: Arc<Journal>,
        saver: Arc<Saver>,
        begin: Option<Begin>,
    ) -> Result<JoinHandle<()>, io::Error> {
        let thread = instance.store.thread_context();
        let (thread, lane) = thread.zip(journal.take_lane()).ok_or(io::ErrorKind::OutOfMemory)?;
        let own_id = ReplicationId::parse(instance.identity.run_id.as_bytes());
        let own_id = own_id.ok_or(io::ErrorKind::InvalidData)?;
        if let Some(begin) = &begin {
            journal.begin_at(begin.position, begin.selected);
        }
        let consumer = begin.is_some().then(|| journal.ring.read_from_end());
        let (ready, is_ready) = crossbeam_channel::bounded(1);
        let work = move || {
            journal.rest.adopt();
            journal.bound_memory(&instance);
            let (syncer, remover) = match start_disk_threads() {
                Ok(threads) => threads,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let second = Second::new(journal.ring.tail(), 0);
            let history = instance.replicas.history();
            let mut writer = JournalThread {
                instance,
                journal,
                saver,
                rotations: Rotations::default(),
                thread,
                consumer,
                lane,
                log: None,
                waiting: None,
                id: history.map_or(own_id, |history| history.id()),
                syncer,
                remover,
                sync_began: None,
                retry: Retry::default(),
                waits_for_space: None,
                quiet_rounds: 0,
                second,
                other_bytes: 0,
                snapshot_behind: None,
            };
            let now = writer.instance.clock.steady();
            let begun = begin.map_or(Ok(()), |begin| writer.begin_log(begin, now));
            let is_begun = begun.is_ok();
            let _ = ready.send(begun.map_err(io::Error::other));
            if !is_begun {
                return;
            }
            writer.run();
        };
        let handle = thread::Builder::new().name("journal".to_owned()).spawn(work)?;
        is_ready.recv().map_err(io::Error::other)??;
        Ok(handle)
    }

    fn run(mut self) {
        while !self.journal.asked.stop.load(Acquire) {
            let began = self.journal.ring.tail();
            let now = self.instance.clock.steady();
            self.follow_settings();
            self.end_sync();
            self.rotate(now);
            self.follow_space();
            self.begin_waiting_log(now);
            self.write(now);
            self.sync(now);
            self.notify_waiting();
            self.delete_history();
            self.each_second(now);
            self.rest(began);
        }
        if self.log.is_some() {
            self.journal.is_closing.store(true, Release);
            self.instance.journal.is_on.store(false, Relaxed);
            self.turn_off();
            self.journal.follow_policy(&self.instance);
        }
        self.syncer.stop();
        self.remover.stop();
    }

    /// Turns the journal on or off, as the setting says.
    fn follow_settings(&mut self) {
        let is_open =
            self.log.is_some() || self.waiting.is_some() || self.rotations.is_turning_on();
        if is_open && self.journal.begin_to_close(&self.instance) {
            self.turn_off();
        }
        self.journal.follow_policy(&self.instance);
    }

    /// Has the files tell under which id the stream is known, and which databases that of a primary
    /// selects. To be called when it is known up to where is written: units of a new id are put
    /// after it is the present one, so none of them is written as one of the old.
    pub(super) fn follow_history(&mut self, now: Steady) {
        let history = self.instance.replicas.history();
        if let Some(history) = &history {
            self.id = history.id();
        }
        self.take_selections();
        let Some(log) = &mut self.log else { return };
        let (replicas, upstream) = (&self.instance.replicas, &self.instance.upstream);
        log.set_followed(!replicas.is_empty() || upstream.is_replica());
        log.note_moments(std::mem::take(&mut *self.journal.moments.lock()));
        let earlier = history.map_or_else(String::new, |it| it.earlier_text());
        let outcome = log.set_history(self.id, earlier, now);
        self.journal.note_told(outcome.is_ok().then_some(self.id));
        if let Err(error) = outcome {
            self.note_failure(&LogError::Write(error));
        }
    }

    /// Has the log know which databases the stream of a primary has selected up to now: where the
    /// next file begins, it is told which one counts there.
    pub(super) fn take_selections(&mut self) {
        let Some(log) = &mut self.log else { return };
        for (position, database) in std::mem::take(&mut *self.journal.selections.lock()) {
            log.note_selected_database(position, database);
        }
    }

    /// Writes what is whole.
    fn write(&mut self, now: Steady) {
        if self.journal.delays_replies.load(Relaxed) {
            // Workers that share this core go on until they have nothing to do: so the sync is for
            // all of that, and not for the first.
            thread::yield_now();
        }
        if self.log.is_none() {
            self.journal.note_told(None);
        }
        let Some(consumer) = &mut self.consumer else {
            // Nothing is put while the journal is off.
            return self.journal.written.store(self.journal.ring.tail(), Relaxed);
        };
        let limit = self.journal.cut.limit(consumer);
        if self.waiting.is_some() {
            return;
        }
        self.follow_history(now);
        let (Some(consumer), Some(log)) = (&mut self.consumer, &mut self.log) else {
            let Some(consumer) = &mut self.consumer else { return };
            // What is behind a cut is for the file that is about to begin.
            self.journal.written.store(limit, Relaxed);
            return consumer.release(limit);
        };
        if log.has_sync_failed() {
            return self.replace_file(now);
        }
        let is_timed = AOF_TIMESTAMP_ENABLED.get(&self.instance.settings);
        log.set_time(is_timed.then(|| self.instance.clock.now()));
        let policy = sync_policy(&self.instance);
        log.set_padded(policy == SyncPolicy::Always);
        log.set_synced(policy != SyncPolicy::No);
        let (began, before) = (Instant::now(), log.written().position);
        pause(&self.instance);
        let outcome = log.write_until(consumer, limit, now);
        let written = log.written().position;
        self.journal.written.store(written, Release);
        let kept = written.saturating_sub(self.journal.kept_max.load(Relaxed));
        let kept = kept.max(log.safe().position).min(written);
        consumer.release(kept.max(consumer.position()));
        // A file that follows a failed sync begins where it can be written from.
        log.forget_selections(consumer.position());
        if outcome.is_ok() && !log.is_failing() {
            self.waits_for_space = None;
        }
        match outcome {
            Ok(()) | Err(WriteError::SyncFailed) => {}
            Err(error) => self.note_failure(&LogError::Write(error)),
        }
        if written != before {
            self.journal.nudge_sender();
            latency::note_write(&self.instance, began.elapsed(), self.sync_began.is_some());
        }
    }

    /// Goes on in another file after a failed sync.
    fn replace_file(&mut self, now: Steady) {
        self.look_for_files(now);
        self.take_selections();
        let (Some(log), Some(consumer)) = (&mut self.log, &self.consumer) else { return };
        if self.retry.is_too_early(Instant::now()) {
            return;
        }
        match log.replace(consumer, now) {
            Ok(_) => {
                self.retry.end();
                tracing::warn!("A sync has failed: the append-only file goes on in another");
            }
            Err(LogError::NeedsBase) if self.rotations.current.is_some() => {}
            Err(LogError::NeedsBase) => self.journal.asked.rewrite.store(true, Relaxed),
            Err(error) => self.note_failure(&error),
        }
    }

    /// Notifies clients and threads that wait: for a position, for room, or for the disk to work
    /// again.
    fn notify_waiting(&mut self) {
        self.let_changes_go_on();
        let (journal, instance) = (&self.journal, &self.instance);
        let synced = self.log.as_ref().filter(|log| !log.is_apart()).map(|log| log.safe().position);
        instance.journal.set_synced(synced);
        command::answer_acknowledged(instance);
        let Some(log) = &self.log else { return };
        let safe = log.safe();
        // Stored first, so that a thread that sees what is safe also sees in which file it is.
        journal.is_apart.store(log.is_apart() || log.has_lost_files(), Relaxed);
        instance.journal.safe.store(safe.position, Release);
        // What stands in a file that is no part of the set is lost with the machine.
        if !log.is_apart() && journal.delays_replies.load(Relaxed) {
            let before = journal.move_safe(safe.position);
            if before < safe.position && journal.awaited.load(SeqCst) > before {
                instance.clients.notify_workers(&Notice::Safe);
            }
        }
        let pending = journal.pending_bytes();
        instance.journal.pending_bytes.store(pending, Relaxed);
        instance.journal.bytes.store(self.bytes(), Relaxed);
        journal.tell_resident(instance);
        if !self.is_failing() && instance.journal.failure().is_some() {
            tracing::warn!("The append-only file is written again");
            self.end_failure();
        }
    }

    /// Lets changes go on that were stalled. A snapshot whose sink stands still does not hold
    /// them back for long: it is given up.
    fn let_changes_go_on(&mut self) {
        let (journal, instance) = (&self.journal, &self.instance);
        if !instance.store.stalls_writers() {
            self.snapshot_behind = None;
            return journal.let_changes_go_on(instance);
        }
        // The saver lets them go on too, as soon as it has taken some of what was handed over.
        let resumes = journal.resumes.load(Relaxed);
        let step = self.saver.sink_step();
        match &self.snapshot_behind {
            Some(stall) if stall.resumes == resumes => {
                let stands_still = step.is_some() && step == stall.step;
                let patience = if stands_still { SNAPSHOT_PATIENCE } else { BUSY_PATIENCE };
                if stall.since.elapsed() > patience {
                    tracing::warn!("The disk is too slow for the snapshot: it is given up");
                    self.saver.give_up_slow(instance, &self.thread);
                }
            }
            _ => self.snapshot_behind = Some(Stall { since: Instant::now(), resumes, step }),
        }
    }

    /// Bytes of the files of the set.
    pub(super) fn bytes(&self) -> u64 {
        self.other_bytes + self.log.as_ref().map_or(0, |log| log.written().bytes)
    }

    /// Looks after what changes slowly.
    fn each_second(&mut self, now: Steady) {
        if self.second.began.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.journal.bound_memory(&self.instance);
        self.select_busiest_database();
        self.look_for_files(now);
        let unselected = self.journal.unselected.count.load(Relaxed);
        self.second = Second::new(self.journal.ring.tail(), unselected);
        self.journal.ring.trim();
        if self.is_rotation_due() {
            self.journal.asked.rewrite.store(true, Relaxed);
        }
        self.give_up_idle_claim();
    }

    /// Gives the claim on the files up, while none is written or removed. A thread that is about to
    /// turn the journal on may have made it just now: the first base makes it again.
    fn give_up_idle_claim(&self) {
        let rotations = &self.rotations;
        let has_files = self.log.is_some() || self.waiting.is_some();
        let is_rotating = rotations.current.is_some() || rotations.replaced.is_some();
        let is_idle = !has_files && !is_rotating && !self.remover.is_at_work();
        if is_idle && !self.journal.asked.on.load(Acquire) {
            self.journal.give_up_claims();
        }
    }

    /// Makes the database the selected one of which most units are, if those outside of it take
    /// much of the stream.
    fn select_busiest_database(&mut self) {
        let reasons = &self.journal.reasons;
        // While the server ends or fails over the offset stands still.
        let stands_still = self.instance.clients.postpones_writes();
        if reasons.all().is_empty() || reasons.follows() || stands_still {
            return;
        }
        let unselected = self.journal.unselected.count.load(Relaxed) - self.second.unselected;
        let bytes = self.journal.ring.tail() - self.second.tail;
        if unselected == 0 || unselected * UNSELECTED_BYTES < bytes / UNSELECTED_PART {
            return;
        }
        let database = self.journal.unselected.database.load(Relaxed);
        let lane = &mut self.lane;
        // A long command must not hold up clients that wait for a sync: there is a next second.
        let moved = self.instance.store.exclusively_at_once(&self.thread, |_| {
            // The role may have changed just now: what a replica has is its primary's alone.
            let position = (!reasons.follows()).then(|| lane.select_database(database));
            lane.withdraw();
            position
        });
        self.take_selections();
        if let (Some(Some(position)), Some(log)) = (moved, &mut self.log) {
            log.note_selected_database(position, database);
        }
    }

    /// Turns the journal off, after all that was changed is safe. What fails is logged: the files
    /// hold what they hold.
    fn turn_off(&mut self) {
        self.waiting = None;
        self.journal.is_waiting.store(false, Release);
        self.saver.cancel_rotation();
        let mut rotations = std::mem::take(&mut self.rotations);
        self.drop_begun(rotations.current.as_mut());
        drop(rotations);
        self.drop_files();
        self.journal.cut.clear();
        self.wait_for_sync();
        if let (Some(mut log), Some(mut consumer)) = (self.log.take(), self.consumer.take())
            && !log.is_apart()
            && let Err(error) = log.close(&mut consumer, self.instance.clock.steady())
        {
            tracing::warn!("Error writing the append-only file: {error}");
        }
        self.end_failure();
        self.instance.clients.resume_changes();
        self.journal.is_closing.store(false, Release);
    }

    /// Has no units put for files from now on.
    pub(super) fn drop_files(&self) {
        let journal = &self.journal;
        let turn_off = |store: &Store| journal.reasons.drop(store, Reason::FILES);
        self.instance.store.exclusively(&self.thread, turn_off);
    }

    fn rest(&mut self, began: u64) {
        let journal = &self.journal;
        let has_more = journal.ring.tail() != began;
        self.quiet_rounds = if has_more { 0 } else { self.quiet_rounds.saturating_add(1) };
        let round = Round {
            is_on: self.log.is_some(),
            is_failing: self.is_failing(),
            has_more,
            delays_replies: journal.delays_replies.load(Relaxed),
            stalls_changes: self.instance.clients.stalls_changes(),
            has_replicas: !self.instance.replicas.is_empty(),
            quiet: self.quiet_rounds,
        };
        let Some((most, depth)) = round.rest() else { return };
        if let Some(consumer) = self.consumer.as_ref().filter(|_| has_more && round.is_on) {
            consumer.prepare();
        }
        let asked = &journal.asked;
        let written = journal.written.load(Relaxed);
        journal.rest.rest(most, depth, || {
            let is_news = depth == Depth::Long && round.is_on && journal.ring.tail() != written;
            is_news || asked.stop.load(Acquire)
        });
    }
}

/// Starts the threads that wake this one when the disk is done.
fn start_disk_threads() -> io::Result<(Syncer, Remover)> {
    let writer = thread::current();
    Ok((DiskThread::start("syncer", writer.clone())?, DiskThread::start("remover", writer)?))
}

//! Snapshots that were asked for, and what is known of those that were made.

use super::job::{Job, JobKind};
use super::rdb_job::{Notify, RdbJob};
use crate::claim::Claims;
use base::mutex::{Condvar, Mutex, MutexGuard};
use base::{Clock, Steady};
use crossbeam_channel::{Receiver, bounded};
use session::{Asker, Begun, Cancelled, Instance, Refusal, SaveFacts, SavingFacts, Troubles, When};
use settings::snapshots::{SAVE, STOP_WRITES_ON_BGSAVE_ERROR};
use snapshot::{SaveError, SaveProgress};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::ThreadContext;

/// Seconds after a failed snapshot before a save point asks for another one.
const RETRY_SECONDS: u64 = 5;
/// The same is twice as long after each snapshot in a row that was given up, up to so many times:
/// what a slow disk never takes in time shall not keep it busy.
const DOUBLED_MAX: u32 = 6;

/// Milliseconds for which a sink may take nothing of what it was given, some MiB at most, while the
/// snapshot holds too much: a disk that is only busy takes it in that time.
const SINK_PATIENCE: u64 = 1000;

/// The queue of snapshots, and their record.
#[derive(Debug)]
pub struct Saver {
    state: Mutex<State>,
    /// Wakes the thread that saves.
    changed: Condvar,
    /// The RDB file, once it may be written.
    pub(super) claims: Claims,
}

#[derive(Debug, Default)]
struct State {
    /// The first one is at work.
    queue: VecDeque<Accepted>,
    /// True if the queue has held one since that was asked last.
    has_been_busy: bool,
    /// True if a snapshot is to begin when the queue is empty.
    is_scheduled: bool,
    is_stopping: bool,
    /// What INFO tells, but for `current` and `current_seconds`.
    record: SavingFacts,
    /// When the last snapshot was made, and when the last one in the background began.
    last_save: Steady,
    last_try: Steady,
    /// True if the disk refused the last snapshot in the background.
    is_refused: bool,
    /// Snapshots that were given up since the last one that was not, as the disk was too slow.
    slow_in_a_row: u32,
}

/// Work for the thread that saves.
pub struct Work {
    /// The snapshot.
    pub job: Box<dyn Job>,
    /// Where to report how far it has come.
    pub progress: Arc<SaveProgress>,
}

struct Accepted {
    kind: JobKind,
    began: Instant,
    progress: Arc<SaveProgress>,
    /// What its sink was seen with, and when first.
    given: Option<(u64, Steady)>,
    /// `None` once it is at work.
    job: Option<Box<dyn Job>>,
}

impl std::fmt::Debug for Accepted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accepted").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Accepted {
    /// Microseconds of the pause at its cut; `None` before.
    fn pause_micros(&self) -> Option<u64> {
        Some(self.progress.pause_micros.load(Relaxed)).filter(|micros| *micros > 0)
    }

    /// Returns true if its sink has not taken for long what it was given. To be asked often.
    fn stands_still(&mut self, now: Steady) -> bool {
        let given = self.progress.given_to_sink();
        let before = self.given.filter(|(step, _)| given == Some(*step));
        self.given = before.or(given.map(|step| (step, now)));
        before.is_some_and(|(_, since)| now.since(since) > SINK_PATIENCE)
    }

    fn facts(&self) -> SaveFacts {
        let SaveProgress { keys, total_keys, bytes, retained_bytes, retained_bytes_most, .. } =
            &*self.progress;
        SaveFacts {
            keys: keys.load(Relaxed),
            total_keys: total_keys.load(Relaxed),
            bytes: bytes.load(Relaxed),
            retained_bytes: retained_bytes.load(Relaxed),
            retained_bytes_most: retained_bytes_most.load(Relaxed),
            millis: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl State {
    fn push(&mut self, job: Box<dyn Job>) -> Arc<SaveProgress> {
        let (kind, progress) = (job.kind(), Arc::<SaveProgress>::default());
        let (began, own) = (Instant::now(), Arc::clone(&progress));
        self.has_been_busy = true;
        self.queue.push_back(Accepted { kind, began, progress: own, given: None, job: Some(job) });
        progress
    }

    fn begin_in_background(&mut self, instance: &Instance, asker: Option<Asker>) {
        self.record.saves += 1;
        self.last_try = instance.clock.steady();
        self.is_scheduled = false;
        tracing::info!("Background saving started");
        let progress = self.push(RdbJob::new(Notify::AtCut(asker)));
        // INFO before the cut shows this guess; the cut counts the keys.
        progress.total_keys.store(instance.store.keys(), Relaxed);
    }

    fn has(&self, kind: JobKind) -> bool {
        self.queue.iter().any(|accepted| accepted.kind == kind)
    }

    /// True while a base is written that is still wanted: one that was given up ends soon.
    fn has_rotation(&self) -> bool {
        let is_wanted = |it: &Accepted| !it.progress.is_cancelled.load(Relaxed);
        self.queue.iter().any(|it| it.kind == JobKind::Rotation && is_wanted(it))
    }

    fn is_saving(&self) -> bool {
        self.has(JobKind::Background) || self.has(JobKind::Foreground)
    }

    fn cancel(&self, is_meant: impl Fn(JobKind) -> bool) {
        let meant = self.queue.iter().filter(|accepted| is_meant(accepted.kind));
        meant.for_each(|accepted| accepted.progress.is_cancelled.store(true, Relaxed));
    }

    /// Gives the cut of the snapshot at work up if that is cancelled, so that nothing more is kept
    /// for it.
    fn give_up_cancelled(&self, instance: &Instance) {
        let is_cancelled = |first: &Accepted| first.progress.is_cancelled.load(Relaxed);
        if self.queue.front().is_some_and(is_cancelled) {
            instance.store.give_up_cut();
        }
    }

    /// True if a snapshot may begin by itself: not soon after one that failed.
    fn may_try(&self, now: Steady) -> bool {
        let doubled = self.slow_in_a_row.saturating_sub(1).min(DOUBLED_MAX);
        !self.record.has_failed || seconds_between(self.last_try, now) > RETRY_SECONDS << doubled
    }

    /// Enters the outcome of a snapshot of a kind into the record.
    fn note(&mut self, kind: JobKind, saved: &Result<u64, SaveError>, clock: &Clock) {
        let Some(accepted) = self.queue.pop_front() else { return };
        self.record.pause_micros = accepted.pause_micros().unwrap_or(self.record.pause_micros);
        let facts = accepted.facts();
        let record = &mut self.record;
        if kind == JobKind::Replicas {
            return;
        }
        if kind == JobKind::Rotation {
            if saved.is_ok() {
                record.last_base_retained_bytes = facts.retained_bytes_most;
            }
            return;
        }
        if let Ok(changes) = saved {
            (record.changes_saved, record.last_save) = (*changes, clock.now().0 / 1000);
            self.last_save = clock.steady();
            record.last_retained_bytes = facts.retained_bytes_most;
            record.has_failed = false;
            (self.is_refused, self.slow_in_a_row) = (false, 0);
        }
        if kind == JobKind::Background {
            record.last_seconds = Some(facts.millis / 1000);
            self.note_failure(saved);
        }
    }

    /// Notes whether a snapshot in the background has failed.
    fn note_failure(&mut self, saved: &Result<u64, SaveError>) {
        match saved {
            Ok(_) | Err(SaveError::Cancelled) => return,
            Err(SaveError::TooSlow) => {
                // Nobody has to ask again for one that was given up for the sake of clients.
                self.is_scheduled = true;
                self.slow_in_a_row = self.slow_in_a_row.saturating_add(1);
            }
            Err(SaveError::Busy | SaveError::Unreadable(_)) => {}
            Err(SaveError::Write(_)) => self.is_refused = true,
        }
        self.record.has_failed = true;
    }
}

impl Saver {
    /// A queue without work. The last snapshot counts as made now.
    pub fn new(clock: &Clock) -> Saver {
        let last_save = clock.now().0 / 1000;
        let record = SavingFacts { last_save, ..SavingFacts::default() };
        let state = State { record, last_save: clock.steady(), ..State::default() };
        Saver { state: Mutex::new(state), changed: Condvar::new(), claims: Claims::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Waits for work; `None` when the saver is to stop.
    pub fn next(&self) -> Option<Work> {
        let mut state = self.state();
        loop {
            if state.is_stopping {
                // Clients that wait for this snapshot get the answer that it will not come.
                state.queue.clear();
                return None;
            }
            if let Some(first) = state.queue.front_mut()
                && let Some(job) = first.job.take()
            {
                return Some(Work { job, progress: Arc::clone(&first.progress) });
            }
            state = self.changed.wait(state);
        }
    }

    /// Takes the outcome of the work that `next` gave: the number of changes that were counted at
    /// the cut.
    pub fn finish(&self, instance: &Instance, work: Work, saved: Result<u64, SaveError>) {
        self.state().note(work.job.kind(), &saved, &instance.clock);
        // If another server has claimed the files of the settings by now, the next job reports it.
        let _ = self.follow_claim(&instance.settings);
        self.follow_outcome(instance);
        work.job.end(instance, saved.map(|_| ()));
    }

    /// Has the thread end after the present work, which is cancelled.
    pub fn stop(&self) {
        let mut state = self.state();
        state.is_stopping = true;
        state.cancel(|_| true);
        self.changed.notify_all();
    }

    /// Refuses writes or lets them in, as the last outcome and the settings say. A disk that is too
    /// slow for a snapshot refuses nothing, and neither do we.
    pub fn follow_outcome(&self, instance: &Instance) {
        let settings = &instance.settings;
        let minds = STOP_WRITES_ON_BGSAVE_ERROR.get(settings) && saves_by_itself(instance);
        let is_trouble = minds && self.state().is_refused;
        instance.troubles.note(&instance.clients.grants, Troubles::SNAPSHOT, is_trouble);
    }

    /// Returns true while a snapshot is being made, or waits.
    pub fn is_busy(&self) -> bool {
        !self.state().queue.is_empty()
    }

    /// Returns true if a snapshot was made, or waited, since this was asked last: one may be too
    /// short to be met by somebody who asks now and then.
    pub fn has_been_busy(&self) -> bool {
        let mut state = self.state();
        let is_busy = !state.queue.is_empty();
        std::mem::replace(&mut state.has_been_busy, is_busy)
    }

    /// Adds any job to the queue.
    pub fn push(&self, job: Box<dyn Job>) {
        self.state().push(job);
        self.changed.notify_all();
    }

    /// Begins a snapshot in the background; see `DataFiles`.
    ///
    /// # Errors
    /// When other work on files is going on.
    pub fn save_in_background(
        &self,
        instance: &Instance,
        when: When,
        asker: Option<Asker>,
    ) -> Result<Begun, Refusal> {
        let mut state = self.state();
        if state.is_saving() {
            return Err(Refusal::SAVING);
        }
        // One that was asked for may still wait for a sync.
        let is_rewriting = state.has_rotation() || instance.journal.is_rewriting.load(Relaxed);
        let waits = match when {
            When::Now if is_rewriting => return Err(Refusal::REWRITING),
            When::Now => false,
            When::WhenPossible => is_rewriting,
            When::Later => true,
        };
        if waits {
            state.is_scheduled = true;
            return Ok(Begun::Scheduled);
        }
        state.begin_in_background(instance, asker);
        self.changed.notify_all();
        Ok(Begun::Started)
    }

    /// Makes a snapshot that a client waits for.
    ///
    /// # Errors
    /// When a snapshot is being made.
    pub fn save(&self, asker: Asker) -> Result<(), Refusal> {
        let mut state = self.state();
        if state.is_saving() {
            return Err(Refusal::SAVING);
        }
        state.record.saves += 1;
        state.push(RdbJob::new(Notify::Asker(asker)));
        self.changed.notify_all();
        Ok(())
    }

    /// Ends a snapshot in the background after FLUSHALL, and makes one if the settings ask for
    /// snapshots; returns true then.
    pub fn emptied(&self, instance: &Instance, thread: &ThreadContext, asker: Asker) -> bool {
        let state = self.state();
        state.cancel(|kind| kind == JobKind::Background);
        state.give_up_cancelled(instance);
        drop(state);
        // What was flushed is free at once, though its snapshot may be with the disk for long.
        instance.store.free_given_up(thread);
        let saves = saves_by_itself(instance);
        if saves {
            self.push(RdbJob::new(Notify::Bystander(asker)));
        }
        saves
    }

    /// Gives the snapshot at work up, as its sink stands still while clients would have to wait.
    /// Its failure shows at once, though the thread that writes may be with the sink for long.
    pub fn give_up_slow(&self, instance: &Instance, thread: &ThreadContext) {
        let mut state = self.state();
        if let Some(first) = state.queue.front() {
            first.progress.is_too_slow.store(true, Relaxed);
            first.progress.is_cancelled.store(true, Relaxed);
            first.progress.note_retained(instance.store.retained_bytes());
            state.record.has_failed |= first.kind == JobKind::Background;
        }
        state.give_up_cancelled(instance);
        drop(state);
        instance.store.free_given_up(thread);
    }

    /// Number that changes whenever the sink of the snapshot at work takes something.
    pub fn sink_step(&self) -> Option<u64> {
        self.state().queue.front()?.progress.given_to_sink()
    }

    /// Notes what the snapshot at work holds, and gives it up if that is too much while its sink
    /// stands still. Nobody is stalled for nodes of large values and notes, which grow meanwhile.
    /// To be called ten times a second.
    pub fn give_way(&self, instance: &Instance, thread: &ThreadContext) {
        // When a snapshot was given up, other threads may have been inside the gate: then what it
        // has kept is freed here.
        instance.store.free_given_up(thread);
        let mut state = self.state();
        let Some(first) = state.queue.front_mut() else { return };
        first.progress.note_retained(instance.store.retained_bytes());
        let stands_still = first.stands_still(instance.clock.steady());
        drop(state);
        if stands_still && instance.store.retains_too_much() {
            tracing::warn!(
                "The disk stands still, and the snapshot holds too much: it is given up"
            );
            self.give_up_slow(instance, thread);
        }
    }

    /// Ends the writing of a base, if one is written or waits, so that the same is done again for
    /// what is there now. `before_end` is called before its end is noted.
    pub fn restart_rotation(&self, before_end: impl FnOnce()) {
        let state = self.state();
        if state.has(JobKind::Rotation) {
            before_end();
            state.cancel(|kind| kind == JobKind::Rotation);
        }
    }

    /// Ends the snapshots for replicas.
    pub fn cancel_replicas(&self, instance: &Instance) {
        let state = self.state();
        state.cancel(|kind| kind == JobKind::Replicas);
        state.give_up_cancelled(instance);
    }

    /// Ends the writing of a base.
    pub fn cancel_rotation(&self) {
        self.state().cancel(|kind| kind == JobKind::Rotation);
    }

    /// Ends all work.
    pub fn cancel_all(&self) {
        let mut state = self.state();
        state.is_scheduled = false;
        state.cancel(|_| true);
    }

    /// Ends a snapshot in the background, or one that has not begun.
    pub fn cancel(&self) -> Option<Cancelled> {
        let mut state = self.state();
        if state.has(JobKind::Background) {
            state.cancel(|kind| kind == JobKind::Background);
            return Some(Cancelled::Running);
        }
        std::mem::take(&mut state.is_scheduled).then_some(Cancelled::Scheduled)
    }

    /// Makes a snapshot for the thread that holds the receiver.
    pub fn save_for_thread(&self) -> Receiver<Result<(), SaveError>> {
        let (sender, receiver) = bounded(1);
        self.push(RdbJob::new(Notify::Thread(sender)));
        receiver
    }

    /// Makes a snapshot and waits for it. The thread is inside the gate, and leaves it meanwhile.
    ///
    /// # Errors
    /// When it was not made.
    pub fn save_and_wait(
        &self,
        instance: &Instance,
        thread: &ThreadContext,
    ) -> Result<(), SaveError> {
        let saved = self.save_for_thread();
        instance.store.leave(thread);
        let saved = saved.recv();
        instance.store.enter(thread);
        saved.unwrap_or(Err(SaveError::Cancelled))
    }

    /// Counts changes from now on, as what is there was just loaded.
    pub fn forget_changes(&self, instance: &Instance) {
        let changes = instance.store.totals().changes;
        self.state().record.changes_saved = changes;
    }

    /// Begins the snapshot that a save point or BGSAVE SCHEDULE asks for. To be called ten times a
    /// second.
    pub fn look_after(&self, instance: &Instance) {
        if instance.loading.is_active() || instance.shutdown.requested().is_some() {
            return;
        }
        let changes = instance.store.totals().changes;
        let points = SAVE.get(&instance.settings).points;
        let now = instance.clock.steady();
        let mut state = self.state();
        if !state.queue.is_empty() || !state.may_try(now) {
            return;
        }
        let changes = changes.saturating_sub(state.record.changes_saved);
        let passed = seconds_between(state.last_save, now);
        let due = points.iter().find(|it| changes >= it.changes && passed > it.seconds);
        if let Some(point) = due {
            tracing::info!("{} changes in {} seconds. Saving...", point.changes, point.seconds);
        }
        if due.is_some() || state.is_scheduled {
            state.begin_in_background(instance, None);
            self.changed.notify_all();
        }
    }

    /// Restarts the count of snapshots from zero, and forgets the last pause at a cut.
    pub fn reset_counts(&self) {
        let mut state = self.state();
        (state.record.saves, state.record.pause_micros) = (0, 0);
        for accepted in &state.queue {
            accepted.progress.pause_micros.store(0, Relaxed);
        }
    }

    /// The state of saving.
    pub fn facts(&self) -> SavingFacts {
        let state = self.state();
        let in_background = |accepted: &&Accepted| accepted.kind == JobKind::Background;
        let background = state.queue.iter().find(in_background);
        let pause_micros = state.queue.front().and_then(Accepted::pause_micros);
        SavingFacts {
            pause_micros: pause_micros.unwrap_or(state.record.pause_micros),
            current: state.queue.front().map(Accepted::facts),
            current_seconds: background.map(|it| it.began.elapsed().as_secs()),
            ..state.record
        }
    }
}

/// Seconds that have passed, rounded down to whole ones.
fn seconds_between(earlier: Steady, later: Steady) -> u64 {
    later.since(earlier) / 1000
}

/// True if the settings ask for snapshots.
pub fn saves_by_itself(instance: &Instance) -> bool {
    !SAVE.get(&instance.settings).points.is_empty()
}

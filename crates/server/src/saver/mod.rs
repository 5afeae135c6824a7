//! The thread that makes snapshots, one at a time.
//!
//! ```text
//! BGSAVE, SAVE, FLUSHALL, ... ──▶ queue ──▶ thread "saver" ──▶ Behind ──▶ Sink ──▶ end
//!                                   │            snapshot::Save
//!                                   └──▶ SavingFacts for INFO
//! ```
//! A job stays first in the queue until its file is in place, so that all see what is at work. What
//! is made, where the bytes go, and what follows, is the job's own ([`Job`]).
//!
//! The keys are those of the moment of the cut, and are written outside the gate; a second thread
//! gives them to the disk. The file has another name until it is whole and synced. Clients of SAVE,
//! FLUSHALL and SHUTDOWN wait as those of BLPOP do, so others are served meanwhile.

mod behind;
mod claim;
mod cores;
mod file;
mod job;
mod queue;
mod rdb_job;

pub use file::name_of_sync;
pub use job::{Job, JobKind, Sink};
pub use queue::{Saver, saves_by_itself};

use base::Pacer;
use behind::write_behind;
use cores::Bound;
use queue::Work;
use session::{Instance, LibraryTable, timed_version};
use settings::snapshots::{RDB_KEY_SAVE_DELAY, RDBCHECKSUM, RDBCOMPRESSION};
use snapshot::{Save, SaveError, SaveProgress};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use store::ThreadContext;

/// Does jobs until the saver is stopped. `taken` is called again and again, after a part of what
/// was handed over has been taken.
pub fn run(instance: &Instance, saver: &Saver, mut thread: ThreadContext, taken: &dyn Fn()) {
    while let Some(mut work) = saver.next() {
        let mut changes = 0;
        let claimed = claim(instance, saver, &work);
        let saved =
            claimed.and_then(|()| save(instance, &mut thread, &mut work, &mut changes, taken));
        saver.finish(instance, work, saved.map(|()| changes));
    }
}

/// Claims the RDB file for a job that is to replace it. The first claim of a server that does not
/// save by itself lets it remove what others have left.
fn claim(instance: &Instance, saver: &Saver, work: &Work) -> Result<(), SaveError> {
    if matches!(work.job.kind(), JobKind::Rotation | JobKind::Replicas) {
        return Ok(());
    }
    let is_first = !saver.claims.is_any();
    let claimed = saver.claim(&instance.settings);
    if is_first && claimed.is_ok() {
        saver.remove_leftovers(&instance.settings);
    }
    claimed.map_err(|taken| SaveError::Write(io::Error::other(taken)))
}

/// Does a job up to the moment when its file is in place. `changes` becomes the number of changes
/// that the store had counted at the cut.
fn save(
    instance: &Instance,
    thread: &mut ThreadContext,
    work: &mut Work,
    changes: &mut u64,
    taken: &dyn Fn(),
) -> Result<(), SaveError> {
    let Work { job, progress } = work;
    let is_cancelled = || progress.is_cancelled.load(Relaxed);
    let go_on = || if is_cancelled() { Err(progress.cancelled()) } else { Ok(()) };
    go_on()?;
    let _bound = Bound::for_job(job.kind(), instance);
    thread.pace(match job.kind() {
        JobKind::Foreground => Pacer::of_awaited(),
        JobKind::Background | JobKind::Rotation | JobKind::Replicas => Pacer::new(),
    });
    let mut sink = job.open(instance)?;
    let before = instance.libraries.table();
    let sources = sources_of(&before);
    let mut save = as_set(instance, thread, progress);
    job.shape(&mut save);
    let (functions, writes_commands) = (Arc::clone(&save.functions), job.writes_commands());
    let at_cut = || {
        let table = instance.libraries.table();
        let is_same = Arc::ptr_eq(&table, &before);
        // It is empty before the cut, and there is one.
        let _ = functions.set(if is_same { sources } else { sources_of(&table) });
        *changes = instance.store.totals().changes;
        job.at_cut(instance);
    };
    write_behind(&mut *sink, progress, |behind| {
        let progress = save.progress;
        let telling = Telling { behind, taken, instance, progress, has_begun: false };
        instance.store.enter(save.thread);
        let written = match writes_commands {
            true => save.write_commands(telling, at_cut),
            false => save.write(telling, at_cut),
        };
        // What is still on its way to the sink is waited for outside the gate.
        instance.store.leave(save.thread);
        written
    })?;
    sink.sync()?;
    go_on()?;
    Ok(sink.put_in_place()?)
}

fn sources_of(libraries: &LibraryTable) -> Vec<Vec<u8>> {
    libraries.libraries().map(|library| library.code.clone()).collect()
}

/// Returns a snapshot of `instance` with the version, compression and checksum that the settings
/// ask for. Its cut is not made yet.
pub fn as_set<'a>(
    instance: &'a Instance,
    thread: &'a mut ThreadContext,
    progress: &'a SaveProgress,
) -> Save<'a> {
    Save {
        store: &instance.store,
        thread,
        now: instance.clock.now(),
        timed: Some(timed_version(&instance.settings)),
        compresses: RDBCOMPRESSION.get(&instance.settings),
        checks: RDBCHECKSUM.get(&instance.settings),
        is_base: false,
        leaves_out_keys: false,
        leaves_out_functions: false,
        fields: Arc::default(),
        functions: Arc::default(),
        key_delay: RDB_KEY_SAVE_DELAY.get(&instance.settings),
        progress,
    }
}

/// Writer that calls `taken` after each piece. Before the first piece it reports the pause of the
/// cut as a latency event; the event is called `fork`, as in Valkey, since the pause stands in
/// place of a fork there.
struct Telling<'a, W> {
    behind: W,
    taken: &'a dyn Fn(),
    instance: &'a Instance,
    progress: &'a SaveProgress,
    has_begun: bool,
}

impl<W: Write> Write for Telling<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.has_begun, true) {
            let pause = Duration::from_micros(self.progress.pause_micros.load(Relaxed));
            self.instance.note_latency("fork", pause);
        }
        let written = self.behind.write(bytes);
        (self.taken)();
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.behind.flush()
    }
}

#[cfg(test)]
mod tests;

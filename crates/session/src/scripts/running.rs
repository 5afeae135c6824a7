//! Scripts that run for long: who else is told of them, and what ends them.
//!
//! ```text
//! short ──▶ long: it stands here ──▶ slow: others are told BUSY ──▶ its end
//! reads ──▶ writes                  a script that has written is ended by the end of the server
//!   └─────▶ ended: by SCRIPT KILL, FUNCTION KILL, its time, or the end of the server
//! ```
//! A script that is short is known to nobody, and costs nothing here.

use crate::needs::{Grants, Needs};
use crate::refusal::Refusal;
use base::mutex::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::SeqCst;

const NOTHING_RUNS: Refusal = Refusal::of("NOTBUSY No scripts in execution right now.");
const HAS_WRITTEN: Refusal = Refusal::of(
    "UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
     either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE \
     command.",
);
const IS_OBEYED: Refusal = Refusal::of(
    "UNKILLABLE The busy script was sent by a master instance in the context of replication and \
     cannot be killed.",
);
const BUSY_WITH_SCRIPT: Refusal = Refusal::of(
    "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
);
const BUSY_WITH_FUNCTION: Refusal = Refusal::of(
    "BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
);

/// What a script has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// It has changed nothing.
    Reads,
    /// It has begun to change data.
    Writes,
    /// It has changed nothing, and is to end.
    Killed,
    /// It has changed nothing, and has run for longer than it may.
    OutOfTime,
    /// The server ends: it is to end, whatever it has done.
    Stopped,
}

impl Stage {
    fn of(byte: u8) -> Stage {
        match byte {
            0 => Stage::Reads,
            1 => Stage::Writes,
            2 => Stage::Killed,
            3 => Stage::OutOfTime,
            _ => Stage::Stopped,
        }
    }
}

/// A run of a script or of a function that takes long.
#[derive(Debug)]
pub struct LongRun {
    /// Name of the function that runs; `None` for a script.
    pub function: Option<Vec<u8>>,
    /// Command that runs the function, and its arguments.
    pub words: Vec<Vec<u8>>,
    /// Reading of the stopwatch when it began.
    pub began: u64,
    /// True if it was executed elsewhere, and comes from a file or from a primary.
    pub is_obeyed: bool,
    stage: AtomicU8,
}

impl LongRun {
    /// A run that may have written already.
    pub fn new(
        function: Option<Vec<u8>>,
        words: Vec<Vec<u8>>,
        (began, is_obeyed): (u64, bool),
        has_written: bool,
    ) -> LongRun {
        let stage = if has_written { Stage::Writes } else { Stage::Reads };
        LongRun { function, words, began, is_obeyed, stage: AtomicU8::new(stage as u8) }
    }

    /// What it has come to.
    pub fn stage(&self) -> Stage {
        Stage::of(self.stage.load(SeqCst))
    }

    /// Notes that it is about to change data. Returns false if it is to end before that.
    pub fn begin_to_write(&self) -> bool {
        self.go(Stage::Reads, Stage::Writes) || self.stage() == Stage::Writes
    }

    /// Ends it if it has changed nothing. Returns false if it has.
    pub fn end(&self, how: Stage) -> bool {
        self.go(Stage::Reads, how) || self.stage() != Stage::Writes
    }

    fn stop(&self) {
        self.stage.store(Stage::Stopped as u8, SeqCst);
    }

    fn go(&self, from: Stage, to: Stage) -> bool {
        self.stage.compare_exchange(from as u8, to as u8, SeqCst, SeqCst).is_ok()
    }

    /// What those are told who are to wait for it.
    pub fn busy(&self) -> Refusal {
        if self.function.is_some() { BUSY_WITH_FUNCTION } else { BUSY_WITH_SCRIPT }
    }
}

/// Scripts that run for long.
#[derive(Debug, Default)]
pub struct LongRuns(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    /// Runs in the order in which they became long, and whether each is slow.
    all: Vec<(Arc<LongRun>, bool)>,
    /// True once all have to end, and those that become long from now on too.
    is_stopping: bool,
}

impl Runs {
    /// The slow runs or, if there is none, the one that has run for the longest time.
    fn to_kill(&self) -> Vec<&Arc<LongRun>> {
        let slow: Vec<_> = self.all.iter().filter(|(_, slow)| *slow).map(|(run, _)| run).collect();
        if slow.is_empty() { self.longest().into_iter().collect() } else { slow }
    }

    fn longest(&self) -> Option<&Arc<LongRun>> {
        self.all.iter().map(|(run, _)| run).min_by_key(|run| run.began)
    }
}

impl LongRuns {
    /// Adds a run, which has become long.
    pub fn add(&self, run: &Arc<LongRun>) {
        let mut runs = self.0.lock();
        if runs.is_stopping {
            run.stop();
        }
        runs.all.push((Arc::clone(run), false));
    }

    /// Notes that a run has become slow; others are refused meanwhile if `refuses`.
    pub fn note_slow(&self, run: &Arc<LongRun>, grants: &Grants, refuses: bool) {
        let mut runs = self.0.lock();
        if let Some((_, slow)) = runs.all.iter_mut().find(|(other, _)| Arc::ptr_eq(other, run)) {
            *slow = true;
        }
        if refuses {
            grants.withdraw(Needs::IDLE);
        }
    }

    /// Removes a run that has ended.
    pub fn remove(&self, run: &Arc<LongRun>, grants: &Grants) {
        let mut runs = self.0.lock();
        runs.all.retain(|(other, _)| !Arc::ptr_eq(other, run));
        if !runs.all.iter().any(|(_, slow)| *slow) {
            grants.restore(Needs::IDLE);
        }
    }

    /// The run that has taken the longest time.
    pub fn longest(&self) -> Option<Arc<LongRun>> {
        self.0.lock().longest().cloned()
    }

    /// What those are told who cannot be served because of a slow run; `None` once there is none.
    pub fn busy(&self) -> Option<Refusal> {
        let runs = self.0.lock();
        runs.all.iter().find(|(_, slow)| *slow).map(|(run, _)| run.busy())
    }

    /// Ends slow scripts, or functions, or the longest if none is slow.
    ///
    /// # Errors
    /// When none runs for long, when one has written, or when it is the other kind that runs.
    pub fn kill(&self, functions: bool) -> Result<(), Refusal> {
        let runs = self.0.lock();
        let to_kill = runs.to_kill();
        let of_kind = to_kill.iter().filter(|run| run.function.is_some() == functions);
        let (mut killed, mut outcome) = (0, Err(NOTHING_RUNS));
        for run in of_kind {
            if run.is_obeyed {
                outcome = Err(IS_OBEYED);
            } else if run.end(Stage::Killed) {
                killed += 1;
            } else {
                outcome = Err(HAS_WRITTEN);
            }
        }
        match to_kill.first() {
            _ if killed > 0 => Ok(()),
            Some(other) if outcome == Err(NOTHING_RUNS) => match other.stage() {
                Stage::Writes => Err(HAS_WRITTEN),
                _ => Err(other.busy()),
            },
            _ => outcome,
        }
    }

    /// Ends all runs that have changed nothing, as the server is to end. Returns true if others
    /// are left.
    pub fn end_readers(&self) -> bool {
        let runs = self.0.lock();
        runs.all.iter().fold(false, |left, (run, _)| left | !run.end(Stage::Killed))
    }

    /// Ends all runs, and those that become long from now on: what they have changed gets lost, as
    /// the server ends.
    pub fn stop(&self) {
        let mut runs = self.0.lock();
        runs.is_stopping = true;
        runs.all.iter().for_each(|(run, _)| run.stop());
    }

    /// Returns true if any run is long.
    pub fn is_any(&self) -> bool {
        !self.0.lock().all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(function: bool, began: u64, has_written: bool) -> Arc<LongRun> {
        let function = function.then(|| b"f".to_vec());
        Arc::new(LongRun::new(function, Vec::new(), (began, false), has_written))
    }

    fn code(outcome: Result<(), Refusal>) -> String {
        outcome.map_or_else(|refusal| refusal.code().to_owned(), |()| "OK".to_owned())
    }

    #[test]
    fn the_longest_is_killed_unless_some_are_slow() {
        let (runs, grants) = (LongRuns::default(), Grants::default());
        assert_eq!(code(runs.kill(false)), "NOTBUSY");
        let [first, second, third] = [1, 2, 3].map(|began| run(false, began, false));
        [&third, &first, &second].into_iter().for_each(|run| runs.add(run));
        assert_eq!(code(runs.kill(false)), "OK");
        assert_eq!([&first, &second].map(|run| run.stage()), [Stage::Killed, Stage::Reads]);
        runs.note_slow(&second, &grants, true);
        runs.note_slow(&third, &grants, true);
        assert_eq!(code(runs.kill(false)), "OK");
        assert_eq!([&second, &third].map(|run| run.stage()), [Stage::Killed; 2]);
    }

    #[test]
    fn what_has_written_is_not_killed_and_what_is_killed_does_not_write() {
        let runs = LongRuns::default();
        let (writer, reader) = (run(false, 1, true), run(true, 2, false));
        runs.add(&writer);
        assert_eq!(code(runs.kill(false)), "UNKILLABLE");
        assert_eq!(code(runs.kill(true)), "UNKILLABLE");
        assert!(writer.begin_to_write());
        runs.remove(&writer, &Grants::default());
        runs.add(&reader);
        assert_eq!(code(runs.kill(false)), "BUSY");
        assert_eq!(code(runs.kill(true)), "OK");
        assert!(!reader.begin_to_write());
        assert!(!runs.end_readers());
    }

    #[test]
    fn others_are_refused_while_a_run_is_slow() {
        let (runs, grants) = (LongRuns::default(), Grants::default());
        let [one, other] = [1, 2].map(|began| run(false, began, false));
        runs.add(&one);
        runs.add(&other);
        assert!(runs.busy().is_none() && grants.get().contains(Needs::IDLE));
        runs.note_slow(&one, &grants, true);
        assert!(runs.busy().is_some() && !grants.get().contains(Needs::IDLE));
        runs.remove(&other, &grants);
        assert!(!grants.get().contains(Needs::IDLE));
        runs.remove(&one, &grants);
        assert!(runs.busy().is_none() && grants.get().contains(Needs::IDLE) && !runs.is_any());
    }

    #[test]
    fn the_end_of_the_server_ends_all_and_those_that_become_long_later() {
        let runs = LongRuns::default();
        let (writer, late) = (run(false, 1, true), run(false, 2, false));
        runs.add(&writer);
        assert!(runs.end_readers(), "one has written");
        runs.stop();
        runs.add(&late);
        assert_eq!([&writer, &late].map(|run| run.stage()), [Stage::Stopped; 2]);
        assert!(!writer.begin_to_write());
    }
}

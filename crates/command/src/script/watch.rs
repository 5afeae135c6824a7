//! Watch over one run of a script: when it has run for long others are served meanwhile, and it
//! may be ended.
//!
//! ```text
//!  0 ms   nobody knows of it
//!  5 ms   long: it can be killed, the gate is open behind it, its worker serves others
//!  5 s    slow (`busy-reply-threshold`): others are told BUSY
//! ```

use base::meanwhile;
use script::Verdict;
use session::{Args, Instance, LongRun, Stage};
use settings::BusyScope;
use settings::scripting::{BUSY_REPLY_SCOPE, BUSY_REPLY_THRESHOLD, SCRIPT_TIME_LIMIT};
use std::sync::Arc;
use store::ThreadContext;

const MILLI: u64 = 1_000_000;
/// Nanoseconds after which a run is long.
const LONG_NANOS: u64 = 5 * MILLI;
/// Nanoseconds between two moments in which others are served, at least. It is as long as they
/// took the last time, if that is more: so a run has half of its thread's time.
const BETWEEN_NANOS: u64 = MILLI;

/// What a run is called, for clients and the log.
#[derive(Clone, Copy, Debug)]
pub enum Name<'n> {
    /// The digest of a script.
    Script(&'n [u8]),
    /// The name of a function.
    Function(&'n [u8]),
}

/// What became of a run at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It goes on; others may have been served.
    GoesOn,
    /// It goes on, and was slow at the look before: time has passed for TIME.
    GoesOnSlowly,
    /// It is to end with this error.
    Ends(&'static str),
    /// It is to end with this error, and what it has done is to get lost with the server.
    IsLost(&'static str),
}

impl Look {
    /// What the interpreter is told.
    pub fn verdict(self) -> Verdict {
        match self {
            Look::GoesOn | Look::GoesOnSlowly => Verdict::Continue,
            Look::Ends(text) | Look::IsLost(text) => Verdict::End(text),
        }
    }
}

/// Watch over a run.
pub struct Watch<'c> {
    instance: &'c Instance,
    name: Name<'c>,
    /// The request that runs it.
    request: Args<'c>,
    is_obeyed: bool,
    /// Reading of the stopwatch when it began.
    began: u64,
    /// Reading of the stopwatch at the last look, and nanoseconds until the next one.
    looked: u64,
    pause_nanos: u64,
    /// The run as others see it, once it is long.
    long: Option<Arc<LongRun>>,
    is_slow: bool,
}

impl<'c> Watch<'c> {
    /// Watches over a run that begins.
    pub fn new(
        instance: &'c Instance,
        name: Name<'c>,
        request: Args<'c>,
        is_obeyed: bool,
    ) -> Watch<'c> {
        let began = instance.stopwatch.read();
        let (looked, pause_nanos) = (began, LONG_NANOS);
        let (long, is_slow) = (None, false);
        Watch { instance, name, request, is_obeyed, began, looked, pause_nanos, long, is_slow }
    }

    /// Notes that the run is about to change data. Returns false if it is to end before that: at
    /// the next look, however early that is.
    #[inline]
    pub fn begin_to_write(&mut self) -> bool {
        let goes_on = self.long.as_ref().is_none_or(|run| run.begin_to_write());
        if !goes_on {
            self.pause_nanos = 0;
        }
        goes_on
    }

    /// Looks at the run, unless it is too early. To be called often while it goes on.
    #[inline]
    pub fn look(&mut self, thread: &mut ThreadContext, has_written: bool) -> Look {
        let now = self.instance.stopwatch.read();
        if self.instance.stopwatch.nanos_between(self.looked, now) < self.pause_nanos {
            return Look::GoesOn;
        }
        self.look_closely(thread, now, has_written)
    }

    #[cold]
    fn look_closely(&mut self, thread: &mut ThreadContext, now: u64, has_written: bool) -> Look {
        let run = match &self.long {
            Some(run) => Arc::clone(run),
            None => self.become_long(thread, has_written),
        };
        let was_slow = self.is_slow;
        self.keep_time(&run, now);
        match run.stage() {
            Stage::Reads | Stage::Writes => {
                self.serve_others(now);
                if was_slow { Look::GoesOnSlowly } else { Look::GoesOn }
            }
            Stage::Killed if run.function.is_some() => {
                Look::Ends("Script killed by user with FUNCTION KILL.")
            }
            Stage::Killed => Look::Ends("Script killed by user with SCRIPT KILL."),
            Stage::OutOfTime => Look::Ends("Script ran for longer than script-time-limit."),
            Stage::Stopped => Look::IsLost("Script ended with the server."),
        }
    }

    /// Lets others know of the run.
    fn become_long(&mut self, thread: &ThreadContext, has_written: bool) -> Arc<LongRun> {
        // The request of a script, which may be long, is shown to nobody.
        let (function, words) = match self.name {
            Name::Script(_) => (None, Vec::new()),
            Name::Function(name) => {
                (Some(name.to_vec()), self.request.from(0).map(<[u8]>::to_vec).collect())
            }
        };
        let run = LongRun::new(function, words, (self.began, self.is_obeyed), has_written);
        let run = Arc::new(run);
        self.instance.scripts.long_runs.add(&run);
        self.instance.store.stay_for_long(thread);
        self.long = Some(Arc::clone(&run));
        run
    }

    /// Notes that it has become slow, or has run for as long as it may.
    fn keep_time(&mut self, run: &Arc<LongRun>, now: u64) {
        let settings = &self.instance.settings;
        let millis = self.instance.stopwatch.nanos_between(self.began, now) / MILLI;
        let limit = SCRIPT_TIME_LIMIT.get(settings);
        if limit > 0 && millis >= limit && !self.is_obeyed {
            run.end(Stage::OutOfTime);
        }
        let threshold = BUSY_REPLY_THRESHOLD.get(settings);
        if self.is_slow || threshold == 0 || millis < threshold {
            return;
        }
        self.is_slow = true;
        let refuses = BUSY_REPLY_SCOPE.get(settings) == BusyScope::All;
        let long_runs = &self.instance.scripts.long_runs;
        long_runs.note_slow(run, &self.instance.clients.grants, refuses);
        let (command, name) = match self.name {
            Name::Script(digest) => ("SCRIPT KILL", digest),
            Name::Function(name) => ("FUNCTION KILL", name),
        };
        tracing::warn!(
            "Slow script detected: still in execution after {millis} milliseconds. You can try \
             killing the script using the {command} command. Script name is: {}.",
            String::from_utf8_lossy(name)
        );
    }

    /// Serves others for a moment.
    fn serve_others(&mut self, now: u64) {
        let stopwatch = &self.instance.stopwatch;
        meanwhile::serve();
        self.looked = stopwatch.read();
        self.pause_nanos = stopwatch.nanos_between(now, self.looked).max(BETWEEN_NANOS);
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(run) = &self.long {
            let instance = self.instance;
            instance.scripts.long_runs.remove(run, &instance.clients.grants);
        }
    }
}

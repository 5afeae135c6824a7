//! What is told while a server follows: events on standard error, how far it is on a terminal.

use crate::follow::backlog::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Time between two lines about how far it is.
const PERIOD: Duration = Duration::from_secs(1);

/// How far a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// What is known of the stream.
    pub progress: Progress,
    /// Bytes of the source's stream, as it has told; zero if it has not.
    pub source: u64,
    /// Bytes that the target has.
    pub applied: u64,
}

impl Lag {
    /// Bytes that the target lacks.
    pub fn bytes(&self) -> u64 {
        self.source.max(self.progress.received).saturating_sub(self.applied)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Report {
    bar: ProgressBar,
    at: Instant,
    commands: u64,
    per_second: f64,
}

impl Report {
    /// Shows how far it is, or only what happens.
    pub fn new(is_shown: bool) -> Report {
        let target =
            if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        Report { bar, at: Instant::now(), commands: 0, per_second: 0.0 }
    }

    /// What tells of events; a thread may have its own.
    pub fn teller(&self) -> impl Fn(&str) + Sync + use<> {
        let bar = self.bar.clone();
        move |line: &str| bar.suspend(|| eprintln!("{line}"))
    }

    /// Tells of an event.
    pub fn tell(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    /// True if somebody sees how far it is.
    pub fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// True once in a second, with the number of commands that have been executed.
    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    pub fn is_due(&mut self, commands: u64) -> bool {
        let since = self.at.elapsed();
        if since < PERIOD {
            return false;
        }
        self.per_second = commands.saturating_sub(self.commands) as f64 / since.as_secs_f64();
        (self.at, self.commands) = (Instant::now(), commands);
        true
    }

    /// Shows how far it is.
    pub fn show(&self, lag: &Lag) {
        self.bar.set_message(self.text(lag));
        self.bar.tick();
    }

    /// How far it is, as text.
    pub fn text(&self, lag: &Lag) -> String {
        let state = if lag.progress.is_connected { "following" } else { "not connected" };
        format!(
            "{state}: {} bytes and {:.1} s behind, {:.0} commands/s, offset {}",
            lag.bytes(),
            lag.progress.behind.as_secs_f64(),
            self.per_second,
            lag.applied
        )
    }

    /// Ends the line.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

//! Progress for who looks on: what is done, how fast, and what is left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const BYTES: &str = "{msg} {bar:30} {bytes}/{total_bytes} {percent}% {bytes_per_sec}, {eta} left";
const KEYS: &str = "{msg} {bar:30} {pos}/{len} keys {percent}% {per_sec}, {eta} left";

/// A line that is drawn again and again, where there is a terminal.
#[derive(Debug)]
pub struct Meter(ProgressBar);

impl Meter {
    /// Progress through bytes of files.
    pub fn of_bytes(what: &str, total: u64, is_shown: bool) -> Meter {
        Meter::new(what, total, is_shown, BYTES)
    }

    /// Progress through keys.
    pub fn of_keys(what: &str, total: u64, is_shown: bool) -> Meter {
        Meter::new(what, total, is_shown, KEYS)
    }

    fn new(what: &str, total: u64, is_shown: bool, template: &str) -> Meter {
        let target =
            if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Meter(bar)
    }

    /// Notes how far it is.
    pub fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Notes that more is done.
    pub fn add(&self, more: u64) {
        self.0.inc(more);
    }

    /// Ends the line.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

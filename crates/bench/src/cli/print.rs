//! Output of results.

use std::fmt::Display;
use std::io::{Write as _, stdout};

/// Writes a text to the standard output. A reader that stops early, as `head` does, does not end
/// the measurement or its recording.
pub fn print(text: impl Display) {
    let _ = write!(stdout().lock(), "{text}");
}

//! Results on the standard output.

use std::fmt::Display;
use std::io::{Write as _, stdout};

/// Writes a text. A reader that has seen enough, as `head` has, does not end what is measured and
/// recorded.
pub fn say(text: impl Display) {
    let _ = write!(stdout().lock(), "{text}");
}

//! Effect of a write on the deadline of its field, and state of the field before the write.

use super::read::Pair;
use base::Millis;

/// Effect of a write on the deadline of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Keeps the deadline; a new field has none.
    Keep,
    /// Removes the deadline.
    Never,
    /// Sets the deadline.
    At(Millis),
}

/// State of a field before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    /// The field did not exist.
    Absent,
    /// The field was past its deadline, and counts as missing.
    Expired,
    /// The field existed.
    Present,
}

impl Deadline {
    /// Returns the deadline after the write, for a field with the deadline `old` before it.
    pub(super) fn after(self, was: Was, old: Option<Millis>) -> Option<Millis> {
        match self {
            Deadline::Keep if was == Was::Present => old,
            Deadline::Keep | Deadline::Never => None,
            Deadline::At(at) => Some(kept(at)),
        }
    }
}

/// Clamps a deadline to what a row can store: 1 to `i64::MAX`, as zero means none.
pub(super) fn kept(deadline: Millis) -> Millis {
    Millis(deadline.0.clamp(1, i64::MAX as u64))
}

impl Was {
    /// Returns the state of a field, given its row if one was found.
    pub(super) fn of(pair: Option<&Pair<'_>>, as_of: Millis) -> Was {
        match pair.map(|pair| pair.deadline) {
            None => Was::Absent,
            Some(Some(deadline)) if deadline <= as_of => Was::Expired,
            Some(_) => Was::Present,
        }
    }
}

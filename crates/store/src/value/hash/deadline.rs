//! What a write does to the deadline of its field, and what was there before.

use super::read::Pair;
use base::Millis;

/// What a write does to the deadline of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Leaves it; a new field has none.
    Keep,
    /// Takes it away.
    Never,
    /// Sets it.
    At(Millis),
}

/// What was there before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    /// No such field.
    Absent,
    /// A field past its deadline, which counts as none.
    Expired,
    /// A field.
    Present,
}

impl Deadline {
    /// The deadline of a field that had `old`.
    pub(super) fn after(self, was: Was, old: Option<Millis>) -> Option<Millis> {
        match self {
            Deadline::Keep if was == Was::Present => old,
            Deadline::Keep | Deadline::Never => None,
            Deadline::At(at) => Some(kept(at)),
        }
    }
}

/// A deadline as it is kept: zero would be none.
pub(super) fn kept(deadline: Millis) -> Millis {
    Millis(deadline.0.clamp(1, i64::MAX as u64))
}

impl Was {
    /// Of a field that was found or not.
    pub(super) fn of(pair: Option<&Pair<'_>>, as_of: Millis) -> Was {
        match pair.map(|pair| pair.deadline) {
            None => Was::Absent,
            Some(Some(deadline)) if deadline <= as_of => Was::Expired,
            Some(_) => Was::Present,
        }
    }
}

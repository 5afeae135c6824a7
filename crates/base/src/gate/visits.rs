//! Visits of one member of a gate.

use crate::sync::{AtomicU32, Ordering};

/// Twice the number of visits, or so: a visit that ended and the next one differ. Odd while the
/// member is inside. Only the member writes.
#[derive(Debug)]
pub(super) struct Visits(AtomicU32);

impl Visits {
    pub fn new() -> Visits {
        Visits(AtomicU32::new(0))
    }

    /// The member is inside from now on, as it may be already.
    #[inline]
    pub fn begin(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
    }

    /// The member is outside from now on, as it may be already. Returns true if it was inside.
    #[inline]
    pub fn end(&self) -> bool {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store((count | 1).wrapping_add(1), Ordering::Release);
        count & 1 == 1
    }

    /// Returns true while the member is inside. What it did before is seen if it is not.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.0.load(Ordering::Acquire) & 1 == 1
    }

    /// Returns a number that this visit alone has, if the member is inside.
    pub fn under_way(&self) -> Option<u32> {
        let count = self.0.load(Ordering::Relaxed);
        (count & 1 == 1).then_some(count)
    }
}

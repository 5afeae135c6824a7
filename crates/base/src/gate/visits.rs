//! Visits of one member of a gate.

use crate::sync::{AtomicU32, Ordering};

/// Twice the number of visits, or so: a visit that ended and the next one differ. Odd while the
/// member is inside. Only the member writes.
#[derive(Debug)]
pub(super) struct Visits {
    count: AtomicU32,
    /// The count of a visit that the member has said to be long, or zero.
    long: AtomicU32,
}

impl Visits {
    pub fn new() -> Visits {
        Visits { count: AtomicU32::new(0), long: AtomicU32::new(0) }
    }

    /// The member is inside from now on, as it may be already.
    #[inline]
    pub fn begin(&self) {
        self.count.store(self.count.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
    }

    /// The member is outside from now on, as it may be already. Returns true if it was inside.
    #[inline]
    pub fn end(&self) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        self.count.store((count | 1).wrapping_add(1), Ordering::Release);
        count & 1 == 1
    }

    /// Returns true while the member is inside. What it did before is seen if it is not.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.count.load(Ordering::Acquire) & 1 == 1
    }

    /// Marks the visit of the member, which is inside, as long.
    pub fn mark_long(&self) {
        self.long.store(self.count.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns true while the member is inside for a visit that it has marked as long.
    pub fn is_long(&self) -> bool {
        self.under_way().is_some_and(|visit| visit == self.long.load(Ordering::Relaxed))
    }

    /// Returns a number that this visit alone has, if the member is inside.
    pub fn under_way(&self) -> Option<u32> {
        let count = self.count.load(Ordering::Relaxed);
        (count & 1 == 1).then_some(count)
    }
}

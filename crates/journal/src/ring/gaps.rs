//! Bytes of the stream that are no data, as a PING that goes to replicas: files leave them out.

use std::collections::VecDeque;
use std::ops::Range;

/// Such bytes, in the order of their positions. None touch each other.
#[derive(Debug, Default)]
pub(super) struct Gaps(VecDeque<Range<u64>>);

impl Gaps {
    /// Adds a gap, which may come before those that were noted earlier.
    pub fn add(&mut self, gap: Range<u64>) {
        let at = self.0.partition_point(|it| it.start < gap.start);
        self.0.insert(at, gap);
        // First the one behind it: joining moves what follows.
        self.join(at + 1);
        self.join(at);
    }

    /// Joins a gap with the one before it, if they touch.
    fn join(&mut self, at: usize) {
        let Some(before) = at.checked_sub(1) else { return };
        if let Some(end) =
            self.0.get(at).filter(|it| it.start == self.0[before].end).map(|it| it.end)
        {
            self.0[before].end = end;
            self.0.remove(at);
        }
    }

    /// What of the first gap lies from `from` on, and before `to`.
    pub fn first(&self, from: u64, to: u64) -> Option<Range<u64>> {
        let at = self.0.partition_point(|it| it.end <= from);
        let gap = self.0.get(at)?;
        let found = gap.start.max(from)..gap.end.min(to);
        (!found.is_empty()).then_some(found)
    }

    /// Forgets those before a position.
    pub fn forget(&mut self, before: u64) {
        while self.0.front().is_some_and(|it| it.end <= before) {
            self.0.pop_front();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn all(gaps: &Gaps) -> Vec<(u64, u64)> {
        gaps.0.iter().map(|gap| (gap.start, gap.end)).collect()
    }

    #[test]
    fn gaps_that_touch_are_one_whichever_was_noted_first() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
            let mut gaps = Gaps::default();
            order.into_iter().for_each(|at| gaps.add(10 * at + 5..10 * at + 15));
            assert_eq!(all(&gaps), [(5, 35)], "{order:?}");
        }
        let mut gaps = Gaps::default();
        gaps.add(20..30);
        gaps.add(0..10);
        assert_eq!(gaps.first(0, 100), Some(0..10));
        assert_eq!(gaps.first(4, 6), Some(4..6));
        assert_eq!(gaps.first(10, 20), None);
        assert_eq!(gaps.first(5, 5), None, "nothing of it is whole yet");
        assert_eq!(gaps.first(10, 21), Some(20..21));
        gaps.forget(10);
        assert_eq!(all(&gaps), [(20, 30)]);
        gaps.forget(29);
        assert_eq!(gaps.first(29, 50), Some(29..30));
    }
}

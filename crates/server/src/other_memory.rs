//! Memory of the process that is neither records nor index, as the budget of the records sees it.

/// Divisor of what a snapshot has let go of: so much of it counts again with each look, all in all
/// half of it in seven seconds, in which the allocator gives memory back.
const GIVEN_BACK_PART: u64 = 100;
/// Fewer bytes do not count as retained.
const RETAINED_MIN: u64 = 1 << 20;

/// Memory besides records and index, without what a snapshot takes: that comes and goes, and
/// nothing is evicted or refused for its sake.
///
/// ```text
/// measured   ____/~~~~~\___      a snapshot, and the allocator's delay behind it
/// counted    ______________      what is usual without one
/// ```
#[derive(Debug, Default)]
pub struct OtherMemory {
    /// Bytes when no snapshot retained anything.
    usual: u64,
    /// Bytes that a snapshot retains, or retained a moment ago.
    retained: u64,
}

impl OtherMemory {
    /// Bytes that count, where so many were measured, of which a snapshot holds some. To be called
    /// ten times a second.
    pub fn counted(&mut self, measured: u64, retained: u64) -> u64 {
        self.retained = retained.max(self.retained - self.retained.div_ceil(GIVEN_BACK_PART));
        if self.retained < RETAINED_MIN {
            (self.usual, self.retained) = (measured, 0);
        }
        measured.saturating_sub(self.retained).max(self.usual.min(measured))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn what_a_snapshot_retains_counts_neither_while_it_is_made_nor_right_after_it() {
        let mut other = OtherMemory::default();
        assert_eq!(other.counted(20 * MB, 0), 20 * MB);
        for retained in [5, 16, 10] {
            assert_eq!(other.counted((20 + retained) * MB, retained * MB), 20 * MB);
        }
        for kept in (0..10).rev() {
            assert_eq!(other.counted((20 + kept) * MB, 0), 20 * MB);
        }
    }

    #[test]
    fn what_others_take_beyond_it_counts_and_all_counts_in_the_end() {
        let mut other = OtherMemory::default();
        assert_eq!(other.counted(20 * MB, 0), 20 * MB);
        assert_eq!(other.counted(70 * MB, 10 * MB), 60 * MB);
        assert_eq!(other.counted(15 * MB, 10 * MB), 15 * MB, "never more than there is");
        let last = (0..600).map(|_| other.counted(70 * MB, 0)).last();
        assert_eq!(last, Some(70 * MB));
    }
}

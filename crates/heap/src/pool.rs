//! The pool: free slots, and those of them whose memory is still resident.

use base::SegmentId;

/// The budget or the address space is used up: clean, evict, or refuse the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSpace;

/// Purpose for which a segment is taken. Later variants may use reserves that earlier ones must
/// leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// A write whose size was known before its locks were taken; it leaves both reserves alone.
    Write,
    /// A write whose size became known late, under a lock: it may use one reserve.
    Late,
    /// Survivors of cleaning, which free more than they take: they may use both.
    Survivors,
    /// A change to a tree, before it begins: it may exceed the budget, and the thread makes room
    /// before its next write.
    Overdraft,
    /// The rest of a change that has begun, and removals: they may exceed the budget too, and are
    /// refused only when the slots kept for them are used up.
    Begun,
}

impl Purpose {
    /// Number of the `kept` slots, set aside for what cannot be refused, that this purpose must
    /// leave.
    fn leaves_of(self, kept: u32) -> u32 {
        match self {
            Purpose::Write | Purpose::Late | Purpose::Overdraft => kept,
            Purpose::Survivors => kept / 2,
            Purpose::Begun => 0,
        }
    }
}

/// Divisor of the slots: this part of them is kept for what cannot be refused.
const KEPT_SLOTS_PART: u32 = 32;
#[derive(Debug)]
pub(crate) struct Pool {
    /// One bit per slot, set while it is free.
    free: Vec<u64>,
    /// Number of free slots: the bits set in `free`.
    free_slots: u32,
    slots: u32,
    /// Index of the first word of `free` that may have a bit set.
    hint: usize,
    highest_used: u32,
    /// Segments that heads append to.
    pub open: Vec<SegmentId>,
    /// Free segments that are still resident, newest last.
    pub pooled: Vec<Pooled>,
    /// Runs of slots on their way back to the system.
    pub returning: Vec<Returning>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pooled {
    pub id: SegmentId,
    pub touched: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Returning {
    pub first: SegmentId,
    pub slots: u32,
    /// Bytes still resident, from the run's begin; they are returned from the end.
    pub bytes: u64,
}

impl Pool {
    pub fn new(slots: u32) -> Pool {
        let mut free = vec![u64::MAX; slots.div_ceil(64) as usize];
        if let (Some(last), rest @ 1..) = (free.last_mut(), slots % 64) {
            *last = (1 << rest) - 1;
        }
        Pool {
            free,
            free_slots: slots,
            slots,
            hint: 0,
            highest_used: 0,
            open: Vec::new(),
            pooled: Vec::new(),
            returning: Vec::new(),
        }
    }

    pub fn highest_used(&self) -> u32 {
        self.highest_used
    }

    pub fn pooled_bytes(&self) -> u64 {
        self.pooled.iter().map(|pooled| u64::from(pooled.touched)).sum()
    }

    /// Finds `count` free slots in a row and marks them used.
    pub fn take_run(&mut self, count: u32, purpose: Purpose) -> Option<SegmentId> {
        let left = purpose.leaves_of(self.slots.div_ceil(KEPT_SLOTS_PART));
        if self.free_slots.saturating_sub(left) < count {
            return None;
        }
        let first = if count == 1 { self.find_one()? } else { self.find_run(count)? };
        for slot in first..first + count {
            self.free[slot as usize / 64] &= !(1 << (slot % 64));
        }
        self.free_slots -= count;
        self.highest_used = self.highest_used.max(first + count);
        Some(SegmentId(first))
    }

    /// Marks a slot used; returns false if it was not free.
    pub fn take(&mut self, id: SegmentId) -> bool {
        let (word, bit) = (&mut self.free[id.0 as usize / 64], 1 << (id.0 % 64));
        let was_free = *word & bit != 0;
        *word &= !bit;
        self.free_slots -= u32::from(was_free);
        was_free
    }

    fn find_one(&mut self) -> Option<u32> {
        while let Some(word) = self.free.get(self.hint) {
            if *word != 0 {
                return Some(narrow::to_u32(self.hint) * 64 + word.trailing_zeros());
            }
            self.hint += 1;
        }
        None
    }

    fn find_run(&self, count: u32) -> Option<u32> {
        let is_free = |slot: u32| self.free[slot as usize / 64] >> (slot % 64) & 1 == 1;
        let mut begin = narrow::to_u32(self.hint) * 64;
        let mut slot = begin;
        while slot < self.slots {
            if !is_free(slot) {
                begin = slot + 1;
            } else if slot + 1 - begin == count {
                return Some(begin);
            }
            slot += 1;
        }
        None
    }

    pub fn put_run(&mut self, first: SegmentId, count: u32) {
        for slot in first.0..first.0 + count {
            self.free[slot as usize / 64] |= 1 << (slot % 64);
        }
        self.free_slots += count;
        self.hint = self.hint.min(first.0 as usize / 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_contiguous_and_never_overlap() {
        let mut pool = Pool::new(200);
        let take = |pool: &mut Pool, count| pool.take_run(count, Purpose::Begun);
        let single = take(&mut pool, 1).expect("free");
        let run = take(&mut pool, 70).expect("free");
        assert_eq!((single, run), (SegmentId(0), SegmentId(1)));
        pool.put_run(single, 1);
        assert_eq!(take(&mut pool, 2), Some(SegmentId(71)));
        assert_eq!(take(&mut pool, 1), Some(SegmentId(0)));
        assert_eq!(take(&mut pool, 128), None);
        assert_eq!(take(&mut pool, 127), Some(SegmentId(73)));
        assert_eq!(take(&mut pool, 1), None);
    }

    #[test]
    fn the_last_slots_are_kept_for_what_cannot_be_refused() {
        let mut pool = Pool::new(4 * KEPT_SLOTS_PART);
        let all_others = 4 * KEPT_SLOTS_PART - 4;
        assert!(pool.take_run(all_others + 1, Purpose::Write).is_none());
        let others = pool.take_run(all_others, Purpose::Overdraft).expect("free");
        for purpose in [Purpose::Write, Purpose::Late, Purpose::Overdraft] {
            assert_eq!(pool.take_run(1, purpose), None);
        }
        assert!(pool.take_run(2, Purpose::Survivors).is_some());
        assert_eq!(pool.take_run(1, Purpose::Survivors), None);
        assert!(pool.take_run(2, Purpose::Begun).is_some());
        assert_eq!(pool.take_run(1, Purpose::Begun), None);
        pool.put_run(others, 5);
        assert!(pool.take_run(1, Purpose::Write).is_some());
        assert_eq!(pool.take_run(1, Purpose::Write), None);
    }
}

//! Slots: taking them, making them resident and giving them back, within the budget.
//!
//! The budget bounds the bytes that were touched; what is free beyond it is given back to the
//! system.

use crate::pool::{OutOfSpace, Pool, Pooled, Purpose, Returning};
use crate::segment::SegmentState;
use crate::{DEDICATED_BYTES, HUGE_PAGE_BYTES, HUGE_PAGES_FROM, Heap, TOUCH_BYTES};
use base::units::{SEGMENT_BITS, SEGMENT_BYTES};
use base::{Location, Millis, SegmentId};
use std::sync::atomic::Ordering;

/// Least number of segments that a heap is spread over, however small it is.
const SEGMENTS_MIN: u64 = 128;
/// Divisor of the slots: a heap whose segments are small uses no more than this part of them.
const SMALL_SLOTS_PART: u64 = 8;
/// The same for segments that are smaller than their slots at all: where address space is limited,
/// slots are what runs out first.
const PARTIAL_SLOTS_PART: u64 = 4;
/// Bytes given back to the system in one step: about 60 microseconds.
const RETURN_BYTES: u32 = 1 << 20;

impl Heap {
    /// Takes a segment for a head, preferably a resident one, and promises it the memory up to the
    /// extent at which it will be sealed. Returns that extent too.
    pub(crate) fn take(
        &self,
        purpose: Purpose,
        now: Millis,
        least: u32,
    ) -> Result<(SegmentId, u32), OutOfSpace> {
        let limit = self.segment_limit().max(least.next_multiple_of(TOUCH_BYTES));
        let (id, touched) = {
            let mut pool = self.pool();
            let free = self.budget_for(purpose).saturating_sub(self.committed_bytes());
            let available = free.saturating_add(pool.pooled_bytes());
            if available < u64::from(limit) + self.reserve_bytes(purpose) {
                return Err(OutOfSpace);
            }
            let taken = self
                .take_pooled(&mut pool, limit, purpose)
                .or_else(|| self.take_fresh(&mut pool, limit, purpose))
                .ok_or(OutOfSpace)?;
            pool.open.push(taken.0);
            taken
        };
        self.promised.fetch_add(limit.saturating_sub(touched).into(), Ordering::Relaxed);
        self.segment(id).open(SegmentState::Open, now);
        if self.uses_huge_pages(limit) {
            // The thread that prepares pages may not have come to a pooled slot yet.
            self.use_huge_pages(id);
        } else {
            // The first touch of 64 KiB would make two megabytes resident, and count as 64 KiB.
            self.use_small_pages(id);
        }
        // A slot that was filled further before is resident that far, so it is filled so again.
        Ok((id, limit.max(touched)))
    }

    /// Takes the pooled segment that needs the least new memory, if the budget has room for that.
    fn take_pooled(
        &self,
        pool: &mut Pool,
        limit: u32,
        purpose: Purpose,
    ) -> Option<(SegmentId, u32)> {
        let all = pool.pooled.iter().enumerate();
        let (at, best) = all.max_by_key(|(_, pooled)| pooled.touched.min(limit))?;
        let (id, touched) = (best.id, best.touched);
        let is_enough = self.has_room_for(limit.saturating_sub(touched).into(), purpose);
        is_enough.then(|| pool.pooled.remove(at)).map(|_| (id, touched))
    }

    fn take_fresh(
        &self,
        pool: &mut Pool,
        limit: u32,
        purpose: Purpose,
    ) -> Option<(SegmentId, u32)> {
        let id =
            if self.has_room_for(limit.into(), purpose) { pool.take_run(1, purpose) } else { None };
        id.map(|id| (id, 0))
    }

    /// Takes a run of slots for one record of `bytes`.
    pub(crate) fn take_dedicated(
        &self,
        bytes: usize,
        purpose: Purpose,
        now: Millis,
    ) -> Result<Location, OutOfSpace> {
        // Segments count in 32 bits; key and room may each come close to that.
        if bytes > u32::MAX as usize {
            return Err(OutOfSpace);
        }
        let resident = (bytes as u64).next_multiple_of(base::memory::PAGE_BYTES as u64);
        let wanted = resident + self.reserve_bytes(purpose);
        while !self.has_room_for(wanted, purpose) {
            if !self.return_some(0) {
                return Err(OutOfSpace);
            }
        }
        let slots = narrow::to_u32(bytes.div_ceil(SEGMENT_BYTES as usize));
        let first = self.pool().take_run(slots, purpose).ok_or(OutOfSpace)?;
        (first.0..first.0 + slots).for_each(|slot| self.use_small_pages(SegmentId(slot)));
        let segment = self.segment(first);
        segment.open(SegmentState::Dedicated, now);
        segment.run.store(slots, Ordering::Relaxed);
        segment.written.store(narrow::to_u32(bytes), Ordering::Relaxed);
        segment.records.store(1, Ordering::Relaxed);
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        self.touched.fetch_add(resident, Ordering::Relaxed);
        Ok(Location::new(first, 0))
    }

    /// Notes that no head appends to a segment any more.
    pub(crate) fn note_sealed(&self, id: SegmentId) {
        self.pool().open.retain(|open| *open != id);
    }

    /// Resident bytes of segments in use: without the pool, and without what open heads have not
    /// yet written.
    pub fn bytes_in_use(&self) -> u64 {
        let pool = self.pool();
        let ahead = pool.open.iter().map(|id| u64::from(self.segment(*id).unwritten_bytes()));
        self.touched_bytes().saturating_sub(pool.pooled_bytes() + ahead.sum::<u64>())
    }

    /// Makes a head's segment resident up to `end` at least, and counts it; `limit` is the head's.
    /// Returns the end of the resident bytes.
    pub(crate) fn touch(&self, id: SegmentId, end: u32, limit: u32) -> u32 {
        let segment = self.segment(id);
        let touched = segment.touched.load(Ordering::Relaxed);
        if end <= touched {
            return touched;
        }
        let page_end = end.next_multiple_of(HUGE_PAGE_BYTES);
        // A slot that has asked for huge pages gets them, though the heap may have shrunk since.
        let is_huge = self.uses_huge_pages(limit) || segment.is_huge.load(Ordering::Relaxed);
        let end = if is_huge && page_end <= limit {
            self.use_huge_pages(id);
            page_end
        } else {
            let end = end.next_multiple_of(TOUCH_BYTES);
            self.populate(id, touched, end);
            end
        };
        segment.touched.store(end, Ordering::Relaxed);
        self.touched.fetch_add(u64::from(end - touched), Ordering::Relaxed);
        self.promised.fetch_sub(u64::from(end - touched), Ordering::Relaxed);
        end
    }

    /// Asks for huge pages in a slot, unless that was done before: the system stops all populating
    /// for it.
    pub(crate) fn use_huge_pages(&self, id: SegmentId) {
        if !self.segment(id).is_huge.swap(true, Ordering::Relaxed) {
            let begin = id.0 as usize * SEGMENT_BYTES as usize;
            self.space.use_huge_pages(begin, SEGMENT_BYTES as usize);
        }
    }

    /// Takes back the request for huge pages, where memory must be resident to the exact page.
    fn use_small_pages(&self, id: SegmentId) {
        if self.segment(id).is_huge.swap(false, Ordering::Relaxed) {
            let begin = id.0 as usize * SEGMENT_BYTES as usize;
            self.space.use_small_pages(begin, SEGMENT_BYTES as usize);
        }
    }

    /// Gives the resident bytes of a head from `from` to `to`, none of them written, back to the
    /// system. The head goes no further.
    pub(crate) fn release(&self, id: SegmentId, from: u32, to: u32) {
        // With huge pages the system might make the rest of the last page resident again.
        self.use_small_pages(id);
        let begin = id.0 as usize * SEGMENT_BYTES as usize + from as usize;
        // SAFETY: no record lies there, and the head that could append one asks for this. More than
        // what is counted may be resident.
        unsafe { self.space.release(begin, (SEGMENT_BYTES - from) as usize) };
        self.segment(id).touched.store(from, Ordering::Relaxed);
        self.touched.fetch_sub(u64::from(to - from), Ordering::Relaxed);
    }

    /// Makes the bytes of a slot from `from` to `to` resident, without counting them.
    pub(crate) fn populate(&self, id: SegmentId, from: u32, to: u32) {
        let begin = id.0 as usize * SEGMENT_BYTES as usize + from as usize;
        self.space.populate(begin, (to - from) as usize);
    }

    /// Puts a fresh slot into the pool, if the pool is empty and the budget has room. Its first
    /// `bytes` count as touched from now on.
    pub(crate) fn pool_fresh(&self, bytes: u32) -> Option<SegmentId> {
        let mut pool = self.pool();
        let wanted = u64::from(bytes) + self.reserve_bytes(Purpose::Write);
        if !pool.pooled.is_empty() || !self.has_room(wanted) {
            return None;
        }
        let id = pool.take_run(1, Purpose::Write)?;
        pool.pooled.push(Pooled { id, touched: bytes });
        self.segment(id).touched.store(bytes, Ordering::Relaxed);
        self.touched.fetch_add(bytes.into(), Ordering::Relaxed);
        Some(id)
    }

    /// Returns true if a segment with this limit uses huge pages. They save most misses of the
    /// address translation, once a heap is so large that a page more or less per head does not
    /// matter. A head that is sealed within a page has none.
    pub(crate) fn uses_huge_pages(&self, limit: u32) -> bool {
        self.has_huge_pages
            && limit >= HUGE_PAGE_BYTES
            && self.touched_bytes() >= HUGE_PAGES_FROM
            && self.head_bytes() >= HUGE_PAGE_BYTES
    }

    /// Extent at which the next segment is sealed. A victim being moved is held twice for a
    /// while, so in a small heap segments are small.
    pub fn segment_limit(&self) -> u32 {
        let most = self.head_bytes();
        if most < HUGE_PAGE_BYTES {
            return most;
        }
        // A record of the largest movable size must fit all the same.
        let least = narrow::to_u32(DEDICATED_BYTES);
        // Small ones use up slots, of which there may be few.
        let small = u64::from(self.slots) / SMALL_SLOTS_PART * u64::from(least);
        if self.touched_bytes() < small.min(HUGE_PAGES_FROM) {
            return least;
        }
        let most = most - most % HUGE_PAGE_BYTES;
        let partial = u64::from(self.slots) / PARTIAL_SLOTS_PART * u64::from(HUGE_PAGE_BYTES);
        if self.touched_bytes() >= partial {
            return most;
        }
        let part = u32::try_from(self.touched_bytes() / SEGMENTS_MIN).unwrap_or(SEGMENT_BYTES);
        part.next_multiple_of(HUGE_PAGE_BYTES).clamp(HUGE_PAGE_BYTES, most)
    }

    /// Puts an emptied segment into the pool, now or when its last reader without a lock is done.
    pub(crate) fn recycle(&self, id: SegmentId) {
        if self.segment(id).pins.end() {
            self.recycle_unpinned(id);
        }
    }

    pub(crate) fn recycle_unpinned(&self, id: SegmentId) {
        let segment = self.segment(id);
        let written = u64::from(segment.written.load(Ordering::Relaxed));
        self.written.fetch_sub(written, Ordering::Relaxed);
        let touched = segment.touched.load(Ordering::Relaxed);
        let freed = segment.advance(SegmentState::Cleaning, SegmentState::Free);
        debug_assert!(freed, "only a cleaned segment is recycled");
        self.pool().pooled.push(Pooled { id, touched });
    }

    /// Gives the slots of a large record that has died back to the system, now or when its last
    /// reader without a lock is done.
    pub(crate) fn give_back_run(&self, id: SegmentId) {
        if self.segment(id).pins.end() {
            self.give_back_unpinned(id);
        }
    }

    pub(crate) fn give_back_unpinned(&self, id: SegmentId) {
        let segment = self.segment(id);
        if !segment.advance(SegmentState::Dedicated, SegmentState::Free) {
            return;
        }
        let written = u64::from(segment.written.load(Ordering::Relaxed));
        self.written.fetch_sub(written, Ordering::Relaxed);
        let bytes = written.next_multiple_of(base::memory::PAGE_BYTES as u64);
        let slots = segment.run.load(Ordering::Relaxed);
        self.pool().returning.push(Returning { first: id, slots, bytes });
    }

    /// Gives up to a megabyte back to the system, as long as more than `keep` bytes are pooled.
    /// Returns whether there is more to give. Holds no lock while the system works.
    pub fn return_some(&self, keep: u64) -> bool {
        let Some(mut run) = self.next_to_return(keep) else { return false };
        let begin = run.first.0 as usize * SEGMENT_BYTES as usize;
        let step = run.bytes.min(u64::from(RETURN_BYTES));
        run.bytes -= step;
        // SAFETY: the run holds no record, and while it is neither pooled nor free nobody opens it.
        unsafe { self.space.release(begin + narrow::to_usize(run.bytes), narrow::to_usize(step)) };
        self.touched.fetch_sub(step, Ordering::Relaxed);
        if run.bytes > 0 {
            self.pool().returning.push(run);
        } else {
            self.segment(run.first).touched.store(0, Ordering::Relaxed);
            self.free_run(run.first, run.slots);
        }
        true
    }

    /// Frees a run whose counted bytes were given back, after giving back what may be resident
    /// beyond them: the rest of a huge page, and what was populated ahead.
    fn free_run(&self, first: SegmentId, slots: u32) {
        let mut is_late = self.segment(first).is_huge.load(Ordering::Relaxed);
        loop {
            if is_late {
                let begin = first.0 as usize * SEGMENT_BYTES as usize;
                // SAFETY: as in `return_some`.
                unsafe { self.space.release(begin, SEGMENT_BYTES as usize) };
            }
            let mut pool = self.pool();
            is_late = self.segment(first).is_populated.swap(false, Ordering::Relaxed);
            if !is_late {
                return pool.put_run(first, slots);
            }
        }
    }

    /// Notes that a slot is resident beyond what is counted. A slot that has become free meanwhile
    /// is given back.
    pub(crate) fn note_populated(&self, id: SegmentId) {
        let is_free = {
            let mut pool = self.pool();
            self.segment(id).is_populated.store(true, Ordering::Relaxed);
            pool.take(id)
        };
        if is_free {
            self.free_run(id, 1);
        }
    }

    fn next_to_return(&self, keep: u64) -> Option<Returning> {
        let mut pool = self.pool();
        if let Some(run) = pool.returning.pop() {
            return Some(run);
        }
        if pool.pooled_bytes() <= keep {
            return None;
        }
        let oldest = pool.pooled.remove(0);
        Some(Returning { first: oldest.id, slots: 1, bytes: u64::from(oldest.touched) })
    }

    /// Bytes that `purpose` must leave for the purposes after it.
    fn reserve_bytes(&self, purpose: Purpose) -> u64 {
        let reserves = match purpose {
            Purpose::Write => 2,
            Purpose::Late => 1,
            Purpose::Survivors | Purpose::Overdraft | Purpose::Begun => 0,
        };
        reserves * u64::from(self.head_bytes())
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.has_room_for(bytes, Purpose::Write)
    }

    fn has_room_for(&self, bytes: u64, purpose: Purpose) -> bool {
        self.committed_bytes().saturating_add(bytes) <= self.budget_for(purpose)
    }

    fn budget_for(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Overdraft | Purpose::Begun => u64::MAX,
            // An overdraft may have taken the segments that are kept back for survivors, and
            // without room for survivors nothing would ever be freed again.
            Purpose::Survivors => self.budget().saturating_add(2 * u64::from(self.head_bytes())),
            Purpose::Write | Purpose::Late => self.budget(),
        }
    }

    /// Returns true if less of the budget is left than a `Purpose::Write` must leave.
    pub fn is_overdrawn(&self) -> bool {
        !self.has_room(self.reserve_bytes(Purpose::Write))
    }

    /// Checks that a write of `bytes`, more than a head is sure to hold, could be made. Pooled
    /// memory counts as free: a write of several records can use it, and for a record with slots of
    /// its own it is given back.
    pub(crate) fn can_take_much(&self, bytes: usize, purpose: Purpose) -> Result<(), OutOfSpace> {
        let wanted = bytes as u64 + self.reserve_bytes(purpose);
        let is_there = self.has_room_for(wanted, purpose)
            || self.has_room_for(wanted.saturating_sub(self.pooled_bytes()), purpose);
        if is_there { Ok(()) } else { Err(OutOfSpace) }
    }

    /// Returns true if `bytes` would fit under the budget of an otherwise empty heap.
    pub fn could_ever_hold(&self, bytes: usize) -> bool {
        (bytes as u64).saturating_add(self.reserve_bytes(Purpose::Write)) <= self.budget()
    }

    /// Address of a slot's first byte.
    pub(crate) fn slot_begin(&self, id: SegmentId) -> *mut u8 {
        self.space.base().wrapping_add((id.0 as usize) << SEGMENT_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_with_slots_of_its_own_takes_no_huge_pages_that_others_left() {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        (0..4).for_each(|slot| heap.use_huge_pages(SegmentId(slot)));
        let bytes = SEGMENT_BYTES as usize + 1;
        let at = heap.take_dedicated(bytes, Purpose::Write, Millis(1)).expect("room");
        assert_eq!(at.segment(), SegmentId(0));
        let is_huge = |slot| heap.segment(SegmentId(slot)).is_huge.load(Ordering::Relaxed);
        assert_eq!([0, 1, 2, 3].map(is_huge), [false, false, true, true]);
    }

    #[test]
    fn a_page_that_comes_late_goes_back_with_its_slot() {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        let is_populated = |id| heap.segment(id).is_populated.load(Ordering::Relaxed);
        // The slot is free by now.
        heap.note_populated(SegmentId(0));
        assert!(!is_populated(SegmentId(0)));
        // The slot is in use.
        let (id, limit) = heap.take(Purpose::Write, Millis(1), 0).expect("room");
        assert_eq!(id, SegmentId(0));
        heap.touch(id, 1, limit);
        heap.note_populated(id);
        assert!(is_populated(id));
        let segment = heap.segment(id);
        assert!(segment.advance(SegmentState::Open, SegmentState::Sealed));
        assert!(segment.advance(SegmentState::Sealed, SegmentState::Cleaning));
        heap.recycle(id);
        while heap.return_some(0) {}
        assert_eq!((is_populated(id), heap.touched_bytes()), (false, 0));
        assert!(heap.pool().take(id), "it is free");
    }

    #[test]
    fn a_small_heap_uses_small_pages_in_slots_that_a_large_one_left() {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        heap.use_huge_pages(SegmentId(0));
        let (id, _) = heap.take(Purpose::Write, Millis(1), 0).expect("room");
        assert_eq!(id, SegmentId(0));
        assert!(!heap.segment(id).is_huge.load(Ordering::Relaxed));
    }
}

//! Heads: append positions, each with an open segment.

use crate::pool::{OutOfSpace, Purpose};
use crate::record::{Draft, DraftAttributes, Footprint, Record};
use crate::segment::SegmentState;
use crate::{DEDICATED_BYTES, HEAD_BYTES_MIN, Heap};
use base::{Location, Millis, SegmentId};
use std::sync::atomic::Ordering;

/// One append position; owned by one thread at a time.
#[derive(Debug, Default)]
pub struct Head {
    open: Option<Open>,
    /// Segment that appends go to once the open one is full, if it was reserved.
    next: Option<Open>,
    /// Bytes appended since the head was made, for pacing the cleaner.
    appended: u64,
}

#[derive(Debug)]
struct Open {
    id: SegmentId,
    /// Offset of the next record.
    end: u32,
    /// Resident bytes.
    touched: u32,
    /// Offset beyond which the next page is asked for, and then touched; at most `touched`.
    watch: u32,
    /// Extent at which the segment is sealed.
    limit: u32,
}

/// Multiple of the extent of a new segment that a resting head may keep resident.
const OVERSIZE: u32 = 2;

impl Head {
    /// Creates a head without a segment; the first append takes one.
    pub fn new() -> Head {
        Head::default()
    }

    /// Bytes appended since the head was made.
    pub fn appended_bytes(&self) -> u64 {
        self.appended
    }

    /// Returns true if a record of `extent` bytes fits into the open segment.
    #[inline]
    pub fn has_room(&self, extent: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.end as usize + extent <= open.limit as usize)
    }

    /// Makes sure that records of `extent` bytes in total can be appended without taking a segment.
    /// Records that fit into the open segment still go there.
    ///
    /// # Errors
    /// When no segment is available for `purpose`.
    #[inline]
    pub fn reserve(
        &mut self,
        heap: &Heap,
        extent: usize,
        purpose: Purpose,
        now: Millis,
    ) -> Result<(), OutOfSpace> {
        let is_large = extent > DEDICATED_BYTES;
        if !is_large && (self.has_room(extent) || self.next_has_room(extent)) {
            return Ok(());
        }
        if is_large || extent > heap.dedicated_bytes() {
            return heap.can_take_much(extent, purpose);
        }
        let next = Open::take(heap, narrow::to_u32(extent), purpose, now)?;
        if let Some(small) = self.next.replace(next) {
            small.seal(heap);
        }
        Ok(())
    }

    /// Appends a record and calls `fill` to write its value: `draft.value_len` bytes of unspecified
    /// content. Nobody sees the record before its location is published.
    ///
    /// # Errors
    /// When no segment is available for `purpose`; nothing was appended then.
    #[inline]
    pub fn append<A: DraftAttributes>(
        &mut self,
        heap: &Heap,
        draft: &Draft<'_, A>,
        purpose: Purpose,
        now: Millis,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Location, OutOfSpace> {
        let extent = draft.extent();
        let at = if self.is_for_slots(heap, extent) {
            heap.take_dedicated(extent, purpose, now)?
        } else {
            self.advance(heap, narrow::to_u32(extent), purpose, now)?
        };
        self.appended += extent as u64;
        let begin = heap.slot_begin(at.segment()).wrapping_add(at.offset() as usize);
        // SAFETY: `extent` bytes at `at` were just set aside for this record, which nobody knows.
        unsafe {
            draft.write(begin);
            let record = Record::at(begin);
            record.set_value_len(draft.value_len, draft.value_tag);
            fill(record.value_mut());
        }
        self.count(heap, at, draft, now);
        Ok(at)
    }

    fn next_has_room(&self, extent: usize) -> bool {
        self.next.as_ref().is_some_and(|next| extent <= next.limit as usize)
    }

    /// Returns true if a record gets slots of its own. What was reserved for it counts, though
    /// heads may be smaller since.
    #[inline]
    fn is_for_slots(&self, heap: &Heap, extent: usize) -> bool {
        extent > HEAD_BYTES_MIN as usize
            && (extent > DEDICATED_BYTES
                || extent > heap.dedicated_bytes()
                    && !self.has_room(extent)
                    && !self.next_has_room(extent))
    }

    #[inline]
    fn advance(
        &mut self,
        heap: &Heap,
        extent: u32,
        purpose: Purpose,
        now: Millis,
    ) -> Result<Location, OutOfSpace> {
        if self.open.as_ref().is_none_or(|open| open.end + extent > open.limit) {
            self.roll(heap, extent, purpose, now)?;
        }
        let open = self.open.as_mut().ok_or(OutOfSpace)?;
        let at = Location::new(open.id, open.end);
        open.end += extent;
        if open.end > open.watch {
            open.go_on(heap);
        }
        Ok(at)
    }

    #[inline]
    fn count<A: DraftAttributes>(
        &self,
        heap: &Heap,
        at: Location,
        draft: &Draft<'_, A>,
        now: Millis,
    ) {
        let segment = heap.segment(at.segment());
        // Only this head writes these counts, so they need no atomic addition.
        if let Some(open) = self.open.as_ref().filter(|open| open.id == at.segment()) {
            segment.written.store(open.end, Ordering::Relaxed);
            let records = segment.records.load(Ordering::Relaxed);
            segment.records.store(records + 1, Ordering::Relaxed);
        }
        if let Some(deadline) = draft.deadline {
            let count = segment.with_deadline.load(Ordering::Relaxed);
            segment.with_deadline.store(count + 1, Ordering::Relaxed);
            let sum = segment.deadline_seconds.load(Ordering::Relaxed);
            // Bounded, so that the sum is too.
            let seconds = (deadline.0 / 1000).min(1 << 38);
            segment.deadline_seconds.store(sum + seconds, Ordering::Relaxed);
        }
        if draft.room > draft.value_len {
            let whole = Footprint { live: narrow::to_u32(draft.extent()), growth: 0 };
            segment.change_footprint(whole, draft.footprint(), now);
        }
    }

    #[cold]
    fn roll(
        &mut self,
        heap: &Heap,
        extent: u32,
        purpose: Purpose,
        now: Millis,
    ) -> Result<(), OutOfSpace> {
        let next = match self.next.take_if(|next| extent <= next.limit) {
            Some(next) => next,
            None => Open::take(heap, extent, purpose, now)?,
        };
        if let Some(full) = self.open.replace(next) {
            full.seal(heap);
        }
        Ok(())
    }

    /// Closes the segment, so that it can be cleaned; the next append takes another.
    pub fn seal(&mut self, heap: &Heap) {
        self.open.take().into_iter().chain(self.next.take()).for_each(|open| open.seal(heap));
    }

    /// Closes the segment if nothing in it is alive, or if more of it is resident than a heap of
    /// this size gives to a head, and gives its unwritten memory back to the system.
    pub fn rest(&mut self, heap: &Heap) {
        let most = OVERSIZE * heap.segment_limit();
        let is_useless = |open: &mut Open| {
            let is_dead = open.end > 0 && heap.segment(open.id).live_bytes() == 0;
            is_dead || open.touched > most
        };
        let [open, next] = [&mut self.open, &mut self.next].map(|it| it.take_if(is_useless));
        for mut open in open.into_iter().chain(next) {
            open.release_rest(heap);
            open.seal(heap);
        }
    }

    /// Written bytes of the open segment, and how many of them are live.
    pub fn fill(&self, heap: &Heap) -> (u32, u32) {
        self.open.as_ref().map_or((0, 0), |open| (open.end, heap.segment(open.id).live_bytes()))
    }
}

impl Open {
    /// Takes a segment that has room for a record of `extent` bytes.
    fn take(heap: &Heap, extent: u32, purpose: Purpose, now: Millis) -> Result<Open, OutOfSpace> {
        let (id, limit) = heap.take(purpose, now, extent)?;
        let touched = heap.segment(id).touched.load(Ordering::Relaxed);
        let watch = touched.saturating_sub(heap.lead_bytes(limit));
        Ok(Open { id, end: 0, touched, watch, limit })
    }

    /// Gives the resident memory behind the last record back to the system.
    fn release_rest(&mut self, heap: &Heap) {
        let end = self.end.next_multiple_of(narrow::to_u32(base::memory::PAGE_BYTES));
        if end <= self.touched {
            let unused = self.limit.saturating_sub(self.touched);
            heap.promised.fetch_sub(u64::from(unused), Ordering::Relaxed);
            heap.release(self.id, end, self.touched);
            self.touched = end;
            self.limit = end;
        }
    }

    fn seal(self, heap: &Heap) {
        let segment = heap.segment(self.id);
        heap.note_sealed(self.id);
        heap.written.fetch_add(u64::from(self.end), Ordering::Relaxed);
        let unused = self.limit.saturating_sub(self.touched);
        heap.promised.fetch_sub(u64::from(unused), Ordering::Relaxed);
        let sealed = segment.advance(SegmentState::Open, SegmentState::Sealed);
        debug_assert!(sealed, "a head's segment is open");
        if segment.condemn_if_dead() {
            heap.recycle(self.id);
        }
    }

    /// Touches the next page or asks for it; called when an append has passed `watch`.
    #[cold]
    fn go_on(&mut self, heap: &Heap) {
        if self.end > self.touched {
            self.touched = heap.touch(self.id, self.end, self.limit);
            self.watch = self.touched.saturating_sub(heap.lead_bytes(self.limit));
        }
        if self.end > self.watch {
            if self.touched < self.limit {
                heap.ask_for_page(self.id, self.touched);
            } else {
                heap.ask_for_slot();
            }
            self.watch = self.touched;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoAttributes;
    use base::KeyspaceId;

    const NOW: Millis = Millis(1);

    #[test]
    fn what_is_left_of_a_segment_is_used_though_more_was_reserved() {
        let heap = Heap::with_address_space(1 << 28).expect("address space");
        let (mut head, key) = (Head::new(), &b"key"[..]);
        let draft = Draft {
            is_node: true,
            grows: false,
            keyspace: KeyspaceId(0),
            value_tag: 0,
            key,
            value_len: 2_000,
            room: 2_000,
            deadline: None,
            attributes: NoAttributes,
        };
        for _ in 0..2_000 {
            // As much as a change to a tree may need, which mostly needs one record.
            head.reserve(&heap, 40_000, Purpose::Late, NOW).expect("room");
            head.append(&heap, &draft, Purpose::Overdraft, NOW, |_| ()).expect("was reserved");
        }
        let sealed = heap.segments().into_iter().filter(|it| it.state == SegmentState::Sealed);
        let written: Vec<u64> = sealed.map(|it| it.written + draft.extent() as u64).collect();
        assert!(written.len() > 2);
        assert!(written.iter().all(|bytes| *bytes > DEDICATED_BYTES as u64), "{written:?}");
    }
}

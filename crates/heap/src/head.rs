//! The segment that a class of appends goes to.

use crate::pool::{OutOfSpace, Purpose};
use crate::record::{Draft, Record};
use crate::segment::SegmentState;
use crate::{DEDICATED_BYTES, Heap};
use base::{Location, Millis, SegmentId};
use std::sync::atomic::Ordering;

/// One append position; owned by one thread at a time.
#[derive(Debug, Default)]
pub struct Head {
    open: Option<Open>,
    /// Bytes appended since the head was made, for pacing the cleaner.
    appended: u64,
}

#[derive(Debug)]
struct Open {
    id: SegmentId,
    /// Where the next record begins.
    end: u32,
    /// Resident bytes.
    touched: u32,
    /// Where the next page is asked for, and then where it is touched; at most `touched`.
    watch: u32,
    /// Extent at which the segment is sealed.
    limit: u32,
}

impl Head {
    /// A head without a segment; it takes one with the first append.
    pub fn new() -> Head {
        Head::default()
    }

    /// Bytes appended since the head was made.
    pub fn appended_bytes(&self) -> u64 {
        self.appended
    }

    /// Makes sure that a record of `extent` bytes can be appended without taking a segment.
    ///
    /// # Errors
    /// When no segment is to be had for `purpose`.
    #[inline]
    pub fn reserve(
        &mut self,
        heap: &Heap,
        extent: usize,
        purpose: Purpose,
        now: Millis,
    ) -> Result<(), OutOfSpace> {
        if extent > DEDICATED_BYTES {
            return heap.can_take_dedicated(extent, purpose);
        }
        let fits = |open: &Open| open.end as usize + extent <= open.limit as usize;
        if self.open.as_ref().is_some_and(fits) { Ok(()) } else { self.roll(heap, purpose, now) }
    }

    /// Appends a record and lets `fill` write its value, of `draft.value_len` bytes that hold
    /// anything. Nobody sees the record before its location is published.
    ///
    /// # Errors
    /// When no segment is to be had for `purpose`; nothing was appended then.
    #[inline]
    pub fn append(
        &mut self,
        heap: &Heap,
        draft: &Draft<'_>,
        purpose: Purpose,
        now: Millis,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Location, OutOfSpace> {
        let extent = draft.extent();
        let at = if extent > DEDICATED_BYTES {
            heap.take_dedicated(extent, purpose, now)?
        } else {
            self.advance(heap, extent as u32, purpose, now)?
        };
        self.appended += extent as u64;
        let begin = heap.slot_begin(at.segment()).wrapping_add(at.offset() as usize);
        // SAFETY: `extent` bytes at `at` were just set aside for this record, which nobody knows.
        unsafe {
            draft.write(begin);
            let record = Record::at(begin);
            record.set_value_len(draft.value_len, draft.label);
            fill(record.value_mut());
        }
        self.count(heap, at, draft, now);
        Ok(at)
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
            self.roll(heap, purpose, now)?;
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
    fn count(&self, heap: &Heap, at: Location, draft: &Draft<'_>, now: Millis) {
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
            segment.deadline_seconds.store(sum + deadline.0 / 1000, Ordering::Relaxed);
        }
        if draft.room > draft.value_len {
            let gap = (draft.room - draft.value_len) as u32;
            if draft.is_node { segment.add_spare(gap, now) } else { segment.bury(gap, false) }
        }
    }

    #[cold]
    fn roll(&mut self, heap: &Heap, purpose: Purpose, now: Millis) -> Result<(), OutOfSpace> {
        let (id, limit) = heap.take(purpose, now)?;
        self.seal(heap);
        let touched = heap.segment(id).touched.load(Ordering::Relaxed);
        let watch = touched.saturating_sub(heap.lead_bytes(limit));
        self.open = Some(Open { id, end: 0, touched, watch, limit });
        Ok(())
    }

    /// Closes the segment, so that it can be cleaned; the next append takes another.
    pub fn seal(&mut self, heap: &Heap) {
        let Some(open) = self.open.take() else { return };
        let segment = heap.segment(open.id);
        heap.note_sealed(open.id);
        heap.written.fetch_add(u64::from(open.end), Ordering::Relaxed);
        let unused = open.limit.saturating_sub(open.touched);
        heap.promised.fetch_sub(u64::from(unused), Ordering::Relaxed);
        let sealed = segment.advance(SegmentState::Open, SegmentState::Sealed);
        debug_assert!(sealed, "a head's segment is open");
        if segment.condemn_if_dead() {
            heap.recycle(open.id);
        }
    }

    /// Bytes of the open segment that are written, and of those the live ones.
    pub fn fill(&self, heap: &Heap) -> (u32, u32) {
        self.open.as_ref().map_or((0, 0), |open| (open.end, heap.segment(open.id).live_bytes()))
    }
}

impl Open {
    /// The head comes near to the end of what is resident, or went beyond it.
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

//! Populating ahead: a background thread makes memory resident before heads write to it.
//!
//! The first touch of a huge page clears two megabytes. That takes a tenth of a millisecond, and
//! several where a hypervisor has to find the memory first, so a head asks for its next page while
//! the last part of the present one is still empty:
//!
//! ```text
//! segment | written ........................ | lead |   next page, asked for   |
//!                                            ^ watch ^ touched
//! ```
//! A page that does not come in time is touched by the head itself.

use crate::wants::Want;
use crate::{HUGE_PAGE_BYTES, Heap};
use base::SegmentId;
use base::units::SEGMENT_BYTES;
use std::sync::atomic::Ordering;

/// Divisor of the touched bytes. The quotient, within the two bounds below, is what is left of a
/// page when its head asks for the next one.
const LEAD_PART: u64 = 64;
const LEAD_BYTES_MIN: u64 = 256 << 10;
const LEAD_BYTES_MAX: u64 = 3 * HUGE_PAGE_BYTES as u64 / 4;

impl Heap {
    /// Makes memory resident as heads ask for it, until `end_populating`. Runs in a thread of its
    /// own, which may be scheduled rarely.
    pub fn populate_ahead(&self) {
        while let Some(want) = self.wants.next() {
            self.populate_wanted(want);
            // A worker on the same core would wait for the end of this thread's slice.
            std::thread::yield_now();
        }
    }

    /// Makes `populate_ahead` return.
    pub fn end_populating(&self) {
        self.wants.end();
    }

    /// Makes a page resident if its head still wants it. The head counts the page when it reaches
    /// it. If the slot is returned to the system before, the page is given back with it.
    fn populate_wanted(&self, want: Want) {
        if self.segment(want.id).touched.load(Ordering::Relaxed) == want.touched {
            self.use_huge_pages(want.id);
            self.populate(want.id, want.from, end_of_page(want.from));
            self.note_populated(want.id);
        }
    }

    /// Bytes of a page that are left when its head asks for the next one; zero while the heap has
    /// no huge pages.
    pub(crate) fn lead_bytes(&self, limit: u32) -> u32 {
        if self.uses_huge_pages(limit) {
            (self.touched_bytes() / LEAD_PART).clamp(LEAD_BYTES_MIN, LEAD_BYTES_MAX) as u32
        } else {
            0
        }
    }

    /// Asks for the page of an open segment that begins at `touched`.
    pub(crate) fn ask_for_page(&self, id: SegmentId, touched: u32) {
        self.wants.ask(Want { id, from: touched, touched });
    }

    /// Puts a fresh slot into the pool, if the pool is empty and the budget has room, and asks for
    /// its first page.
    pub(crate) fn ask_for_slot(&self) {
        if let Some(id) = self.pool_fresh(HUGE_PAGE_BYTES) {
            self.wants.ask(Want { id, from: 0, touched: HUGE_PAGE_BYTES });
        }
    }
}

/// Returns the end of the huge page in which a request begins: in the middle of one in a slot that
/// was used while the heap was small. Of the page behind it, which may be beyond the limit of the
/// head, the first byte would make all resident.
fn end_of_page(from: u32) -> u32 {
    (from + 1).next_multiple_of(HUGE_PAGE_BYTES).min(SEGMENT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Head, NoAttributes, Purpose};
    use base::{KeyspaceId, Location, Millis};

    /// Appends records of `bytes` in total, and returns the location of the last one.
    fn fill(heap: &Heap, head: &mut Head, bytes: u64) -> Location {
        let key = &b"key"[..];
        let (value_tag, value_len, room, deadline) = (0, 60_000, 60_000, None);
        let draft = Draft {
            is_node: false,
            grows: false,
            keyspace: KeyspaceId(0),
            value_tag,
            key,
            value_len,
            room,
            deadline,
            attributes: NoAttributes,
        };
        let until = head.appended_bytes() + bytes;
        loop {
            let at = head.append(heap, &draft, Purpose::Write, Millis(1), |value| value.fill(7));
            let at = at.expect("room");
            if head.appended_bytes() >= until {
                return at;
            }
        }
    }

    /// Makes a heap that uses huge pages, and its head; `None` where the system gives no such
    /// pages.
    fn large_heap() -> Option<(Heap, Head)> {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        let mut head = Head::new();
        fill(&heap, &mut head, crate::HUGE_PAGES_FROM + (16 << 20));
        heap.uses_huge_pages(base::units::SEGMENT_BYTES).then_some((heap, head))
    }

    #[test]
    #[cfg_attr(miri, ignore = "slots are smaller than a huge page there")]
    fn what_is_populated_ends_with_a_page() {
        for (from, end) in [(0, 1), (512 << 10, 1), (HUGE_PAGE_BYTES - 1, 1), (HUGE_PAGE_BYTES, 2)]
        {
            assert_eq!(end_of_page(from), end * HUGE_PAGE_BYTES, "{from}");
        }
        assert_eq!(end_of_page(SEGMENT_BYTES - 1), SEGMENT_BYTES);
    }

    #[test]
    fn the_next_page_is_asked_for_before_the_present_one_is_full() {
        let Some((heap, mut head)) = large_heap() else { return };
        let mut asked = 0;
        for _ in 0..200 {
            heap.wants.clear();
            fill(&heap, &mut head, 60_000);
            asked += heap.wants.clear();
        }
        assert!((5..=7).contains(&asked), "12 MB are six pages, and {asked} were asked for");
    }

    #[test]
    fn every_segment_of_a_large_heap_gets_huge_pages_though_nobody_prepares_them() {
        let Some((heap, mut head)) = large_heap() else { return };
        for _ in 0..400 {
            let open = fill(&heap, &mut head, 60_000).segment();
            assert!(heap.segment(open).is_huge.load(Ordering::Relaxed), "{open:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slots are smaller than a huge page there")]
    fn a_prepared_slot_is_what_the_next_head_takes() {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        heap.ask_for_slot();
        assert_eq!(heap.pooled_bytes(), HUGE_PAGE_BYTES.into());
        assert_eq!(heap.touched_bytes(), HUGE_PAGE_BYTES.into());
        heap.ask_for_slot();
        assert_eq!(heap.pooled_bytes(), HUGE_PAGE_BYTES.into(), "one is enough");
        fill(&heap, &mut Head::new(), 1);
        assert_eq!(heap.pooled_bytes(), 0);
        assert_eq!(heap.touched_bytes(), HUGE_PAGE_BYTES.into());
    }

    #[test]
    #[cfg_attr(miri, ignore = "slots are smaller than a huge page there")]
    fn nothing_is_prepared_beyond_the_budget() {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        heap.set_budget(8 << 20, 4 << 20);
        heap.ask_for_slot();
        assert_eq!(heap.touched_bytes(), 0, "two reserves of a head each fill the budget");
    }

    #[test]
    fn the_thread_ends_when_it_is_told_to() {
        let heap = Heap::with_address_space(1 << 30).expect("address space");
        std::thread::scope(|scope| {
            scope.spawn(|| heap.populate_ahead());
            heap.ask_for_slot();
            heap.end_populating();
        });
    }
}

//! Pins: bytes of records that are read without a lock, such as those that a reply is sent from.
//!
//! ```text
//! Cleaning, Dedicated ──▶ nothing is alive ──▶ no pin: recycled at once
//!                                         └──▶ pinned: its use has ended ──▶ last pin: recycled
//! ```
//! A pinned segment may be cleaned: its live records are copied elsewhere, and the bytes from
//! before stay as they are. Only its memory is not used again while a pin is left.

use crate::Heap;
use crate::segment::SegmentState;
use base::{Location, SegmentId};
use std::io::IoSlice;
use std::sync::{Arc, Weak};

/// What a heap is a part of, which pins keep from ending.
pub trait HeapOwner: Send + Sync {
    /// The heap.
    fn heap(&self) -> &Heap;
}

/// Bytes of pinned records, one behind the other. Dropping them lets go of the segments.
pub struct Pinned {
    owner: Arc<dyn HeapOwner>,
    segments: Vec<SegmentId>,
    parts: Vec<Part>,
    len: usize,
}

/// Bytes that lie in a pinned segment, or are static.
#[derive(Clone, Copy)]
struct Part {
    begin: *const u8,
    len: usize,
    /// Place of its first byte among all of the bytes.
    at: usize,
}

// SAFETY: the bytes are only read, and nobody changes them while they are pinned; pins are counted
// by atomics.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    fn new(owner: Arc<dyn HeapOwner>) -> Pinned {
        Pinned { owner, segments: Vec::new(), parts: Vec::new(), len: 0 }
    }

    /// Appends bytes of the record at `at`.
    ///
    /// # Safety
    /// The record is alive, `bytes` lie in it, and nobody changes them in place before this is
    /// dropped: who changes records in place asks [`Heap::is_pinned`] before.
    pub unsafe fn push(&mut self, at: Location, bytes: &[u8]) {
        let id = at.segment();
        // Most neighbours share a segment.
        if !self.segments.contains(&id) {
            self.owner.heap().segment(id).pins.add();
            self.segments.push(id);
        }
        self.add(bytes);
    }

    /// Appends bytes that are never changed nor freed.
    pub fn push_static(&mut self, bytes: &'static [u8]) {
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.parts.push(Part { begin: bytes.as_ptr(), len: bytes.len(), at: self.len });
            self.len += bytes.len();
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that the list of parts takes.
    pub fn overhead(&self) -> usize {
        size_of::<Pinned>()
            + self.parts.capacity() * size_of::<Part>()
            + self.segments.capacity() * size_of::<SegmentId>()
    }

    /// Fills `slices` with at most `most` bytes from `from` on, and returns how many slices were
    /// filled.
    pub fn slices<'p>(&'p self, from: usize, most: usize, slices: &mut [IoSlice<'p>]) -> usize {
        let end = self.len.min(from.saturating_add(most));
        let first = self.parts.partition_point(|part| part.at + part.len <= from);
        let parts = self.parts[first..].iter().take_while(|part| part.at < end).map(|part| {
            // SAFETY: `push` was promised that these bytes stay as they are while they are pinned,
            // and the others are static.
            let bytes = unsafe { std::slice::from_raw_parts(part.begin, part.len) };
            &bytes[from.saturating_sub(part.at)..part.len.min(end - part.at)]
        });
        slices.iter_mut().zip(parts).map(|(slice, bytes)| *slice = IoSlice::new(bytes)).count()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.segments.iter().for_each(|id| self.owner.heap().unpin(*id));
    }
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinned")
            .field("segments", &self.segments)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Heap {
    /// Notes what the heap is a part of, once: before that nothing can be pinned.
    pub fn set_owner(&self, owner: Weak<dyn HeapOwner>) {
        let _ = self.owner.set(owner);
    }

    /// Returns no bytes, to which those of records can be added; `None` without an owner.
    pub fn pinned(&self) -> Option<Pinned> {
        self.owner.get().and_then(Weak::upgrade).map(Pinned::new)
    }

    /// Returns true if bytes in the segment of `at` are being read without a lock. A thread
    /// that finds false may change the record at `at` in place, if it holds the lock under which
    /// its bytes would be pinned.
    #[inline]
    pub fn is_pinned(&self, at: Location) -> bool {
        self.segment(at.segment()).pins.are_any()
    }

    fn unpin(&self, id: SegmentId) {
        let segment = self.segment(id);
        if !segment.pins.remove() {
            return;
        }
        match segment.state() {
            SegmentState::Cleaning => self.recycle_unpinned(id),
            SegmentState::Dedicated => self.give_back_unpinned(id),
            state => debug_assert!(false, "the use of a segment ended while it was {state:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Head, NoAttributes, Purpose};
    use base::{KeyspaceId, Millis};

    fn append(heap: &Heap, head: &mut Head, value: &[u8]) -> (Location, crate::Footprint) {
        let draft = Draft {
            is_node: false,
            grows: false,
            keyspace: KeyspaceId(0),
            value_tag: 0,
            key: b"key",
            value_len: value.len(),
            room: value.len(),
            deadline: None,
            attributes: NoAttributes,
        };
        let fill = |to: &mut [u8]| to.copy_from_slice(value);
        let at = head.append(heap, &draft, Purpose::Write, Millis(1), fill).expect("room");
        (at, draft.footprint())
    }

    impl HeapOwner for Heap {
        fn heap(&self) -> &Heap {
            self
        }
    }

    fn owned() -> Arc<Heap> {
        let heap = Arc::new(Heap::with_address_space(1 << 30).expect("address space"));
        let owner: Arc<dyn HeapOwner> = heap.clone();
        heap.set_owner(Arc::downgrade(&owner));
        heap
    }

    fn pin(heap: &Heap, at: &[Location]) -> Pinned {
        let mut pinned = heap.pinned().expect("it has an owner");
        // SAFETY: the records are alive, and nobody changes them.
        at.iter().for_each(|at| unsafe { pinned.push(*at, heap.record(*at).value()) });
        pinned
    }

    fn bytes(pinned: &Pinned, from: usize) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 16];
        let used = pinned.slices(from, usize::MAX, &mut slices);
        slices[..used].iter().flat_map(|slice| slice.to_vec()).collect()
    }

    #[test]
    fn pinned_bytes_can_be_read_from_any_place_on() {
        let heap = owned();
        let mut head = Head::new();
        let at: Vec<Location> =
            [b"one", b"two"].iter().map(|value| append(&heap, &mut head, *value).0).collect();
        let mut pinned = pin(&heap, &at);
        pinned.push_static(b"\r\n");
        for from in 0..=8 {
            assert_eq!(bytes(&pinned, from), b"onetwo\r\n"[from..]);
        }
        assert_eq!(pinned.len(), 8);
    }

    #[test]
    fn the_memory_of_a_dead_segment_is_used_again_once_its_last_pin_is_gone() {
        let heap = owned();
        let mut head = Head::new();
        let (at, footprint) = append(&heap, &mut head, b"value");
        head.seal(&heap);
        let pins = [pin(&heap, &[at]), pin(&heap, &[at])];
        // SAFETY: nothing names the record any more.
        unsafe { heap.mark_dead(at, footprint) };
        for pinned in pins {
            assert_eq!((heap.pooled_bytes(), bytes(&pinned, 0)), (0, b"value".to_vec()));
        }
        assert!(heap.pooled_bytes() > 0, "the last pin was dropped");
        assert_eq!(append(&heap, &mut head, b"other").0.segment(), at.segment());
        assert!(!heap.is_pinned(at));
    }

    #[test]
    fn a_large_record_keeps_its_slots_until_its_last_pin_is_gone() {
        let heap = owned();
        let mut head = Head::new();
        let value = vec![b'v'; crate::DEDICATED_BYTES.max(crate::HEAD_BYTES_MIN as usize)];
        let (at, footprint) = append(&heap, &mut head, &value);
        let pinned = pin(&heap, &[at]);
        // SAFETY: nothing names the record any more.
        unsafe { heap.mark_dead(at, footprint) };
        while heap.return_some(0) {}
        assert!(bytes(&pinned, 0) == value);
        drop(pinned);
        while heap.return_some(0) {}
        assert_eq!(heap.touched_bytes(), 0);
    }
}

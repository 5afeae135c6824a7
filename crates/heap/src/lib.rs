//! Segment memory: where the bytes of every record live.
//!
//! ```text
//!            append             full             chosen              empty
//! Head (per thread)  ───▶ Open ──────▶ Sealed ──────────▶ Cleaning ────────▶ Pool ──▶ system
//!                          ▲                                  │ survivors, moved     │
//!                          └──────────────────────────────────┴──────────────────────┘
//! ```
//! A record never changes its extent: an update that fits is made in place and leaves slack inside
//! the record, so a segment can be walked while others write to it. Records too large to be moved
//! get a run of slots of their own and are given back the moment they die. The memory of a segment
//! that somebody reads without a lock (`pin.rs`) is used again when that is done.
//!
//! Owner: the heap. A shard holds locations, never segments.
//! Not here: keys and hashes (`index`), which records are alive and who may evict (`store`).
//! Start at: `record.rs`, then `head.rs`, then `segment.rs`.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod ahead;
mod head;
mod pin;
mod pool;
pub mod profit;
pub mod record;
mod segment;
mod slots;
mod victim;
mod wants;

pub use head::Head;
pub use pin::{HeapOwner, Pinned};
pub use pool::{OutOfSpace, Purpose};
pub use profit::{GROWTH_PART, ReclaimPolicy, Trim};
pub use record::{
    Attributes, Draft, DraftAttributes, Footprint, NoAttributes, RECORD_OVERHEAD_MAX, Record,
};
pub use segment::{SegmentFacts, SegmentState};
pub use victim::{Owner, Victim};

use base::mutex::{Mutex, MutexGuard};
use base::units::{LOCATION_BITS, SEGMENT_BITS, SEGMENT_BYTES};
use base::{Location, Millis, Reservation, SegmentId};
use pool::Pool;
use segment::{Left, Segment};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{OnceLock, Weak};
use wants::Wants;

/// Largest record in bytes that shares a segment; a larger one gets slots of its own and is never
/// moved. Where heads are smaller, so is this: see `dedicated_bytes`.
pub const DEDICATED_BYTES: usize = SEGMENT_BYTES as usize / 16;
/// Smallest extent at which a head is sealed, however small the budget.
pub const HEAD_BYTES_MIN: u32 = TOUCH_BYTES;
/// Slots without which heads are not smaller than the largest record that is moved: each larger one
/// takes a slot.
const SLOTS_OF_SMALL_HEADS: u32 = 1024;
/// Touched bytes from which new segments use huge pages. In a smaller heap the unused rest of each
/// head's last page would be a large part of the whole.
const HUGE_PAGES_FROM: u64 = 64 << 20;
const HUGE_PAGE_BYTES: u32 = 2 << 20;
/// Step in bytes in which memory is made resident.
const TOUCH_BYTES: u32 = 64 << 10;

/// Address space without which there is no heap.
const BYTES_MIN: usize = 64 << 20;
/// Parts of limited address space.
const PARTS: u64 = 6;

/// All segments of the process.
#[derive(Debug)]
pub struct Heap {
    space: Reservation,
    facts: Reservation,
    slots: u32,
    pool: Mutex<Pool>,
    /// Bytes that are resident because of segments, in use or pooled.
    touched: AtomicU64,
    /// Bytes that open heads may still touch.
    promised: AtomicU64,
    /// Bytes that may be touched; `u64::MAX` without `maxmemory`.
    budget: AtomicU64,
    /// Extent at which a head is sealed.
    head_bytes: AtomicU32,
    /// True if the system gives huge pages on request.
    has_huge_pages: bool,
    /// Bytes of records in sealed and dedicated segments and in those being cleaned, dead ones
    /// included.
    written: AtomicU64,
    wants: Wants,
    owner: OnceLock<Weak<dyn HeapOwner>>,
}

impl Heap {
    /// Creates a heap that may grow to one TiB of address space, or to what the system allows.
    ///
    /// # Errors
    /// When the system refuses even 64 MiB.
    pub fn new() -> io::Result<Heap> {
        Heap::with_address_space(1 << LOCATION_BITS)
    }

    /// Creates a heap that may grow to `bytes`, or to half of that, or a quarter, as the system
    /// allows.
    ///
    /// # Errors
    /// When the system refuses even 64 MiB, or `bytes` if that is less.
    pub fn with_address_space(bytes: usize) -> io::Result<Heap> {
        let align = SEGMENT_BYTES as usize;
        let space = Reservation::up_to(bytes, bytes.min(BYTES_MIN), align, PARTS)?;
        let slots = narrow::to_u32(space.bytes() >> SEGMENT_BITS);
        let facts_bytes = slots as usize * size_of::<Segment>();
        let page = base::memory::PAGE_BYTES;
        let facts = Reservation::new(facts_bytes.next_multiple_of(page), page)?;
        Ok(Heap {
            space,
            facts,
            slots,
            pool: Mutex::new(Pool::new(slots)),
            touched: AtomicU64::new(0),
            promised: AtomicU64::new(0),
            budget: AtomicU64::new(u64::MAX),
            head_bytes: AtomicU32::new(SEGMENT_BYTES),
            has_huge_pages: base::process::has_huge_pages(),
            written: AtomicU64::new(0),
            wants: Wants::default(),
            owner: OnceLock::new(),
        })
    }

    /// Resident bytes of segments, in use or pooled.
    pub fn touched_bytes(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }

    /// Touched bytes plus the bytes promised to open heads.
    pub fn committed_bytes(&self) -> u64 {
        self.touched_bytes() + self.promised.load(Ordering::Relaxed)
    }

    /// Bytes of records in segments that were sealed, or have slots of their own, and are not yet
    /// reclaimed; dead ones included.
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Bytes that segments may touch; `u64::MAX` for no limit.
    pub fn budget(&self) -> u64 {
        self.budget.load(Ordering::Relaxed)
    }

    /// Sets the budget and the extent at which heads are sealed.
    pub fn set_budget(&self, bytes: u64, head_bytes: u32) {
        self.budget.store(bytes, Ordering::Relaxed);
        let has_slots = self.slots >= SLOTS_OF_SMALL_HEADS;
        let least = if has_slots { HEAD_BYTES_MIN } else { narrow::to_u32(DEDICATED_BYTES) };
        let head_bytes = head_bytes.clamp(least, SEGMENT_BYTES);
        let head_bytes = head_bytes - head_bytes % TOUCH_BYTES;
        self.head_bytes.store(head_bytes, Ordering::Relaxed);
    }

    /// Lets segments touch so many bytes more, if there is a limit.
    pub fn raise_budget(&self, bytes: u64) {
        let raised = |budget: u64| (budget != u64::MAX).then(|| budget.saturating_add(bytes));
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised);
    }

    /// Returns the most bytes of a record that shares a segment: one that fits into a head.
    #[inline]
    pub fn dedicated_bytes(&self) -> usize {
        DEDICATED_BYTES.min(self.head_bytes() as usize)
    }

    /// Returns true if the record of `extent` bytes at `at` has slots of its own.
    #[inline]
    pub fn is_dedicated(&self, at: Location, extent: usize) -> bool {
        extent > HEAD_BYTES_MIN as usize
            && self.segment(at.segment()).state() == SegmentState::Dedicated
    }

    /// Extent at which heads are sealed.
    pub fn head_bytes(&self) -> u32 {
        self.head_bytes.load(Ordering::Relaxed)
    }

    /// Address of the record at `at`, for prefetching; reads go through `record`.
    #[inline]
    pub fn address(&self, at: Location) -> *const u8 {
        self.space.base().wrapping_add(narrow::to_usize(at.bits()))
    }

    /// The record at `at`.
    ///
    /// # Safety
    /// `at` was returned by an append to this heap, and its segment is not reclaimed while the
    /// result is used: the caller holds the lock of the shard whose index names `at`, or has
    /// chosen the segment as its victim.
    #[inline]
    pub unsafe fn record(&self, at: Location) -> Record<'_> {
        // SAFETY: an appended record is whole; the caller keeps its segment.
        unsafe { Record::at(self.space.base().add(narrow::to_usize(at.bits()))) }
    }

    /// Counts the record at `at`, whose footprint is `footprint`, as dead. Its segment may be given
    /// back at once.
    ///
    /// # Safety
    /// The record is alive, nothing names it any more, and nobody reads it afterwards who has not
    /// pinned it before.
    pub unsafe fn mark_dead(&self, at: Location, footprint: Footprint) {
        match self.segment(at.segment()).mark_dead(footprint) {
            Left::Records => {}
            Left::Nothing => self.recycle(at.segment()),
            Left::Run => self.give_back_run(at.segment()),
        }
    }

    /// Replaces the footprint `before` of the record at `at`, which has changed in place, by
    /// `after`.
    pub fn change_footprint(&self, at: Location, before: Footprint, after: Footprint, now: Millis) {
        self.segment(at.segment()).change_footprint(before, after, now);
    }

    /// Facts about each segment in use, for diagnostics.
    pub fn segments(&self) -> Vec<SegmentFacts> {
        let highest = self.pool().highest_used();
        let all = (0..highest).map(SegmentId);
        all.filter_map(|id| self.segment(id).facts(id)).collect()
    }

    /// Resident bytes of the pool: segments that hold nothing, ready for the next head.
    pub fn pooled_bytes(&self) -> u64 {
        self.pool().pooled_bytes()
    }

    fn segment(&self, id: SegmentId) -> &Segment {
        assert!(id.0 < self.slots);
        // SAFETY: the facts hold one segment per slot, all zeros is a valid one, and they are
        // accessed through its atomics alone.
        unsafe { &*self.facts.base().cast::<Segment>().add(id.0 as usize) }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock()
    }
}

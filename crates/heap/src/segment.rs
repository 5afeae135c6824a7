//! Facts about each segment, and the states it passes through.

use crate::profit::Standing;
use crate::record::Footprint;
use base::{Millis, SegmentId};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// State of a slot: Free → Open → Sealed → Cleaning → Free, and Free → Dedicated → Free for a run
/// of slots. No edge leads back from Cleaning to Sealed: a chosen segment is always emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SegmentState {
    /// Holds nothing; its memory may be pooled or with the system.
    Free,
    /// A head appends to it.
    Open,
    /// Full; values may still change in place.
    Sealed,
    /// A cleaner moves its live records out.
    Cleaning,
    /// First slot of the run of one large record.
    Dedicated,
}

impl SegmentState {
    fn of(number: u32) -> SegmentState {
        use SegmentState::{Cleaning, Dedicated, Free, Open, Sealed};
        [Free, Open, Sealed, Cleaning, Dedicated][number as usize]
    }
}

/// Contents of a slot after a record was counted as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Other live records, or a slot that another thread takes care of.
    Records,
    /// A segment without live records, which the caller must recycle.
    Nothing,
    /// A run of slots whose only record is dead, which the caller must give back.
    Run,
}

/// Number of states that the low bits of `word` can hold.
const STATES: u32 = 8;

/// Counts and state of one slot. All zeros is a free one that was never touched. Appends, which one
/// thread makes, change the first cache line; deaths, which any thread sees, the second.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Segment {
    /// Offset of the end of the last record.
    pub written: AtomicU32,
    pub records: AtomicU32,
    /// Bytes from the begin that are resident.
    pub touched: AtomicU32,
    pub with_deadline: AtomicU32,
    /// Moment at which it was opened.
    pub born: AtomicU64,
    /// Sum of the deadlines of the records that were appended with one, in seconds.
    pub deadline_seconds: AtomicU64,
    /// Slots of the run, for a dedicated record.
    pub run: AtomicU32,
    /// True while the system has been told that the slot wants huge pages.
    pub is_huge: AtomicBool,
    /// Owner of a dedicated record, as the store noted it.
    pub owner: AtomicU64,
    pub owner_space: AtomicU32,
    /// True if a page was made resident ahead of the head. The page is not counted until the head
    /// reaches it.
    pub is_populated: AtomicBool,
    pub pins: Pins,
    fate: Fate,
}

const _: () = assert!(size_of::<Segment>() == 128);

/// The part of a segment's facts that changes where records die, shrink and grow.
#[derive(Debug)]
#[repr(C, align(64))]
struct Fate {
    /// State in the low bits; above it the number of times that the slot was used.
    word: AtomicU32,
    /// Bytes that live records may still grow into: neither live nor dead.
    growth_bytes: AtomicU32,
    /// Dead records in the high half, dead bytes in the low half, so that a death is one addition.
    dead: AtomicU64,
    /// Moment at which a record last gained or used growth room.
    growth_used: AtomicU64,
}

/// Number of readers of a segment that hold no lock, and whether its use has ended.
#[derive(Debug)]
pub(crate) struct Pins(AtomicU32);

/// Bit that says that nothing in the segment is alive and the last pin recycles it.
const ENDED: u32 = 1 << 31;

impl Pins {
    /// Adds a pin, under the lock of a live record in the segment: so its use has not ended.
    pub fn add(&self) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before < ENDED - 1, "only a segment with live records is pinned");
    }

    /// Removes a pin. Returns true if it was the last, and the use of the segment has ended.
    pub fn remove(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == ENDED | 1
    }

    /// Ends the use of the segment. Returns true if there is no pin; otherwise the last one is told
    /// when it is removed.
    pub fn end(&self) -> bool {
        self.0.fetch_or(ENDED, Ordering::AcqRel) == 0
    }

    /// Begins another use of the segment.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns true if there are pins.
    #[inline]
    pub fn are_any(&self) -> bool {
        self.0.load(Ordering::Acquire) & !ENDED != 0
    }
}

impl Fate {
    fn dead_bytes(&self) -> u32 {
        narrow::low_u32(self.dead.load(Ordering::Relaxed))
    }

    fn dead_records(&self) -> u32 {
        narrow::low_u32(self.dead.load(Ordering::Relaxed) >> 32)
    }

    #[inline]
    fn count_dead(&self, footprint: Footprint) {
        if footprint.growth > 0 {
            self.growth_bytes.fetch_sub(footprint.growth, Ordering::Relaxed);
        }
        let bytes = footprint.live + footprint.growth;
        self.dead.fetch_add(1 << 32 | u64::from(bytes), Ordering::Relaxed);
    }
}

/// Facts about a segment, for diagnostics.
#[derive(Clone, Copy, Debug)]
pub struct SegmentFacts {
    /// Number of the segment.
    pub id: SegmentId,
    /// State of the segment.
    pub state: SegmentState,
    /// Bytes of records, dead ones included.
    pub written: u64,
    /// Bytes of live records.
    pub live: u64,
    /// Bytes that live records may still grow into.
    pub growth: u64,
    /// Records, dead ones included.
    pub records: u32,
    /// Live records.
    pub live_records: u32,
    /// Moment at which it was opened.
    pub born: Millis,
}

impl Segment {
    pub fn state(&self) -> SegmentState {
        SegmentState::of(self.fate.word.load(Ordering::Acquire) % STATES)
    }

    /// Changes the state from `from` to `to`; returns false if it was another.
    pub fn advance(&self, from: SegmentState, to: SegmentState) -> bool {
        let word = self.fate.word.load(Ordering::Acquire);
        word % STATES == from as u32 && self.advance_word(word, to)
    }

    /// Changes the state from Sealed to Cleaning if nothing in the segment is alive. The word is
    /// read before the counts and names one use of the slot, so a slot that was emptied, filled and
    /// sealed again meanwhile is left alone.
    pub fn condemn_if_dead(&self) -> bool {
        self.condemn(self.fate.word.load(Ordering::Acquire))
    }

    fn condemn(&self, word: u32) -> bool {
        let is_sealed = word % STATES == SegmentState::Sealed as u32;
        is_sealed && self.is_all_dead() && self.advance_word(word, SegmentState::Cleaning)
    }

    fn advance_word(&self, word: u32, to: SegmentState) -> bool {
        // A slot that becomes free begins another use.
        let uses = word / STATES + u32::from(to == SegmentState::Free);
        let next = (uses % (u32::MAX / STATES)) * STATES + to as u32;
        self.fate.word.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Opens a free slot in `state`, with its counts reset.
    pub fn open(&self, state: SegmentState, now: Millis) {
        for count in [&self.written, &self.records, &self.fate.growth_bytes, &self.with_deadline] {
            count.store(0, Ordering::Relaxed);
        }
        self.fate.dead.store(0, Ordering::Relaxed);
        self.fate.growth_used.store(0, Ordering::Relaxed);
        self.deadline_seconds.store(0, Ordering::Relaxed);
        self.pins.reset();
        self.born.store(now.0, Ordering::Relaxed);
        self.run.store(1, Ordering::Relaxed);
        let opened = self.advance(SegmentState::Free, state);
        debug_assert!(opened, "only a free slot is opened");
    }

    /// Counts all of a record as dead. Returns what that leaves in the slot.
    #[inline]
    pub fn mark_dead(&self, footprint: Footprint) -> Left {
        let word = self.fate.word.load(Ordering::Acquire);
        self.fate.count_dead(footprint);
        self.left_after(word)
    }

    /// Judges what a death leaves in the slot. `before` is the word from before the record was
    /// counted: until then the slot could not be emptied. Since then another death may have emptied
    /// it, and what the slot holds now is left alone.
    fn left_after(&self, before: u32) -> Left {
        if before % STATES == SegmentState::Dedicated as u32 {
            return Left::Run;
        }
        let word = self.fate.word.load(Ordering::Acquire);
        let is_same_use = word / STATES == before / STATES;
        if is_same_use && self.condemn(word) { Left::Nothing } else { Left::Records }
    }

    /// Replaces the footprint of a record by another.
    #[inline]
    pub fn change_footprint(&self, before: Footprint, after: Footprint, now: Millis) {
        let died = u64::from(before.live + before.growth)
            .wrapping_sub(u64::from(after.live + after.growth));
        if died != 0 {
            // What a record takes back, it gave before: the low half never falls below zero.
            self.fate.dead.fetch_add(died, Ordering::Relaxed);
        }
        let gained = after.growth.wrapping_sub(before.growth);
        if gained != 0 {
            self.fate.growth_bytes.fetch_add(gained, Ordering::Relaxed);
            self.fate.growth_used.store(now.0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn is_all_dead(&self) -> bool {
        self.fate.dead_bytes() == self.written.load(Ordering::Relaxed)
    }

    pub fn live_bytes(&self) -> u32 {
        let dead = self.fate.dead_bytes();
        let growth = self.fate.growth_bytes.load(Ordering::Relaxed);
        self.written.load(Ordering::Relaxed).saturating_sub(dead.saturating_add(growth))
    }

    /// Resident bytes behind the last record.
    pub fn unwritten_bytes(&self) -> u32 {
        let touched = self.touched.load(Ordering::Relaxed);
        touched.saturating_sub(self.written.load(Ordering::Relaxed))
    }

    pub fn standing(&self, now: Millis) -> Standing {
        let with_deadline = u64::from(self.with_deadline.load(Ordering::Relaxed));
        let sum = self.deadline_seconds.load(Ordering::Relaxed);
        Standing {
            live_bytes: self.live_bytes(),
            dead_bytes: self.fate.dead_bytes(),
            growth_bytes: self.fate.growth_bytes.load(Ordering::Relaxed),
            growth_idle_millis: now.distance(Millis(self.fate.growth_used.load(Ordering::Relaxed))),
            extent: self.touched.load(Ordering::Relaxed).max(self.written.load(Ordering::Relaxed)),
            age_millis: now.distance(Millis(self.born.load(Ordering::Relaxed))),
            deadline_mean: sum.checked_div(with_deadline).map(|mean| Millis(mean * 1000)),
        }
    }

    pub fn facts(&self, id: SegmentId) -> Option<SegmentFacts> {
        let state = self.state();
        let records = self.records.load(Ordering::Relaxed);
        (state != SegmentState::Free).then(|| SegmentFacts {
            id,
            state,
            written: u64::from(self.written.load(Ordering::Relaxed)),
            live: u64::from(self.live_bytes()),
            growth: u64::from(self.fate.growth_bytes.load(Ordering::Relaxed)),
            records,
            live_records: records.saturating_sub(self.fate.dead_records()),
            born: Millis(self.born.load(Ordering::Relaxed)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_edge_cannot_be_taken_again() {
        let slots = base::Reservation::new(4096, 4096).expect("a page");
        // SAFETY: all zeros is a segment.
        let segment = unsafe { &*slots.base().cast::<Segment>() };
        segment.open(SegmentState::Open, Millis(1));
        assert!(segment.advance(SegmentState::Open, SegmentState::Sealed));
        assert!(!segment.advance(SegmentState::Open, SegmentState::Sealed));
        assert!(segment.advance(SegmentState::Sealed, SegmentState::Cleaning));
        assert!(!segment.advance(SegmentState::Sealed, SegmentState::Cleaning));
        assert_eq!(segment.state(), SegmentState::Cleaning);
    }

    #[test]
    fn a_death_leaves_alone_what_came_into_the_slot_after_it() {
        let slots = base::Reservation::new(4096, 4096).expect("a page");
        // SAFETY: all zeros is a segment.
        let segment = unsafe { &*slots.base().cast::<Segment>() };
        let record = Footprint { live: 64, growth: 0 };
        segment.open(SegmentState::Open, Millis(1));
        segment.written.store(128, Ordering::Relaxed);
        assert!(segment.advance(SegmentState::Open, SegmentState::Sealed));
        // One thread counts its record, and is held up.
        let word = segment.fate.word.load(Ordering::Relaxed);
        segment.fate.count_dead(record);
        // Another marks the last one dead and recycles the slot, which it then uses for a dedicated
        // record.
        assert_eq!(segment.mark_dead(record), Left::Nothing);
        assert!(segment.advance(SegmentState::Cleaning, SegmentState::Free));
        segment.open(SegmentState::Dedicated, Millis(2));
        assert_eq!(segment.left_after(word), Left::Records);
        assert_eq!(segment.mark_dead(record), Left::Run);
    }
}

//! One bucket of the index: a cache line.
//!
//! ```text
//! byte 0      14     16          44      48           62     64
//!      | tags 7x16 | tick | low 7x32 | codes | high 7x16 | spare |
//!
//! codes  | slot 0..6, 3 bits each | marks 5 | has tick 1 | unused 5 |
//! high   | location 8 | kind 3 | has deadline 1 | access 4 |
//! ```
//! A slot's code says where its entry comes from: 0 empty, 1 at home, 2..=6 displaced from home by
//! +1, +4, +9, +16, +25 buckets. Mark k says that some native of this bucket lies at +k². So a miss
//! stops early, a removal needs no tombstone, and the home of every entry is known without its
//! record. The tick is no later than the earliest deadline in the bucket.

use crate::probe;
use base::units::LOCATION_BITS;
use base::{Location, Tick};
use std::fmt;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Entries in a bucket.
pub(crate) const SLOTS: u32 = 7;
/// Buckets where a native may lie, as distance from its home; a slot's code is the index plus one.
pub(crate) const DISTANCES: [u32; 6] = [0, 1, 4, 9, 16, 25];

const CODES_MASK: u32 = (1 << (3 * SLOTS)) - 1;
/// The lowest bit of every slot's code.
const CODE_UNITS: u32 = 0b001_001_001_001_001_001_001;
const MARKS_SHIFT: u32 = 3 * SLOTS;
const MARKS_MASK: u32 = 0b11111;
const HAS_TICK: u32 = 1 << (MARKS_SHIFT + 5);

#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    tags: [AtomicU64; 2],
    low: [AtomicU32; 7],
    codes: AtomicU32,
    high: [AtomicU16; 7],
    spare: AtomicU16,
}

const _: () = assert!(cfg!(loom) || size_of::<Bucket>() == 64);
const _: () = assert!(cfg!(loom) || std::mem::offset_of!(Bucket, codes) == 44);
const _: () = assert!(cfg!(loom) || std::mem::offset_of!(Bucket, high) == 48);

/// Entry of the index: 48 bits about one record.
///
/// ```text
/// | access 4 | has deadline 1 | kind 3 | location 40 |
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entry(u64);

/// The one kind that the index interprets: parts of such a value have deadlines of their own, so
/// its entry is visited when one of them is due.
pub const TIMED_PARTS: u8 = 6;

const KIND_SHIFT: u32 = LOCATION_BITS;
const DEADLINE_SHIFT: u32 = KIND_SHIFT + 3;
const ACCESS_SHIFT: u32 = DEADLINE_SHIFT + 1;

impl Entry {
    /// Creates an entry for the record at `location`, never accessed. `kind` is three bits that
    /// belong to the store: the kind of the value.
    #[inline]
    pub fn new(location: Location, kind: u8, has_deadline: bool) -> Entry {
        let kind = u64::from(kind & 7) << KIND_SHIFT;
        Entry(location.bits() | kind | u64::from(has_deadline) << DEADLINE_SHIFT)
    }

    /// The entry as a number.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The entry of a number that `bits` has given.
    pub fn from_bits(bits: u64) -> Entry {
        Entry(bits)
    }

    /// Location of the record.
    #[inline]
    pub fn location(self) -> Location {
        Location::from_bits(self.0)
    }

    /// Kind of the value: the store's three bits, of which the index knows only [`TIMED_PARTS`].
    #[inline]
    pub fn kind(self) -> u8 {
        narrow::low_u8(self.0 >> KIND_SHIFT) & 7
    }

    /// Returns true if the record has a deadline.
    #[inline]
    pub fn has_deadline(self) -> bool {
        self.0 >> DEADLINE_SHIFT & 1 == 1
    }

    /// Returns true if parts of the value have deadlines.
    #[inline]
    pub fn has_timed_parts(self) -> bool {
        self.kind() == TIMED_PARTS
    }

    /// Returns true if the record or parts of its value have deadlines.
    #[inline]
    pub fn is_timed(self) -> bool {
        self.has_deadline() || self.has_timed_parts()
    }

    /// Four bits of access history that belong to the store.
    #[inline]
    pub fn access(self) -> u8 {
        narrow::low_u8(self.0 >> ACCESS_SHIFT) & 15
    }

    /// Returns the entry with another location.
    #[inline]
    #[must_use]
    pub fn at(self, location: Location) -> Entry {
        Entry(self.0 >> LOCATION_BITS << LOCATION_BITS | location.bits())
    }

    /// Returns the entry with or without a deadline.
    #[inline]
    #[must_use]
    pub fn with_deadline(self, has_deadline: bool) -> Entry {
        Entry(self.0 & !(1 << DEADLINE_SHIFT) | u64::from(has_deadline) << DEADLINE_SHIFT)
    }

    /// Returns the entry with another kind.
    #[inline]
    #[must_use]
    pub fn with_kind(self, kind: u8) -> Entry {
        Entry(self.0 & !(7 << KIND_SHIFT) | u64::from(kind & 7) << KIND_SHIFT)
    }

    /// Returns the entry with another access history.
    #[inline]
    #[must_use]
    pub fn with_access(self, access: u8) -> Entry {
        Entry(self.0 & !(15 << ACCESS_SHIFT) | u64::from(access & 15) << ACCESS_SHIFT)
    }

    #[inline]
    fn low(self) -> u32 {
        narrow::low_u32(self.0)
    }

    #[inline]
    fn high(self) -> u16 {
        narrow::low_u16(self.0 >> 32)
    }

    #[inline]
    fn of(low: u32, high: u16) -> Entry {
        Entry(u64::from(low) | u64::from(high) << 32)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Entry")
            .field("location", &self.location())
            .field("kind", &self.kind())
            .field("has_deadline", &self.has_deadline())
            .field("access", &self.access())
            .finish()
    }
}

/// Result of a look at the home bucket of a key, without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// There is probably no such key.
    Absent,
    /// The record of the key is probably here.
    At(Location),
    /// If there is such a key, it was displaced; `hint_displaced` looks there.
    Displaced,
}

/// Set of slots as bits, handed out lowest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots(pub u32);

impl Iterator for Slots {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

impl Bucket {
    /// Slots whose tag is `tag`, empty ones included.
    #[inline]
    pub fn matches(&self, tag: u16) -> Slots {
        let words = [self.tags[0].load(Relaxed), self.tags[1].load(Relaxed)];
        Slots(probe::match_tags(words, tag))
    }

    #[inline]
    pub fn codes(&self) -> Codes {
        Codes(self.codes.load(Relaxed))
    }

    #[inline]
    pub fn tag(&self, slot: u32) -> u16 {
        narrow::low_u16(self.tags[slot as usize / 4].load(Relaxed) >> (slot % 4 * 16))
    }

    fn set_slot_tag(&self, slot: u32, tag: u16) {
        let word = &self.tags[slot as usize / 4];
        let shift = slot % 4 * 16;
        word.store(word.load(Relaxed) & !(0xffff << shift) | u64::from(tag) << shift, Relaxed);
    }

    #[inline]
    pub fn entry(&self, slot: u32) -> Entry {
        let slot = slot as usize;
        Entry::of(self.low[slot].load(Relaxed), self.high[slot].load(Relaxed))
    }

    #[inline]
    pub fn set_entry(&self, slot: u32, entry: Entry) {
        self.low[slot as usize].store(entry.low(), Relaxed);
        self.high[slot as usize].store(entry.high(), Relaxed);
    }

    /// Looks for a native with `tag`, without the lock: the result is a hint.
    #[inline]
    pub fn hint(&self, tag: u16) -> Hint {
        let codes = self.codes();
        match self.matches(tag).find(|slot| codes.of(*slot) == 1) {
            Some(slot) => Hint::At(self.entry(slot).location()),
            None if codes.marks() == 0 => Hint::Absent,
            None => Hint::Displaced,
        }
    }

    /// Changes the access bits alone.
    #[inline]
    pub fn set_access(&self, slot: u32, access: u8) {
        let high = &self.high[slot as usize];
        high.store(high.load(Relaxed) & 0x0fff | u16::from(access) << 12, Relaxed);
    }

    /// Fills an empty slot.
    pub fn fill(&self, slot: u32, code: u32, tag: u16, entry: Entry) {
        debug_assert_eq!(self.codes().of(slot), 0);
        self.set_entry(slot, entry);
        self.set_slot_tag(slot, tag);
        self.codes.store(self.codes.load(Relaxed) | code << (3 * slot), Relaxed);
    }

    /// Empties a slot.
    pub fn empty(&self, slot: u32) {
        self.codes.store(self.codes.load(Relaxed) & !(7 << (3 * slot)), Relaxed);
        self.set_slot_tag(slot, 0);
    }

    pub fn set_mark(&self, code: u32) {
        debug_assert!(code >= 2);
        self.codes.store(self.codes.load(Relaxed) | 1 << (MARKS_SHIFT + code - 2), Relaxed);
    }

    pub fn clear_mark(&self, code: u32) {
        debug_assert!(code >= 2);
        self.codes.store(self.codes.load(Relaxed) & !(1 << (MARKS_SHIFT + code - 2)), Relaxed);
    }

    /// Tick that is no later than the earliest deadline in the bucket.
    #[inline]
    pub fn tick(&self) -> Option<Tick> {
        let has = self.codes.load(Relaxed) & HAS_TICK != 0;
        has.then(|| Tick((self.tags[1].load(Relaxed) >> 48) as u16))
    }

    pub fn set_tick(&self, tick: Option<Tick>) {
        let codes = self.codes.load(Relaxed);
        match tick {
            Some(tick) => {
                self.set_slot_tag(7, tick.0);
                self.codes.store(codes | HAS_TICK, Relaxed);
            }
            None => self.codes.store(codes & !HAS_TICK, Relaxed),
        }
    }

    /// Makes sure that the bucket's tick is not after `tick`.
    pub fn note_tick(&self, tick: Tick) {
        self.set_tick(Some(self.tick().map_or(tick, |found| found.earlier(tick))));
    }

    /// Copies the contents of another bucket.
    pub fn copy_from(&self, other: &Bucket) {
        for (to, from) in self.tags.iter().zip(&other.tags) {
            to.store(from.load(Relaxed), Relaxed);
        }
        for (to, from) in self.low.iter().zip(&other.low) {
            to.store(from.load(Relaxed), Relaxed);
        }
        for (to, from) in self.high.iter().zip(&other.high) {
            to.store(from.load(Relaxed), Relaxed);
        }
        self.codes.store(other.codes.load(Relaxed), Relaxed);
        self.spare.store(other.spare.load(Relaxed), Relaxed);
    }

    /// Makes the bucket empty, like fresh memory.
    pub fn clear(&self) {
        self.tags.iter().for_each(|word| word.store(0, Relaxed));
        self.codes.store(0, Relaxed);
    }
}

/// A bucket's word of codes and marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes(u32);

impl Codes {
    /// The code of a slot; zero when it is empty.
    #[inline]
    pub fn of(self, slot: u32) -> u32 {
        self.0 >> (3 * slot) & 7
    }

    /// The lowest empty slot.
    #[inline]
    pub fn first_empty(self) -> Option<u32> {
        let any = (self.0 | self.0 >> 1 | self.0 >> 2) & CODE_UNITS;
        let empty = !any & CODE_UNITS;
        (empty != 0).then(|| empty.trailing_zeros() / 3)
    }

    /// Slots in use.
    #[inline]
    pub fn occupied(self) -> impl Iterator<Item = u32> {
        // One bit per slot, three apart.
        let mut any = (self.0 | self.0 >> 1 | self.0 >> 2) & CODE_UNITS;
        std::iter::from_fn(move || {
            if any == 0 {
                return None;
            }
            let slot = any.trailing_zeros() / 3;
            any &= any - 1;
            Some(slot)
        })
    }

    /// Returns true if some slot carries `code`.
    pub fn carries(self, code: u32) -> bool {
        self.units_with(code) != 0
    }

    /// Slots that carry `code`, lowest first.
    #[inline]
    pub fn slots_with(self, code: u32) -> impl Iterator<Item = u32> {
        let mut units = self.units_with(code);
        std::iter::from_fn(move || {
            if units == 0 {
                return None;
            }
            let slot = units.trailing_zeros() / 3;
            units &= units - 1;
            Some(slot)
        })
    }

    /// One bit for each slot that carries `code`, three apart.
    #[inline]
    fn units_with(self, code: u32) -> u32 {
        let differs = (self.0 ^ (CODE_UNITS * code)) & CODES_MASK;
        !(differs | differs >> 1 | differs >> 2) & CODE_UNITS
    }

    /// Marks: the codes under which natives of this bucket lie elsewhere, as bits from code 2
    /// upwards.
    #[inline]
    pub fn marks(self) -> u32 {
        self.0 >> MARKS_SHIFT & MARKS_MASK
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn entry(bits: u64) -> Entry {
        Entry::new(Location::from_bits(bits), 5, true).with_access(9)
    }

    #[test]
    fn an_entry_reads_back_what_was_stored() {
        let bucket = Bucket::default();
        for slot in 0..SLOTS {
            bucket.fill(
                slot,
                slot % 6 + 1,
                0x8000 + slot as u16,
                entry(0xab_cdef_0123 + u64::from(slot)),
            );
        }
        for slot in 0..SLOTS {
            assert_eq!(bucket.entry(slot), entry(0xab_cdef_0123 + u64::from(slot)));
            assert_eq!(bucket.matches(0x8000 + slot as u16).collect::<Vec<_>>(), [slot]);
            assert_eq!(bucket.codes().of(slot), slot % 6 + 1);
        }
        assert_eq!(bucket.codes().first_empty(), None);
        bucket.empty(3);
        assert_eq!(bucket.codes().first_empty(), Some(3));
        bucket.set_access(2, 15);
        assert_eq!(bucket.entry(2), entry(0xab_cdef_0125).with_access(15));
    }

    #[test]
    fn a_code_is_carried_while_some_lane_has_it() {
        let bucket = Bucket::default();
        assert!(!bucket.codes().carries(3));
        bucket.fill(6, 3, 1, entry(1));
        bucket.fill(0, 5, 1, entry(2));
        assert!(
            bucket.codes().carries(3) && bucket.codes().carries(5) && !bucket.codes().carries(1)
        );
        bucket.empty(6);
        assert!(!bucket.codes().carries(3));
    }

    #[test]
    fn slots_are_found_by_their_code() {
        let bucket = Bucket::default();
        for (slot, code) in [(0, 1), (2, 6), (3, 1), (6, 1)] {
            bucket.fill(slot, code, 1, entry(1));
        }
        let slots = |code| bucket.codes().slots_with(code).collect::<Vec<_>>();
        assert_eq!([slots(1), slots(6), slots(2)], [vec![0, 3, 6], vec![2], vec![]]);
        assert_eq!(slots(0), [1, 4, 5], "empty ones");
    }

    #[test]
    fn the_tick_is_the_earliest_noted_and_leaves_tags_alone() {
        let bucket = Bucket::default();
        bucket.fill(6, 1, 77, entry(1));
        assert_eq!(bucket.tick(), None);
        bucket.note_tick(Tick(500));
        bucket.note_tick(Tick(700));
        bucket.note_tick(Tick(400));
        assert_eq!(bucket.tick(), Some(Tick(400)));
        assert_eq!(bucket.tag(6), 77);
        bucket.set_tick(None);
        assert_eq!(bucket.tick(), None);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use base::Lock;
    use loom::sync::Arc;

    const TAG: u16 = 0x1234;

    #[derive(Default)]
    struct Shared {
        lock: Lock,
        bucket: Bucket,
    }

    fn entry(number: u64) -> Entry {
        Entry::new(Location::from_bits(number), 0, false)
    }

    impl Shared {
        /// Finds the value as the holder of the lock.
        fn find(&self) -> Option<u64> {
            let _held = self.lock.lock();
            let slots = self.bucket.matches(TAG);
            let mut natives = slots.filter(|slot| self.bucket.codes().of(*slot) == 1);
            let found = natives.next().map(|slot| self.bucket.entry(slot).location().bits());
            assert_eq!(natives.next(), None);
            found
        }

        /// Looks without the lock.
        fn look(&self) -> Option<u64> {
            match self.bucket.hint(TAG) {
                Hint::At(location) => Some(location.bits()),
                Hint::Absent => None,
                Hint::Displaced => panic!("nothing was displaced"),
            }
        }
    }

    #[test]
    fn a_look_sees_words_that_stood_there_once_and_the_lock_shows_the_truth() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            shared.bucket.fill(0, 1, TAG, entry(1));
            let writer = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    let held = shared.lock.lock();
                    shared.bucket.set_entry(0, entry(2));
                    drop(held);
                    let _held = shared.lock.lock();
                    shared.bucket.empty(0);
                    shared.bucket.fill(1, 1, TAG, entry(3));
                })
            };
            // An empty slot holds zeros before it holds anything else.
            assert!(shared.look().is_none_or(|seen| seen <= 3));
            assert!(shared.find().is_some_and(|found| (1..=3).contains(&found)));
            writer.join().unwrap();
            assert_eq!((shared.look(), shared.find()), (Some(3), Some(3)));
        });
    }
}

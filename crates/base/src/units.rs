//! Units: one type for each, with its conversions.

/// Bytes of address space that one segment occupies: the unit taken from and returned to the
/// system.
pub const SEGMENT_BYTES: u32 = 1 << SEGMENT_BITS;
/// Bits of a location that hold the offset of a record in its segment.
pub const SEGMENT_BITS: u32 = if cfg!(miri) { 16 } else { 23 };
/// Bits of a whole location: they address one TiB of records, byte by byte.
pub const LOCATION_BITS: u32 = 40;
/// Number of shards: slices of the hash space, each with one lock.
pub const SHARDS: usize = 256;

/// Number of an 8 MiB slot of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

/// Place where a record begins: segment number and byte offset, 40 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(u64);

impl Location {
    /// Returns the location `offset` bytes into `segment`.
    #[inline]
    pub fn new(segment: SegmentId, offset: u32) -> Location {
        debug_assert!(offset < SEGMENT_BYTES);
        Location(u64::from(segment.0) << SEGMENT_BITS | u64::from(offset))
    }

    /// Returns the location whose 40 bits are `bits`; higher bits are dropped.
    #[inline]
    pub fn from_bits(bits: u64) -> Location {
        Location(bits & ((1 << LOCATION_BITS) - 1))
    }

    /// Returns the 40 bits.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns the segment that holds the record's first byte.
    #[inline]
    pub fn segment(self) -> SegmentId {
        SegmentId(narrow::low_u32(self.0 >> SEGMENT_BITS))
    }

    /// Returns the offset of the record in its segment.
    #[inline]
    pub fn offset(self) -> u32 {
        narrow::low_u32(self.0) & (SEGMENT_BYTES - 1)
    }
}

/// Position of a key in the hash space: its top eight bits name the shard, the next ones the
/// position inside the shard's index, the lowest nine belong to the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PositionHash(pub u64);

impl PositionHash {
    /// Returns the shard whose lock guards this position.
    #[inline]
    pub fn shard(self) -> ShardId {
        ShardId((self.0 >> 56) as u8)
    }
}

/// Number of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u8);

impl ShardId {
    /// Returns every shard, in the order in which locks are taken.
    pub fn all() -> impl DoubleEndedIterator<Item = ShardId> {
        (0..=u8::MAX).map(ShardId)
    }

    /// Returns the number as an array index.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Small number by which a record names its keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyspaceId(pub u16);

impl KeyspaceId {
    /// Returns the number as an array index.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Moment in milliseconds since the Unix epoch. Deadlines are moments too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// Moment later than every deadline.
    pub const MAX: Millis = Millis(u64::MAX);

    /// Returns the tick in which this moment lies.
    #[inline]
    pub fn tick(self) -> Tick {
        Tick(narrow::low_u16(self.0 / Tick::MILLIS))
    }

    /// Returns the milliseconds from `earlier` until this moment; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the milliseconds between two moments, of which the later one may come first by this
    /// clock: somebody may have set it back.
    #[inline]
    pub fn distance(self, other: Millis) -> u64 {
        self.0.abs_diff(other.0)
    }
}

/// Moment in milliseconds on a clock that nobody sets, whatever happens to the wall time: for what
/// lasts, and for what is due after a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Steady(pub u64);

impl Steady {
    /// Returns the milliseconds from `earlier` until this moment; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Steady) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the moment `millis` later.
    #[inline]
    #[must_use]
    pub fn after(self, millis: u64) -> Steady {
        Steady(self.0.saturating_add(millis))
    }
}

/// Coarse moment, in units of 256 ms modulo 2^16, so two ticks compare within 2.3 hours of each
/// other. Half of that lies ahead of now and half behind: one that is due compares as earlier than
/// all that are not for as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick(pub u16);

impl Tick {
    /// Milliseconds of a tick.
    pub const MILLIS: u64 = 256;
    /// Most ticks ahead of now that are used.
    pub const AHEAD_MAX: u64 = (1 << 14) - 1;
    /// Milliseconds after which a tick that is due has to be looked at, or may compare wrongly.
    pub const LATE_MAX_MILLIS: u64 = (1 << 14) * Tick::MILLIS;

    /// Returns true if this tick is `now` or before it.
    #[inline]
    pub fn is_due(self, now: Tick) -> bool {
        (now.0.wrapping_sub(self.0) as i16) >= 0
    }

    /// Returns the earlier of two ticks.
    #[inline]
    pub fn earlier(self, other: Tick) -> Tick {
        if self.is_due(other) { self } else { other }
    }

    /// Returns the tick of `deadline` as seen at `now`: the one in which it lies. A deadline too
    /// far ahead to compare is brought nearer, so that it is checked again in time; one that has
    /// passed is due now, however long ago it was: a key may be stored or loaded after its time.
    #[inline]
    pub fn of_deadline(deadline: Millis, now: Millis) -> Tick {
        let horizon = Millis(now.0 + Tick::AHEAD_MAX * Tick::MILLIS - Tick::MILLIS);
        deadline.clamp(now, horizon).tick()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_gives_back_its_segment_and_offset() {
        let at = Location::new(SegmentId(131_071), SEGMENT_BYTES - 1);
        assert_eq!((at.segment(), at.offset()), (SegmentId(131_071), SEGMENT_BYTES - 1));
        assert_eq!(Location::from_bits(at.bits()), at);
        assert!(at.bits() < 1 << LOCATION_BITS);
    }

    #[test]
    fn a_deadline_is_due_no_later_than_itself_and_within_a_tick_before() {
        let step = if cfg!(miri) { 199 } else { 1 };
        for deadline in (1_000_000..1_002_000).step_by(step).map(Millis) {
            let tick = Tick::of_deadline(deadline, Millis(1_000_000));
            let due = (0..2_600).map(|ms| Millis(999_700 + ms)).find(|now| tick.is_due(now.tick()));
            let due = due.expect("comes due");
            assert!(due <= deadline && deadline.since(due) < Tick::MILLIS);
        }
    }

    #[test]
    fn a_deadline_that_has_passed_is_due_at_once_however_long_ago_it_was() {
        let now = Millis(1 << 40);
        for ago in [0, 1, 1_000, 3 * 3_600_000, 5 * 3_600_000, 365 * 24 * 3_600_000, 1 << 40] {
            assert!(Tick::of_deadline(Millis(now.0 - ago), now).is_due(now.tick()), "{ago} ms ago");
        }
    }

    #[test]
    fn what_is_due_is_earlier_than_every_deadline_however_late_it_is_looked_at() {
        let begin = Millis(1 << 40);
        for late in [0, 1, 2, 10, 1_000, 10_000, (1 << 14) - 1].map(|it| it * Tick::MILLIS) {
            let (due, now) = (begin.tick(), Millis(begin.0 + late));
            for ahead in [1_000, 3_600_000, 10_000_000, 1 << 40] {
                let next = Tick::of_deadline(Millis(now.0 + ahead), now);
                assert_eq!((due.earlier(next), next.earlier(due)), (due, due), "{late} {ahead}");
            }
        }
    }

    #[test]
    fn a_far_deadline_is_looked_at_again_before_ticks_wrap() {
        let now = Millis(1 << 40);
        let tick = Tick::of_deadline(Millis::MAX, now);
        assert!(!tick.is_due(now.tick()));
        assert!(tick.is_due(Millis(now.0 + Tick::AHEAD_MAX * Tick::MILLIS).tick()));
    }
}

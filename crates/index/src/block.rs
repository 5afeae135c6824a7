//! The buckets of one block: finding, placing, displacing, removing.

use crate::bucket::{Bucket, DISTANCES, Entry};

/// Buckets that the search for a chain of displacements may look at.
const SEARCH_BUCKETS: usize = 32;

/// The buckets of one block. Their number need not be a power of two; positions are 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    buckets: &'a [Bucket],
}

/// Place of an entry: a bucket and a slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotAt {
    pub bucket: u32,
    pub slot: u32,
}

/// One step of the search: a bucket that is full, and the entry whose move into it was considered.
#[derive(Clone, Copy)]
struct Step {
    bucket: u32,
    /// Index of the step before; `slot` is the slot of its bucket whose entry would come here.
    from: u32,
    slot: u32,
}

/// Buckets that the search has visited, one bit each.
#[derive(Default)]
struct Seen([u64; 16]);

impl Seen {
    fn first_time(&mut self, bucket: u32) -> bool {
        let (word, bit) = (&mut self.0[bucket as usize / 64], 1 << (bucket % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

/// Home bucket of a 16-bit position in a block of `buckets` buckets.
#[inline]
pub(crate) fn home_bucket(position: u32, buckets: u32) -> u32 {
    (position * buckets) >> 16
}

impl<'a> Block<'a> {
    pub fn new(buckets: &'a [Bucket]) -> Block<'a> {
        Block { buckets }
    }

    pub fn len(self) -> u32 {
        narrow::to_u32(self.buckets.len())
    }

    /// The home bucket of a 16-bit position; it rises with the position.
    #[inline]
    pub fn home(self, position: u32) -> u32 {
        home_bucket(position, self.len())
    }

    /// The lowest position whose home is `home`; 2^16 for the bucket after the last.
    pub fn lowest_position(self, home: u32) -> u32 {
        (home << 16).div_ceil(self.len())
    }

    #[inline]
    pub fn bucket(self, number: u32) -> &'a Bucket {
        &self.buckets[number as usize]
    }

    /// Bucket in which the natives of `home` with `code` lie.
    #[inline]
    pub fn bucket_of(self, home: u32, code: u32) -> u32 {
        let bucket = home + DISTANCES[code as usize - 1];
        if bucket >= self.len() { bucket - self.len() } else { bucket }
    }

    /// The home of an entry that lies in `bucket` with `code`.
    #[inline]
    pub fn home_of(self, bucket: u32, code: u32) -> u32 {
        let distance = DISTANCES[code as usize - 1];
        if bucket >= distance { bucket - distance } else { bucket + self.len() - distance }
    }

    /// Finds the native of `home` with `tag` for which `look` returns something.
    #[inline(always)]
    pub fn find_map<T>(
        self,
        home: u32,
        tag: u16,
        look: impl Fn(Entry) -> Option<T>,
    ) -> Option<(SlotAt, Entry, T)> {
        let bucket = self.bucket(home);
        let codes = bucket.codes();
        for slot in bucket.matches(tag) {
            let entry = bucket.entry(slot);
            if codes.of(slot) == 1
                && let Some(seen) = look(entry)
            {
                return Some((SlotAt { bucket: home, slot }, entry, seen));
            }
        }
        let marks = codes.marks();
        if marks == 0 { None } else { self.find_displaced(home, marks, tag, look) }
    }

    #[inline(never)]
    fn find_displaced<T>(
        self,
        home: u32,
        mut marks: u32,
        tag: u16,
        look: impl Fn(Entry) -> Option<T>,
    ) -> Option<(SlotAt, Entry, T)> {
        while marks != 0 {
            let code = marks.trailing_zeros() + 2;
            marks &= marks - 1;
            let number = self.bucket_of(home, code);
            let bucket = self.bucket(number);
            let codes = bucket.codes();
            for slot in bucket.matches(tag) {
                let entry = bucket.entry(slot);
                if codes.of(slot) == code
                    && let Some(seen) = look(entry)
                {
                    return Some((SlotAt { bucket: number, slot }, entry, seen));
                }
            }
        }
        None
    }

    /// The buckets to which natives of `home` were displaced, with their codes.
    #[inline]
    pub fn marked_buckets(
        self,
        home: u32,
        mut marks: u32,
    ) -> impl Iterator<Item = (u32, &'a Bucket)> {
        std::iter::from_fn(move || {
            if marks == 0 {
                return None;
            }
            let code = marks.trailing_zeros() + 2;
            marks &= marks - 1;
            Some((code, self.bucket(self.bucket_of(home, code))))
        })
    }

    /// Visits all natives of `home`, wherever they lie.
    #[inline]
    pub fn each_native(self, home: u32, mut visit: impl FnMut(SlotAt, Entry)) {
        let mut codes = 1 | self.bucket(home).codes().marks() << 1;
        while codes != 0 {
            let code = codes.trailing_zeros() + 1;
            codes &= codes - 1;
            let number = self.bucket_of(home, code);
            let bucket = self.bucket(number);
            for slot in bucket.codes().slots_with(code) {
                visit(SlotAt { bucket: number, slot }, bucket.entry(slot));
            }
        }
    }

    /// Places a new entry in one of the buckets of its home, moving others if it must; `None` if
    /// the search finds no room for it.
    pub fn place(self, home: u32, tag: u16, entry: Entry) -> Option<SlotAt> {
        for code in 1..=6 {
            let number = self.bucket_of(home, code);
            if let Some(slot) = self.bucket(number).codes().first_empty() {
                self.put(home, code, SlotAt { bucket: number, slot }, tag, entry);
                return Some(SlotAt { bucket: number, slot });
            }
        }
        let (code, at) = self.make_room(home)?;
        self.put(home, code, at, tag, entry);
        Some(at)
    }

    fn put(self, home: u32, code: u32, at: SlotAt, tag: u16, entry: Entry) {
        self.bucket(at.bucket).fill(at.slot, code, tag, entry);
        if code > 1 {
            self.bucket(home).set_mark(code);
        }
    }

    /// Frees a slot in one of the buckets of `home` by moving a chain of entries, searched breadth
    /// first so that the chain is short.
    #[cold]
    fn make_room(self, home: u32) -> Option<(u32, SlotAt)> {
        let mut steps = [Step { bucket: 0, from: 0, slot: 0 }; SEARCH_BUCKETS];
        // A chain that met a bucket twice could move an entry that an earlier move has replaced.
        let mut seen = Seen::default();
        for code in 1..=6 {
            steps[code as usize - 1].bucket = self.bucket_of(home, code);
            seen.first_time(self.bucket_of(home, code));
        }
        let (mut next, mut end) = (0, 6);
        while next < end {
            let bucket = steps[next].bucket;
            let codes = self.bucket(bucket).codes();
            for slot in codes.occupied() {
                let native = self.home_of(bucket, codes.of(slot));
                for code in (1..=6).filter(|code| *code != codes.of(slot)) {
                    let target = self.bucket_of(native, code);
                    if let Some(empty) = self.bucket(target).codes().first_empty() {
                        let to = SlotAt { bucket: target, slot: empty };
                        let last = narrow::to_u32(next);
                        return Some(self.shift_chain(&steps, last, slot, code, to));
                    }
                    if end < SEARCH_BUCKETS && seen.first_time(target) {
                        steps[end] = Step { bucket: target, from: narrow::to_u32(next), slot };
                        end += 1;
                    }
                }
            }
            next += 1;
        }
        None
    }

    /// Moves the entry at (`step`, `slot`) to the empty slot `to`, then the one before it into the
    /// slot that became empty, back to a bucket of the new entry's home. Returns that bucket's code
    /// and slot.
    fn shift_chain(
        self,
        steps: &[Step],
        mut step: u32,
        mut slot: u32,
        code: u32,
        mut to: SlotAt,
    ) -> (u32, SlotAt) {
        let mut code = Some(code);
        loop {
            let from = SlotAt { bucket: steps[step as usize].bucket, slot };
            self.shift(from, to, code.take());
            to = from;
            if step < 6 {
                return (step + 1, to);
            }
            slot = steps[step as usize].slot;
            step = steps[step as usize].from;
        }
    }

    /// Moves one entry to an empty slot of another of its buckets.
    fn shift(self, from: SlotAt, to: SlotAt, code: Option<u32>) {
        let (source, target) = (self.bucket(from.bucket), self.bucket(to.bucket));
        let home = self.home_of(from.bucket, source.codes().of(from.slot));
        let code = code.unwrap_or_else(|| self.code_between(home, to.bucket));
        let (tag, entry) = (source.tag(from.slot), source.entry(from.slot));
        if let (true, Some(tick)) = (entry.is_timed(), source.tick()) {
            target.note_tick(tick);
        }
        self.remove(from);
        self.put(home, code, to, tag, entry);
    }

    fn code_between(self, home: u32, bucket: u32) -> u32 {
        (1..=6).find(|code| self.bucket_of(home, *code) == bucket).unwrap_or(1)
    }

    /// Empties a slot, and clears the mark of its home if no other native lies under it.
    pub fn remove(self, at: SlotAt) {
        let bucket = self.bucket(at.bucket);
        let code = bucket.codes().of(at.slot);
        bucket.empty(at.slot);
        if code > 1 && !bucket.codes().carries(code) {
            self.bucket(self.home_of(at.bucket, code)).clear_mark(code);
        }
    }
}

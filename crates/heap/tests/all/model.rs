//! The heap against a map of the records that are alive, with a cleaner at work between the steps.

use base::units::SEGMENT_BYTES;
use base::{KeyspaceId, Location, Millis, Random, SegmentId};
use heap::{
    Attributes, DEDICATED_BYTES, Draft, Head, Heap, NoAttributes, OutOfSpace, Purpose,
    ReclaimPolicy, SegmentState, Trim, Victim,
};
use std::collections::BTreeMap;

const STEPS: u64 = if cfg!(miri) { 300 } else { 12_000 };
const SEEDS: u64 = if cfg!(miri) { 1 } else { 3 };
const HEADS: usize = 3;
const LIVE_MAX: u64 = 12 * SEGMENT_BYTES as u64;

struct Live {
    keyspace: KeyspaceId,
    key: Vec<u8>,
    value: Vec<u8>,
    room: usize,
    value_tag: u8,
    deadline: Option<Millis>,
    attributes: Option<Attributes>,
    grows: bool,
    live_bytes: u64,
}

/// A victim being cleaned, and its records that are still to be handed out.
struct Cleaning {
    victim: Victim,
    left: Vec<Location>,
}

struct World {
    heap: Heap,
    heads: [Head; HEADS],
    live: BTreeMap<Location, Live>,
    live_bytes: u64,
    /// Everything appended to each segment since it was opened, in that order.
    appended: BTreeMap<SegmentId, Vec<Location>>,
    cleaning: Option<Cleaning>,
    survivors: Head,
    random: Random,
    now: Millis,
}

impl World {
    fn new(seed: u64) -> World {
        let space = if cfg!(miri) { 1 << 23 } else { 1 << 30 };
        World {
            heap: Heap::with_address_space(space).expect("address space"),
            heads: Default::default(),
            live: BTreeMap::new(),
            live_bytes: 0,
            appended: BTreeMap::new(),
            cleaning: None,
            survivors: Head::new(),
            random: Random::from_seed(seed),
            now: Millis(1_700_000_000_000),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn any_bytes(&mut self, len: usize) -> Vec<u8> {
        let byte = self.random.next() as u8;
        (0..len).map(|at| byte.wrapping_add(at as u8)).collect()
    }

    fn any_record(&mut self) -> Live {
        let segment = SEGMENT_BYTES as usize;
        let value_len = match self.below(200) {
            0 => self.below(segment / 2),
            1 if self.random.one_in(8) => segment + self.below(segment),
            2..=4 => DEDICATED_BYTES - self.below(400),
            5..=20 => self.below(segment / 128),
            21..=60 => self.below(700),
            _ => self.below(40),
        };
        let slack = if self.random.one_in(4) { self.below(value_len / 4 + 300) } else { 0 };
        let key_len = if self.random.one_in(20) { self.below(600) } else { self.below(30) };
        let keyspace = if self.random.one_in(10) { u16::MAX } else { 7 };
        Live {
            keyspace: KeyspaceId(keyspace),
            key: self.any_bytes(key_len),
            value: self.any_bytes(value_len),
            room: value_len + slack,
            value_tag: self.random.next() as u8 & 0x7f,
            deadline: self.random.one_in(3).then(|| Millis(self.random.next() >> 17)),
            attributes: self.random.one_in(3).then(|| self.any_attributes()),
            grows: self.random.one_in(2),
            live_bytes: 0,
        }
    }

    fn any_attributes(&mut self) -> Attributes {
        let number = self.random.next();
        Attributes {
            flags: (number as u32) >> self.below(32),
            cas: self.random.one_in(2).then_some(number),
            marks: if self.random.one_in(2) { 0 } else { number as u8 },
        }
    }

    fn append(&mut self) {
        let head = self.below(HEADS);
        let mut record = self.any_record();
        let extent = draft(&record).extent();
        let purpose = if self.random.one_in(2) { Purpose::Late } else { Purpose::Write };
        let reserved = self.heads[head].reserve(&self.heap, extent, Purpose::Write, self.now);
        let before = self.heads[head].appended_bytes();
        let fill = |to: &mut [u8]| to.copy_from_slice(&record.value);
        let placed = self.heads[head].append(&self.heap, &draft(&record), purpose, self.now, fill);
        let Ok(at) = placed else {
            assert_eq!(self.heads[head].appended_bytes(), before);
            assert!(self.heap.budget() != u64::MAX, "without a budget there is room");
            assert_eq!(reserved, Err(OutOfSpace), "what was reserved is there");
            return;
        };
        assert_eq!(self.heads[head].appended_bytes(), before + extent as u64);
        record.live_bytes = (extent - (record.room - record.value.len())) as u64;
        self.note(at, record);
    }

    /// Enters a record that was just appended; it begins where the one before it ends.
    fn note(&mut self, at: Location, record: Live) {
        let all = self.appended.entry(at.segment()).or_default();
        if at.offset() == 0 {
            all.clear();
        }
        // SAFETY: appended above, or before and not recycled since.
        let end = |at: &Location| at.offset() + unsafe { self.heap.record(*at) }.extent();
        assert_eq!(all.last().map_or(0, end), at.offset());
        all.push(at);
        self.live_bytes += record.live_bytes;
        assert!(self.live.insert(at, record).is_none(), "{at:?} is in use");
    }

    fn any(&mut self) -> Option<Location> {
        let end = u64::from(self.live.keys().next_back()?.segment().0 + 1);
        let segment = SegmentId(self.random.below(end) as u32);
        let from = Location::new(segment, self.random.below(u64::from(SEGMENT_BYTES)) as u32);
        let next = self.live.range(from..).next().or_else(|| self.live.iter().next());
        next.map(|(at, _)| *at)
    }

    fn mark_dead(&mut self, at: Location) {
        let record = self.live.remove(&at).expect("alive");
        self.live_bytes -= record.live_bytes;
        // SAFETY: alive, and this thread has the only use of it.
        let footprint = unsafe { self.heap.record(at).footprint(record.grows) };
        assert_eq!(u64::from(footprint.live), record.live_bytes);
        // SAFETY: taken out of the model, which alone names it.
        unsafe { self.heap.mark_dead(at, footprint) };
    }

    /// Writes another value of another length into the same room.
    fn change(&mut self, at: Location) {
        let room = self.live[&at].room;
        let len = if self.random.one_in(3) { room } else { self.below(room + 1) };
        let value = self.any_bytes(len);
        let deadline = self.random.one_in(2).then_some(Millis(self.random.next() >> 16));
        let attributes = self.any_attributes();
        let live = self.live.get_mut(&at).expect("alive");
        live.value_tag ^= 1;
        // SAFETY: alive, and this thread has the only use of it.
        unsafe {
            let record = self.heap.record(at);
            let before = record.footprint(live.grows);
            record.set_value_len(len, live.value_tag);
            record.value_mut().copy_from_slice(&value);
            if record.has_deadline_room() && record.fits_deadline(deadline) {
                record.set_deadline(deadline);
                live.deadline = deadline;
            }
            if record.has_attributes() && record.fits_attributes(&attributes) {
                record.set_attributes(&attributes);
                live.attributes = record.attributes();
            }
            let after = record.footprint(live.grows);
            self.heap.change_footprint(at, before, after, self.now);
            self.live_bytes = self.live_bytes + u64::from(after.live) - u64::from(before.live);
            live.live_bytes = u64::from(after.live);
        }
        live.value = value;
    }

    fn clean(&mut self) {
        if self.cleaning.is_none() {
            let victim = if self.random.one_in(4) {
                self.heap.choose_oldest(self.now)
            } else {
                let policy = [ReclaimPolicy::Greedy, ReclaimPolicy::Modified][self.below(2)];
                self.heap.choose_victim(policy, 0.0, Trim::All, self.now)
            };
            let Some(victim) = victim else { return };
            let facts = victim.facts(&self.heap).expect("in use");
            assert_eq!(facts.state, SegmentState::Cleaning);
            let mut left = self.appended[&facts.id].clone();
            left.reverse();
            self.cleaning = Some(Cleaning { victim, left });
        }
        for _ in 0..1 + self.below(40) {
            if !self.clean_one() {
                return;
            }
        }
    }

    /// Moves or passes one record; recycles the victim after its last. False if the step ends.
    fn clean_one(&mut self) -> bool {
        let Some(mut cleaning) = self.cleaning.take() else { return false };
        let Some((at, record)) = cleaning.victim.next(&self.heap) else {
            assert!(cleaning.left.is_empty(), "every record is handed out");
            // SAFETY: every record was moved or found dead.
            unsafe { self.heap.recycle_victim(cleaning.victim) };
            return false;
        };
        assert_eq!(cleaning.left.last(), Some(&at), "records come in the order of their appends");
        if let Some(live) = self.live.get(&at) {
            assert_eq!((record.key(), record.keyspace()), (&live.key[..], live.keyspace));
            if self.relocate(at).is_err() {
                cleaning.victim.go_back_to(at);
                self.cleaning = Some(cleaning);
                return false;
            }
        }
        cleaning.left.pop();
        self.cleaning = Some(cleaning);
        true
    }

    fn relocate(&mut self, at: Location) -> Result<(), OutOfSpace> {
        // SAFETY: alive, and this thread has the only use of it.
        let value = unsafe { self.heap.record(at).value() };
        let live = &self.live[&at];
        let compact = Draft { room: live.value.len(), ..draft(live) };
        let fill = |to: &mut [u8]| to.copy_from_slice(value);
        let to = self.survivors.append(&self.heap, &compact, Purpose::Survivors, self.now, fill)?;
        let live_bytes = compact.extent() as u64;
        let live = self.live.remove(&at).expect("alive");
        self.live_bytes -= live.live_bytes;
        let room = live.value.len();
        self.note(to, Live { room, live_bytes, ..live });
        Ok(())
    }

    fn step(&mut self) {
        let full = self.live_bytes > LIVE_MAX;
        match self.random.below(100) {
            0..=49 if !full => self.append(),
            0..=69 => self.any().into_iter().for_each(|at| self.mark_dead(at)),
            70..=84 => self.any().into_iter().for_each(|at| self.change(at)),
            85..=92 => self.clean(),
            93..=95 => {
                let keep = self.random.below(1 << 24);
                self.heap.return_some(keep);
            }
            96 => {
                let head = self.below(HEADS);
                self.heads[head].seal(&self.heap);
            }
            97 if self.random.one_in(20) => self.set_budget(),
            _ => self.now.0 += self.random.below(1_000),
        }
    }

    fn set_budget(&mut self) {
        let head_bytes = self.random.below(u64::from(SEGMENT_BYTES)) as u32;
        let budget = if self.random.one_in(2) { u64::MAX } else { LIVE_MAX * 3 / 2 };
        self.heap.set_budget(budget, head_bytes);
    }

    fn verify_counts(&self) {
        let mut expected: BTreeMap<SegmentId, (u64, u64, u32)> = BTreeMap::new();
        for (at, record) in &self.live {
            let (bytes, growth, records) = expected.entry(at.segment()).or_default();
            *bytes += record.live_bytes;
            *growth += if record.grows { (record.room - record.value.len()) as u64 } else { 0 };
            *records += 1;
        }
        for facts in self.heap.segments() {
            let expected = expected.remove(&facts.id).unwrap_or_default();
            // The cleaner does not count what it moves out as dead.
            if facts.state != SegmentState::Cleaning {
                assert_eq!((facts.live, facts.growth, facts.live_records), expected, "{facts:?}");
            }
            assert!(facts.live + facts.growth <= facts.written);
        }
        assert!(expected.is_empty(), "live records in segments that are not in use: {expected:?}");
    }

    fn verify_records(&self) {
        for (at, live) in &self.live {
            // SAFETY: alive, and this thread has the only use of it.
            unsafe {
                let record = self.heap.record(*at);
                assert_eq!((record.keyspace(), record.key()), (live.keyspace, &live.key[..]));
                assert!(record.value() == live.value, "the value at {at:?}");
                assert_eq!(
                    (record.value_tag(), record.deadline(), record.attributes()),
                    (live.value_tag, live.deadline, live.attributes)
                );
                assert_eq!(u64::from(record.live_bytes()), live.live_bytes);
                assert_eq!(record.room(), live.room);
            }
        }
    }

    fn finish(&mut self) {
        self.verify_records();
        while self.cleaning.is_some() {
            self.heap.set_budget(u64::MAX, SEGMENT_BYTES);
            self.clean_one();
        }
        while let Some(at) = self.live.keys().next().copied() {
            self.mark_dead(at);
        }
        self.heads.iter_mut().for_each(|head| head.seal(&self.heap));
        self.survivors.seal(&self.heap);
        assert!(self.heap.segments().is_empty(), "{:?}", self.heap.segments());
        assert_eq!(self.heap.written_bytes(), 0);
        while self.heap.return_some(0) {}
        assert_eq!((self.heap.touched_bytes(), self.heap.pooled_bytes()), (0, 0));
    }
}

fn draft(record: &Live) -> Draft<'_, Option<Attributes>> {
    Draft {
        is_node: false,
        grows: record.grows,
        keyspace: record.keyspace,
        value_tag: record.value_tag,
        key: &record.key,
        value_len: record.value.len(),
        room: record.room,
        deadline: record.deadline,
        attributes: record.attributes,
    }
}

#[test]
fn the_heap_agrees_with_a_map_while_segments_fill_and_are_cleaned() {
    for seed in 1..=SEEDS {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.step();
            if step % 16 == 0 {
                world.verify_counts();
            }
            if step % (STEPS / 10) == 0 {
                world.verify_records();
            }
        }
        world.finish();
    }
}

#[test]
fn nothing_is_returned_while_everything_is_to_be_kept() {
    let (heap, mut head) = (Heap::with_address_space(1 << 24).expect("address space"), Head::new());
    let record = Draft {
        is_node: false,
        grows: false,
        keyspace: KeyspaceId(0),
        value_tag: 0,
        key: b"key",
        value_len: 100,
        room: 100,
        deadline: None,
        attributes: NoAttributes,
    };
    let at = head.append(&heap, &record, Purpose::Write, Millis(1), |to| to.fill(1)).expect("room");
    head.seal(&heap);
    // SAFETY: nothing reads it any more.
    unsafe { heap.mark_dead(at, record.footprint()) };
    let pooled = heap.pooled_bytes();
    assert!(pooled > 0);
    assert!(!heap.return_some(u64::MAX));
    assert_eq!(heap.pooled_bytes(), pooled);
}

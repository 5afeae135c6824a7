//! Any sequence of operations on an index: the same answers as a map, and all memory given back.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use base::{Location, PositionHash, Random, Tick};
use index::{Blocks, DeadlineVisitor, Entry, EntrySlot, Index, Position, Records};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const SHARD: u8 = 0xA5;
const FRAMES: usize = 64;
const KEYS_MAX: usize = 15_000;

#[derive(Arbitrary, Debug)]
enum Op {
    Insert { key: u16, deadline: Option<u8>, kind: u8, access: u8 },
    InsertMany { first: u16, count: u16, deadline: Option<u8> },
    Remove { key: u16 },
    RemoveMany { first: u16, count: u16, shrinks: bool },
    Relocate { key: u16 },
    SetDeadline { key: u16, deadline: Option<u8> },
    SetAccess { key: u16, access: u8 },
    Look { key: u16 },
    Scan { cursor: u64, buckets: u16 },
    Sweep { now: u8, lines_max: u8 },
    Age,
    Verify,
    Clear,
}

/// Keys by location: the newest location is the highest.
#[derive(Default)]
struct Keys(RefCell<Vec<u16>>);

impl Keys {
    fn place(&self, key: u16) -> Location {
        let mut keys = self.0.borrow_mut();
        keys.push(key);
        Location::from_bits(keys.len() as u64 - 1)
    }

    fn key_of(&self, at: Location) -> u16 {
        self.0.borrow()[at.bits() as usize]
    }
}

impl Records for Keys {
    fn hash_of(&self, at: Location) -> PositionHash {
        hash(self.key_of(at))
    }

    fn prefetch(&self, _: Location) {}
}

fn hash(key: u16) -> PositionHash {
    let spread = Random::from_seed(u64::from(key)).next();
    PositionHash(u64::from(SHARD) << 56 | spread >> 8)
}

struct World {
    blocks: Blocks,
    index: Index,
    keys: Keys,
    model: BTreeMap<u16, (Entry, Option<u8>)>,
}

struct Expire<'a> {
    keys: &'a Keys,
    model: &'a mut BTreeMap<u16, (Entry, Option<u8>)>,
    now: u8,
}

impl DeadlineVisitor for Expire<'_> {
    fn prefetch(&self, at: Location) {
        self.keys.key_of(at);
    }

    fn visit(&mut self, _: EntrySlot, found: Entry) -> Option<Tick> {
        let at = found.location();
        let key = self.keys.key_of(at);
        let (entry, deadline) = self.model[&key];
        assert_eq!(entry.location(), at);
        let deadline = deadline.expect("only entries with a deadline are visited");
        if deadline <= self.now {
            self.model.remove(&key);
            return None;
        }
        Some(Tick(u16::from(deadline)))
    }
}

impl World {
    fn new() -> World {
        let blocks = Blocks::with_frames(FRAMES).expect("address space");
        World { blocks, index: Index::default(), keys: Keys::default(), model: BTreeMap::new() }
    }

    fn find(&self, key: u16) -> Option<(EntrySlot, Entry)> {
        let is_it = |entry: Entry| self.keys.key_of(entry.location()) == key;
        self.index.find(&self.blocks, hash(key), is_it)
    }

    fn insert(&mut self, key: u16, deadline: Option<u8>, kind: u8, access: u8) {
        if self.model.contains_key(&key) || self.model.len() >= KEYS_MAX {
            return;
        }
        let place = self.keys.place(key);
        let entry = Entry::new(place, kind % 6, deadline.is_some()).with_access(access);
        let tick = deadline.map(|it| Tick(u16::from(it)));
        let placed = self.index.insert(&self.blocks, hash(key), entry, tick, &self.keys);
        placed.expect("so few keys fit into the slots");
        self.model.insert(key, (entry, deadline));
    }

    fn remove(&mut self, key: u16, shrinks: bool) {
        let found = self.find(key);
        let expected = self.model.remove(&key);
        assert_eq!(found.map(|it| it.1), expected.map(|it| it.0));
        if let Some((slot, _)) = found {
            self.index.remove(&self.blocks, slot);
            if shrinks && self.index.wants_shrink(&self.blocks, hash(key)) {
                self.index.shrink(&self.blocks, hash(key), &self.keys);
            }
        }
    }

    fn change(&mut self, key: u16, act: impl FnOnce(&Keys, &mut (Entry, Option<u8>))) {
        let Some((slot, _)) = self.find(key) else { return };
        let it = self.model.get_mut(&key).expect("what is found is in the model");
        act(&self.keys, it);
        let tick = it.1.map(|it| Tick(u16::from(it)));
        self.index.update(&self.blocks, slot, it.0, tick);
    }

    /// The look without the lock finds what is there, since nothing changes meanwhile.
    fn look(&self, key: u16) {
        let home = self.index.home(&self.blocks, hash(key));
        home.prefetch(&self.blocks);
        let seen = match home.hint(&self.blocks) {
            index::Hint::Absent => None,
            index::Hint::At(at) => Some(at),
            index::Hint::Displaced => self.index.hint_displaced(&self.blocks, hash(key)),
        };
        if let Some((entry, _)) = self.model.get(&key) {
            let seen = seen.expect("a key that is there is seen, or one with its tag");
            let same_tag = |at| hash(self.keys.key_of(at)).0 & 0x1ff == hash(key).0 & 0x1ff;
            assert!(seen == entry.location() || same_tag(seen));
        }
    }

    fn scan(&self, from: Position, buckets: usize) -> BTreeSet<u16> {
        let (mut found, mut at) = (BTreeSet::new(), Some(from));
        for _ in 0..buckets {
            let Some(from) = at else { break };
            let from = Position::from_cursor(from.cursor());
            at = self.index.scan_bucket(&self.blocks, from, |_, entry| {
                assert!(found.insert(self.keys.key_of(entry.location())));
            });
            assert!(at.is_none_or(|it| it > from));
        }
        found
    }

    fn sweep(&mut self, now: u8, lines_max: usize) {
        let mut at = Some(Position::of_shard(base::ShardId(SHARD)));
        let mut visitor = Expire { keys: &self.keys, model: &mut self.model, now };
        while let Some(from) = at {
            let now = Tick(u16::from(now));
            at = self.index.sweep_deadlines(&self.blocks, from, Some(now), lines_max, &mut visitor);
        }
        assert!(self.model.values().all(|(_, deadline)| deadline.is_none_or(|it| it > now)));
    }

    fn age(&mut self) {
        let mut at = Some(Position::of_shard(base::ShardId(SHARD)));
        while let Some(from) = at {
            at = self.index.sweep_access(&self.blocks, from, |access| access / 2);
        }
        self.model
            .values_mut()
            .for_each(|(entry, _)| *entry = entry.with_access(entry.access() / 2));
    }

    fn verify(&self) {
        assert_eq!(self.index.len() as usize, self.model.len());
        let with_deadline = self.model.values().filter(|it| it.1.is_some()).count();
        assert_eq!(self.index.with_deadline() as usize, with_deadline);
        for (key, (entry, _)) in &self.model {
            assert_eq!(self.find(*key).map(|it| it.1), Some(*entry));
        }
        let all = self.scan(Position::of_shard(base::ShardId(SHARD)), usize::MAX);
        assert!(all.iter().eq(self.model.keys()));
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Insert { key, deadline, kind, access } => self.insert(key, deadline, kind, access),
            Op::InsertMany { first, count, deadline } => {
                for step in 0..count % 1024 {
                    self.insert(first.wrapping_add(step), deadline, 0, 3);
                }
            }
            Op::Remove { key } => self.remove(key, true),
            Op::RemoveMany { first, count, shrinks } => {
                (0..count % 1024).for_each(|it| self.remove(first.wrapping_add(it), shrinks));
            }
            Op::Relocate { key } => self.change(key, |keys, it| it.0 = it.0.at(keys.place(key))),
            Op::SetDeadline { key, deadline } => self.change(key, |_, it| {
                *it = (it.0.with_deadline(deadline.is_some()), deadline);
            }),
            Op::SetAccess { key, access } => {
                self.change(key, |_, it| it.0 = it.0.with_access(access));
                if let Some((slot, _)) = self.find(key) {
                    self.index.set_access(&self.blocks, slot, access & 15);
                }
            }
            Op::Look { key } => self.look(key),
            Op::Scan { cursor, buckets } => {
                let in_shard = u64::from(SHARD) << 32 | cursor & 0xffff_ffff;
                self.scan(Position::from_cursor(in_shard), usize::from(buckets));
            }
            Op::Sweep { now, lines_max } => self.sweep(now, usize::from(lines_max).max(1)),
            Op::Age => self.age(),
            Op::Verify => self.verify(),
            Op::Clear => {
                self.index.clear(&self.blocks);
                self.model.clear();
                assert_eq!(self.blocks.touched_bytes(), 0);
            }
        }
    }
}

// Operations are read one after the other, so that any bytes are a long sequence of them.
fuzz_target!(|bytes: &[u8]| {
    let (mut world, mut input) = (World::new(), Unstructured::new(bytes));
    while let (false, Ok(op)) = (input.is_empty(), Op::arbitrary(&mut input)) {
        world.apply(&op);
    }
    world.verify();
    world.apply(&Op::Clear);
});

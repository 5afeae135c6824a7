//! The index against a `BTreeMap`: what was inserted and not removed is found, nothing else is.

use base::{Location, PositionHash, Random, Tick};
use index::{Blocks, DeadlineVisitor, Entry, EntrySlot, Index, Position, Records};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Hashes by location, as the records would tell them.
#[derive(Default)]
struct Hashes(RefCell<BTreeMap<Location, PositionHash>>);

impl Records for Hashes {
    fn hash_of(&self, at: Location) -> PositionHash {
        self.0.borrow()[&at]
    }

    fn prefetch(&self, _: Location) {}
}

struct World {
    blocks: Blocks,
    index: Index,
    hashes: Hashes,
    model: BTreeMap<Location, Entry>,
    random: Random,
    next: u64,
    shard: u64,
}

const STEPS: usize = if cfg!(miri) { 400 } else { 60_000 };

impl World {
    fn new(seed: u64) -> World {
        World {
            blocks: Blocks::with_frames(64).expect("address space"),
            index: Index::default(),
            hashes: Hashes::default(),
            model: BTreeMap::new(),
            random: Random::from_seed(seed),
            next: 0,
            shard: seed % 256,
        }
    }

    fn hash(&mut self) -> PositionHash {
        PositionHash(self.shard << 56 | self.random.next() >> 8)
    }

    fn insert(&mut self) {
        let has_deadline = self.random.one_in(3);
        self.insert_one(has_deadline);
    }

    fn insert_one(&mut self, has_deadline: bool) {
        self.next += 1;
        let (at, hash) = (Location::from_bits(self.next), self.hash());
        let entry = Entry::new(at, (self.next % 8) as u8, has_deadline).with_access(3);
        self.hashes.0.borrow_mut().insert(at, hash);
        let tick = entry.is_timed().then_some(Tick(100));
        self.index.insert(&self.blocks, hash, entry, tick, &self.hashes).expect("room");
        self.model.insert(at, entry);
    }

    fn any(&mut self) -> Option<Location> {
        let nth = self.random.below(self.model.len().max(1) as u64) as usize;
        let from = Location::from_bits(nth as u64 * self.next / self.model.len().max(1) as u64);
        self.model.range(from..).next().map(|(at, _)| *at)
    }

    fn remove(&mut self) {
        let Some(at) = self.any() else { return };
        let hash = self.hashes.hash_of(at);
        let found = self.index.find(&self.blocks, hash, |entry| entry.location() == at);
        let (slot, entry) = found.expect("what is in the model is in the index");
        assert_eq!(entry, self.model[&at]);
        self.index.remove(&self.blocks, slot);
        self.index.shrink(&self.blocks, hash, &self.hashes);
        self.model.remove(&at);
    }

    fn relocate(&mut self) {
        let Some(at) = self.any() else { return };
        let hash = self.hashes.hash_of(at);
        let found = self.index.find(&self.blocks, hash, |entry| entry.location() == at);
        let (slot, entry) = found.expect("what is in the model is in the index");
        self.next += 1;
        let moved = entry.at(Location::from_bits(self.next));
        self.hashes.0.borrow_mut().insert(moved.location(), hash);
        self.index.update(&self.blocks, slot, moved, None);
        self.model.remove(&at);
        self.model.insert(moved.location(), moved);
    }

    fn verify(&self) {
        assert_eq!(self.index.len() as usize, self.model.len());
        let parts = self.model.values().filter(|entry| entry.has_timed_parts()).count();
        assert_eq!(self.index.with_timed_parts(), parts as u64);
        let deadlines = self.model.values().filter(|entry| entry.has_deadline()).count();
        assert_eq!(self.index.with_deadline() as usize, deadlines);
        for (at, entry) in &self.model {
            let hash = self.hashes.hash_of(*at);
            let found = self.index.find(&self.blocks, hash, |entry| entry.location() == *at);
            assert_eq!(found.map(|(_, found)| found), Some(*entry));
        }
        let scanned: BTreeSet<Location> = self.scan(|_| ()).into_iter().collect();
        assert!(scanned.iter().eq(self.model.keys()));
        self.scan_deadlines();
    }

    /// Looks for the entries with deadlines; returns in how many steps they were found.
    fn scan_deadlines(&self) -> u64 {
        let (mut found, mut at, mut steps) = (Vec::new(), Some(self.start()), 0);
        while let Some(from) = at {
            at = self.index.scan_deadlines(&self.blocks, from, |entry| found.push(entry));
            steps += 1;
        }
        found.sort_by_key(|entry| entry.location());
        assert!(found.iter().eq(self.model.values().filter(|entry| entry.has_deadline())));
        steps
    }

    fn start(&self) -> Position {
        Position::from_cursor(self.shard << 32)
    }

    fn scan(&self, mut between: impl FnMut(&World)) -> Vec<Location> {
        let (mut found, mut at) = (Vec::new(), Some(self.start()));
        while let Some(from) = at {
            let from = Position::from_cursor(from.cursor());
            at =
                self.index.scan_bucket(&self.blocks, from, |_, entry| found.push(entry.location()));
            between(self);
        }
        found
    }
}

#[test]
fn few_deadlines_among_many_keys_are_found_in_few_steps() {
    let mut world = World::new(7);
    let (keys, one_in) = if cfg!(miri) { (400, 100) } else { (40_000, 1_000) };
    (0..keys).for_each(|number| world.insert_one(number % one_in == 0));
    // Blocks have 640 buckets at least once there are several.
    let blocks = world.index.buckets(&world.blocks) / 640 + 1;
    let steps = world.scan_deadlines();
    assert!(steps <= keys / one_in + blocks, "{steps} steps");
}

#[test]
fn the_index_agrees_with_a_map_while_it_grows_and_shrinks() {
    for seed in 1..if cfg!(miri) { 2 } else { 6 } {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            let growing = (step / (STEPS / 4)).is_multiple_of(2);
            match world.random.below(10) {
                0..=5 if growing => world.insert(),
                0..=7 => world.remove(),
                8 => world.relocate(),
                _ => world.insert(),
            }
            if step % (STEPS / 10) == 0 {
                world.verify();
            }
        }
        while !world.model.is_empty() {
            world.remove();
        }
        world.verify();
        world.index.clear(&world.blocks);
        assert_eq!(world.blocks.touched_bytes(), 0);
    }
}

#[test]
fn a_scan_returns_everything_that_stays_while_the_index_grows() {
    let mut world = World::new(7);
    (0..STEPS / 4).for_each(|_| world.insert());
    let staying: BTreeSet<Location> = world.model.keys().copied().collect();
    let (mut found, mut at) = (BTreeSet::new(), Some(world.start()));
    let mut buckets = 0;
    while let Some(from) = at {
        let from = Position::from_cursor(from.cursor());
        at = world.index.scan_bucket(&world.blocks, from, |_, entry| {
            found.insert(entry.location());
        });
        buckets += 1;
        if buckets % 5 == 0 {
            (0..if cfg!(miri) { 4 } else { 40 }).for_each(|_| world.insert());
        }
        assert!(buckets < 4 * STEPS, "the scan ends");
    }
    assert!(staying.is_subset(&found));
}

struct Expire<'a> {
    world: &'a Hashes,
    keep: &'a BTreeSet<Location>,
    seen: Vec<Location>,
}

impl DeadlineVisitor for Expire<'_> {
    fn prefetch(&self, at: Location) {
        self.world.prefetch(at);
    }

    fn visit(&mut self, _: EntrySlot, entry: Entry) -> Option<Tick> {
        let at = entry.location();
        self.seen.push(at);
        self.keep.contains(&at).then_some(Tick(900))
    }
}

#[test]
fn a_sweep_visits_every_entry_that_may_be_due_and_removes_the_expired() {
    let mut world = World::new(3);
    (0..STEPS / 2).for_each(|_| world.insert());
    let keep: BTreeSet<Location> = world.model.keys().step_by(2).copied().collect();
    let sweep = |world: &World, now| {
        let mut visitor = Expire { world: &world.hashes, keep: &keep, seen: Vec::new() };
        let mut at = Some(world.start());
        while let Some(from) = at {
            at =
                world.index.sweep_deadlines(&world.blocks, from, Some(Tick(now)), 16, &mut visitor);
        }
        visitor.seen.len()
    };
    assert_eq!(sweep(&world, 99), 0);
    let with_deadline = world.model.values().filter(|entry| entry.is_timed()).count();
    assert_eq!(sweep(&world, 100), with_deadline);
    world.model.retain(|at, entry| !entry.is_timed() || keep.contains(at));
    world.verify();
    assert_eq!(sweep(&world, 899), 0);
}

#[test]
fn a_block_is_at_least_85_percent_full_before_it_grows() {
    if cfg!(miri) {
        return;
    }
    let mut world = World::new(11);
    let (mut buckets, mut lowest) = (0, 1.0_f64);
    for _ in 0..40_000 {
        let before = world.index.buckets(&world.blocks);
        let load = world.index.len() as f64 / (before.max(1) * 7) as f64;
        world.insert();
        buckets = world.index.buckets(&world.blocks);
        if buckets != before && before > 64 {
            lowest = lowest.min(load);
        }
    }
    assert!(buckets > 2000);
    println!("lowest load before growth of the whole index: {lowest:.3}");
}

#[test]
fn an_index_that_was_sized_takes_its_entries_without_growing() {
    let counts = if cfg!(miri) { vec![40] } else { vec![0, 1, 403, 404, 6_000, 7_000, 100_000] };
    for entries in counts {
        let mut world = World::new(entries);
        world.index.reserve(&world.blocks, entries);
        let touched = world.blocks.touched_bytes();
        (0..entries).for_each(|_| world.insert());
        world.verify();
        assert_eq!(world.blocks.load_before_growth(), 0.0, "{entries} entries");
        if touched > 0 {
            assert_eq!(world.blocks.touched_bytes(), touched, "{entries} entries");
            assert!(touched < 24 * entries, "{touched} bytes for {entries} entries");
        }
        // It is sized once, and grows and shrinks as others do.
        world.index.reserve(&world.blocks, if cfg!(miri) { 2 } else { 100 } * entries);
        (0..entries).for_each(|_| world.insert());
        world.verify();
        (0..2 * entries).for_each(|_| world.remove());
        world.verify();
        world.index.clear(&world.blocks);
        assert_eq!(world.blocks.touched_bytes(), 0);
    }
}

#[test]
fn an_index_for_which_there_is_no_room_grows_on_the_way() {
    let mut world = World::new(1);
    let too_many: &[u64] = if cfg!(miri) { &[u64::MAX] } else { &[u64::MAX, 1 << 40, 2_000_000] };
    for &entries in too_many {
        world.index.reserve(&world.blocks, entries);
        assert_eq!(world.blocks.touched_bytes(), 0, "64 frames cannot hold {entries} entries");
    }
    (0..if cfg!(miri) { 50 } else { 1_000 }).for_each(|_| world.insert());
    world.verify();
}

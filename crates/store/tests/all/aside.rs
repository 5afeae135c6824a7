//! What was set aside returns whole, or goes without a trace, also while a snapshot reads it.

use base::{KeyHasher, Millis};
use std::collections::BTreeMap;
use store::value::set::{self, SetLimit};
use store::{
    Copies, Cut, Encoding, Expiry, Flush, ScanFilter, Scanned, Store, StoreConfig, ThreadContext,
};

pub const NOW: Millis = Millis(1_000_000);
pub const DATABASES: usize = 4;
const LIMIT: SetLimit = SetLimit { integers: 8, members: 8, member_bytes: 8 };

/// Names of the keys of each database.
pub type Model = BTreeMap<usize, Vec<Vec<u8>>>;

pub struct World {
    pub store: Store,
    pub thread: ThreadContext,
}

impl World {
    pub fn new() -> World {
        let hasher = KeyHasher::from_seed(6);
        let config = StoreConfig { databases: DATABASES, hasher, address_space: Some(256 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("a thread");
        store.enter(&thread);
        World { store, thread }
    }

    /// Adds strings, and sets that are trees.
    pub fn fill(&mut self, database: usize, names: std::ops::Range<usize>) {
        let World { store, thread } = self;
        for number in names {
            let name = number.to_string();
            let key = store.key(store.keyspace(database).expect("one"), name.as_bytes());
            store.reserve(thread, 64 << 10, NOW).expect("room");
            let mut access = store.lock(thread, &key, NOW).muted();
            if number.is_multiple_of(50) {
                let members: Vec<Vec<u8>> =
                    (0..2_000).map(|at| format!("member {at}").into_bytes()).collect();
                set::add(&mut access, &key, members.iter().map(Vec::as_slice), LIMIT)
                    .expect("room");
            } else {
                access.set_string(&key, b"value", Encoding::Raw, Expiry::Never).expect("room");
            }
        }
    }

    pub fn model(&mut self) -> Model {
        let World { store, thread } = self;
        store.leave(thread);
        let mut model = Model::new();
        for database in 0..DATABASES {
            let keyspace = store.keyspace(database).expect("one");
            let (mut names, filter) = (Vec::new(), ScanFilter::default());
            store.each_key(thread, Scanned { keyspace, now: NOW, filter }, |key| {
                names.push(key.to_vec());
                true
            });
            assert_eq!(names.len() as u64, store.len(database));
            names.sort();
            model.insert(database, names);
        }
        store.enter(thread);
        model
    }

    pub fn free_lazily(&mut self) {
        while self.store.free_some(&mut self.thread, usize::MAX) {}
    }

    pub fn is_free_of_all(&mut self) {
        self.store.flush(&mut self.thread, Flush::All);
        self.free_lazily();
        assert_eq!(self.store.live_bytes(), 0, "no record is left");
        (0..DATABASES).for_each(|it| assert_eq!(self.store.keyspace_facts(it).bytes, 0));
    }
}

/// Reads a cut to its end; returns how many keys it has.
pub fn keys_of(mut cut: Cut<'_>) -> usize {
    let (mut copies, mut read) = (Copies::default(), 0);
    while cut.take(&mut copies) {
        read += copies.iter().count();
    }
    read
}

#[test]
fn what_was_set_aside_returns_in_place_of_what_came_later() {
    let mut world = World::new();
    // More often than there are ids to spare.
    for round in 0..10 {
        world.fill(0, 0..500);
        world.fill(2, round..40);
        let (before, bytes) = (world.model(), world.store.live_bytes());
        let aside = world.store.set_aside(&mut world.thread);
        assert_eq!(world.store.keys(), 0, "databases are empty then");
        // Others come into the same databases and into new ones, and databases are exchanged.
        world.fill(0, 100..200);
        world.fill(3, 0..300);
        world.store.swap_databases(&mut world.thread, 0, 1, Millis(0));
        world.store.take_back(&mut world.thread, aside);
        assert!(world.model() == before, "round {round}");
        world.free_lazily();
        assert_eq!(world.store.live_bytes(), bytes, "what came later is gone");
    }
    world.is_free_of_all();
}

#[test]
fn what_was_set_aside_goes_when_others_stay() {
    let mut world = World::new();
    for round in 0..10 {
        world.fill(0, 0..500);
        let aside = world.store.set_aside(&mut world.thread);
        world.fill(1, 0..100 + round);
        let later = world.model();
        world.store.drop_aside(&world.thread, aside);
        assert!(world.model() == later, "round {round}");
        world.free_lazily();
    }
    world.is_free_of_all();
}

#[test]
fn a_snapshot_goes_on_reading_what_was_set_aside() {
    for returns in [true, false] {
        let mut world = World::new();
        world.fill(0, 0..500);
        let mut saver = world.store.thread_context().expect("another thread");
        world.store.leave(&world.thread);
        let cut = world.store.cut(&mut saver, NOW, || ()).expect("no other");
        world.store.enter(&world.thread);
        let aside = world.store.set_aside(&mut world.thread);
        for number in 0..100 {
            let name = [number];
            let key = world.store.key(world.store.keyspace(0).expect("one"), &name);
            let mut access = world.store.lock(&mut world.thread, &key, NOW).muted();
            access.set_string(&key, b"later", Encoding::Raw, Expiry::Never).expect("room");
        }
        if returns {
            world.store.take_back(&mut world.thread, aside);
        } else {
            world.store.drop_aside(&world.thread, aside);
        }
        world.store.leave(&world.thread);
        assert_eq!(keys_of(cut), 500, "each key of the cut once");
        world.store.enter(&world.thread);
        assert_eq!(world.store.len(0), if returns { 500 } else { 100 });
        world.is_free_of_all();
    }
}

//! What is beside takes the place of all databases in one step, or goes without a trace.

use crate::aside::{DATABASES, NOW, World, keys_of};
use base::Millis;
use std::collections::BTreeMap;
use store::{Beside, Encoding, Expiry, Store, ThreadContext};

/// Adds strings beside what there is.
fn fill_beside(
    (store, thread): (&Store, &mut ThreadContext),
    beside: &Beside,
    database: usize,
    names: std::ops::Range<usize>,
) {
    for name in names {
        let keyspace = store.keyspace_beside(beside, database).expect("one is free");
        let name = name.to_string();
        let key = store.key(keyspace, name.as_bytes());
        store.reserve(thread, 64 << 10, NOW).expect("room");
        let mut access = store.lock(thread, &key, NOW).muted();
        access.set_string(&key, b"value", Encoding::Raw, Expiry::Never).expect("room");
    }
}

fn names(numbers: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = numbers.map(|it| it.to_string().into_bytes()).collect();
    names.sort();
    names
}

#[test]
fn what_is_beside_is_seen_by_nobody_and_then_is_all_there_is() {
    let mut world = World::new();
    // More often than there are ids to spare.
    for round in 0..10 {
        world.fill(0, 0..500);
        world.fill(2, round..40);
        let before = world.model();
        let beside = Beside::default();
        fill_beside((&world.store, &mut world.thread), &beside, 0, 100..700);
        fill_beside((&world.store, &mut world.thread), &beside, 3, 0..30);
        assert!(world.model() == before, "round {round}");
        assert_eq!(world.store.keys_beside(&beside), 630);
        // What happens to the databases meanwhile goes with them.
        world.fill(1, 0..10);
        world.store.swap_databases(&mut world.thread, 0, 1, Millis(0));
        let mut acts = 0;
        world.store.take_place(&mut world.thread, beside, || acts += 1);
        let empty = (0..DATABASES).map(|database| (database, Vec::new()));
        let mut expected: BTreeMap<_, _> = empty.collect();
        expected.insert(0, names(100..700));
        expected.insert(3, names(0..30));
        assert!(world.model() == expected && acts == 1, "round {round}");
        assert_eq!(world.store.keys(), 630);
        world.is_free_of_all();
    }
}

#[test]
fn what_is_beside_and_dropped_leaves_nothing() {
    let mut world = World::new();
    world.fill(0, 0..500);
    let (before, bytes) = (world.model(), world.store.live_bytes());
    for _ in 0..10 {
        let beside = Beside::default();
        fill_beside((&world.store, &mut world.thread), &beside, 0, 0..600);
        fill_beside((&world.store, &mut world.thread), &beside, 1, 0..600);
        assert!(world.store.keyspace_beside(&beside, DATABASES).is_none());
        world.store.drop_beside(&world.thread, beside);
        world.free_lazily();
        assert!(world.model() == before && world.store.live_bytes() == bytes);
    }
    world.is_free_of_all();
}

#[test]
fn a_snapshot_goes_on_reading_what_was_replaced() {
    let mut world = World::new();
    world.fill(0, 0..500);
    let mut saver = world.store.thread_context().expect("another thread");
    world.store.leave(&world.thread);
    let cut = world.store.cut(&mut saver, NOW, || ()).expect("no other");
    world.store.enter(&world.thread);
    let beside = Beside::default();
    fill_beside((&world.store, &mut world.thread), &beside, 0, 600..700);
    world.store.take_place(&mut world.thread, beside, || {});
    world.store.leave(&world.thread);
    assert_eq!(keys_of(cut), 500, "each key of the cut once");
    world.store.enter(&world.thread);
    assert_eq!(world.store.len(0), 100);
    world.is_free_of_all();
}

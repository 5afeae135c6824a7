//! Guards against a map, in little memory, so that Miri can follow every step.

use super::thread_context::ThreadContext;
use super::{Author, Change, Event, Guard, Interests, Listener, Reason, ShardSet, Shards, Unit};
use crate::key::{Encoding, Key, Kind, ValueTag};
use base::{Gate, KeyHasher, KeyspaceId, Millis, Random, ShardId};
use heap::Head;
use index::{Index, Position};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tree::{Nodes, NodesMut};

const STEPS: usize = if cfg!(miri) { 120 } else { 20_000 };
const NAMES: u64 = 12;
const STRING: ValueTag = ValueTag::new(Kind::String, Encoding::Raw);
const PACKED: ValueTag = ValueTag::new(Kind::List, Encoding::Listpack);
const NOW: Millis = Millis(1_000);
const WRITTEN: Event = Event::string("set");

/// Value tag, value and deadline of every key.
type Model = BTreeMap<Vec<u8>, (ValueTag, Vec<u8>, Option<Millis>)>;

struct World {
    shards: Arc<Shards>,
    thread: ThreadContext,
    survivors: Head,
    model: Model,
    random: Random,
}

impl World {
    fn new(seed: u64) -> World {
        let shards = Shards::new(1, KeyHasher::from_seed(seed), Some(64 << 20));
        let gate = Gate::new();
        World {
            shards: shards.expect("address space"),
            thread: ThreadContext::new(
                gate.join().expect("the first thread"),
                narrow::to_usize(seed),
            ),
            survivors: Head::new(),
            model: Model::new(),
            random: Random::from_seed(seed),
        }
    }

    fn name(&mut self) -> Vec<u8> {
        format!("key:{}", self.random.below(NAMES)).into_bytes()
    }

    /// A value whose length is on either side of what fits into a record's room, mostly short.
    fn value(&mut self) -> Vec<u8> {
        let most = if self.random.one_in(8) { 3_000 } else { 70 };
        let (len, byte) = (self.random.below(most) as usize, self.random.next() as u8);
        vec![byte; len]
    }

    fn with<T>(&mut self, name: &[u8], act: impl FnOnce(&mut Guard<'_>, &Key<'_>) -> T) -> T {
        let key = self.shards.key(KeyspaceId(0), name);
        let mut guard = self.shards.lock(&mut self.thread, key.hash.shard(), NOW);
        let done = act(&mut guard, &key);
        guard.report_changes(1, WRITTEN, &key);
        done
    }

    fn step(&mut self) {
        let (name, value) = (self.name(), self.value());
        let deadline = (self.random.one_in(3)).then(|| Millis(NOW.0 + 1 + self.random.below(100)));
        let value_tag = if self.random.one_in(2) { STRING } else { PACKED };
        match self.random.below(8) {
            0..3 => {
                self.with(&name, |guard, key| {
                    let mut key = guard.key_mut(key);
                    key.replace_until(value_tag, &value, deadline).expect("room");
                    assert_eq!((key.value_tag(), key.bytes()), (value_tag, &value[..]));
                });
                self.model.insert(name, (value_tag, value, deadline));
            }
            3 => self.resize(&name, value.len()),
            4 => {
                let removed = self.with(&name, |guard, key| {
                    guard.key_mut(key).existing().map(|mut key| key.remove(Reason::Deleted))
                });
                assert_eq!(removed.is_some(), self.model.remove(&name).is_some());
            }
            5 => self.relocate(&name),
            6 => {
                let is_there = self.with(&name, |guard, key| {
                    let key = guard.key_mut(key).existing();
                    key.map(|mut key| key.set_deadline(deadline).expect("room")).is_some()
                });
                if let Some(held) = self.model.get_mut(&name) {
                    held.2 = deadline;
                }
                assert_eq!(is_there, self.model.contains_key(&name));
            }
            _ => self.change_bytes(&name),
        }
    }

    fn resize(&mut self, name: &[u8], len: usize) {
        let resized = self.with(name, |guard, key| {
            let key = guard.key_mut(key).existing();
            key.map(|mut key| key.resize(len).map(|()| key.bytes().to_vec()).expect("room"))
        });
        assert_eq!(resized.is_some(), self.model.contains_key(name));
        if let (Some(held), Some(resized)) = (self.model.get_mut(name), resized) {
            held.1.resize(len, 0);
            assert_eq!(resized, held.1);
        }
    }

    fn change_bytes(&mut self, name: &[u8]) {
        let byte = self.random.next() as u8;
        self.with(name, |guard, key| {
            if let Some(mut key) = guard.key_mut(key).existing() {
                key.bytes_mut().fill(byte);
            }
        });
        if let Some(held) = self.model.get_mut(name) {
            held.1.fill(byte);
        }
    }

    /// Moves a record as a cleaner does, which knows where it lies.
    fn relocate(&mut self, name: &[u8]) {
        let key = self.shards.key(KeyspaceId(0), name);
        let mut guard = self.shards.lock_quietly(&mut self.thread, key.hash.shard(), NOW);
        let Some(at) = guard.lookup_without_touch(&key).map(|value| value.location()) else {
            return;
        };
        let mut found = guard.key_at(key.keyspace, key.hash, at).expect("it lies there");
        assert!(found.relocate(&mut self.survivors, true));
        assert!(guard.key_at(key.keyspace, key.hash, at).is_none(), "it lies elsewhere now");
    }

    fn verify(&mut self) {
        for number in 0..NAMES {
            let name = format!("key:{number}").into_bytes();
            let key = self.shards.key(KeyspaceId(0), &name);
            let guard = self.shards.lock_quietly(&mut self.thread, key.hash.shard(), NOW);
            let held = guard.lookup_without_touch(&key);
            let held = held.map(|it| (it.value_tag(), it.bytes().to_vec(), it.deadline()));
            assert_eq!(held.as_ref(), self.model.get(&name));
        }
        let indexed: u64 = self.shards.counts_of(KeyspaceId(0)).map(|index| index.bytes()).sum();
        assert_eq!(self.thread.counters.live_bytes.get(), indexed);
    }
}

#[test]
fn values_are_those_of_a_map_and_every_change_is_announced_with_what_was_there() {
    for seed in 0..if cfg!(miri) { 1 } else { 4 } {
        let mut world = World::new(seed);
        let recorder = recorder_of(&world);
        for step in 0..STEPS {
            let before = world.model.clone();
            world.step();
            let announced = std::mem::take(&mut *recorder.before.lock().expect("no panic"));
            for name in before.keys().chain(world.model.keys()) {
                let old = before.get(name);
                if old != world.model.get(name) {
                    let value = old.map(|(_, value, _)| value);
                    let is_it = |it: &Before| it.0 == *name && it.2.as_ref() == value;
                    assert!(announced.iter().any(is_it), "a change of {name:?} was not announced");
                }
            }
            if step % 64 == 0 {
                world.verify();
                recorder.units.lock().expect("no panic").clear();
            }
        }
        world.verify();
    }
}

#[test]
fn nodes_of_a_key_stay_its_own_until_it_goes() {
    let mut world = World::new(5);
    let text = vec![7_u8; 500];
    let id = world.with(b"tree", |guard, key| {
        let mut key = guard.key_mut(key);
        let id = key.new_collection().expect("a number");
        let mut nodes = key.nodes_of(id);
        nodes.ensure(4_096).expect("room");
        let made: Vec<_> = (0..3).map(|_| nodes.allocate(100, 200)).collect();
        nodes.bytes_mut(made[1]).fill(3);
        nodes.resize(made[1], 150)[100..].fill(4);
        nodes.resize(made[2], 3_000).fill(5);
        nodes.free(made[0]);
        let mut value = vec![0; 8];
        id.write(&mut value);
        key.replace(ValueTag::of_tree(Kind::List, Encoding::Quicklist), &value).expect("room");
        assert_eq!(key.nodes().bytes(made[1])[99..101], [3, 4]);
        id
    });
    let mut guard = world.shards.lock_owner(&mut world.thread, id, NOW).expect("it has an owner");
    let mut nodes = guard.collection(id).expect("it is open");
    let at = nodes.find(2).expect("it was allocated");
    assert!(nodes.relocate((2, at), &mut world.survivors, false));
    assert_eq!(guard.owner_of(id).expect("its key").key().bytes, b"tree");
    drop(guard);
    // Another value takes the place of the tree, whose nodes are left to lazy free.
    world.with(b"tree", |guard, key| guard.key_mut(key).replace(STRING, &text)).expect("room");
    let dying = world.shards.next_dying().expect("the tree");
    assert_eq!(dying.id, id);
    let mut guard = world.shards.lock_owner(&mut world.thread, id, NOW).expect("the same shard");
    let mut nodes = guard.collection(id).expect("it is open");
    let dropped = nodes.drop_nodes(dying.next, usize::MAX);
    assert!(dropped.nodes == 2 && dropped.bytes > 3_150 && dropped.next.is_none());
    guard.close_collection(id);
    assert!(guard.collection(id).is_none());
    drop(guard);
    world.model.insert(b"tree".to_vec(), (STRING, text, None));
    let indexed: u64 = world.shards.counts_of(KeyspaceId(0)).map(|index| index.bytes()).sum();
    assert_eq!(world.thread.counters.live_bytes.get(), indexed);
}

#[test]
fn keys_with_deadlines_are_visited_without_a_look_at_others() {
    let mut world = World::new(11);
    let mut volatile = BTreeSet::new();
    for number in 0..if cfg!(miri) { 60 } else { 6_000_u64 } {
        let name = format!("key:{number}").into_bytes();
        let deadline = number.is_multiple_of(20).then_some(Millis(NOW.0 + 1_000));
        world.with(&name, |guard, key| {
            guard.key_mut(key).replace_until(STRING, b"value", deadline).expect("room");
        });
        volatile.extend(deadline.map(|_| name));
    }
    let mut seen = BTreeSet::new();
    for shard in ShardId::all() {
        let mut at = Some(Position::of_shard(shard));
        while let Some(from) = at {
            let mut guard = world.shards.lock_quietly(&mut world.thread, shard, NOW);
            at = guard.visit_volatile(KeyspaceId(0), from, |key| {
                assert!(seen.insert(key.key().bytes.to_vec()), "a key is visited once");
                if seen.len().is_multiple_of(2) {
                    key.remove(Reason::Evicted);
                }
            });
        }
    }
    assert_eq!(seen, volatile);
    let left: u64 = world.shards.counts_of(KeyspaceId(0)).map(Index::with_deadline).sum();
    assert_eq!(left, (volatile.len() - volatile.len() / 2) as u64);
}

/// A key before a change, the reason for its removal, and its old value.
type Before = (Vec<u8>, Option<Reason>, Option<Vec<u8>>);

/// Listener that keeps what it is notified of.
#[derive(Debug, Default)]
struct Recorder {
    before: Mutex<Vec<Before>>,
    units: Mutex<Vec<Unit>>,
}

impl Listener for Recorder {
    fn before(&self, change: &Change<'_>) {
        let old = change.old.map(|value| value.bytes.to_vec());
        let seen = (change.key.bytes.to_vec(), change.removal, old);
        self.before.lock().expect("no panic").push(seen);
    }

    fn unit(&self, unit: &Unit, _: Author) {
        self.units.lock().expect("no panic").push(unit.clone());
    }
}

fn recorder_of(world: &World) -> Arc<Recorder> {
    let recorder = Arc::new(Recorder::default());
    let listener: Arc<dyn Listener> = recorder.clone();
    world.shards.listeners.add(&listener);
    world.shards.listeners.set_interest(Interests::all(), true);
    recorder
}

#[test]
fn a_change_is_announced_while_the_old_value_can_be_read_and_delivered_as_one_unit() {
    let mut world = World::new(3);
    world.with(b"k", |guard, key| guard.key_mut(key).replace(STRING, b"old")).expect("room");
    let recorder = recorder_of(&world);
    world.with(b"k", |guard, key| {
        guard.record_request(KeyspaceId(0), |to| to.extend_from_slice(b"*1\r\n$5\r\nASKED\r\n"));
        let mut key = guard.key_mut(key);
        key.replace(STRING, b"a longer one, elsewhere").expect("room");
        key.bytes_mut()[0] = b'A';
    });
    let before = std::mem::take(&mut *recorder.before.lock().expect("no panic"));
    let change = |old: &[u8]| (b"k".to_vec(), None, Some(old.to_vec()));
    assert_eq!(before, [change(b"old"), change(b"a longer one, elsewhere")]);
    let units = std::mem::take(&mut *recorder.units.lock().expect("no panic"));
    assert_eq!(units.len(), 1);
    assert_eq!(units[0].args(&units[0].effects[0]), [b"ASKED".to_vec()]);
    assert_eq!((units[0].events.len(), units[0].events[0].event), (1, WRITTEN));
}

#[test]
fn an_unseen_change_is_delivered_as_a_unit_and_not_announced_before() {
    let mut world = World::new(5);
    world.with(b"k", |guard, key| guard.key_mut(key).replace(STRING, b"old")).expect("room");
    let recorder = recorder_of(&world);
    world.with(b"k", |guard, key| {
        guard.record_request(KeyspaceId(0), |to| to.extend_from_slice(b"*1\r\n$5\r\nASKED\r\n"));
        let mut key = guard.key_mut(key);
        key.unseen(|key| key.bytes_mut()[0] = b'O');
        assert!(key.guard().has_key_listener(), "what follows is seen");
    });
    assert!(recorder.before.lock().expect("no panic").is_empty());
    let units = recorder.units.lock().expect("no panic");
    assert_eq!(units[0].args(&units[0].effects[0]), [b"ASKED".to_vec()]);
    assert_eq!((units[0].events.len(), units[0].events[0].event), (1, WRITTEN));
}

#[test]
fn a_removal_that_nobody_asked_for_reports_what_it_is() {
    let mut world = World::new(4);
    let end = Some(Millis(NOW.0 - 1));
    world
        .with(b"late", |guard, key| guard.key_mut(key).replace_until(STRING, b"v", end))
        .expect("room");
    let recorder = recorder_of(&world);
    let key = world.shards.key(KeyspaceId(0), b"late");
    let mut guard = world.shards.lock(&mut world.thread, key.hash.shard(), NOW);
    assert!(guard.read(&key).is_none());
    drop(guard);
    let before = recorder.before.lock().expect("no panic");
    assert_eq!(*before, [(b"late".to_vec(), Some(Reason::Expired), Some(b"v".to_vec()))]);
    let units = recorder.units.lock().expect("no panic");
    assert_eq!(units[0].args(&units[0].effects[0]), [b"UNLINK".to_vec(), b"late".to_vec()]);
    assert_eq!(units[0].events[0].event, Event::EXPIRED);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "who changes a value says what has happened"]
fn locks_are_not_given_up_before_a_change_is_reported() {
    let mut world = World::new(6);
    let key = world.shards.key(KeyspaceId(0), b"k");
    let mut guard = world.shards.lock(&mut world.thread, key.hash.shard(), NOW);
    guard.key_mut(&key).replace(STRING, b"v").expect("room");
}

#[test]
#[should_panic = "a thread has one guard at a time"]
fn a_thread_that_has_locked_several_shards_locks_no_others_beside_them() {
    let mut world = World::new(8);
    let set = |shards: [u8; 2]| {
        let mut set = ShardSet::new();
        shards.into_iter().for_each(|shard| set.add_shard(ShardId(shard)));
        set
    };
    let mut guard = world.shards.lock_all(&mut world.thread, set([1, 2]), NOW);
    drop(world.shards.lock_all(guard.thread(), set([3, 4]), NOW));
}

#[test]
fn commands_of_a_hold_borrow_its_locks_and_make_one_unit() {
    let mut world = World::new(7);
    let recorder = recorder_of(&world);
    let names: [&[u8]; 3] = [b"a", b"b", b"c"];
    let mut set = ShardSet::new();
    names.iter().for_each(|name| set.add(world.shards.hasher.hash(name)));
    let mut hold = world.shards.hold(&mut world.thread, set);
    for name in names {
        let key = world.shards.key(KeyspaceId(0), name);
        let mut guard = world.shards.lock(hold.thread(), key.hash.shard(), NOW);
        guard.record_request(KeyspaceId(0), |to| to.extend_from_slice(b"*1\r\n$5\r\nASKED\r\n"));
        guard.key_mut(&key).replace(STRING, b"v").expect("room");
        guard.report_changes(1, WRITTEN, &key);
    }
    assert!(recorder.units.lock().expect("no panic").is_empty(), "the unit is not complete");
    drop(hold);
    let units = recorder.units.lock().expect("no panic");
    assert_eq!(units.len(), 1);
    assert_eq!(units[0].effects.len(), 3);
    drop(units);
    // The locks are free again: they can be taken without waiting.
    assert!(world.shards.try_hold(&mut world.thread, set).is_some());
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "only keys that the unit has locked"]
fn a_command_of_a_hold_reaches_no_other_keys() {
    let mut world = World::new(8);
    let [one, other] = [b"a", b"b"].map(|name| world.shards.key(KeyspaceId(0), name));
    assert_ne!(one.hash.shard(), other.hash.shard());
    let mut set = ShardSet::new();
    set.add(one.hash);
    let mut hold = world.shards.hold(&mut world.thread, set);
    drop(world.shards.lock(hold.thread(), other.hash.shard(), NOW));
}

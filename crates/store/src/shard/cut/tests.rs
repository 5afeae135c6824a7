//! Cuts in little memory, so that Miri can follow every step.

use super::super::{CollectionId, Guard, Shards};
use super::copies::BLOCK_BYTES;
use super::{Copied, Copies};
use crate::key::{Encoding, Key, Kind, ValueTag};
use crate::shard::{Event, Reason, ThreadContext};
use base::{Gate, KeyHasher, KeyspaceId, Location, Millis, Random, ShardId};
use heap::Head;
use std::collections::BTreeMap;
use std::sync::Arc;
use tree::{NodeId, Nodes, NodesMut};

const STEPS: usize = if cfg!(miri) { 60 } else { 600 };
const NODES: u64 = if cfg!(miri) { 6 } else { 900 };
const KEYS: u64 = if cfg!(miri) { 20 } else { 2_000 };
const ROUNDS: u64 = if cfg!(miri) { 1 } else { 60 };
const NOW: Millis = Millis(1_000);
const DATABASE: KeyspaceId = KeyspaceId(0);

const STRING: ValueTag = ValueTag::new(Kind::String, Encoding::Raw);

/// Bytes of the nodes of a collection.
type Content = BTreeMap<NodeId, Vec<u8>>;

struct World {
    shards: Arc<Shards>,
    thread: ThreadContext,
    survivors: Head,
    random: Random,
}

impl World {
    fn new(seed: u64) -> World {
        let shards = Shards::new(1, KeyHasher::from_seed(seed), Some(256 << 20));
        let gate = Gate::new();
        World {
            shards: shards.expect("address space"),
            thread: ThreadContext::new(
                gate.join().expect("the first thread"),
                narrow::to_usize(seed),
            ),
            survivors: Head::new(),
            random: Random::from_seed(seed),
        }
    }

    fn with<T>(&mut self, name: &[u8], act: impl FnOnce(&mut Guard<'_>, &Key<'_>) -> T) -> T {
        let key = self.shards.key(DATABASE, name);
        let mut guard = self.shards.lock(&mut self.thread, key.hash.shard(), NOW);
        let done = act(&mut guard, &key);
        guard.report_changes(1, Event::string("set"), &key);
        done
    }

    fn bytes(&mut self) -> Vec<u8> {
        vec![self.random.next() as u8; 1 + self.random.below(200) as usize]
    }

    /// Makes a key whose value is a tree of some nodes.
    fn plant(&mut self, name: &[u8]) -> (CollectionId, Content) {
        let all: Vec<Vec<u8>> = (0..NODES).map(|_| self.bytes()).collect();
        self.with(name, |guard, key| {
            let mut key = guard.key_mut(key);
            let id = key.new_collection().expect("a number");
            let mut nodes = key.nodes_of(id);
            let mut content = Content::new();
            for bytes in all {
                nodes.ensure(bytes.len() + 64).expect("room");
                let node = nodes.allocate(bytes.len(), bytes.len());
                nodes.bytes_mut(node).copy_from_slice(&bytes);
                content.insert(node, bytes);
            }
            let mut value = vec![0; 8];
            id.write(&mut value);
            key.replace(ValueTag::of_tree(Kind::List, Encoding::Quicklist), &value).expect("room");
            (id, content)
        })
    }

    fn any_node(&mut self, content: &Content) -> Option<NodeId> {
        let at = self.random.below(content.len().max(1) as u64) as usize;
        content.keys().nth(at).copied()
    }

    /// Changes a node of a tree in some way.
    fn change_node(&mut self, name: &[u8], content: &mut Content) {
        let (bytes, choice) = (self.bytes(), self.random.below(5));
        let Some(node) = self.any_node(content) else { return };
        self.with(name, |guard, key| {
            let mut key = guard.key_mut(key);
            let mut nodes = key.nodes_mut();
            match choice {
                0 => {
                    nodes.free(node);
                    content.remove(&node);
                }
                1 => {
                    nodes.ensure(512).expect("room");
                    let node = nodes.allocate(bytes.len(), bytes.len());
                    nodes.bytes_mut(node).copy_from_slice(&bytes);
                    content.insert(node, bytes);
                }
                2 => {
                    nodes.bytes_mut(node).fill(bytes[0]);
                    content.get_mut(&node).expect("it is there").fill(bytes[0]);
                }
                _ => {
                    nodes.resize(node, bytes.len()).copy_from_slice(&bytes);
                    content.insert(node, bytes);
                }
            }
        });
    }

    /// Moves the record of a node, as a cleaner does.
    fn move_node(&mut self, id: CollectionId, node: NodeId, is_frozen: bool) {
        let World { shards, thread, survivors, .. } = self;
        let at = if is_frozen {
            let guard = shards.lock_owner(thread, id, NOW).expect("it has an owner");
            guard.frozen_at(id, node)
        } else {
            let mut guard = shards.lock_owner(thread, id, NOW).expect("it has an owner");
            guard.collection(id).and_then(|nodes| nodes.find(node))
        };
        if let Some(at) = at {
            let mut guard = shards.lock_owner(thread, id, NOW).expect("it has an owner");
            let mut nodes = guard.collection(id).expect("it is open");
            assert!(nodes.relocate((node, at), survivors, false));
        }
    }

    fn assert_live(&mut self, name: &[u8], content: &Content) {
        let id = self.with(name, |guard, key| {
            let key = guard.key_mut(key);
            for (node, bytes) in content {
                assert_eq!(key.nodes().bytes(*node), &bytes[..], "node {node}");
            }
            key.collection().expect("a tree")
        });
        let mut guard = self.shards.lock_owner(&mut self.thread, id, NOW).expect("its key");
        let nodes = guard.collection(id).expect("it is open");
        let numbers: Vec<NodeId> =
            (1..nodes.end()).filter(|it| nodes.find(*it).is_some()).collect();
        assert!(numbers.iter().eq(content.keys()));
    }

    fn assert_frozen(&mut self, copied: &Copied<'_>, content: &Content) {
        let id = copied.collection().expect("a tree");
        let guard = self.shards.lock_owner(&mut self.thread, id, NOW).expect("an owner");
        let value = guard.frozen_value(copied, NOW);
        for (node, bytes) in content {
            assert_eq!(value.nodes().bytes(*node), &bytes[..], "frozen node {node}");
        }
    }

    fn take_all(&mut self) -> (Vec<Copies>, Vec<CollectionId>) {
        let (mut copies, mut frozen) = (Vec::new(), Vec::new());
        for shard in ShardId::all() {
            let mut guard = self.shards.lock_quietly(&mut self.thread, shard, NOW);
            copies.extend(guard.take_handed(shard, &mut frozen));
        }
        (copies, frozen)
    }

    fn let_go(&mut self, id: CollectionId) {
        let mut next = Some(0);
        while let Some(from) = next {
            let mut guard = self.shards.lock_owner(&mut self.thread, id, NOW).expect("an owner");
            next = guard.let_go_some(id, from);
        }
    }

    /// Ends a cut of which these copies were taken.
    fn forget(&mut self, copies: &[Copies]) {
        self.shards.end_cut();
        copies.iter().for_each(|block| self.shards.cuts.written(block));
        for shard in ShardId::all() {
            let mut guard = self.shards.lock_quietly(&mut self.thread, shard, NOW);
            let (_, left) = guard.forget_cut(shard, &mut Vec::new());
            left.iter().for_each(|block| self.shards.cuts.written(block));
        }
    }

    /// Ends a cut, and lets go of a tree.
    fn end(&mut self, id: CollectionId, copies: &[Copies]) {
        self.forget(copies);
        self.let_go(id);
    }

    /// Removes a key and its nodes, after which no byte is left.
    fn clear(&mut self, name: &[u8]) {
        self.with(name, |guard, key| {
            guard.key_mut(key).existing().map(|mut key| key.remove(Reason::Deleted));
        });
        while let Some(dying) = self.shards.next_dying() {
            let guard = self.shards.lock_owner(&mut self.thread, dying.id, NOW);
            let mut guard = guard.expect("it is closed last");
            let mut nodes = guard.collection(dying.id).expect("it is open");
            let mut next = Some(dying.next);
            while let Some(from) = next {
                next = nodes.drop_nodes(from, usize::MAX).next;
            }
            guard.close_collection(dying.id);
        }
        assert_eq!(self.thread.counters.live_bytes.get(), 0);
        assert_eq!(self.shards.budget.dying(), 0);
        assert_eq!(self.retained(), 0);
    }

    /// Bytes that only the snapshot holds.
    fn retained(&self) -> u64 {
        self.shards.cuts.retained_beside_records() + self.shards.cuts.retained_in_records()
    }
}

impl Guard<'_> {
    fn frozen_at(&self, id: CollectionId, node: NodeId) -> Option<Location> {
        // SAFETY: the owner's shard is locked.
        unsafe { self.shards.collections.frozen(id) }?.find(node)
    }
}

#[test]
fn a_frozen_tree_stays_as_it_was_whatever_becomes_of_its_nodes() {
    for seed in 0..ROUNDS {
        let mut world = World::new(seed);
        let (id, mut content) = world.plant(b"tree");
        let frozen = content.clone();
        world.shards.begin_cut(vec![DATABASE]);
        world.change_node(b"tree", &mut content);
        let (copies, taken) = world.take_all();
        assert_eq!(taken, [id]);
        let copied = copies.iter().flat_map(Copies::iter).next().expect("the tree was handed over");
        for step in 0..STEPS {
            world.change_node(b"tree", &mut content);
            let (node, is_frozen) = (1 + world.random.below(NODES), world.random.one_in(2));
            world.move_node(id, node as NodeId, is_frozen);
            if step % 16 == 0 {
                world.assert_live(b"tree", &content);
                world.assert_frozen(&copied, &frozen);
            }
        }
        world.end(id, &copies);
        world.assert_live(b"tree", &content);
        world.clear(b"tree");
    }
}

#[test]
fn a_frozen_tree_outlives_its_key_and_a_key_outlives_its_frozen_tree() {
    for removes_first in [false, true] {
        let mut world = World::new(9);
        let (id, mut content) = world.plant(b"tree");
        let frozen = content.clone();
        world.shards.begin_cut(vec![DATABASE]);
        if removes_first {
            world.with(b"tree", |guard, key| guard.key_mut(key).remove(Reason::Deleted));
            assert!(world.shards.next_dying().is_none(), "lazy free would take what is read");
            assert_eq!(world.shards.budget.dying(), 0, "nobody shall wait for it");
            let mut guard = world.shards.lock_owner(&mut world.thread, id, NOW).expect("an owner");
            let is_dying = guard.collection(id).is_some_and(|nodes| nodes.is_dying());
            assert!(!is_dying, "the cleaner would drop what is read");
        } else {
            (0..STEPS).for_each(|_| world.change_node(b"tree", &mut content));
        }
        let (copies, _) = world.take_all();
        let copied = copies.iter().flat_map(Copies::iter).next().expect("the tree was handed over");
        (1..4).for_each(|node| world.move_node(id, node, true));
        world.assert_frozen(&copied, &frozen);
        world.end(id, &copies);
        if !removes_first {
            world.assert_live(b"tree", &content);
        }
        world.clear(b"tree");
    }
}

/// Name, value and deadline.
type SavedKey = (Vec<u8>, Vec<u8>, Option<Millis>);

impl World {
    fn change_string(&mut self, model: &mut BTreeMap<Vec<u8>, (Vec<u8>, Option<Millis>)>) {
        let (name, value) = (format!("key:{}", self.random.below(KEYS)).into_bytes(), self.bytes());
        let deadline = self.random.one_in(3).then(|| Millis(5_000 + self.random.below(100)));
        let choice = self.random.below(4);
        self.with(&name, |guard, key| match (choice, guard.key_mut(key).existing()) {
            (0, Some(mut key)) => {
                key.remove(Reason::Deleted);
                model.remove(&name);
            }
            (1, Some(mut key)) => {
                key.set_deadline(deadline).expect("room");
                model.get_mut(&name).expect("it is there").1 = deadline;
            }
            (2, Some(mut key)) => {
                key.bytes_mut().fill(value[0]);
                model.get_mut(&name).expect("it is there").0.fill(value[0]);
            }
            _ => {
                guard.key_mut(key).replace_until(STRING, &value, deadline).expect("room");
                model.insert(name.clone(), (value, deadline));
            }
        });
    }

    fn copy_next(&mut self, shard: ShardId) -> (Copies, bool) {
        let (mut copies, mut frozen) = (Copies::default(), Vec::new());
        let mut guard = self.shards.lock_quietly(&mut self.thread, shard, NOW);
        let is_more = guard.copy_some((0, DATABASE), shard, &mut copies, &mut frozen);
        (copies, is_more)
    }
}

fn saved_keys(copies: &Copies, shards: &Shards) -> Vec<SavedKey> {
    let saved = |copied: Copied<'_>| {
        let value = shards.copied_value(&copied, NOW).expect("a string");
        (copied.key().to_vec(), value.bytes().to_vec(), copied.deadline())
    };
    copies.iter().map(saved).collect()
}

#[test]
fn nodes_that_only_a_snapshot_reads_are_counted_and_the_budget_leaves_them_out() {
    const BUDGET: u64 = 100 << 20;
    for removes in [false, true] {
        let mut world = World::new(5);
        world.shards.heap.set_budget(BUDGET, 1 << 20);
        let (id, mut content) = world.plant(b"tree");
        world.shards.begin_cut(vec![DATABASE]);
        let before = world.thread.counters.live_bytes.get();
        let nodes: Vec<NodeId> = content.keys().copied().collect();
        for node in nodes {
            let fill = |guard: &mut Guard<'_>, key: &Key<'_>| {
                guard.key_mut(key).nodes_mut().bytes_mut(node).fill(7);
            };
            world.with(b"tree", fill);
            content.get_mut(&node).expect("it is there").fill(7);
        }
        let retained = world.shards.cuts.retained_in_records();
        let live = world.thread.counters.live_bytes.get() - before;
        assert!(
            (live..2 * live).contains(&retained),
            "{retained} of {live} bytes of nodes of the cut"
        );
        assert_eq!(world.shards.heap.budget(), BUDGET + retained);
        if removes {
            world.with(b"tree", |guard, key| guard.key_mut(key).remove(Reason::Deleted));
            assert!(world.shards.cuts.retained_in_records() > retained, "its own nodes too");
        }
        let (copies, _) = world.take_all();
        world.end(id, &copies);
        assert_eq!(world.retained(), 0);
        let lent = world.shards.heap.budget() - BUDGET;
        assert!(lent >= retained, "until that was cleaned");
        assert_eq!(world.shards.budget.lent(0, lent / 2), lent / 2);
        assert_eq!(world.shards.budget.lent(0, lent), lent / 2);
        assert_eq!(world.shards.budget.lent(0, 0), 0);
        if !removes {
            world.assert_live(b"tree", &content);
        }
        world.clear(b"tree");
    }
}

#[test]
fn what_is_handed_over_takes_little_more_memory_than_its_records() {
    let (mut world, mut model) = (World::new(3), BTreeMap::new());
    (0..KEYS).for_each(|_| world.change_string(&mut model));
    for _ in 0..3 {
        world.shards.begin_cut(vec![DATABASE]);
        (0..4 * KEYS).for_each(|_| world.change_string(&mut model));
        let waiting = world.shards.cuts.waiting();
        let (blocks, _) = world.take_all();
        let room: usize = blocks.iter().map(Copies::room_bytes).sum();
        let bytes: usize = blocks.iter().map(Copies::byte_len).sum();
        assert_eq!(waiting, room as u64);
        assert!(room <= bytes + bytes / 8 + 256 * BLOCK_BYTES, "{room} for {bytes} bytes");
        world.forget(&blocks);
        assert_eq!(world.retained(), 0);
    }
}

#[test]
fn each_key_is_copied_once_as_it_was_at_the_cut() {
    for seed in 0..ROUNDS {
        let (mut world, mut model) = (World::new(seed), BTreeMap::new());
        (0..KEYS).for_each(|_| world.change_string(&mut model));
        world.shards.begin_cut(vec![DATABASE]);
        let expected = model.clone();
        let mut found = Vec::new();
        for shard in ShardId::all() {
            loop {
                let changes = if cfg!(miri) { u8::from(shard.0 % 16 == 0) } else { 3 };
                (0..changes).for_each(|_| world.change_string(&mut model));
                let (copies, is_more) = world.copy_next(shard);
                found.extend(saved_keys(&copies, &world.shards));
                if !is_more {
                    break;
                }
            }
        }
        for copies in world.take_all().0 {
            found.extend(saved_keys(&copies, &world.shards));
        }
        found.sort_unstable();
        let expected =
            expected.into_iter().map(|(name, (value, deadline))| (name, value, deadline));
        assert_eq!(found, expected.collect::<Vec<_>>());
        world.shards.end_cut();
    }
}

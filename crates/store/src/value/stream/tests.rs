use super::block::{Block, BlockLeaf};
use super::edit::{self, NewEntry, Removed, Tail};
use super::group::{self, AutoClaim, Claim, Given, GroupRead};
use super::{Add, AddError, Bound, Entry, Id, NewId, NodeLimit, Trim};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::Key;
use crate::shard::ThreadContext;
use crate::store::{Store, StoreConfig};
use base::{KeyHasher, KeyspaceId, Millis, Random};
use std::collections::BTreeMap;
use tree::{MemoryNodes, Tree, View};

type Texts = Vec<Vec<u8>>;

fn texts_of(entry: Entry<'_>) -> Texts {
    entry.pairs.flat_map(|(name, value)| [name.to_text(), value.to_text()]).collect()
}

/// Random names and values: repeated and new names, integers, long texts, and very long ones.
fn random_texts(random: &mut Random) -> Texts {
    let pairs = if random.below(8) == 0 { 1 + random.below(5) } else { 2 };
    let name = |at: u64, random: &mut Random| match random.below(20) {
        0 => vec![b'n'; 300],
        1 => b"17".to_vec(),
        2 => format!("other{at}").into_bytes(),
        _ => format!("name{at}").into_bytes(),
    };
    let value = |random: &mut Random| match random.below(24) {
        0 => vec![b'v'; 200 + random.below(200) as usize],
        1 => vec![b'w'; 500 + random.below(4000) as usize],
        2 => Vec::new(),
        3..10 => random.below(1 << 40).to_string().into_bytes(),
        _ => vec![b'x'; random.below(30) as usize],
    };
    (0..pairs).flat_map(|at| [name(at, random), value(random)]).collect()
}

fn random_step(random: &mut Random, last: Id) -> Id {
    match random.below(6) {
        0 => Id { ms: last.ms + 1 + random.below(300), seq: random.below(2) },
        1 => Id { ms: last.ms + 1 + random.below(1 << 33), seq: random.below(1 << 40) },
        2 => Id { seq: last.seq + 1 + random.below(1 << 20), ..last },
        _ => Id { seq: last.seq + 1, ..last },
    }
}

/// Expected entries, with true for those that start a node.
type Model = BTreeMap<Id, (Texts, bool)>;

struct Bench {
    nodes: MemoryNodes,
    root: tree::Root,
    tail: Tail,
    model: Model,
    last: Id,
}

impl Bench {
    fn new() -> Bench {
        let mut nodes = MemoryNodes::default();
        let root = edit::new_tree(&mut nodes).expect("room");
        Bench { nodes, root, tail: Tail::default(), model: Model::new(), last: Id::MIN }
    }

    fn on<T>(
        &mut self,
        act: impl FnOnce(&mut Tree<'_, MemoryNodes, BlockLeaf>, &mut Tail) -> T,
    ) -> T {
        let mut tree = Tree::new(&mut self.nodes, self.root);
        let done = act(&mut tree, &mut self.tail);
        self.root = tree.root;
        done
    }

    fn append(&mut self, id: Id, texts: Texts, starts: bool) {
        self.on(|tree, tail| {
            let new = NewEntry::new(texts.iter().map(Vec::as_slice));
            edit::append(tree, tail, id, starts, &new)
        })
        .expect("room");
        self.model.insert(id, (texts, starts));
        self.last = id;
    }

    fn change<T>(&mut self, act: impl FnOnce(&mut Tree<'_, MemoryNodes, BlockLeaf>) -> T) -> T {
        self.on(|tree, tail| {
            tail.count_in(tree);
            tail.node = 0;
            act(tree)
        })
    }

    fn remove(&mut self, id: Id) {
        let gone = self.model.remove(&id);
        let removed = self.change(|tree| edit::remove(tree, id));
        assert_eq!(removed.is_some(), gone.is_some());
        if let Some((_, true)) = gone {
            let next = self.model.range_mut(id..).next();
            let is_tail_gone = next.is_none();
            let was_start = next.is_none_or(|(_, (_, starts))| std::mem::replace(starts, true));
            let nodes = u32::from(was_start);
            assert_eq!(removed, Some(Removed { nodes, is_tail_gone }));
        }
    }

    fn remove_front(&mut self, count: u64) {
        let starts = |model: &Model| model.values().filter(|(_, starts)| *starts).count();
        let before = starts(&self.model);
        (0..count).for_each(|_| drop(self.model.pop_first()));
        if let Some(mut first) = self.model.first_entry() {
            first.get_mut().1 = true;
        }
        let removed = self.change(|tree| edit::remove_front(tree, count));
        let nodes = (before - starts(&self.model)) as u32;
        assert_eq!(removed, Removed { nodes, is_tail_gone: self.model.is_empty() });
    }

    fn entries(&self) -> Vec<(Id, (Texts, bool))> {
        let view: View<'_, _, BlockLeaf> = View::new(&self.nodes, self.root);
        let (mut path, mut all) = (view.first(), Vec::new());
        loop {
            let block = Block::new(view.leaf(&path));
            all.extend(block.iter().map(|entry| {
                let texts = texts_of(entry.entry(&self.nodes, block.names));
                (entry.id, (texts, entry.starts()))
            }));
            if !view.next(&mut path) {
                return all;
            }
        }
    }

    fn verify(&mut self) {
        let expected: Vec<_> = self.model.clone().into_iter().collect();
        assert_eq!(self.entries(), expected);
        let nodes = self.change(|tree| tree.view().verify()).expect("a sound tree");
        assert_eq!(nodes, self.nodes.len(), "no node is forgotten");
    }

    fn random_id(&self, random: &mut Random) -> Option<Id> {
        let count = self.model.len() as u64;
        let at = random.below(count.max(1)) as usize;
        self.model.keys().nth(at).copied()
    }
}

#[test]
fn blocks_hold_what_was_appended_and_not_removed() {
    for seed in 0..12 {
        let (mut random, mut bench) = (Random::from_seed(seed), Bench::new());
        // Some rounds grow the stream, some keep it nearly empty.
        let weight = 2 + seed % 4;
        for step in 0..1500 {
            match random.below(10) {
                0 => {
                    let count = 1 + random.below(40);
                    bench.remove_front(count.min(bench.model.len() as u64));
                }
                kind if kind <= weight => {
                    if let Some(id) = bench.random_id(&mut random) {
                        bench.remove(id);
                        bench.remove(id);
                    }
                }
                _ => {
                    let id = random_step(&mut random, bench.last);
                    let starts = bench.model.is_empty() || random.below(9) == 0;
                    bench.append(id, random_texts(&mut random), starts);
                }
            }
            if step % 50 == 0 {
                bench.verify();
            }
        }
        bench.verify();
        let all = bench.model.len() as u64;
        bench.remove_front(all);
        assert_eq!(bench.nodes.len(), 1, "an empty stream has one empty block");
    }
}

#[test]
fn an_entry_of_sixteen_bytes_takes_no_more_than_twenty_three() {
    let mut bench = Bench::new();
    let count = 50_000;
    let texts = [&b"f"[..], b"0123456789abcdef"];
    for at in 0..count {
        let id = Id { ms: 1_700_000_000_000 + at / 400, seq: at % 400 };
        bench
            .on(|tree, tail| {
                let new = NewEntry::new(texts.into_iter());
                edit::append(tree, tail, id, at == 0, &new)
            })
            .expect("room");
    }
    let bytes = bench.nodes.byte_len() as u64;
    assert!(bytes < count * 23, "{} bytes for {count} entries", bytes);
}

#[test]
fn blocks_with_different_names_are_not_merged_into_one_that_is_longer() {
    let mut bench = Bench::new();
    let texts = |name: &str| vec![name.repeat(40).into_bytes(), b"v".to_vec()];
    for at in 1..=400 {
        let name = if at <= 200 { "one" } else { "two" };
        bench.append(Id { ms: at, seq: 0 }, texts(name), at == 1);
    }
    let ids: Vec<Id> = bench.model.keys().copied().filter(|id| id.ms % 8 != 0).collect();
    ids.into_iter().for_each(|id| bench.remove(id));
    bench.verify();
    assert!(bench.nodes.byte_len() < 8_192);
}

struct Fixture {
    store: Store,
    thread: ThreadContext,
    now: Millis,
}

const LIMIT: NodeLimit = NodeLimit { entries: 10, bytes: 4096 };

impl Fixture {
    fn new() -> Fixture {
        let hasher = KeyHasher::from_seed(2);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(64 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        Fixture { store, thread, now: Millis(1_000_000) }
    }

    fn on<T>(&mut self, act: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T) -> T {
        let key = self.store.key(KeyspaceId(0), b"s");
        act(&mut self.store.lock(&mut self.thread, &key, self.now).muted(), &key)
    }

    fn add(&mut self, id: NewId, texts: &[Vec<u8>]) -> Result<Id, AddError> {
        let add = Add { id, only_existing: false, trim: None, limit: LIMIT };
        let texts = texts.iter().map(Vec::as_slice);
        let added = self.on(|access, key| super::add(access, key, add, texts))?;
        Ok(added.expect("the stream is made").id)
    }

    fn trim(&mut self, to: Bound, whole_nodes: Option<u64>) -> u64 {
        let how = Trim { to, whole_nodes };
        self.on(|access, key| super::trim(access, key, how)).expect("a stream")
    }

    fn entries(&mut self, from: Id, to: Id) -> Vec<(Id, Texts)> {
        self.on(|access, key| {
            let stream =
                super::lookup_without_touch(access, key).expect("a stream").expect("it is there");
            let there: Vec<_> = stream.range(from, to).map(|it| (it.id, texts_of(it))).collect();
            let mut back: Vec<_> =
                stream.range_back(from, to).map(|it| (it.id, texts_of(it))).collect();
            back.reverse();
            assert_eq!(there, back);
            there
        })
    }

    fn clean(&mut self) {
        self.store.clean_at_rest(&mut self.thread, 1 << 16, self.now);
    }
}

#[test]
fn streams_hold_what_was_added_while_records_are_moved() {
    let (mut random, mut fixture) = (Random::from_seed(5), Fixture::new());
    let (mut model, mut last) = (BTreeMap::new(), Id::MIN);
    for step in 0..6_000_u64 {
        match random.below(16) {
            0..10 => {
                last = random_step(&mut random, last);
                let texts = random_texts(&mut random);
                assert_eq!(fixture.add(NewId::Given(last), &texts), Ok(last));
                assert_eq!(fixture.add(NewId::Given(last), &texts), Err(AddError::NotAbove));
                model.insert(last, texts);
            }
            10..15 => {
                let at = random.below(model.len().max(1) as u64) as usize;
                let id = model.keys().nth(at).copied().unwrap_or(Id::MIN);
                let gone = u64::from(model.remove(&id).is_some());
                let ids = [id, id].into_iter();
                let deleted = fixture.on(|access, key| super::delete(access, key, ids));
                assert_eq!(deleted, Ok(gone));
            }
            _ if random.below(10) == 0 => {
                let len = random.below(60);
                let count = (model.len() as u64).saturating_sub(len);
                (0..count).for_each(|_| drop(model.pop_first()));
                assert_eq!(fixture.trim(Bound::Length(len), None), count);
            }
            _ => {
                let at = random.below(model.len().max(1) as u64) as usize / 8;
                let id = model.keys().nth(at).copied().unwrap_or(Id::MIN);
                let rest = model.split_off(&id);
                assert_eq!(fixture.trim(Bound::Id(id), None), model.len() as u64);
                model = rest;
            }
        }
        if step % 64 == 0 {
            fixture.clean();
        }
        if step % 256 == 0 && last > Id::MIN {
            let all: Vec<_> = model.clone().into_iter().collect();
            assert_eq!(fixture.entries(Id::MIN, Id::MAX), all);
            let ids: Vec<Id> = model.keys().copied().collect();
            let (from, to) = (ids.len() / 3, ids.len() / 2);
            if from < to {
                let some = &all[from..to];
                assert_eq!(fixture.entries(ids[from], ids[to - 1]), some);
            }
        }
    }
}

#[test]
fn whole_nodes_are_trimmed_as_clients_count_them() {
    let mut fixture = Fixture::new();
    let texts = [b"f".to_vec(), b"v".to_vec()];
    let id = |ms: u64| Id { ms, seq: 1 };
    (0..105).for_each(|ms| {
        fixture.add(NewId::Given(id(ms)), &texts).expect("room");
    });
    let rows = [
        (Bound::Length(96), 0, 0),
        (Bound::Length(95), 0, 10),
        (Bound::Length(71), 0, 20),
        (Bound::Id(id(35)), 0, 0),
        (Bound::Id(Id { ms: 39, seq: 2 }), 0, 10),
        (Bound::Length(0), 9, 0),
        (Bound::Length(0), 29, 20),
        (Bound::Length(0), 0, 45),
    ];
    for (to, limit, expected) in rows {
        assert_eq!(fixture.trim(to, Some(limit)), expected, "{to:?}");
    }
    assert_eq!(fixture.entries(Id::MIN, Id::MAX), vec![]);
}

#[test]
fn the_moment_or_the_last_id_gives_the_next_one() {
    let mut fixture = Fixture::new();
    let texts = [b"f".to_vec(), b"v".to_vec()];
    let at = |ms, seq| Ok(Id { ms, seq });
    assert_eq!(fixture.add(NewId::Now, &texts), at(1_000_000, 0));
    assert_eq!(fixture.add(NewId::Now, &texts), at(1_000_000, 1));
    assert_eq!(fixture.add(NewId::At(1_000_000), &texts), at(1_000_000, 2));
    assert_eq!(fixture.add(NewId::At(2_000_000), &texts), at(2_000_000, 0));
    assert_eq!(fixture.add(NewId::At(1_500_000), &texts), Err(AddError::NotAbove));
    assert_eq!(fixture.add(NewId::Now, &texts), at(2_000_000, 1));
    assert_eq!(fixture.add(NewId::Given(Id::MAX), &texts), Ok(Id::MAX));
    assert_eq!(fixture.add(NewId::Now, &texts), Err(AddError::Exhausted));
}

/// Expected consumer, delivery time and number of deliveries of each pending entry.
type PendingModel = BTreeMap<Id, (u64, u64, u64)>;

impl Fixture {
    fn read(&mut self, consumer: u64, after: Option<Id>, count: u64) -> Vec<(Id, bool)> {
        let name = consumer_name(consumer);
        let read = GroupRead { group: b"g", consumer: &name, after, count, no_ack: false };
        let mut ids = Vec::new();
        let give = |given: Given<'_>| match given {
            Given::Begins => (),
            Given::Entry(entry) => ids.push((entry.id, true)),
            Given::Gone(id) => ids.push((id, false)),
        };
        self.on(|access, key| group::read_group(access, key, read, give)).expect("a group");
        ids
    }

    fn pending(&mut self) -> PendingModel {
        self.on(|access, key| {
            let stream =
                super::lookup_without_touch(access, key).expect("a stream").expect("it is there");
            let group = stream.groups().get(b"g").expect("a group");
            let all: PendingModel = group
                .pending(Id::MIN)
                .map(|it| {
                    let owner = group.owner(&it).to_text();
                    let owner = (0..4).find(|number| consumer_name(*number) == owner);
                    (it.id, (owner.expect("a consumer"), it.delivered(), it.deliveries()))
                })
                .collect();
            let by_consumer: Vec<(Id, u64)> = group
                .consumers()
                .flat_map(|it| it.pending(Id::MIN).map(|it| (it.id, it.deliveries())))
                .collect();
            let counted: u64 = group.consumers().map(|it| it.pending_len()).sum();
            assert_eq!(
                (by_consumer.len() as u64, counted),
                (group.pending_len(), all.len() as u64)
            );
            all
        })
    }
}

/// Returns the name of a consumer; one of the names is too long for a leaf.
fn consumer_name(number: u64) -> Vec<u8> {
    if number == 3 { vec![b'n'; 700] } else { format!("consumer{number}").into_bytes() }
}

#[test]
fn groups_know_who_has_what() {
    let (mut random, mut fixture) = (Random::from_seed(9), Fixture::new());
    let texts = [b"f".to_vec(), b"v".to_vec()];
    fixture
        .on(|access, key| group::create(access, key, b"g", Some(Id::MIN), None, true))
        .expect("room");
    let (mut model, mut last, mut given) = (PendingModel::new(), Id::MIN, Id::MIN);
    for step in 0..4_000_u64 {
        fixture.now.0 += random.below(5);
        let (now, consumer) = (fixture.now.0, random.below(4));
        match random.below(12) {
            0..5 => {
                last = random_step(&mut random, last);
                fixture.add(NewId::Given(last), &texts).expect("room");
            }
            5..8 => {
                for (id, _) in fixture.read(consumer, None, 1 + random.below(6)) {
                    assert!(id > given);
                    model.insert(id, (consumer, now, 1));
                    given = id;
                }
            }
            8 => {
                let from = any(&model, &mut random);
                for (id, is_there) in fixture.read(consumer, Some(from), 3) {
                    let pending = model.get_mut(&id).expect("it is pending");
                    assert!(id > from && pending.0 == consumer);
                    if is_there {
                        (pending.1, pending.2) = (now, pending.2 + 1);
                    }
                }
            }
            9 => {
                let id = any(&model, &mut random);
                let gone = u64::from(model.remove(&id).is_some());
                let ids = [id, id].into_iter();
                let done = fixture.on(|access, key| group::acknowledge(access, key, b"g", ids));
                assert_eq!(done, Ok(gone));
            }
            10 => claim_one(&mut fixture, &mut model, consumer, &mut random),
            _ => claim_some(&mut fixture, &mut model, consumer, &mut random),
        }
        if step % 16 == 0 {
            fixture.clean();
            assert_eq!(fixture.pending(), model);
        }
        if step % 1000 == 999 {
            let name = consumer_name(consumer);
            let before = model.len();
            model.retain(|_, pending| pending.0 != consumer);
            let gone = fixture.on(|access, key| group::delete_consumer(access, key, b"g", &name));
            assert_eq!(gone, Ok(Some((before - model.len()) as u64)));
        }
    }
    assert_eq!(fixture.on(|access, key| group::destroy(access, key, b"g")), Ok(true));
    assert_eq!(fixture.on(|access, key| group::destroy(access, key, b"g")), Ok(false));
}

fn any(model: &PendingModel, random: &mut Random) -> Id {
    let at = random.below(model.len().max(1) as u64) as usize;
    model.keys().nth(at).copied().unwrap_or(Id::MIN)
}

fn claim_one(fixture: &mut Fixture, model: &mut PendingModel, consumer: u64, random: &mut Random) {
    let (id, name, now) = (any(model, random), consumer_name(consumer), fixture.now.0);
    let how = Claim {
        group: b"g",
        consumer: &name,
        idle_min: 0,
        delivered: now - 7,
        deliveries: None,
        counts: true,
        force: false,
        last_id: Id::MIN,
    };
    let mut claimed = Vec::new();
    fixture
        .on(|access, key| group::claim(access, key, how, &[id], |it| claimed.push(it.id)))
        .expect("a group");
    if claimed.is_empty() {
        // The entry was deleted, so it is not pending.
        model.remove(&id);
    } else if let Some(pending) = model.get_mut(&id) {
        assert_eq!(claimed, [id]);
        *pending = (consumer, now - 7, pending.2 + 1);
    }
}

fn claim_some(fixture: &mut Fixture, model: &mut PendingModel, consumer: u64, random: &mut Random) {
    let (from, name, now) = (any(model, random), consumer_name(consumer), fixture.now.0);
    // Delete an entry that is pending: the claim must forget it.
    let gone = any(model, random);
    fixture.on(|access, key| super::delete(access, key, [gone].into_iter())).expect("a stream");
    let how =
        AutoClaim { group: b"g", consumer: &name, idle_min: 20, from, count: 5, counts: false };
    let mut claimed = Vec::new();
    let done = fixture
        .on(|access, key| group::auto_claim(access, key, how, |it| claimed.push(it.id)))
        .expect("a group");
    for id in done.deleted {
        assert!(model.remove(&id).is_some());
    }
    for id in claimed {
        let pending = model.get_mut(&id).expect("it is pending");
        assert!(id >= from && now - pending.1 >= 20);
        (pending.0, pending.1) = (consumer, now);
    }
}

#[test]
fn groups_and_their_errors_are_told_apart() {
    let mut fixture = Fixture::new();
    let made = |fixture: &mut Fixture, name: &[u8], makes: bool| {
        fixture.on(|access, key| group::create(access, key, name, None, None, makes))
    };
    assert_eq!(made(&mut fixture, b"g", false), Err(group::GroupError::NoStream));
    assert_eq!(made(&mut fixture, b"g", true), Ok(()));
    assert_eq!(made(&mut fixture, b"g", true), Err(group::GroupError::Exists));
    let set = fixture.on(|access, key| group::set(access, key, b"other", None, None));
    assert_eq!(set, Err(group::GroupError::NoGroup));
    fixture.on(|access, key| access.remove(key));
    let write = |access: &mut Access<'_>, key: &Key<'_>| {
        access.set_string(key, b"v", crate::Encoding::Raw, crate::Expiry::Keep)
    };
    fixture.on(write).expect("room");
    let wrong = Err(group::GroupError::Fault(Fault::WrongKind));
    assert_eq!(made(&mut fixture, b"g", true), wrong);
}

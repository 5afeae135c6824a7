//! Sets compared with a model, in all forms.

use super::GatheredSet;
use super::read::Form;
use super::{
    Flow, Operation, SetLimit, add, combine, lookup_without_touch, move_member, pop, random_member,
};
use super::{read_all, remove, store};
use crate::access::Access;
use crate::key::{Encoding, Key};
use crate::shard::{ShardSet, ThreadContext};
use crate::store::{Store, StoreConfig};
use crate::value::NotStored;
use base::{KeyHasher, KeyspaceId, Millis, Random};
use packed::Element;
use std::collections::{BTreeMap, BTreeSet};

const NAMES: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
const NOW: Millis = Millis(1_000_000);
const LIMITS: [SetLimit; 3] = [
    SetLimit { integers: 512, members: 128, member_bytes: 64 },
    SetLimit { integers: 40, members: 20, member_bytes: 6 },
    SetLimit { integers: 100_000, members: 100_000, member_bytes: 100_000 },
];

type Model = BTreeSet<Vec<u8>>;

struct Fixture {
    store: Store,
    thread: ThreadContext,
}

impl Fixture {
    fn new() -> Fixture {
        let hasher = KeyHasher::from_seed(2);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(256 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        Fixture { store, thread }
    }

    fn on<T>(&mut self, names: &[&[u8]], act: impl FnOnce(&mut Access<'_>, &[Key<'_>]) -> T) -> T {
        let keys: Vec<_> = names.iter().map(|name| self.store.key(KeyspaceId(0), name)).collect();
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        self.store.enter(&self.thread);
        let done = act(&mut self.store.lock_all(&mut self.thread, shards, NOW).muted(), &keys);
        self.store.leave(&self.thread);
        done
    }

    fn add(&mut self, name: &[u8], texts: &[Vec<u8>], limit: SetLimit) -> u64 {
        self.store.reserve(&mut self.thread, 1 << 20, NOW).expect("room");
        let texts = texts.iter().map(Vec::as_slice);
        self.on(&[name], |access, keys| add(access, &keys[0], texts, limit)).expect("room")
    }

    fn remove(&mut self, name: &[u8], texts: &[Vec<u8>]) -> u64 {
        let texts = texts.iter().map(Vec::as_slice);
        self.on(&[name], |access, keys| remove(access, &keys[0], texts)).expect("a set")
    }

    fn members(&mut self, name: &[u8]) -> Model {
        self.on(&[name], |access, keys| {
            let Some(set) = lookup_without_touch(access, &keys[0]).expect("a set") else {
                return Model::new();
            };
            if let Form::Large(view) = set.form {
                view.verify().expect("a sound tree");
            }
            let members: Model = set.members().map(Element::to_text).collect();
            assert_eq!(set.len(), members.len() as u64);
            assert!(members.iter().all(|member| set.contains(member)));
            let at = |at| set.get(at).map(Element::to_text);
            assert_eq!((0..set.len()).filter_map(at).collect::<Model>(), members);
            members
        })
    }

    fn encoding(&mut self, name: &[u8]) -> Option<Encoding> {
        self.on(&[name], |access, keys| {
            access.lookup_without_touch(&keys[0]).map(|value| value.encoding)
        })
    }

    fn clean(&mut self) {
        self.store.clean_at_rest(&mut self.thread, 1 << 20, NOW);
    }
}

/// Random texts of all kinds: integers of each width, short and long texts, and some long enough
/// for nodes of their own.
fn text(random: &mut Random, kinds: u64) -> Vec<u8> {
    let number = random.below(600);
    match random.below(kinds) {
        0 | 1 => (number as i64 - 300).to_string().into_bytes(),
        2 => (number as i64 * 1_000_000_007 - (1 << 36)).to_string().into_bytes(),
        3 | 4 => format!("m{number}").into_bytes(),
        5 => format!("0{number}").into_bytes(),
        6 => vec![b'x'; 200 + number as usize % 60],
        _ => vec![b'y'; 500 + 7 * (number as usize % 100)],
    }
}

fn texts(random: &mut Random, kinds: u64, most: u64) -> Vec<Vec<u8>> {
    (0..=random.below(most)).map(|_| text(random, kinds)).collect()
}

fn new_ones(model: &mut Model, texts: &[Vec<u8>]) -> u64 {
    texts.iter().filter(|text| model.insert((*text).clone())).count() as u64
}

#[test]
fn members_come_and_go_as_in_a_model_while_nodes_are_moved() {
    for (seed, limit) in (0..9).zip(LIMITS.into_iter().cycle()) {
        let mut random = Random::from_seed(seed);
        let (mut fixture, mut models) = (Fixture::new(), BTreeMap::<&[u8], Model>::new());
        for step in 0..600 {
            let name = NAMES[random.below(2) as usize];
            let model = models.entry(name).or_default();
            let (kinds, many) = ([1, 3, 8][random.below(3) as usize], 1 + random.below(60));
            let texts = texts(&mut random, kinds, many);
            match random.below(8) {
                0..4 => assert_eq!(fixture.add(name, &texts, limit), new_ones(model, &texts)),
                4 | 5 => {
                    let gone = texts.iter().filter(|text| model.remove(*text)).count();
                    assert_eq!(fixture.remove(name, &texts), gone as u64);
                }
                6 => take(&mut fixture, name, model, random.below(many * 3), limit),
                _ => fixture.clean(),
            }
            assert_eq!(fixture.members(name), *model, "seed {seed} step {step}");
        }
    }
}

fn take(fixture: &mut Fixture, name: &[u8], model: &mut Model, count: u64, limit: SetLimit) {
    let popped = fixture.on(&[name], |access, keys| {
        let pop = pop(access, &keys[0], count, limit).expect("a set")?;
        let (len, mut popped) = (pop.count(), Vec::new());
        pop.finish(|member| popped.push(member.to_text())).expect("room");
        assert_eq!(popped.len() as u64, len);
        Some(popped)
    });
    assert_eq!(popped.is_some(), !model.is_empty());
    let popped = popped.unwrap_or_default();
    assert_eq!(popped.len(), model.len().min(count as usize));
    assert!(popped.iter().all(|member| model.remove(member)), "each was there, and once");
}

fn combined(operation: Operation, models: &[&Model]) -> Model {
    let Some((first, others)) = models.split_first() else { return Model::new() };
    let fold = |by: fn(&Model, &Model) -> Model| {
        others.iter().fold((*first).clone(), |all, other| by(&all, other))
    };
    match operation {
        Operation::Intersection => fold(|one, other| one & other),
        Operation::Union => fold(|one, other| one | other),
        Operation::Difference => fold(|one, other| one - other),
    }
}

#[test]
fn sets_of_all_forms_are_combined_as_models_are() {
    for seed in 0..40 {
        let mut random = Random::from_seed(seed);
        let (mut fixture, mut models) = (Fixture::new(), BTreeMap::<&[u8], Model>::new());
        for name in NAMES {
            let model = models.entry(name).or_default();
            let (kinds, many) =
                ([1, 3, 8][random.below(3) as usize], [3, 80, 900][random.below(3) as usize]);
            let texts = texts(&mut random, kinds, many);
            assert_eq!(fixture.add(name, &texts, LIMITS[0]), new_ones(model, &texts));
        }
        for operation in [Operation::Intersection, Operation::Union, Operation::Difference] {
            for names in [&NAMES[..], &NAMES[..2], &NAMES[1..], &[b"b", b"none"], &[b"c", b"c"]] {
                let none = Model::new();
                let sources: Vec<&Model> =
                    names.iter().map(|name| models.get(name).unwrap_or(&none)).collect();
                let expected = combined(operation, &sources);
                let given = fixture.on(names, |access, keys| {
                    let sets = read_all(access, keys).expect("sets");
                    let mut given = Vec::new();
                    combine(operation, &sets, |_, member| {
                        given.push(member.to_text());
                        Flow::Continue(())
                    });
                    given
                });
                assert_eq!(given.len(), expected.len(), "none is given twice");
                assert_eq!(given.into_iter().collect::<Model>(), expected, "seed {seed}");
            }
            let target = NAMES[random.below(4) as usize];
            let sources: Vec<&Model> = NAMES.iter().map(|name| &models[name]).collect();
            let expected = combined(operation, &sources);
            let stored = fixture.on(&NAMES, |access, keys| {
                let target =
                    keys[NAMES.iter().position(|name| *name == target).expect("one of them")];
                store(access, &target, operation, keys, LIMITS[0]).expect("room")
            });
            assert_eq!(stored.len, expected.len() as u64);
            fixture.clean();
            assert_eq!(fixture.members(target), expected, "seed {seed}");
            models.insert(target, expected);
        }
    }
}

#[test]
fn a_walk_by_cursor_gives_each_member_that_stays_exactly_once() {
    let mut fixture = Fixture::new();
    let mut random = Random::from_seed(1);
    let staying: Vec<Vec<u8>> = (0..3000).map(|at| format!("s{at}").into_bytes()).collect();
    fixture.add(b"a", &staying, LIMITS[0]);
    let (mut cursor, mut seen) = (0, BTreeMap::<Vec<u8>, u32>::new());
    loop {
        cursor = fixture.on(&[b"a"], |access, keys| {
            let set = lookup_without_touch(access, &keys[0]).expect("a set").expect("members");
            set.scan(cursor, 7, |member| *seen.entry(member.to_text()).or_default() += 1)
        });
        if cursor == 0 {
            break;
        }
        let others: Vec<Vec<u8>> =
            (0..20).map(|_| format!("o{}", random.below(2000)).into_bytes()).collect();
        fixture.add(b"a", &others[..10], LIMITS[0]);
        fixture.remove(b"a", &others[10..]);
    }
    assert!(staying.iter().all(|member| seen.get(member) == Some(&1)));
}

#[test]
fn every_member_of_every_form_is_as_likely_as_any_other() {
    for count in [8, 100, 1000] {
        let mut fixture = Fixture::new();
        let members: Vec<Vec<u8>> = (0..count).map(|at| format!("m{at}").into_bytes()).collect();
        fixture.add(b"a", &members, LIMITS[0]);
        let mut drawn = BTreeMap::<Vec<u8>, u32>::new();
        for _ in 0..count * 100 {
            let member = fixture.on(&[b"a"], |access, keys| {
                random_member(access, &keys[0]).expect("a set").map(Element::to_text)
            });
            *drawn.entry(member.expect("a member")).or_default() += 1;
        }
        assert_eq!(drawn.len(), count);
        // Each member is expected 100 times, with a standard deviation of 10.
        assert!(drawn.values().all(|times| (40..180).contains(times)), "{drawn:?}");
    }
}

#[test]
fn a_move_that_finds_nothing_changes_nothing() {
    let mut fixture = Fixture::new();
    let texts = |list: &[&str]| list.iter().map(|it| it.as_bytes().to_vec()).collect::<Vec<_>>();
    fixture.add(b"a", &texts(&["x", "y"]), LIMITS[0]);
    fixture.add(b"b", &texts(&["1", "2"]), LIMITS[0]);
    let mut go = |from: usize, to: usize, text: &[u8]| {
        fixture.on(&NAMES, |access, keys| {
            move_member(access, &keys[from], &keys[to], text, LIMITS[0]).expect("room")
        })
    };
    assert_eq!(go(0, 1, b"z"), None);
    assert_eq!(go(2, 1, b"x"), None);
    assert_eq!(go(0, 1, b"x"), Some(true));
    assert_eq!(go(0, 0, b"y"), Some(false));
    assert_eq!(go(0, 1, b"y"), Some(true));
    assert_eq!(fixture.encoding(b"a"), None);
    assert_eq!(fixture.encoding(b"b"), Some(Encoding::Listpack));
}

#[test]
fn a_gathered_set_is_a_sound_tree_of_its_members() {
    for (limit, encoding) in LIMITS.into_iter().zip([Encoding::Hashtable, Encoding::Hashtable]) {
        let (mut fixture, mut random) = (Fixture::new(), Random::from_seed(9));
        let mut members: Model = (0..3_000).map(|_| text(&mut random, 8)).collect();
        members.extend((0..20_000).map(|at| format!("member {at}").into_bytes()));
        let mut gathered = GatheredSet::new(fixture.store.hasher(), limit);
        members.iter().rev().for_each(|member| gathered.push(member).expect("memory"));
        assert_eq!(gathered.len(), members.len());
        fixture.add(b"a", &[b"of before".to_vec()], limit);
        let stored = fixture.on(&[b"a"], |access, keys| gathered.store(access, &keys[0]));
        assert_eq!(stored, Ok(()));
        assert!(fixture.members(b"a") == members);
        assert_eq!(fixture.encoding(b"a"), Some(encoding));
        // It changes as others do.
        let gone: Vec<Vec<u8>> = members.iter().step_by(2).cloned().collect();
        assert_eq!(fixture.remove(b"a", &gone), gone.len() as u64);
        gone.iter().for_each(|member| assert!(members.remove(member)));
        assert!(fixture.members(b"a") == members);
    }
}

#[test]
fn a_gathered_set_with_a_member_twice_changes_nothing() {
    let mut fixture = Fixture::new();
    fixture.add(b"a", &[b"of before".to_vec()], LIMITS[0]);
    let mut gathered = GatheredSet::new(fixture.store.hasher(), LIMITS[0]);
    for member in (0..30_000).chain([12_345]) {
        gathered.push(format!("member {member}").as_bytes()).expect("memory");
    }
    let stored = fixture.on(&[b"a"], |access, keys| gathered.store(access, &keys[0]));
    assert_eq!(stored, Err(NotStored::Twice));
    assert_eq!(fixture.members(b"a"), Model::from([b"of before".to_vec()]));
}

mod ranges;
mod whole_sets;

use super::score::sort_key;
use super::{
    Added, Aggregate, End, Gathered, GatheredSortedSet, LexBound, LexRange, Operand, Pick,
    ScoreBound, ScoreRange, SortedSet, SortedSetLimit, Source, Span, Terms, add, count_shared,
    difference, draw, intersection, lookup_without_touch, pop, remove, remove_picked, scan, store,
    union,
};
use super::{SCORES, ScoreLeaf, TAGS, TagLeaf};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::{Encoding, Key};
use crate::shard::{ShardSet, ThreadContext};
use crate::store::{Store, StoreConfig};
use crate::value::collection::tag_by;
use base::{KeyHasher, KeyspaceId, Millis, Random};
use packed::Element;
use std::collections::BTreeMap;

const NOW: Millis = Millis(1_000_000);
const LIMIT: SortedSetLimit = SortedSetLimit { members_max: 16, member_bytes_max: 40 };
const NEVER_SMALL: SortedSetLimit = SortedSetLimit { members_max: 0, member_bytes_max: 0 };

pub(super) struct Fixture {
    store: Store,
    thread: ThreadContext,
}

pub(super) type Model = BTreeMap<Vec<u8>, f64>;

impl Fixture {
    pub fn new() -> Fixture {
        let hasher = KeyHasher::from_seed(2);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(512 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        Fixture { store, thread }
    }

    pub fn on<T>(
        &mut self,
        names: &[&str],
        act: impl FnOnce(&mut Access<'_>, &[Key<'_>]) -> T,
    ) -> T {
        let key = |name: &&'static str| self.store.key(KeyspaceId(0), name.as_bytes());
        let names: Vec<&'static str> = names.iter().map(|name| known(name)).collect();
        let keys: Vec<Key<'_>> = names.iter().map(key).collect();
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        act(&mut self.store.lock_all(&mut self.thread, shards, NOW).muted(), &keys)
    }

    fn add_all(&mut self, pairs: &[(f64, &[u8])], terms: Terms, limit: SortedSetLimit) -> Added {
        self.on(&["a"], |access, keys| add(access, &keys[0], pairs, terms, limit)).expect("room")
    }

    pub fn add(&mut self, name: &str, score: f64, member: &[u8], limit: SortedSetLimit) -> Added {
        let pairs = [(score, member)];
        self.on(&[name], |access, keys| add(access, &keys[0], &pairs, Terms::default(), limit))
            .expect("room")
    }

    fn look<T>(&mut self, name: &str, act: impl FnOnce(Option<SortedSet<'_>>) -> T) -> T {
        self.on(&[name], |access, keys| {
            act(lookup_without_touch(access, &keys[0]).expect("a sorted set"))
        })
    }

    fn encoding(&mut self, name: &str) -> Option<(Encoding, bool)> {
        self.on(&[name], |access, keys| {
            access.lookup_without_touch(&keys[0]).map(|value| (value.encoding, value.is_tree))
        })
    }

    /// Checks that both trees, and every way to read, agree with the model.
    fn check(&mut self, name: &str, model: &Model) {
        self.look(name, |set| {
            let Some(set) = set else { return assert!(model.is_empty()) };
            let expected = in_order(model);
            assert_eq!(set.len(), expected.len() as u64);
            assert_eq!(pairs(set.iter_from(0)), expected);
            let mut back = pairs(set.iter_back_from(set.len() - 1));
            back.reverse();
            assert_eq!(back, expected);
            for (rank, (member, score)) in expected.iter().enumerate() {
                assert_eq!(set.rank(member), Some((rank as u64, *score)), "{member:?}");
            }
        });
    }
}

fn known(name: &str) -> &'static str {
    ["a", "b", "c"].into_iter().find(|known| *known == name).expect("a name of the tests")
}

fn forget(model: &mut Model, member: &[u8]) {
    model.remove(member);
}

pub(super) fn in_order(model: &Model) -> Vec<(Vec<u8>, f64)> {
    let mut all: Vec<(Vec<u8>, f64)> = model.iter().map(|(m, s)| (m.clone(), *s)).collect();
    all.sort_by(|one, other| (sort_key(one.1), &one.0).cmp(&(sort_key(other.1), &other.0)));
    all
}

pub(super) fn pairs<'x>(all: impl Iterator<Item = (Element<'x>, f64)>) -> Vec<(Vec<u8>, f64)> {
    all.map(|(member, score)| (member.to_text(), score)).collect()
}

/// Random members: short and long ones, some that are integers, and some too long for a leaf.
fn some_member(random: &mut Random, of: u64) -> Vec<u8> {
    let number = random.below(of);
    match number % 16 {
        0 => number.to_string().into_bytes(),
        1 => format!("{}{number}", "x".repeat(300)).into_bytes(),
        2 => format!("{}{number}", "y".repeat(700)).into_bytes(),
        _ => format!("m:{number}").into_bytes(),
    }
}

fn some_score(random: &mut Random) -> f64 {
    match random.below(8) {
        0 => f64::INFINITY,
        1 => random.below(1000) as f64 / 8.0,
        2 => -(random.below(5) as f64),
        3 => random.below(1 << 52) as f64,
        _ => random.below(20) as f64,
    }
}

fn some_range(random: &mut Random) -> ScoreRange {
    let mut bound = || ScoreBound { score: some_score(random), is_exclusive: random.one_in(2) };
    ScoreRange { from: bound(), to: bound() }
}

fn lies_in(range: &ScoreRange, score: f64) -> bool {
    let ScoreRange { from, to } = range;
    let is_above = if from.is_exclusive { score > from.score } else { score >= from.score };
    is_above && if to.is_exclusive { score < to.score } else { score <= to.score }
}

fn change(fixture: &mut Fixture, model: &mut Model, random: &mut Random, of: u64) {
    match random.below(12) {
        0..6 => {
            let (score, member) = (some_score(random), some_member(random, of));
            let limit = if random.one_in(50) { NEVER_SMALL } else { LIMIT };
            let added = fixture.add("a", score, &member, limit);
            let before = model.insert(member, score);
            assert_eq!(added.added, u64::from(before.is_none()));
            assert_eq!(added.updated, u64::from(before.is_some_and(|before| before != score)));
        }
        6..10 => {
            let gone = [some_member(random, of), some_member(random, of)];
            let expected = gone.iter().filter(|member| model.remove(*member).is_some()).count();
            let members = gone.iter().map(Vec::as_slice);
            let removed = fixture.on(&["a"], |access, keys| remove(access, &keys[0], members));
            assert_eq!(removed, Ok(expected as u64));
        }
        10 => {
            let end = if random.one_in(2) { End::Min } else { End::Max };
            let count = random.below(4);
            let mut expected = in_order(model);
            if end == End::Max {
                expected.reverse();
            }
            expected.truncate(count as usize);
            let mut shown = Vec::new();
            fixture
                .on(&["a"], |access, keys| {
                    pop(access, &keys[0], end, count, |_, all| shown = pairs(all))
                })
                .expect("a sorted set");
            assert_eq!(shown, expected);
            expected.iter().for_each(|(member, _)| forget(model, member));
        }
        _ => {
            let range = some_range(random);
            let pick = if random.one_in(40) {
                Pick::Scores(range)
            } else {
                let from = random.below(of) as i64;
                Pick::Ranks(from, from + random.below(8) as i64)
            };
            let all = in_order(model);
            let removed = fixture.on(&["a"], |access, keys| remove_picked(access, &keys[0], &pick));
            let gone: Vec<_> = match pick {
                Pick::Ranks(from, to) => {
                    let count = (to - from + 1) as usize;
                    all.into_iter().skip(from as usize).take(count).collect()
                }
                _ => all.into_iter().filter(|(_, score)| lies_in(&range, *score)).collect(),
            };
            assert_eq!(removed, Ok(gone.len() as u64));
            gone.iter().for_each(|(member, _)| forget(model, member));
        }
    }
}

#[test]
fn sorted_sets_agree_with_a_model_while_the_cleaner_moves_them() {
    for (seed, of) in [(1, 12), (2, 40), (3, 600), (4, 3_000)] {
        let (mut fixture, mut model) = (Fixture::new(), Model::new());
        let mut random = Random::from_seed(seed);
        for step in 0..6_000 {
            change(&mut fixture, &mut model, &mut random, of);
            if step % 500 == 0 {
                fixture.check("a", &model);
                let Fixture { store, thread } = &mut fixture;
                store.clean_at_rest(thread, 1 << 20, NOW);
            }
        }
        fixture.check("a", &model);
    }
}

#[test]
fn a_set_becomes_large_when_it_outgrows_its_limits_and_stays_so() {
    let mut fixture = Fixture::new();
    for number in 0..16 {
        fixture.add("a", 1.0, number.to_string().as_bytes(), LIMIT);
    }
    assert_eq!(fixture.encoding("a"), Some((Encoding::Listpack, false)));
    fixture.add("a", 1.0, b"one more", LIMIT);
    assert_eq!(fixture.encoding("a"), Some((Encoding::Skiplist, true)));
    let pick = Pick::Ranks(1, -1);
    fixture.on(&["a"], |access, keys| remove_picked(access, &keys[0], &pick)).expect("a set");
    assert_eq!(fixture.encoding("a"), Some((Encoding::Skiplist, true)));
    fixture.add("b", 1.0, &[b'x'; 41], LIMIT);
    assert_eq!(fixture.encoding("b"), Some((Encoding::Skiplist, true)));
    let wide = SortedSetLimit { members_max: 100, member_bytes_max: 50_000 };
    for number in 0..4 {
        fixture.add("c", f64::from(number), &[number as u8; 30_000], wide);
    }
    assert_eq!(fixture.encoding("c"), Some((Encoding::Listpack, true)));
    // Under other limits too, one that does not grow stays what it is.
    fixture.add("c", 7.0, &[0; 30_000], LIMIT);
    assert_eq!(fixture.encoding("c"), Some((Encoding::Listpack, true)));
    fixture.add("c", 1.0, &[b'x'; 50_001], wide);
    assert_eq!(fixture.encoding("c"), Some((Encoding::Skiplist, true)));
}

#[test]
fn terms_decide_what_is_set() {
    for limit in [LIMIT, NEVER_SMALL] {
        let mut fixture = Fixture::new();
        fixture.add_all(&[(1.0, b"a"), (2.0, b"b")], Terms::default(), limit);
        let rows = [
            (Terms { only_new: true, ..Terms::default() }, 5.0, None, 1.0),
            (Terms { only_existing: true, ..Terms::default() }, 5.0, Some(5.0), 5.0),
            (Terms { only_greater: true, ..Terms::default() }, 4.0, None, 5.0),
            (Terms { only_less: true, ..Terms::default() }, 4.0, Some(4.0), 4.0),
            (Terms { is_increment: true, ..Terms::default() }, 0.5, Some(4.5), 4.5),
        ];
        for (terms, score, set, left) in rows {
            let added = fixture.add_all(&[(score, b"a")], terms, limit);
            assert_eq!(added.score, set, "{terms:?}");
            fixture.look("a", |it| assert_eq!(it.expect("a set").score(b"a"), Some(left)));
        }
        let terms = Terms { is_increment: true, ..Terms::default() };
        fixture.add_all(&[(f64::INFINITY, b"a")], Terms::default(), limit);
        assert!(fixture.add_all(&[(f64::NEG_INFINITY, b"a")], terms, limit).is_not_a_number);
    }
}

#[test]
fn a_scan_visits_whoever_stays_once_while_others_come_and_scores_change() {
    for same_score in [false, true] {
        let mut fixture = Fixture::new();
        for number in 0..2_000 {
            let score = if same_score { 1.0 } else { f64::from(number) };
            fixture.add("a", score, format!("m{number}").as_bytes(), NEVER_SMALL);
        }
        let (mut seen, mut cursor) = (BTreeMap::new(), 0);
        for round in 0.. {
            cursor = fixture.look("a", |set| {
                scan(&set.expect("a set"), cursor, 10, |member, _| {
                    *seen.entry(member.to_text()).or_insert(0) += 1;
                })
            });
            if cursor == 0 {
                break;
            }
            fixture.add("a", f64::from(round), format!("n{round}").as_bytes(), NEVER_SMALL);
            if !same_score {
                fixture.add("a", -1.0, format!("m{}", round % 2_000).as_bytes(), NEVER_SMALL);
            }
        }
        let stayed = seen.iter().filter(|(member, _)| member.starts_with(b"m"));
        assert_eq!(stayed.clone().count(), 2_000);
        assert!(stayed.into_iter().all(|(_, times)| *times == 1));
    }
}

#[test]
fn members_of_one_tag_are_told_apart() {
    let hasher = KeyHasher::from_seed(2);
    let mut tags: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for number in 0..300_000 {
        let member = format!("m{number}").into_bytes();
        tags.entry(tag_by(&hasher, &member)).or_default().push(member);
    }
    tags.retain(|_, members| members.len() > 1);
    assert!(tags.len() > 3);
    let (mut fixture, mut model) = (Fixture::new(), Model::new());
    for (number, pair) in tags.values().enumerate() {
        for (at, member) in pair.iter().enumerate() {
            let score = if number % 2 == 0 { 1.0 } else { at as f64 };
            fixture.add("a", score, member, NEVER_SMALL);
            model.insert(member.clone(), score);
        }
    }
    fixture.check("a", &model);
    let pick = Pick::Ranks(1, 3);
    fixture.on(&["a"], |access, keys| remove_picked(access, &keys[0], &pick)).expect("a set");
    in_order(&model)[1..4].iter().for_each(|(member, _)| forget(&mut model, member));
    fixture.check("a", &model);
    for pair in tags.values() {
        model.remove(&pair[0]);
        let gone = std::iter::once(&pair[0][..]);
        fixture.on(&["a"], |access, keys| remove(access, &keys[0], gone)).expect("a set");
        fixture.check("a", &model);
        if model.contains_key(&pair[1]) {
            fixture.add("a", 9.0, &pair[1], NEVER_SMALL);
            model.insert(pair[1].clone(), 9.0);
        }
        fixture.check("a", &model);
    }
}

#[test]
fn what_is_drawn_is_different_and_as_much_as_wanted() {
    let mut fixture = Fixture::new();
    for number in 0..200 {
        fixture.add("a", 1.0, format!("{number}").as_bytes(), NEVER_SMALL);
    }
    let mut random = Random::from_seed(3);
    let mut hits: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    fixture.look("a", |set| {
        let set = set.expect("a set");
        for round in 0..400 {
            let mut drawn = Vec::new();
            let count = if round % 2 == 0 { 10 } else { 100 };
            draw(&set, count, &mut random, |member, _| drawn.push(member.to_text()));
            drawn.sort();
            drawn.dedup();
            assert_eq!(drawn.len() as u64, count);
            drawn.into_iter().for_each(|member| *hits.entry(member).or_default() += 1);
        }
    });
    // Each member is expected 110 times, with a standard deviation of about 9.
    assert_eq!(hits.len(), 200);
    assert!(hits.values().all(|hits| (60..160).contains(hits)), "{hits:?}");
}

#[test]
fn another_kind_is_refused() {
    let mut fixture = Fixture::new();
    fixture.on(&["a"], |access, keys| {
        let expiry = crate::key::Expiry::Never;
        access.set_string(&keys[0], b"text", Encoding::Raw, expiry).expect("room");
        let added = add(access, &keys[0], &[(1.0, b"a")], Terms::default(), LIMIT);
        assert_eq!(added, Err(Fault::WrongKind));
        assert!(lookup_without_touch(access, &keys[0]).is_err());
    });
}

#[test]
fn scores_that_grow_take_a_full_packed_list_over_its_border() {
    let limit = SortedSetLimit { members_max: 2_000, member_bytes_max: 64 };
    for count in [840, 880, 890, 900] {
        let (mut fixture, mut model) = (Fixture::new(), Model::new());
        for number in 0..count {
            let member = format!("{number:064}").into_bytes();
            fixture.add("a", 1.0, &member, limit);
            model.insert(member, 1.0);
        }
        for (at, (member, score)) in model.iter_mut().enumerate() {
            let sum = Terms { is_increment: true, ..Terms::default() };
            let added = fixture.add_all(&[(0.1, member)], sum, limit);
            *score += 0.1;
            assert_eq!((added.score, added.updated), (Some(*score), 1), "{at} of {count}");
        }
        fixture.check("a", &model);
        assert_eq!(fixture.encoding("a").map(|it| it.0), Some(Encoding::Listpack));
    }
}

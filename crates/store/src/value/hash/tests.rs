use super::{DUE, DueLeaf, FIELDS, Leaf};
use super::{
    Deadline, GatheredHash, Hash, HashLimit, HashMut, Pair, Was, lookup_without_touch,
    random_field, random_fields,
};
use crate::access::Access;
use crate::key::{Encoding, Key};
use crate::shard::ThreadContext;
use crate::store::{Store, StoreConfig};
use base::{KeyHasher, KeyspaceId, Millis, Random};
use std::collections::BTreeMap;

const LIMIT: HashLimit = HashLimit { fields: 24, text_bytes: 40 };
const NAME: &[u8] = b"h";
const BEGIN: Millis = Millis(1_000_000_000);

/// Expected value and deadline of each field.
type Model = BTreeMap<Vec<u8>, (Vec<u8>, Option<Millis>)>;

struct Fixture {
    store: Store,
    thread: ThreadContext,
    now: Millis,
}

impl Fixture {
    fn new() -> Fixture {
        let hasher = KeyHasher::from_seed(3);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(256 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        Fixture { store, thread, now: BEGIN }
    }

    fn on<T>(&mut self, act: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T) -> T {
        self.store.enter(&self.thread);
        let key = self.store.key(KeyspaceId(0), NAME);
        let done = act(&mut self.store.lock(&mut self.thread, &key, self.now).muted(), &key);
        self.store.leave(&self.thread);
        done
    }

    fn change<T>(&mut self, act: impl FnOnce(&mut HashMut<'_, '_>) -> T) -> T {
        self.on(|access, key| act(&mut HashMut::open(access, key, LIMIT).expect("a hash")))
    }

    fn set(&mut self, field: &[u8], value: &[u8], deadline: Deadline) -> Was {
        self.change(|hash| hash.set(field, value, deadline).expect("room"))
    }

    fn look<T>(&mut self, act: impl FnOnce(Option<Hash<'_>>) -> T) -> T {
        self.on(|access, key| act(lookup_without_touch(access, key).expect("a hash")))
    }

    fn encoding(&mut self) -> Option<Encoding> {
        self.on(|access, key| access.lookup_without_touch(key).map(|value| value.encoding))
    }

    fn model(&mut self) -> Model {
        self.look(|hash| hash.map(|hash| hash.iter().map(owned).collect()).unwrap_or_default())
    }

    fn sweep(&mut self) {
        self.store.sweep_deadlines(&mut self.thread, self.now);
    }

    fn clean(&mut self) {
        self.store.enter(&self.thread);
        self.store.clean_at_rest(&mut self.thread, 64 << 10, self.now);
        self.store.leave(&self.thread);
    }
}

fn owned(pair: Pair<'_>) -> (Vec<u8>, (Vec<u8>, Option<Millis>)) {
    (pair.field.to_text(), (pair.value.to_text(), pair.deadline))
}

/// Random text: an integer, a short text, or now and then one long enough for a node of its own.
fn text(random: &mut Random, of: u64) -> Vec<u8> {
    let number = random.below(of);
    match random.below(if of > 100 { 20 } else { 60 }) {
        0 => vec![b'x'; 300 + number as usize % 5_000],
        1..4 => format!("{number}{}", "y".repeat(50)).into_bytes(),
        4..30 => number.to_string().into_bytes(),
        _ => format!("f{number}").into_bytes(),
    }
}

fn check(fixture: &mut Fixture, model: &Model) {
    let now = fixture.now;
    let mut live = model.clone();
    live.retain(|_, (_, deadline)| deadline.is_none_or(|at| at > now));
    assert_eq!(fixture.model(), live);
    fixture.look(|hash| {
        let Some(hash) = hash else { return };
        assert!(hash.len() as usize >= live.len());
        for (field, (value, deadline)) in &live {
            let pair = hash.get(field).expect("a field that was set");
            assert_eq!((pair.value.to_text(), pair.deadline), (value.clone(), *deadline));
        }
        let (mut scanned, mut cursor) = (Vec::new(), 0);
        loop {
            cursor = hash.scan(cursor, 3, |pair| scanned.push(owned(pair)));
            if cursor == 0 {
                break;
            }
        }
        let count = scanned.len();
        assert_eq!(scanned.into_iter().collect::<Model>(), live);
        assert_eq!(count, live.len());
    });
}

fn step(fixture: &mut Fixture, model: &mut Model, random: &mut Random, fields: u64) {
    let field = text(random, fields);
    let now = fixture.now;
    let before = model.get(&field).cloned();
    let is_there = before.as_ref().is_some_and(|(_, at)| at.is_none_or(|at| at > now));
    let soon = Millis(now.0 + 1 + random.below(5_000));
    match random.below(12) {
        0..5 => {
            let value = text(random, 1_000_000);
            let deadline = match random.below(5) {
                0 => Deadline::At(soon),
                1 => Deadline::Keep,
                _ => Deadline::Never,
            };
            let was = fixture.set(&field, &value, deadline);
            let kept = before.as_ref().filter(|_| is_there).and_then(|(_, at)| *at);
            assert_eq!(was == Was::Present, is_there);
            assert_eq!(was == Was::Expired, before.is_some() && !is_there);
            let at = match deadline {
                Deadline::At(at) => Some(at),
                Deadline::Keep => kept,
                Deadline::Never => None,
            };
            model.insert(field, (value, at));
        }
        5..9 => {
            assert_eq!(fixture.change(|hash| hash.remove(&field)), is_there);
            if is_there {
                model.remove(&field);
            }
        }
        9 => {
            let at = (random.below(3) > 0).then_some(soon);
            let done = fixture.change(|hash| hash.set_deadline(&field, at)).expect("room");
            assert_eq!(done, is_there);
            if let Some(row) = model.get_mut(&field).filter(|_| is_there) {
                row.1 = at;
            }
        }
        10 => fixture.now.0 += random.below(200),
        _ => fixture.clean(),
    }
}

#[test]
fn a_hash_is_what_its_model_is_whatever_happens_to_it() {
    for (seed, fields) in [(1, 12), (2, 40), (3, 2_000)] {
        let (mut fixture, mut random) = (Fixture::new(), Random::from_seed(seed));
        let mut model = Model::new();
        for round in 0..6_000 {
            step(&mut fixture, &mut model, &mut random, fields);
            if round % 97 == 0 {
                check(&mut fixture, &model);
            }
            if round % 501 == 500 {
                // After the sweep, no expired field is left.
                fixture.now.0 += 600;
                let now = fixture.now;
                fixture.now.0 += 2 * 256;
                fixture.sweep();
                model.retain(|_, (_, at)| at.is_none_or(|at| at > now));
                let now = fixture.now;
                model.retain(|_, (_, at)| at.is_none_or(|at| at > now));
                check(&mut fixture, &model);
                let len = fixture.look(|hash| hash.map_or(0, |hash| hash.len()));
                let late = fixture.model().len() as u64;
                assert_eq!(len, late, "round {round}");
                let timed = model.values().any(|(_, at)| at.is_some());
                let facts = fixture.store.keyspace_facts(0);
                assert_eq!((facts.with_timed_parts, facts.with_deadline), (timed.into(), 0));
            }
        }
    }
}

#[test]
fn a_hash_outgrows_its_packed_list_by_fields_by_bytes_and_by_deadlines() {
    let mut fixture = Fixture::new();
    for number in 0..LIMIT.fields {
        fixture.set(number.to_string().as_bytes(), b"v", Deadline::Never);
    }
    assert_eq!(fixture.encoding(), Some(Encoding::Listpack));
    fixture.set(b"one more", b"v", Deadline::Never);
    assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
    let names: Vec<Vec<u8>> = fixture.model().into_keys().collect();
    names.iter().for_each(|name| assert!(fixture.change(|hash| hash.remove(name))));
    assert_eq!(fixture.encoding(), None);
    fixture.set(b"f", &[b'x'; 41], Deadline::Never);
    assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
    assert!(fixture.change(|hash| hash.remove(b"f")));
    fixture.set(b"f", b"v", Deadline::At(Millis(BEGIN.0 + 1)));
    assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
    assert_eq!(fixture.look(|hash| hash.map(|hash| hash.is_small())), Some(true));
}

#[test]
fn a_record_of_long_values_is_one_packed_list_without_growth_room() {
    let mut fixture = Fixture::new();
    let names: Vec<String> = (0..16).map(|number| format!("field{number}")).collect();
    let value = [b'x'; 255];
    let pairs = || names.iter().map(|name| (name.as_bytes(), &value[..]));
    assert_eq!(fixture.change(|hash| hash.set_all(pairs())), Ok(16));
    assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
    let payload: usize = pairs().map(|(name, value)| name.len() + value.len()).sum();
    let appended = fixture.store.totals().appended_bytes as usize;
    assert!(appended < payload + payload / 16, "{appended} bytes for {payload}");
    assert_eq!(fixture.store.growth_bytes(), 0);
    for name in &names {
        fixture.set(name.as_bytes(), &[b'y'; 255], Deadline::Never);
    }
    assert_eq!(fixture.store.totals().appended_bytes as usize, appended, "it is changed in place");
    assert_eq!(
        fixture.look(|hash| hash.map(|hash| (hash.is_small(), hash.len()))),
        Some((true, 16))
    );
}

#[test]
fn long_values_outgrow_a_packed_list_by_their_bytes() {
    let mut fixture = Fixture::new();
    fixture.set(b"first", b"short", Deadline::Never);
    let is_small = |fixture: &mut Fixture| fixture.look(|hash| hash.map(|hash| hash.is_small()));
    for number in 0..LIMIT.fields - 2 {
        fixture.set(number.to_string().as_bytes(), &[b'x'; 300], Deadline::Never);
        assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
    }
    assert_eq!(is_small(&mut fixture), Some(true));
    fixture.set(b"first", &[b'x'; 5_000], Deadline::Never);
    assert_eq!(is_small(&mut fixture), Some(false));
    assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
    assert_eq!(fixture.model().len() as u64, LIMIT.fields - 1);
}

#[test]
fn a_large_hash_that_is_set_at_once_is_written_once() {
    for fields in [LIMIT.fields + 1, 1_000] {
        let mut fixture = Fixture::new();
        let names: Vec<String> = (0..fields).map(|number| format!("field{number}")).collect();
        let value = &b"value of a field"[..];
        let mut pairs: Vec<_> = names.iter().map(|name| (name.as_bytes(), value)).collect();
        pairs.push((b"field7", b"the last one counts"));
        assert_eq!(fixture.change(|hash| hash.set_all(pairs.iter().copied())), Ok(fields));
        assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
        assert_eq!(fixture.model().len() as u64, fields);
        assert_eq!(fixture.model()[&b"field7"[..]].0, b"the last one counts");
        let (live, growth) = (fixture.store.live_bytes(), fixture.store.growth_bytes());
        let appended = fixture.store.totals().appended_bytes;
        assert!(appended < live + growth + live / 8, "{appended} bytes for {live} and {growth}");
    }
}

#[test]
fn a_packed_list_that_would_be_too_long_becomes_trees_under_the_same_name() {
    let mut fixture = Fixture::new();
    let limit = HashLimit { fields: 10_000, text_bytes: 1_000 };
    for number in 0..3_000_u64 {
        let name = number.to_string();
        fixture.on(|access, key| {
            let mut hash = HashMut::open(access, key, limit).expect("a hash");
            hash.set(name.as_bytes(), &[b'v'; 30], Deadline::Never).expect("room");
        });
    }
    assert_eq!(fixture.encoding(), Some(Encoding::Listpack));
    assert_eq!(fixture.look(|hash| hash.map(|hash| hash.is_small())), Some(false));
    assert_eq!(fixture.model().len(), 3_000);
    fixture.set(b"0", b"w", Deadline::Never);
    assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
}

#[test]
fn due_fields_of_a_large_hash_are_gone_after_one_sweep() {
    let mut fixture = Fixture::new();
    let fields = if cfg!(miri) { 300 } else { 50_000_u64 };
    for number in 0..fields {
        let deadline = if number % 10 == 0 {
            Deadline::Never
        } else {
            Deadline::At(Millis(BEGIN.0 + number % 7))
        };
        fixture.set(format!("field {number}").as_bytes(), b"value", deadline);
    }
    fixture.now.0 += 300;
    fixture.sweep();
    assert_eq!(fixture.look(|hash| hash.map(|hash| hash.len())), Some(fields.div_ceil(10)));
    assert_eq!(fixture.store.totals().expired_parts, fields - fields.div_ceil(10));
    assert_eq!(fixture.store.keyspace_facts(0).with_timed_parts, 0);
}

#[test]
fn a_hash_of_which_all_fields_are_due_is_removed() {
    for fields in [3_u64, 300] {
        let mut fixture = Fixture::new();
        for number in 0..fields {
            let at = Deadline::At(Millis(BEGIN.0 + 1 + number));
            fixture.set(number.to_string().as_bytes(), b"value", at);
        }
        fixture.now.0 += fields + 300;
        fixture.sweep();
        assert_eq!(fixture.store.keys(), 0);
        let facts = fixture.store.keyspace_facts(0);
        assert_eq!((facts.with_timed_parts, facts.with_deadline), (0, 0));
    }
}

#[test]
fn copies_and_renamed_hashes_expire_in_part_too() {
    for fields in [3_u64, 300] {
        let mut fixture = Fixture::new();
        for number in 0..fields {
            let at = Deadline::At(Millis(BEGIN.0 + 2_000));
            fixture.set(number.to_string().as_bytes(), b"value", at);
        }
        fixture.set(b"stays", b"value", Deadline::Never);
        let Fixture { store, thread, now } = &mut fixture;
        store.enter(thread);
        let key = store.key(KeyspaceId(0), NAME);
        let others = [store.key(KeyspaceId(0), b"copy"), store.key(KeyspaceId(0), b"renamed")];
        let mut shards = crate::shard::ShardSet::new();
        [key, others[0], others[1]].iter().for_each(|key| shards.add(key.hash));
        let mut access = store.lock_all(thread, shards, *now).muted();
        assert_eq!(access.copy(&key, &others[0]), Ok(true));
        assert_eq!(access.rename(&key, &others[1]), Ok(true));
        drop(access);
        store.leave(thread);
        assert_eq!(store.keyspace_facts(0).with_timed_parts, 2);
        for millis in [300, 1_000, 2_300] {
            store.sweep_deadlines(thread, Millis(BEGIN.0 + millis));
        }
        assert_eq!(store.totals().expired_parts, 2 * fields);
        assert_eq!(store.keyspace_facts(0).with_timed_parts, 0);
        assert_eq!(store.keys(), 2);
    }
}

#[test]
fn random_fields_are_different_ones_and_all_have_a_chance() {
    let mut fixture = Fixture::new();
    let mut random = Random::from_seed(7);
    for number in 0..200_u64 {
        fixture.set(number.to_string().as_bytes(), b"v", Deadline::Never);
        if number < 5 {
            fixture
                .change(|hash| hash.set_deadline(number.to_string().as_bytes(), Some(BEGIN)))
                .expect("room");
        }
    }
    fixture.look(|hash| {
        let hash = hash.expect("a hash");
        for count in [1, 20, 100, 190, 500_u64] {
            let mut seen = Vec::new();
            random_fields(&hash, count, &mut random, |pair| seen.push(pair.field.to_text()));
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len() as u64, count.min(195));
        }
        let mut seen: Vec<_> = (0..3_000)
            .map(|_| random_field(&hash, &mut random).expect("a field").field.to_text())
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 195);
    });
}

/// Lengths around the limits of packed lists: of a text, of a list with long texts, and of any
/// list.
const LENGTHS: [usize; 12] =
    [0, 40, 41, 2_000, 8_100, 8_150, 8_192, 9_000, 50_000, 59_980, 65_536, 70_000];

#[test]
fn a_field_of_any_length_goes_into_a_small_hash_of_either_form() {
    let limit = HashLimit { fields: 2_000, text_bytes: 40 };
    let deadlines = [Deadline::Never, Deadline::Keep, Deadline::At(Millis(BEGIN.0 + 900))];
    for (fields, len) in [(1, 1), (1, 39), (100, 40), (900, 40)] {
        for (first, length, deadline) in deadlines
            .iter()
            .flat_map(|first| LENGTHS.map(|length| (*first, length)))
            .flat_map(|(first, length)| deadlines.map(|deadline| (first, length, deadline)))
        {
            let (mut fixture, mut model) = (Fixture::new(), Model::new());
            let mut set = |field: String, value: Vec<u8>, deadline: Deadline| {
                let field = field.into_bytes();
                let set = |access: &mut Access<'_>, key: &Key<'_>| {
                    let mut hash = HashMut::open(access, key, limit).expect("a hash");
                    hash.set(&field, &value, deadline).expect("room")
                };
                fixture.on(set);
                let old = model.get(&field).and_then(|(_, at): &(Vec<u8>, _)| *at);
                let at = match deadline {
                    Deadline::Keep => old,
                    Deadline::Never => None,
                    Deadline::At(at) => Some(at),
                };
                model.insert(field, (value, at));
            };
            (0..fields).for_each(|field| set(field.to_string(), vec![b'a'; len], first));
            set("0".to_owned(), vec![b'b'; length], deadline);
            set("new".to_owned(), vec![b'c'; length], deadline);
            assert_eq!(
                fixture.model(),
                model,
                "{fields} fields, {first:?}, {length}, {deadline:?}"
            );
        }
    }
}

#[test]
fn a_deadline_for_a_field_of_a_packed_list_without_room_makes_the_hash_large() {
    for bytes in (59_000..60_100).step_by(50).chain([40_000, 59_900, 59_995]) {
        let (mut fixture, fields) = (Fixture::new(), 600);
        let limit = HashLimit { fields: 2_000, text_bytes: 200 };
        let len = bytes / fields - 8;
        let as_of = |field: usize, at| (field.to_string().into_bytes(), (vec![b'v'; len], at));
        let mut model: Model = (0..fields).map(|field| as_of(field, None)).collect();
        for (field, (value, _)) in &model {
            let set = |access: &mut Access<'_>, key: &Key<'_>| {
                let mut hash = HashMut::open(access, key, limit).expect("a hash");
                hash.set(field, value, Deadline::Never).expect("room")
            };
            fixture.on(set);
        }
        let at = Millis(BEGIN.0 + 900);
        for field in [5, 6] {
            let set = |hash: &mut HashMut<'_, '_>| {
                hash.set_deadline(field.to_string().as_bytes(), Some(at)).expect("room")
            };
            assert!(fixture.change(set));
            model.extend([as_of(field, Some(at))]);
        }
        assert_eq!(fixture.model(), model, "{bytes} bytes");
    }
}

#[test]
fn a_gathered_hash_is_sound_trees_of_its_fields_and_deadlines() {
    for timed in [0, 1, 5, 7_000] {
        let (mut fixture, mut random, mut model) =
            (Fixture::new(), Random::from_seed(8), Model::new());
        let mut gathered = GatheredHash::new(fixture.store.hasher(), LIMIT);
        for number in 0..30_000_u64 {
            let value = text(&mut random, 1 << 40);
            let field = if number % 999 == 0 { vec![b'l'; 600] } else { Vec::new() };
            let field = [&field[..], number.to_string().as_bytes()].concat();
            let due = number.checked_rem(timed) == Some(0);
            let deadline = due.then(|| Millis(BEGIN.0 + 1 + random.below(1_000)));
            gathered.push(&field, &value, deadline).expect("memory");
            model.insert(field, (value, deadline));
        }
        let stored = fixture.on(|access, key| {
            let stored = gathered.store(access, key);
            let value = access.value(key).expect("it is there");
            value.view::<Leaf>(FIELDS).verify().expect("a sound tree");
            if timed > 0 {
                value.view::<DueLeaf>(DUE).verify().expect("a sound tree");
            }
            stored
        });
        assert_eq!(stored, Ok(()));
        assert_eq!(fixture.encoding(), Some(Encoding::Hashtable));
        assert!(fixture.model() == model);
        // It changes as others do, and its deadlines are met.
        for field in model.keys().step_by(4).cloned().collect::<Vec<_>>() {
            fixture.set(&field, b"new", Deadline::Never);
            model.insert(field, (b"new".to_vec(), None));
        }
        assert!(fixture.model() == model);
        fixture.now = Millis(BEGIN.0 + 500);
        let now = fixture.now;
        (0..1_000).for_each(|_| fixture.sweep());
        model.retain(|_, (_, deadline)| deadline.is_none_or(|at| at > now));
        assert!(fixture.model() == model, "swept: each {timed}th field");
    }
}

use super::format::HEAD_BYTES;
use super::hash::{Mark, mark_of};
use super::registers::Registers;
use super::sketch::{Layout, Sketch};
use super::sparse::RunAt;
use super::{HyperLogLogError, REGISTERS, add, count, count_all, dense, make_dense, merge};
use super::{self_test, sparse};
use crate::access::Access;
use crate::key::{Encoding, Expiry, Key};
use crate::shard::{ShardSet, ThreadContext};
use crate::store::{Store, StoreConfig};
use base::{KeyHasher, KeyspaceId, Millis, Random};
use std::borrow::Cow;

const SPARSE_BYTES_MAX: u64 = 3_000;
const NAMES: [&[u8]; 3] = [b"a", b"b", b"c"];
/// String that Valkey keeps after PFADD k 1 2 3.
const ONE_TWO_THREE: &[u8] = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80]f\x80Mt\x80Q,\x8cC\xf3";

struct Fixture {
    store: Store,
    thread: ThreadContext,
}

impl Fixture {
    fn new() -> Fixture {
        let hasher = KeyHasher::from_seed(2);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(64 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        Fixture { store, thread }
    }

    fn on<T>(&mut self, names: &[&[u8]], act: impl FnOnce(&mut Access<'_>, &[Key<'_>]) -> T) -> T {
        let keys: Vec<_> = names.iter().map(|name| self.store.key(KeyspaceId(0), name)).collect();
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        act(&mut self.store.lock_all(&mut self.thread, shards, Millis(1_000_000)).muted(), &keys)
    }

    fn add(&mut self, name: &[u8], elements: &[&[u8]]) -> Result<u64, HyperLogLogError> {
        let elements = elements.iter().copied();
        self.on(&[name], |access, keys| add(access, &keys[0], elements, SPARSE_BYTES_MAX))
    }

    fn set(&mut self, name: &[u8], bytes: &[u8]) {
        let expiry = Expiry::At(Millis(2_000_000));
        self.on(&[name], |access, keys| {
            access.set_string(&keys[0], bytes, Encoding::Embedded, expiry)
        })
        .expect("room");
    }

    fn bytes(&mut self, name: &[u8]) -> Vec<u8> {
        self.on(&[name], |access, keys| {
            access.lookup_without_touch(&keys[0]).map(|value| value.bytes.to_vec())
        })
        .unwrap_or_default()
    }
}

fn registers_of(sketch: &Sketch<'_>) -> Registers {
    let mut registers = Registers::zeros();
    sketch.merge_into(&mut registers).expect("whole runs");
    registers
}

fn random_registers(random: &mut Random) -> Registers {
    let most = 1 + random.below(64);
    Registers(std::array::from_fn(|_| random.below(most) as u8))
}

#[test]
fn elements_mark_the_registers_that_valkey_has_them_mark() {
    let rows: [(&[u8], usize, u8); 5] = [
        (b"", 5_938, 2),
        (b"a", 12_711, 2),
        (b"abcdefg", 5_634, 2),
        (b"abcdefgh", 1_383, 1),
        (b"hello world", 9_399, 4),
    ];
    for (element, register, value) in rows {
        assert_eq!(mark_of(element), Mark { register, value }, "{element:?}");
    }
}

#[test]
fn a_key_has_the_bytes_that_valkey_gives_it() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.add(b"a", &[]), Ok(1));
    assert_eq!(fixture.bytes(b"a"), b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7f\xff");
    assert_eq!(fixture.add(b"a", &[b"1", b"2", b"3", b"2"]), Ok(3));
    assert_eq!(fixture.bytes(b"a"), ONE_TWO_THREE);
    assert_eq!(fixture.add(b"a", &[b"1"]), Ok(0));
}

#[test]
fn estimates_and_lengths_are_those_of_valkey() {
    let mut fixture = Fixture::new();
    let mut added = 0_u64;
    for (until, estimate, len) in [(10, 10, 48), (1_000, 1_001, 1_923), (100_000, 99_565, 12_304)] {
        while added < until {
            fixture.add(b"a", &[added.to_string().as_bytes()]).expect("room");
            added += 1;
        }
        let found = fixture.on(&[b"a"], |access, keys| count(access, &keys[0]));
        assert_eq!(found.map(|found| found.elements), Ok(estimate));
        assert_eq!(fixture.bytes(b"a").len(), len);
    }
}

#[test]
fn an_estimate_is_kept_until_a_register_changes() {
    let mut fixture = Fixture::new();
    fixture.set(b"a", ONE_TWO_THREE);
    let is_new = |fixture: &mut Fixture| {
        fixture.on(&[b"a"], |access, keys| count(access, &keys[0])).map(|count| count.is_new)
    };
    assert_eq!(is_new(&mut fixture), Ok(true));
    assert_eq!(fixture.bytes(b"a")[8..16], [3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fixture.add(b"a", &[b"3"]), Ok(0));
    assert_eq!(is_new(&mut fixture), Ok(false));
    assert_eq!(fixture.add(b"a", &[b"4"]), Ok(1));
    assert_eq!(fixture.bytes(b"a")[15], 0x80);
    assert_eq!(is_new(&mut fixture), Ok(true));
}

#[test]
fn registers_that_no_element_leaves_are_estimated_as_valkey_does() {
    for (value, expected) in [(0, 0), (1, 23_637), (5, 378_194), (50, 1 << 63), (63, 1 << 63)] {
        let estimate = Registers([value; REGISTERS]).histogram().estimate();
        assert_eq!(estimate, expected, "{value}");
    }
}

#[test]
fn dense_registers_are_those_of_a_plain_array() {
    let mut random = Random::from_seed(1);
    for _ in 0..20 {
        let (mut model, other) = (random_registers(&mut random), random_registers(&mut random));
        let mut bytes = [0xff; dense::REGISTER_BYTES];
        dense::fill(&mut bytes, &model);
        for _ in 0..1_000 {
            let (at, value) = (random.below(REGISTERS as u64) as usize, random.below(64) as u8);
            assert_eq!(dense::get(&bytes, at), model.0[at]);
            assert_eq!(dense::raise(&mut bytes, at, value), model.0[at] < value);
            model.0[at] = model.0[at].max(value);
        }
        assert_eq!(dense::registers(&bytes).0, model.0);
        let mut merged = other.clone();
        merged.raise(&model);
        assert!((0..REGISTERS).all(|at| merged.0[at] == other.0[at].max(model.0[at])));
    }
}

#[test]
fn sparse_registers_are_those_of_a_plain_array_whatever_their_order() {
    let mut random = Random::from_seed(2);
    for _ in 0..30 {
        let mut model = Registers::zeros();
        let mut bytes = Cow::Owned(Sketch::empty().bytes().to_vec());
        // Few registers and few values, so that runs are split and joined.
        let (width, most) = (4 + random.below(400), 1 + random.below(32));
        let first = random.below(REGISTERS as u64 - width);
        for _ in 0..600 {
            let at = (first + random.below(width)) as usize;
            let value = 1 + random.below(most) as u8;
            let (mut from, mark) = (RunAt::FIRST, Mark { register: at, value });
            let raised = sparse::raise(&mut bytes, &mut from, mark, u64::MAX).expect("whole runs");
            assert_eq!(raised == sparse::Raised::Yes, model.0[at] < value);
            model.0[at] = model.0[at].max(value);
        }
        let mut found = Registers::zeros();
        sparse::merge(&bytes[HEAD_BYTES..], &mut found).expect("whole runs");
        assert_eq!(found.0, model.0);
        let histogram = sparse::histogram(&bytes[HEAD_BYTES..]).expect("whole runs");
        assert_eq!(histogram.estimate(), model.histogram().estimate());
    }
}

#[test]
fn registers_in_order_give_the_same_bytes_as_one_by_one() {
    let mut random = Random::from_seed(5);
    for _ in 0..2_000 {
        let mut runs: Cow<'_, [u8]> = Cow::Owned(Sketch::empty().bytes().to_vec());
        let mut one_by_one = runs.clone();
        // Few registers and few values, so that most runs are joined and split again.
        let (width, most) = (4 + random.below(20) as usize, 2 + random.below(5));
        for _ in 0..6 {
            let mut from = RunAt::FIRST;
            for register in 0..width {
                if random.one_in(3) {
                    continue;
                }
                let mark = Mark { register, value: 1 + random.below(most) as u8 };
                let mut first = RunAt::FIRST;
                let raised = sparse::raise(&mut runs, &mut from, mark, u64::MAX);
                assert_eq!(raised, sparse::raise(&mut one_by_one, &mut first, mark, u64::MAX));
                assert_eq!(runs, one_by_one);
            }
        }
    }
}

#[test]
fn equal_neighbours_become_one_run_of_up_to_four() {
    let mut registers = Registers::zeros();
    registers.0[1_000] = 2;
    registers.0[1_020..1_026].fill(3);
    let mut sketch = Sketch::empty();
    sketch.take(&registers, Layout::Sparse, SPARSE_BYTES_MAX).expect("whole runs");
    use sparse::Run::{LongZeros, ShortZeros, Values};
    let expected = [
        LongZeros(1_000),
        Values(2, 1),
        ShortZeros(19),
        Values(3, 4),
        Values(3, 2),
        LongZeros(15_358),
    ];
    assert_eq!(sketch.runs().collect::<Vec<_>>(), expected);
}

#[test]
fn a_sketch_becomes_dense_beyond_its_limit_or_for_a_value_above_32() {
    let rows = [
        (32, 21, Layout::Sparse),
        (32, 20, Layout::Dense),
        (32, 0, Layout::Dense),
        (33, 3_000, Layout::Dense),
    ];
    for (value, bytes_max, form) in rows {
        let mut registers = Registers::zeros();
        registers.0[500] = value;
        let mut sketch = Sketch::empty();
        sketch.take(&registers, Layout::Sparse, bytes_max).expect("whole runs");
        assert_eq!(sketch.form(), form, "{value} {bytes_max}");
        assert_eq!(registers_of(&sketch).0, registers.0, "{value} {bytes_max}");
    }
}

#[test]
fn keys_count_and_merge_as_plain_arrays_do() {
    let (mut fixture, mut random) = (Fixture::new(), Random::from_seed(3));
    let mut models = [const { Registers([0; REGISTERS]) }; NAMES.len()];
    for step in 0..3_000 {
        let at = random.below(3) as usize;
        let names = [NAMES[at], NAMES[random.below(3) as usize], NAMES[random.below(3) as usize]];
        match random.below(20) {
            0 => {
                fixture.on(&[NAMES[at]], |access, keys| access.remove(&keys[0]));
                models[at] = Registers::zeros();
            }
            1..=3 => {
                let merge = |access: &mut Access<'_>, keys: &[Key<'_>]| merge(access, keys, 3_000);
                fixture.on(&names, merge).expect("whole runs");
                models[at] = union(&models, &names);
            }
            4..=6 => {
                let found = fixture.on(&names, count_all);
                assert_eq!(found, Ok(union(&models, &names).histogram().estimate()), "{step}");
            }
            7 => {
                fixture
                    .on(&[NAMES[at]], |access, keys| make_dense(access, &keys[0]))
                    .expect("room");
            }
            8..=10 => {
                let found = fixture.on(&[NAMES[at]], |access, keys| count(access, &keys[0]));
                let expected = models[at].histogram().estimate();
                assert_eq!(found.map(|found| found.elements), Ok(expected), "{step}");
            }
            _ => {
                let element = random.next().to_le_bytes();
                fixture.add(NAMES[at], &[&element]).expect("room");
                let Mark { register, value } = mark_of(&element);
                models[at].0[register] = models[at].0[register].max(value);
            }
        }
    }
}

fn union(models: &[Registers], names: &[&[u8]]) -> Registers {
    let mut union = Registers::zeros();
    for (model, _) in models.iter().zip(NAMES).filter(|(_, name)| names.contains(name)) {
        union.0.iter_mut().zip(model.0).for_each(|(to, from)| *to = from.max(*to));
    }
    union
}

#[test]
fn strings_of_clients_are_refused_or_read_and_never_panic() {
    let mut random = Random::from_seed(4);
    for round in 0..3_000 {
        let mut bytes = ONE_TWO_THREE.to_vec();
        for _ in 0..random.below(40) {
            bytes.push(random.below(256) as u8);
        }
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(random.below(bytes.len() as u64 + 20) as usize);
        let Some(mut sketch) = Sketch::of(&bytes) else { continue };
        let mut registers = Registers::zeros();
        let is_whole = sketch.merge_into(&mut registers).is_ok();
        assert_eq!(sketch.count().is_ok(), is_whole, "round {round}");
        for element in 0..100_u32 {
            let added = sketch.add(&element.to_le_bytes(), 40 + random.below(100));
            assert!(added.is_ok() || !is_whole, "round {round}");
        }
        assert_eq!(sketch.make_dense().is_ok(), is_whole || sketch.form() == Layout::Dense);
    }
}

#[test]
fn what_was_added_before_a_wrong_run_showed_is_kept() {
    let mut fixture = Fixture::new();
    // The registers from 6000 on are missing; "" marks 5938, "a" 12711.
    fixture.set(b"a", b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x57\x6f");
    assert_eq!(fixture.add(b"a", &[b"", b"a"]), Err(HyperLogLogError::Corrupted));
    assert_eq!(fixture.bytes(b"a"), b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x57\x31\x84\x3c");
    let deadline =
        fixture.on(&[b"a"], |access, keys| access.lookup_without_touch(&keys[0])?.deadline);
    assert_eq!(deadline, Some(Millis(2_000_000)));
}

#[test]
fn strings_without_the_head_or_length_of_one_are_refused() {
    let mut fixture = Fixture::new();
    let dense = [b"HYLL\0", &[0; 12_299][..]].concat();
    assert!(Sketch::of(&dense).is_some());
    let others: [&[u8]; 5] = [
        b"",
        b"HYLL\x01",
        b"HYLX\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff",
        &dense[1..],
        &dense[..12_303],
    ];
    for bytes in others {
        fixture.set(b"a", bytes);
        assert_eq!(fixture.add(b"a", &[b"1"]), Err(HyperLogLogError::NotOne));
        assert_eq!(fixture.bytes(b"a"), bytes);
    }
}

#[test]
fn the_self_test_passes() {
    for seed in 0..3 {
        assert_eq!(self_test(seed, SPARSE_BYTES_MAX), Ok(()));
    }
}

use super::{Condition, StringError, add, add_float, append, range, set_range};
use crate::access::Access;
use crate::key::{Encoding, Expiry};
use crate::shard::ThreadContext;
use crate::store::{Store, StoreConfig};
use base::{KeyHasher, KeyspaceId, Millis, Random};
use std::collections::BTreeMap;

const LEN_MAX: u64 = 3_000;
const NAMES: [&[u8]; 5] = [b"", b"a", b"b", b"a longer name", &[0xff; 300]];

struct Fixture {
    store: Store,
    thread: ThreadContext,
}

impl Fixture {
    fn new() -> Fixture {
        let address_space = Some(64 << 20);
        let hasher = KeyHasher::from_seed(2);
        let config = StoreConfig { databases: 1, hasher, address_space };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        Fixture { store, thread }
    }

    fn on<T>(&mut self, name: &[u8], act: impl FnOnce(&mut Access<'_>, &crate::Key<'_>) -> T) -> T {
        let key = self.store.key(KeyspaceId(0), name);
        act(&mut self.store.lock(&mut self.thread, &key, Millis(1_000_000)).muted(), &key)
    }

    fn value(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.on(name, |access, key| {
            access.lookup_without_touch(key).map(|value| value.bytes.to_vec())
        })
    }
}

#[derive(Clone, Debug)]
enum Op {
    Write(Vec<u8>),
    Append(Vec<u8>),
    SetRange(usize, Vec<u8>),
    Add(i64),
    Remove,
}

fn random_op(random: &mut Random) -> Op {
    let bytes = |random: &mut Random, most: u64| {
        (0..random.below(most)).map(|_| random.below(256) as u8).collect::<Vec<u8>>()
    };
    match random.below(10) {
        0 => Op::Write(bytes(random, 400)),
        1 => Op::Write((random.next().cast_signed() >> random.below(64)).to_string().into_bytes()),
        2..5 => Op::Append(bytes(random, 200)),
        5..7 => Op::SetRange(random.below(3_500) as usize, bytes(random, 100)),
        7..9 => Op::Add(random.next().cast_signed() >> random.below(64)),
        _ => Op::Remove,
    }
}

type Answer = Result<i128, StringError>;

fn apply(fixture: &mut Fixture, name: &[u8], op: &Op) -> Answer {
    fixture.on(name, |access, key| match op {
        Op::Write(value) => {
            access.set_string(key, value, Encoding::of_new(value), Expiry::Never)?;
            Ok(0)
        }
        Op::Append(tail) => append(access, key, tail, LEN_MAX).map(|len| len as i128),
        Op::SetRange(at, patch) => {
            set_range(access, key, *at, patch, LEN_MAX).map(|len| len as i128)
        }
        Op::Add(by) => add(access, key, *by).map(i128::from),
        Op::Remove => Ok(access.remove(key).into()),
    })
}

fn apply_to_model(model: &mut BTreeMap<Vec<u8>, Vec<u8>>, name: &[u8], op: &Op) -> Answer {
    let present = model.get(name).cloned();
    let next = match op {
        Op::Write(value) => value.clone(),
        Op::Append(tail) => [present.clone().unwrap_or_default(), tail.clone()].concat(),
        Op::SetRange(_, patch) if patch.is_empty() => {
            return Ok(present.map_or(0, |value| value.len() as i128));
        }
        Op::SetRange(at, patch) => {
            let mut value = present.clone().unwrap_or_default();
            value.resize(value.len().max(at + patch.len()), 0);
            value[*at..at + patch.len()].copy_from_slice(patch);
            value
        }
        Op::Add(by) => {
            let text = String::from_utf8(present.unwrap_or(b"0".to_vec()));
            let old: Option<i64> = text.ok().and_then(|text| text.parse().ok());
            let sum = i128::from(old.ok_or(StringError::NotInteger)?) + i128::from(*by);
            let sum = i64::try_from(sum).map_err(|_| StringError::Overflow)?;
            model.insert(name.to_vec(), sum.to_string().into_bytes());
            return Ok(sum.into());
        }
        Op::Remove => return Ok(model.remove(name).is_some().into()),
    };
    let len = next.len();
    let grows = present.is_some() || matches!(op, Op::SetRange(..));
    if len as u64 > LEN_MAX && grows {
        return Err(StringError::TooLong);
    }
    model.insert(name.to_vec(), next);
    Ok(if matches!(op, Op::Write(_)) { 0 } else { len as i128 })
}

#[test]
fn any_sequence_of_changes_leaves_what_a_map_of_vectors_holds() {
    let (mut fixture, mut model) = (Fixture::new(), BTreeMap::new());
    let mut random = Random::from_seed(17);
    for step in 0..if cfg!(miri) { 200 } else { 20_000 } {
        let name = NAMES[random.below(NAMES.len() as u64) as usize];
        let op = random_op(&mut random);
        let expected = apply_to_model(&mut model, name, &op);
        assert_eq!(apply(&mut fixture, name, &op), expected, "step {step}: {op:?}");
        assert_eq!(fixture.value(name), model.get(name).cloned(), "step {step}: {op:?}");
    }
}

#[test]
fn a_range_has_both_ends_and_stays_inside() {
    for len in 0..6_usize {
        for (start, end) in (-8..8).flat_map(|start| (-8..8).map(move |end| (start, end))) {
            let place = |at: i64| if at < 0 { (at + len as i64).max(0) } else { at };
            let reversed = start < 0 && end < 0 && start > end;
            let expected: Vec<usize> = (0..len)
                .filter(|at| (place(start)..=place(end)).contains(&(*at as i64)) && !reversed)
                .collect();
            assert_eq!(range(len, start, end).collect::<Vec<_>>(), expected, "{start} {end}");
        }
    }
    assert_eq!(range(5, i64::MIN, i64::MAX), 0..5);
}

#[test]
fn encodings_follow_what_was_done_to_a_string() {
    let mut fixture = Fixture::new();
    let encoding = |fixture: &mut Fixture| {
        fixture.on(b"k", |access, key| access.lookup_without_touch(key).map(|value| value.encoding))
    };
    fixture.on(b"k", |access, key| add(access, key, 41)).expect("an integer");
    assert_eq!(encoding(&mut fixture), Some(Encoding::Int));
    fixture.on(b"k", |access, key| add_float(access, key, b"1")).expect("a number");
    assert_eq!(encoding(&mut fixture), Some(Encoding::Embedded));
    fixture.on(b"k", |access, key| append(access, key, b"", LEN_MAX)).expect("fits");
    assert_eq!(encoding(&mut fixture), Some(Encoding::Raw));
    assert_eq!(fixture.value(b"k").as_deref(), Some(&b"42"[..]));
}

#[test]
fn sums_of_decimals_are_exact_and_failed_ones_change_nothing() {
    let mut fixture = Fixture::new();
    let mut add = |by: &[u8]| fixture.on(b"k", |access, key| add_float(access, key, by));
    assert_eq!(add(b"0.1").as_deref(), Ok("0.1"));
    assert_eq!(add(b"0.2").as_deref(), Ok("0.3"));
    assert!(matches!(add(b"x"), Err(StringError::Float(_))));
    assert!(matches!(add(b"inf"), Err(StringError::Float(_))));
    assert_eq!(fixture.value(b"k").as_deref(), Some(&b"0.3"[..]));
}

#[test]
fn a_condition_asks_what_is_there() {
    let mut fixture = Fixture::new();
    for name in [b"this", &b"other"[..]] {
        fixture.on(name, |access, key| append(access, key, name, LEN_MAX)).expect("room");
    }
    for (condition, expected) in [
        (Condition::Always, [true, true, true]),
        (Condition::Absent, [true, false, false]),
        (Condition::Present, [false, true, true]),
        (Condition::Equals(b"this"), [false, true, false]),
    ] {
        let names = [b"nothing", &b"this"[..], b"other"];
        let met = names.map(|name| fixture.on(name, |access, key| condition.is_met(access, key)));
        assert_eq!(met, expected.map(Ok));
    }
}

//! Large values come in pieces: whatever their sizes, they hold what they should, and what is wrong
//! with them is told with its offset.

use crate::world::{NOW, World};
use base::Millis;
use rdb::{Error, Flaw};
use snapshot::{LoadError, dump};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use store::value::stream::{self, Add, Id, NewId, NodeLimit};
use store::value::{hash, list, sorted_set};
use store::{Access, Element};

const HEAD: &[u8] = b"REDIS0011";
/// A checksum of zero stands for none.
const END: &[u8] = b"\xff\0\0\0\0\0\0\0\0";
const LIST: u8 = 1;
const SET: u8 = 2;
const SORTED_SET: u8 = 5;
const HASH: u8 = 4;
const TIMED_HASH: u8 = 22;
const VALKEY: &[u8] = b"VALKEY080";
/// What is read of a value before it is known to be large, and how much follows at once.
const LARGE_FROM: usize = 1 << 20;
const PIECE: usize = 256 << 10;
/// Bytes of each row, so that pieces end wherever they should.
const ROW: usize = 64;

impl World {
    fn on<T>(&mut self, key: &str, act: impl FnOnce(&mut Access<'_>, &store::Key<'_>) -> T) -> T {
        let key = self.store.key(self.store.keyspace(0).expect("the first"), key.as_bytes());
        self.store.reserve(&mut self.thread, 4 << 20, NOW).expect("room");
        self.store.enter(&self.thread);
        let done = act(&mut self.store.lock(&mut self.thread, &key, NOW).muted(), &key);
        self.store.leave(&self.thread);
        done
    }

    fn list(&mut self) -> Vec<Vec<u8>> {
        self.on("k", |access, key| {
            let list = list::lookup_without_touch(access, key).expect("a list").expect("there");
            list.iter_from(0).map(Element::to_text).collect()
        })
    }

    fn fields(&mut self) -> Fields {
        self.on("k", |access, key| {
            let hash = hash::lookup_without_touch(access, key).expect("a hash").expect("there");
            let row = |pair: hash::Pair<'_>| {
                (pair.field.to_text(), (pair.value.to_text(), pair.deadline.map(|at| at.0)))
            };
            let fields: Fields = hash.iter().map(row).collect();
            assert!(fields.keys().all(|name| hash.get(name).is_some()), "each field is found");
            assert_eq!(hash.len(), fields.len() as u64);
            fields
        })
    }

    fn scored_members(&mut self) -> Vec<(Vec<u8>, u64)> {
        self.on("k", |access, key| {
            let set = sorted_set::lookup_without_touch(access, key).expect("its kind");
            let set = set.expect("there");
            let pairs = set.iter_from(0).map(|(member, score)| (member.to_text(), score));
            let pairs: Vec<(Vec<u8>, f64)> = pairs.collect();
            assert!(pairs.iter().all(|(member, score)| set.score(member) == Some(*score)));
            pairs.into_iter().map(|(member, score)| (member, score.to_bits())).collect()
        })
    }
}

type Fields = BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)>;

fn count(number: usize) -> Vec<u8> {
    [&[0x80][..], &u32::try_from(number).expect("a small number").to_be_bytes()].concat()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&count(bytes.len())[..], bytes].concat()
}

/// A file with one key `k`.
fn file(value_type: u8, len: usize, rows: &[Vec<u8>]) -> Vec<u8> {
    let head = if value_type == TIMED_HASH { VALKEY } else { HEAD };
    let key = [&[value_type][..], &text(b"k"), &count(len)].concat();
    [head, &key, &rows.concat(), END].concat()
}

/// A text that is different for each number and fills its row up to `bytes`.
fn name(number: usize, bytes: usize) -> Vec<u8> {
    let mut name = match number % 4 {
        0 => (number * 7919).to_string().into_bytes(),
        _ => format!("{number:x}.").into_bytes(),
    };
    if !number.is_multiple_of(4) {
        name.resize(bytes, b'z');
    }
    name
}

/// Numbers of rows of `ROW` bytes at which pieces end, and those around.
fn counts() -> Vec<usize> {
    let ends = [LARGE_FROM, LARGE_FROM + PIECE, LARGE_FROM + 2 * PIECE, 3 * LARGE_FROM];
    ends.iter().flat_map(|end| [end / ROW - 1, end / ROW, end / ROW + 1]).collect()
}

/// Each row is shorter than `ROW` where its text is a number, so that many more make a piece.
fn text_row(number: usize) -> Vec<u8> {
    text(&name(number, ROW - 5))
}

#[test]
fn lists_are_appended_around_the_borders_of_pieces() {
    for len in counts() {
        // Elements may be equal.
        let elements: Vec<Vec<u8>> = (0..len).map(|at| name(at % 5_000, ROW - 5)).collect();
        let rows: Vec<Vec<u8>> = elements.iter().map(|it| text(it)).collect();
        for threads in [1, 3] {
            let mut world = World::new();
            world.load(&file(LIST, len, &rows), threads, false).expect("a good file");
            assert!(world.list() == elements, "{len} elements, {threads} threads");
            assert_eq!(world.progress.keys.load(Relaxed), 1);
        }
    }
}

#[test]
fn hashes_are_built_around_the_borders_of_pieces() {
    for len in counts() {
        let row = |at| [text(&name(at, 20)), text(&name(at + 1, ROW - 30))].concat();
        let rows: Vec<Vec<u8>> = (0..len).map(row).collect();
        let model: Fields =
            (0..len).map(|at| (name(at, 20), (name(at + 1, ROW - 30), None))).collect();
        for threads in [1, 3] {
            let mut world = World::new();
            world.load(&file(HASH, len, &rows), threads, false).expect("a good file");
            assert!(world.fields() == model, "{len} fields, {threads} threads");
        }
    }
}

#[test]
fn fields_of_large_hashes_keep_their_deadlines() {
    for (len, every) in [(30_000, 1), (30_000, 7), (30_000, 29_999)] {
        let deadline =
            |at: usize| at.is_multiple_of(every).then_some(NOW.0 + 5_000 + at as u64 % 900);
        let model: Fields =
            (0..len).map(|at| (name(at, 20), (name(at, 40), deadline(at)))).collect();
        let row = |at: usize| {
            let millis = deadline(at).map_or(-1, |at| at as i64);
            [&text(&name(at, 20))[..], &text(&name(at, 40)), &millis.to_le_bytes()].concat()
        };
        let rows: Vec<Vec<u8>> = (0..len).map(row).collect();
        let mut world = World::new();
        world.load(&file(TIMED_HASH, len, &rows), 2, false).expect("a good file");
        assert!(world.fields() == model, "each {every}th field of {len}");
        // The sweep finds those that are due, and no others.
        let later = Millis(NOW.0 + 5_000 + 450);
        let left = model.into_iter().filter(|(_, (_, at))| at.is_none_or(|at| at > later.0));
        let left: Fields = left.collect();
        for _ in 0..1_000 {
            world.store.sweep_deadlines(&mut world.thread, later);
        }
        assert!(world.fields() == left, "swept: each {every}th field of {len}");
    }
}

/// Score of a member: whole, broken, negative, equal to others, the zeros and the infinities.
fn score(at: usize) -> f64 {
    match at % 6 {
        0 => (at / 60) as f64,
        1 => -(at as f64) / 7.0,
        2 => [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY][at / 6 % 4],
        _ => at as f64 * 1e10,
    }
}

#[test]
fn sorted_sets_are_built_around_the_borders_of_pieces_whatever_their_order() {
    let row = |(member, score): &(Vec<u8>, f64)| [&text(member)[..], &score.to_le_bytes()].concat();
    for (number, len) in counts().into_iter().enumerate() {
        let mut pairs: Vec<(Vec<u8>, f64)> =
            (0..len).map(|at| (name(at, ROW - 13), score(at))).collect();
        let mut sorted = pairs.clone();
        sorted.sort_by(|one, other| {
            let order = one.1.partial_cmp(&other.1).expect("numbers");
            order.then_with(|| one.0.cmp(&other.0))
        });
        match number % 3 {
            0 => pairs.clone_from(&sorted),
            1 => pairs = sorted.iter().rev().cloned().collect(),
            _ => {}
        }
        let rows: Vec<Vec<u8>> = pairs.iter().map(row).collect();
        let model: Vec<(Vec<u8>, u64)> =
            sorted.into_iter().map(|(member, score)| (member, score.to_bits())).collect();
        for threads in [1, 3] {
            let mut world = World::new();
            world.load(&file(SORTED_SET, len, &rows), threads, false).expect("a good file");
            assert!(world.scored_members() == model, "{len} members, {threads} threads");
        }
    }
}

/// Payload of a stream of so many entries, as other commands make it.
fn stream_payload(entries: usize) -> Vec<u8> {
    let mut world = World::new();
    let limit = NodeLimit { entries: 100, bytes: 4096 };
    for at in 0..entries {
        let id = NewId::Given(Id { ms: 1 + at as u64 / 3, seq: at as u64 % 3 });
        let add = Add { id, only_existing: false, trim: None, limit };
        let value = name(at, 100);
        world.on("k", |access, key| {
            stream::add(access, key, add, [&b"name"[..], &value].into_iter()).expect("room");
        });
    }
    world.payload()
}

impl World {
    fn payload(&mut self) -> Vec<u8> {
        let payload = self.on("k", |access, key| dump(access, key, rdb::Version::VALKEY, false));
        payload.expect("there is a value")
    }
}

#[test]
fn streams_are_appended_piece_by_piece() {
    for entries in [9_000, 30_000] {
        let payload = stream_payload(entries);
        let (value_type, value) = (payload[0], &payload[1..payload.len() - 10]);
        let file = [HEAD, &[value_type], &text(b"k"), value, END].concat();
        for threads in [1, 3] {
            let mut world = World::new();
            world.load(&file, threads, false).expect("a good file");
            assert!(world.payload() == payload, "{entries} entries, {threads} threads");
        }
    }
}

#[test]
fn the_same_member_twice_is_refused_however_far_apart() {
    let at = HEAD.len();
    let expected = format!("damaged data: the same member twice at byte {at}");
    for between in [1, LARGE_FROM / ROW - 1, LARGE_FROM / ROW, 3 * LARGE_FROM / ROW] {
        for first in [0, 7, 40_000] {
            let numbers = || (0..first).chain([77_777]).chain(50_000..50_000 + between);
            let numbers = || numbers().chain([77_777]).chain(200_000..220_000);
            let len = numbers().count();
            for value_type in [SET, HASH, SORTED_SET] {
                // The same name has another value, or another score.
                let row = |(place, number): (usize, usize)| match value_type {
                    SET => text_row(number),
                    HASH => [text_row(number), text(&place.to_string().into_bytes())].concat(),
                    _ => [&text_row(number)[..], &(place as f64).to_le_bytes()].concat(),
                };
                let rows: Vec<Vec<u8>> = numbers().enumerate().map(row).collect();
                for threads in [1, 3] {
                    let mut world = World::new();
                    let loaded = world.load(&file(value_type, len, &rows), threads, false);
                    assert_eq!(loaded.expect_err("refused").to_string(), expected);
                    assert_eq!(world.store.keys(), 0, "nothing of it is stored");
                }
            }
        }
    }
}

#[test]
fn counts_that_lie_are_refused_and_leave_nothing_behind() {
    let rows: Vec<Vec<u8>> = (0..3 * LARGE_FROM / ROW).map(|at| name(at, ROW - 5)).collect();
    for value_type in [LIST, SET, HASH, SORTED_SET] {
        let row = |name: &Vec<u8>| match value_type {
            HASH => [text(name), text(b"v")].concat(),
            SORTED_SET => [&text(name)[..], &1_f64.to_le_bytes()].concat(),
            _ => text(name),
        };
        let rows: Vec<Vec<u8>> = rows.iter().map(row).collect();
        // More rows than there are: the file ends, in the middle of a row or behind one.
        let whole = file(value_type, u32::MAX as usize, &rows);
        for missing in [END.len(), END.len() + 1, END.len() + 30, LARGE_FROM, 2 * LARGE_FROM] {
            for threads in [1, 3] {
                let mut world = World::new();
                let loaded = world.load(&whole[..whole.len() - missing], threads, false);
                let error = loaded.expect_err("refused").to_string();
                assert!(error.contains("ends too early at byte "), "{value_type}: {error}");
                assert_eq!(world.store.keys(), 0, "nothing of it is stored");
            }
        }
        // Fewer rows than there are: the next row is no key.
        let mut world = World::new();
        let loaded = world.load(&file(value_type, rows.len() - 1, &rows), 2, false);
        assert!(matches!(loaded, Err(LoadError::File(Error { .. }))), "{value_type}: {loaded:?}");
    }
}

#[test]
fn damage_in_a_later_piece_names_its_offset() {
    let rows: Vec<Vec<u8>> = (0..3 * LARGE_FROM / ROW).map(text_row).collect();
    let good = file(LIST, rows.len(), &rows);
    // No such form of a text.
    let before: usize = rows[..rows.len() - 100].iter().map(Vec::len).sum();
    let at = good.len() - END.len() - rows.concat().len() + before;
    let mut bad = good.clone();
    bad[at] = 0xc9;
    for threads in [1, 3] {
        let mut world = World::new();
        let error = world.load(&bad, threads, false).expect_err("refused");
        let LoadError::File(Error { at: told, flaw: Flaw::Damaged(_) }) = error else {
            panic!("{error}");
        };
        assert!(told.abs_diff(at as u64) <= 1, "{told}, not {at}");
        assert_eq!(world.store.keys(), 0, "nothing of it is stored");
    }
}

#[test]
fn large_values_past_their_deadline_are_left_out_and_others_keep_theirs() {
    let rows: Vec<Vec<u8>> = (0..2 * LARGE_FROM / ROW).map(text_row).collect();
    for (deadline, stays) in [(NOW.0 - 1, false), (NOW.0 + 60_000, true)] {
        for value_type in [LIST, SET] {
            let key = [&[value_type][..], &text(b"k"), &count(rows.len())].concat();
            let deadline_item = [&[0xfc][..], &deadline.to_le_bytes()].concat();
            let file = [HEAD, &deadline_item, &key, &rows.concat(), END].concat();
            let mut world = World::new();
            world.load(&file, 2, false).expect("a good file");
            let found = world.on("k", |access, key| {
                access.lookup_without_touch(key).map(|value| value.deadline)
            });
            assert_eq!(found, stays.then_some(Some(Millis(deadline))));
            assert_eq!(world.progress.expired.load(Relaxed), u64::from(!stays));
        }
    }
}

#[test]
fn a_large_value_takes_the_place_of_another_where_keys_are_replaced() {
    let rows: Vec<Vec<u8>> = (0..2 * LARGE_FROM / ROW).map(text_row).collect();
    for value_type in [LIST, SET] {
        let old = [&[SET][..], &text(b"k"), &count(1), &text(b"old")].concat();
        let new = file(value_type, rows.len(), &rows);
        let both = [HEAD, &old, &new[HEAD.len()..]].concat();
        let mut world = World::new();
        world.load(&both, 2, true).expect("a good file");
        let mut alone = World::new();
        alone.load(&new, 1, false).expect("a good file");
        assert!(world.payload() == alone.payload());
        let error = World::new().load(&both, 2, false).expect_err("refused").to_string();
        assert!(error.contains("is there twice"), "{error}");
    }
}

#[test]
fn large_values_with_flipped_bits_are_refused_or_loaded() {
    let mut random = base::Random::from_seed(11);
    let len = (LARGE_FROM + PIECE) / ROW;
    for value_type in [LIST, SET, HASH, SORTED_SET, TIMED_HASH] {
        let row = |at: usize| {
            let rest = match value_type {
                HASH => text(b"value"),
                SORTED_SET => (at as f64).to_le_bytes().to_vec(),
                TIMED_HASH => [&text(b"value")[..], &(NOW.0 + at as u64).to_le_bytes()].concat(),
                _ => Vec::new(),
            };
            [text_row(at), rest].concat()
        };
        let good = file(value_type, len, &(0..len).map(row).collect::<Vec<_>>());
        for _ in 0..25 {
            let mut bad = good.clone();
            bad[HEAD.len() + random.below((good.len() - HEAD.len()) as u64) as usize] ^=
                1 << random.below(8);
            let mut world = World::new();
            if world.load(&bad, 2, false).is_ok() {
                assert_eq!(world.store.keys(), 1);
            }
        }
    }
}

//! Files are loaded alike by any number of threads, and what is wrong with them is told alike.

use crate::world::{NOW, World};
use snapshot::LoadError;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use store::value::set;

const HEAD: &[u8] = b"REDIS0011";
/// A checksum of zero stands for none.
const END: &[u8] = b"\xff\0\0\0\0\0\0\0\0";
const STRING: u8 = 0;
const SET: u8 = 2;

fn count(number: usize) -> Vec<u8> {
    [&[0x80][..], &u32::try_from(number).expect("a small number").to_be_bytes()].concat()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&count(bytes.len())[..], bytes].concat()
}

fn string(key: usize, value: &[u8]) -> Vec<u8> {
    [&[STRING][..], &text(format!("key{key}").as_bytes()), &text(value)].concat()
}

fn set_of(key: &str, members: impl ExactSizeIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = [&[SET][..], &text(key.as_bytes()), &count(members.len())].concat();
    members.for_each(|member| bytes.extend(text(&member)));
    bytes
}

impl World {
    fn string(&mut self, database: usize, key: &str) -> Option<Vec<u8>> {
        let keyspace = self.store.keyspace(database).expect("a database");
        let key = self.store.key(keyspace, key.as_bytes());
        self.store.enter(&self.thread);
        let access = self.store.lock(&mut self.thread, &key, NOW);
        let found = access.lookup_string_without_touch(&key).expect("a string");
        let found = found.map(|found| found.to_vec());
        drop(access);
        self.store.leave(&self.thread);
        found
    }

    fn deadline(&mut self, number: usize) -> Option<u64> {
        let keyspace = self.store.keyspace(0).expect("a database");
        let name = format!("key{number}");
        let key = self.store.key(keyspace, name.as_bytes());
        self.store.enter(&self.thread);
        let access = self.store.lock(&mut self.thread, &key, NOW);
        let deadline = access.lookup_without_touch(&key).expect("there").deadline;
        drop(access);
        self.store.leave(&self.thread);
        deadline.map(|at| at.0)
    }

    fn members(&mut self, key: &str) -> Vec<Vec<u8>> {
        let keyspace = self.store.keyspace(0).expect("a database");
        let key = self.store.key(keyspace, key.as_bytes());
        self.store.enter(&self.thread);
        let access = self.store.lock(&mut self.thread, &key, NOW);
        let set = set::lookup_without_touch(&access, &key).expect("a set").expect("there");
        let mut members: Vec<Vec<u8>> = set.members().map(store::Element::to_text).collect();
        members.sort();
        drop(access);
        self.store.leave(&self.thread);
        members
    }
}

fn error(bytes: &[u8], threads: usize) -> String {
    World::new().load(bytes, threads, false).expect_err("refused").to_string()
}

#[test]
fn any_number_of_threads_loads_all_keys_into_their_databases() {
    let mut model = BTreeMap::new();
    let mut bytes = HEAD.to_vec();
    for database in [1, 0, 1] {
        bytes.extend([0xfe, database]);
        for _ in 0..4_000 {
            let number = model.len();
            let value = vec![b'a' + (number % 26) as u8; number % 700];
            bytes.extend(string(number, &value));
            model.insert((usize::from(database), format!("key{number}")), value);
        }
    }
    // Longer than what is read at once.
    let long = vec![b'l'; 3 << 20];
    bytes.extend(string(1_000_000, &long));
    model.insert((1, "key1000000".to_owned()), long);
    bytes.extend(END);
    for threads in [0, 1, 2, 5] {
        let mut world = World::new();
        world.load(&bytes, threads, false).expect("a good file");
        assert_eq!(world.progress.keys.load(Relaxed), model.len() as u64);
        assert_eq!(world.progress.bytes.load(Relaxed), bytes.len() as u64);
        for ((database, key), value) in &model {
            assert_eq!(world.string(*database, key).as_ref(), Some(value), "{key}");
        }
        assert_eq!(world.store.keys(), model.len() as u64);
    }
}

/// A large set in the middle of a file, so that it comes in pieces.
fn large_set() -> Vec<u8> {
    set_of("key777", (0..30_000).map(|at| format!("member number {at:030}").into_bytes()))
}

#[test]
fn facts_of_a_key_hold_over_what_stands_between_wherever_pieces_end() {
    const KEYS: usize = 3000;
    let (far, aux) =
        (NOW.0 + 1_000_000, [&b"\xfa"[..], &text(b"mvcc-tstamp"), &text(b"1")].concat());
    let deadline_of = |number: usize| (!number.is_multiple_of(4)).then(|| far + number as u64);
    let mut bytes = HEAD.to_vec();
    for number in 0..KEYS {
        if let Some(deadline) = deadline_of(number) {
            bytes.push(0xfc);
            bytes.extend(deadline.to_le_bytes());
        }
        // An item that ends a block, one that does not, and both.
        match number % 5 {
            0 => bytes.extend(&aux),
            1 => bytes.extend(b"\xf4\x07\x01\x01"),
            2 => bytes.extend([&aux[..], b"\xf4\x07\x01\x01\xf8\x09", &aux].concat()),
            _ => {}
        }
        match number {
            777 => bytes.extend(large_set()),
            _ => bytes.extend(string(number, &vec![b'v'; number % 700])),
        }
    }
    // Facts that no key follows.
    bytes.extend(b"\xfd\x01\0\0\0\xf9\x05");
    bytes.extend(END);
    for threads in [1, 3] {
        let mut world = World::new();
        world.load(&bytes, threads, false).expect("a good file");
        assert_eq!(world.store.keys(), KEYS as u64);
        for number in 0..KEYS {
            assert_eq!(world.deadline(number), deadline_of(number), "{number}, {threads} threads");
        }
    }
}

#[test]
fn large_sets_in_pieces_hold_what_they_should() {
    let member = |at: usize| match at % 3 {
        0 => at.to_string().into_bytes(),
        1 => format!("member-{at}").into_bytes(),
        _ => vec![b'0' + (at % 10) as u8; at % 300],
    };
    for len in [10, 5_000, 100_000] {
        let mut members: Vec<Vec<u8>> = (0..len).map(member).collect();
        members.sort();
        members.dedup();
        let bytes = [HEAD, &set_of("s", members.clone().into_iter()), END].concat();
        for threads in [1, 3] {
            let mut world = World::new();
            world.load(&bytes, threads, false).expect("a good file");
            assert!(world.members("s") == members, "{len} members, {threads} threads");
        }
    }
}

#[test]
fn what_is_wrong_first_is_told_by_any_number_of_threads() {
    let good: Vec<u8> = (0..20_000).flat_map(|at| string(at, &[b'v'; 100])).collect();
    let more: Vec<u8> = (20_000..40_000).flat_map(|at| string(at, &[b'v'; 100])).collect();
    let at = HEAD.len() + good.len();
    let twice = (0..200_000).chain([77]).map(|at| format!("member-{at}").into_bytes());
    let twice: Vec<Vec<u8>> = twice.collect();
    let rows: [(Vec<u8>, String); 4] = [
        // Of two keys with one name, the one that is stored last is told.
        (string(77, b"w"), "is there twice".to_owned()),
        (b"\x00\x01k\xc9".to_vec(), format!("no such form of a text at byte {}", at + 3)),
        (set_of("s", twice.into_iter()), format!("the same member twice at byte {at}")),
        (b"\xfe\x09\x00\x01k\x01v".to_vec(), "of database 9".to_owned()),
    ];
    for (bad, expected) in rows {
        let bytes = [HEAD, &good, &bad, &more, END].concat();
        for threads in [1, 4] {
            let error = error(&bytes, threads);
            assert!(error.contains(&expected), "{threads} threads: {error}, not {expected}");
        }
    }
}

#[test]
fn lengths_that_lie_and_files_that_end_are_refused() {
    let ends = set_of("s", (0..200_000).map(|at| format!("member-{at}").into_bytes()));
    let lies = [&b"\x02\x01s\x81"[..], &[0x7f; 8], b"\x01a"].concat();
    let long = [&b"\x00\x01k\x81"[..], &[0x7f; 8], b"a"].concat();
    for bytes in [&ends[..ends.len() - 5], &ends[..ends.len() / 2], &lies, &long] {
        for threads in [1, 3] {
            let error = error(&[HEAD, bytes].concat(), threads);
            assert!(error.contains("ends too early"), "{error}");
        }
    }
}

#[test]
fn the_last_of_two_keys_stays_where_keys_are_replaced() {
    let many = (0..3_000).flat_map(|at| string(at, &[b'v'; 200]));
    let again = (0..3_000).flat_map(|at| string(at, b"again"));
    let bytes: Vec<u8> =
        HEAD.iter().copied().chain(many).chain(again).chain(END.to_vec()).collect();
    let mut world = World::new();
    world.load(&bytes, 4, true).expect("a good file");
    assert!((0..3_000).all(|at| world.string(0, &format!("key{at}")).as_deref() == Some(b"again")));
}

#[test]
fn loading_that_is_given_up_ends_early() {
    let bytes: Vec<u8> = (0..20_000).flat_map(|at| string(at, &[b'v'; 100])).collect();
    let mut world = World::new();
    world.progress.is_given_up.store(true, Relaxed);
    let loaded = world.load(&[HEAD, &bytes, END].concat(), 2, false);
    assert!(matches!(loaded, Err(LoadError::GivenUp)));
    assert_eq!(world.store.keys(), 0);
}

#[test]
fn contexts_of_threads_are_used_again() {
    let bytes = [HEAD, &string(1, b"v"), END].concat();
    let mut world = World::new();
    for _ in 0..100 {
        world.load(&bytes, 4, true).expect("a good file");
    }
    assert!(world.store.thread_context().is_some(), "there are 128 of them");
}

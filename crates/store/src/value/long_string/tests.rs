use super::{CHUNK_BYTES, Staged, WHOLE_BYTES_MAX};
use crate::access::Access;
use crate::key::{Encoding, Expiry, Key};
use crate::shard::{ShardSet, ThreadContext};
use crate::store::{Store, StoreConfig};
use crate::value::bitmap;
use crate::value::bitmap::combine::{self, Operation};
use crate::value::bitmap::field::{Field, Overflow};
use crate::value::string::{self, StringMut};
use base::{KeyHasher, KeyspaceId, Millis, Random};
use heap::Pinned;
use std::collections::BTreeMap;
use std::io::IoSlice;

const NAMES: [&[u8]; 4] = [b"a", b"b", b"c", b"a much longer name"];
const LEN_MAX: u64 = 512 << 20;
const STEPS: usize = if cfg!(miri) { 6 } else { 800 };

/// Expected string and deadline of each key.
type Model = BTreeMap<&'static [u8], (Vec<u8>, Option<Millis>)>;

struct World {
    store: Store,
    thread: ThreadContext,
    random: Random,
    now: Millis,
    model: Model,
    /// Parts of strings that are read without a lock, and what they were when they were pinned.
    pinned: Vec<(Pinned, Vec<u8>)>,
    /// Strings that are being received for a key, and their bytes so far.
    staged: Vec<(Staged, &'static [u8], Vec<u8>)>,
}

impl World {
    fn new(seed: u64) -> World {
        let hasher = KeyHasher::from_seed(seed);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(512 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("the first thread");
        let (random, now) = (Random::from_seed(seed), Millis(1_000_000));
        World {
            store,
            thread,
            random,
            now,
            model: Model::new(),
            pinned: Vec::new(),
            staged: Vec::new(),
        }
    }

    fn on<T>(&mut self, names: &[&[u8]], act: impl FnOnce(&mut Access<'_>, &[Key<'_>]) -> T) -> T {
        let keys: Vec<_> = names.iter().map(|name| self.store.key(KeyspaceId(0), name)).collect();
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        act(&mut self.store.lock_all(&mut self.thread, shards, self.now).muted(), &keys)
    }

    fn below(&mut self, most: usize) -> usize {
        self.random.below(most as u64) as usize
    }

    fn name(&mut self) -> &'static [u8] {
        NAMES[self.below(NAMES.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let (len, byte) = (1 + self.below(most), self.random.next() as u8);
        let mut bytes = vec![byte; len];
        (0..len).step_by(97).for_each(|at| bytes[at] = at as u8);
        bytes
    }

    /// Random offset near a border of chunks, near the threshold, or anywhere.
    fn place(&mut self) -> usize {
        let near = |border: usize, by: usize| border + by - 20;
        match self.below(4) {
            0 => near(CHUNK_BYTES * (2 + self.below(60)), self.below(40)),
            1 => near(WHOLE_BYTES_MAX, self.below(40)),
            2 => self.below(3_000),
            _ => self.below(2 * WHOLE_BYTES_MAX),
        }
    }

    fn present(&self, name: &[u8]) -> Vec<u8> {
        self.model.get(name).map_or(Vec::new(), |(bytes, _)| bytes.clone())
    }

    fn keep(&mut self, name: &'static [u8], bytes: Vec<u8>) {
        self.model.entry(name).or_insert((Vec::new(), None)).0 = bytes;
    }

    fn set(&mut self) {
        let (name, len) = (self.name(), self.place());
        let value = self.bytes(len.max(1));
        let deadline = (self.below(4) == 0).then(|| Millis(self.now.0 + 30));
        let expiry = deadline.map_or(Expiry::Never, Expiry::At);
        self.on(&[name], |access, keys| {
            access.set_string(&keys[0], &value, Encoding::of_new(&value), expiry).expect("room");
        });
        self.model.insert(name, (value, deadline));
    }

    fn append(&mut self) {
        let (name, most) = (self.name(), [100, 3 * CHUNK_BYTES][self.below(2)]);
        let tail = self.bytes(most);
        let len = self.on(&[name], |access, keys| string::append(access, &keys[0], &tail, LEN_MAX));
        let expected = [self.present(name), tail].concat();
        assert_eq!(len, Ok(expected.len()));
        self.keep(name, expected);
    }

    fn set_range(&mut self) {
        let (name, at, most) = (self.name(), self.place(), [100, 3 * CHUNK_BYTES][self.below(2)]);
        let patch = self.bytes(most);
        let len = self
            .on(&[name], |access, keys| string::set_range(access, &keys[0], at, &patch, LEN_MAX));
        let mut expected = self.present(name);
        expected.resize(expected.len().max(at + patch.len()), 0);
        expected[at..at + patch.len()].copy_from_slice(&patch);
        assert_eq!(len, Ok(expected.len()));
        self.keep(name, expected);
    }

    fn set_bit(&mut self) {
        let (name, at, on) = (self.name(), self.place() * 8 + self.below(8), self.below(2) == 1);
        let done = self.on(&[name], |access, keys| bitmap::set(access, &keys[0], at as u64, on));
        let mut expected = self.present(name);
        let grown = expected.len() <= at / 8;
        expected.resize(expected.len().max(at / 8 + 1), 0);
        let mask = 0x80 >> (at % 8);
        let old = expected[at / 8] & mask != 0;
        expected[at / 8] = if on { expected[at / 8] | mask } else { expected[at / 8] & !mask };
        assert_eq!(done, Ok(bitmap::BitSet { old, changed: grown || old != on }));
        self.keep(name, expected);
    }

    fn set_field(&mut self) {
        let (name, offset) = (self.name(), (self.place() * 8 + self.below(8)) as u64);
        let field = Field { offset, bits: 1 + self.below(63) as u32, signed: true };
        let number = self.random.next().cast_signed();
        let change = self.on(&[name], |access, keys| {
            let written = std::iter::once(field.bytes());
            let opened = bitmap::reaching(access, &keys[0], field.last_bit(), written);
            match opened.expect("room").0 {
                StringMut::Whole(bytes) => field.set(bytes, number, Overflow::Wrap),
                StringMut::Long(mut long) => long.with_bytes(field.bytes(), |bytes| {
                    field.alone().set(bytes, number, Overflow::Wrap)
                }),
            }
        });
        let mut expected = self.present(name);
        expected.resize(expected.len().max(field.bytes().end), 0);
        assert_eq!(change, field.set(&mut expected, number, Overflow::Wrap));
        self.keep(name, expected);
    }

    fn combine(&mut self) {
        let (target, one, other) = (self.name(), self.name(), self.name());
        let operation =
            [Operation::And, Operation::Or, Operation::Xor, Operation::Not][self.below(4)];
        let sources = if operation == Operation::Not { vec![one] } else { vec![one, other, one] };
        let names = [&[target][..], &sources].concat();
        let done =
            self.on(&names, |access, keys| combine::store(access, operation, &keys[0], &keys[1..]));
        let values: Vec<Vec<u8>> = sources.iter().map(|name| self.present(name)).collect();
        let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let expected = combine::combined(operation, &slices);
        assert_eq!(done.expect("room").len, expected.len());
        self.model.remove(target);
        if !expected.is_empty() {
            self.keep(target, expected);
        }
    }

    fn rename_or_copy(&mut self) {
        let (from, to, copies) = (self.name(), self.name(), self.below(2) == 0);
        if from == to {
            return;
        }
        let done = self.on(&[from, to], |access, keys| {
            let [from, to] = [&keys[0], &keys[1]];
            if copies { access.copy(from, to) } else { access.rename(from, to) }
        });
        assert_eq!(done, Ok(self.model.contains_key(from)));
        if let Some(value) = self.model.get(from).cloned() {
            self.model.insert(to, value);
            if !copies {
                self.model.remove(from);
            }
        }
    }

    fn change_whole(&mut self) {
        let (name, now) = (self.name(), self.now);
        match self.below(3) {
            0 => {
                let removed = self.on(&[name], |access, keys| access.remove(&keys[0]));
                assert_eq!(removed, self.model.remove(name).is_some());
            }
            what => {
                let deadline = (what == 1).then_some(Millis(now.0 + 20));
                self.on(&[name], |access, keys| access.set_deadline(&keys[0], deadline))
                    .expect("room");
                self.model.entry(name).and_modify(|value| value.1 = deadline);
                self.model.retain(|_, (bytes, _)| !bytes.is_empty());
            }
        }
    }

    /// Pins a part of a long string, or lets go of one.
    fn pin(&mut self) {
        let (name, from, most) = (self.name(), self.place(), self.place());
        let bytes = self.present(name);
        let range = from.min(bytes.len())..bytes.len().min(from + most);
        let pinned = self.on(&[name], |access, keys| {
            let found = access.lookup_string_without_touch(&keys[0]).expect("a string")?;
            let string::Form::Long(long) = found.form else { return None };
            long.pin(range.clone())
        });
        self.pinned.extend(pinned.map(|it| (it, bytes[range].to_vec())));
        if self.pinned.len() > 6 {
            let at = self.below(6);
            self.pinned.swap_remove(at);
        }
    }

    /// Begins to receive a string, goes on, gives it to its key, or gives it up.
    fn stage(&mut self) {
        if self.staged.len() < 3 {
            let name = self.name();
            let staged = self.on(&[name], |access, keys| access.stage(keys[0].hash)).expect("room");
            self.staged.push((staged, name, Vec::new()));
        }
        let at = self.below(3).min(self.staged.len() - 1);
        let (mut staged, name, mut bytes) = self.staged.swap_remove(at);
        let most = [100, CHUNK_BYTES + 1, WHOLE_BYTES_MAX][self.below(3)];
        let mut more = self.bytes(most);
        if self.below(4) == 0 {
            more.fill(0);
        }
        bytes.extend_from_slice(&more);
        self.on(&[name], |access, _| {
            access.add_staged(&mut staged, &more).expect("room");
            let mut copy = Vec::new();
            access.copy_staged(&staged, &mut copy);
            assert!(copy == bytes && staged.len() == bytes.len());
        });
        let deadline = Millis(self.now.0 + 30);
        match self.below(8) {
            0 => drop(staged),
            what @ 1..4 if bytes.len() > WHOLE_BYTES_MAX => {
                let kept = self.model.get(name).and_then(|(_, deadline)| *deadline);
                let (expiry, deadline) = match what {
                    1 => (Expiry::Keep, kept),
                    2 => (Expiry::Never, None),
                    _ => (Expiry::At(deadline), Some(deadline)),
                };
                self.on(&[name], |access, keys| access.set_staged(&keys[0], staged, expiry))
                    .expect("room");
                self.model.insert(name, (bytes, deadline));
            }
            _ if bytes.len() < 3 * WHOLE_BYTES_MAX => self.staged.push((staged, name, bytes)),
            _ => {}
        }
    }

    fn check_pinned(&mut self) {
        for at in 0..self.pinned.len() {
            let from = self.below(self.pinned[at].1.len() + 1);
            let (pinned, expected) = &self.pinned[at];
            let mut slices = [IoSlice::new(&[]); 200];
            let used = pinned.slices(from, usize::MAX, &mut slices);
            let bytes: Vec<u8> = slices[..used].iter().flat_map(|it| it.to_vec()).collect();
            assert!(bytes == expected[from..], "pinned bytes have changed");
        }
    }

    fn step(&mut self) {
        self.pin();
        match self.below(22) {
            20..22 => self.stage(),
            0..2 => self.set(),
            2..6 => self.append(),
            6..10 => self.set_range(),
            10..12 => self.set_bit(),
            12..14 => self.set_field(),
            14..16 => self.combine(),
            16..18 => self.rename_or_copy(),
            _ => self.change_whole(),
        }
        self.now = Millis(self.now.0 + 1);
        let now = self.now;
        self.model.retain(|_, (_, deadline)| deadline.is_none_or(|deadline| deadline > now));
        self.shorten();
        self.store.sweep_deadlines(&mut self.thread, now);
        while self.store.free_some(&mut self.thread, 1 << 10) {}
        self.store.clean_at_rest(&mut self.thread, 1 << 18, now);
    }

    /// Keeps the length of strings near the threshold.
    fn shorten(&mut self) {
        let name = self.name();
        if self.present(name).len() > 4 * WHOLE_BYTES_MAX {
            self.on(&[name], |access, keys| access.remove(&keys[0]));
            self.model.remove(name);
        }
    }

    fn check(&mut self) {
        self.check_pinned();
        for name in NAMES {
            let expected = self.model.get(name).cloned();
            let (a, b) = (self.place(), self.place());
            self.on(&[name], |access, keys| {
                let found = access.lookup_string_without_touch(&keys[0]).expect("a string");
                let Some((bytes, deadline)) = expected else { return assert!(found.is_none()) };
                let found = found.expect("it is there");
                assert!(found.to_vec() == bytes, "{name:?} is another string");
                assert!(found == *bytes, "{name:?} is not equal to itself");
                assert_eq!(found.deadline, deadline);
                assert_eq!(
                    access.lookup_without_touch(&keys[0]).is_some_and(|it| it.is_tree),
                    found.as_slice().is_none()
                );
                check_bits(&found, &bytes, a, b);
            });
        }
    }
}

fn check_bits(found: &string::StringView<'_>, bytes: &[u8], a: usize, b: usize) {
    let (a, b) = (a.min(bytes.len() - 1), b.min(bytes.len() - 1));
    let (from, to) = (a.min(b), a.max(b));
    let pieces: Vec<&[u8]> = found.pieces(from..to + 1).collect();
    assert!(pieces.concat() == bytes[from..=to], "{from}..={to} of {}", bytes.len());
    let whole = string::StringView { deadline: None, form: string::Form::Whole(bytes) };
    let bits = from as u64 * 8 + 3..=to as u64 * 8 + 5;
    if !bits.is_empty() {
        assert_eq!(bitmap::count(found, &bits), bitmap::count(&whole, &bits));
        for on in [true, false] {
            assert_eq!(bitmap::position(found, on, &bits), bitmap::position(&whole, on, &bits));
        }
    }
    for at in [from * 8, to * 8 + 7, bytes.len() * 8] {
        assert_eq!(bitmap::get(found, at as u64), bitmap::get(&whole, at as u64));
    }
    let field = Field { offset: to as u64 * 8 + 1, bits: 64, signed: true };
    assert_eq!(field.get_from(found), field.get(bytes));
}

#[test]
fn strings_are_those_of_the_model_across_the_threshold_and_the_borders_of_chunks() {
    for seed in 0..2 {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
            world.check();
        }
        world.pinned.clear();
        world.staged.clear();
        while world.store.free_some(&mut world.thread, 1 << 10) {}
        let total: u64 = NAMES.len() as u64 * 5 * WHOLE_BYTES_MAX as u64;
        assert!(world.store.live_bytes() < total, "removed strings are given back");
    }
}

#[test]
fn a_bit_far_away_costs_one_chunk_and_a_table() {
    let mut world = World::new(3);
    let memory = world.on(&[b"a"], |access, keys| {
        bitmap::set(access, &keys[0], (1 << 32) - 1, true).expect("room");
        let found =
            access.lookup_string_without_touch(&keys[0]).expect("a string").expect("it is there");
        assert_eq!(found.len(), 512 << 20);
        assert_eq!(bitmap::count(&found, &(0..=(1 << 32) - 1)), 1);
        assert_eq!(bitmap::position(&found, true, &(0..=(1 << 32) - 1)), Some((1 << 32) - 1));
        access.memory_of(&keys[0])
    });
    assert!(memory.is_some_and(|memory| memory < CHUNK_BYTES + (8 << 10)), "{memory:?}");
}

#[test]
fn a_string_is_in_one_piece_again_when_it_is_set_to_fewer_bytes() {
    let mut world = World::new(4);
    let long = vec![1; WHOLE_BYTES_MAX + 1];
    for (value, is_long) in [(&long[..], true), (&long[1..], false), (&long, true), (b"1", false)] {
        let expiry = Expiry::At(Millis(2_000_000));
        world.on(&[b"a"], |access, keys| {
            access.set_string(&keys[0], value, Encoding::of_new(value), expiry).expect("room");
            let found = access
                .lookup_string_without_touch(&keys[0])
                .expect("a string")
                .expect("it is there");
            assert_eq!(found.as_slice().is_none(), is_long);
            assert_eq!((found.len(), found.deadline), (value.len(), Some(Millis(2_000_000))));
        });
    }
    while world.store.free_some(&mut world.thread, 1 << 10) {}
    assert!(world.store.live_bytes() < 100);
}

#[test]
fn what_has_no_room_leaves_the_string_as_it_was() {
    let mut world = World::new(5);
    let value = vec![7; WHOLE_BYTES_MAX + 100];
    world.on(&[b"a", b"b"], |access, keys| {
        access.set_string(&keys[0], &value, Encoding::Raw, Expiry::Never).expect("room");
        let much = vec![1; 64 << 20];
        let mut at = 0;
        // Grow the string until the address space is used up.
        while string::set_range(access, &keys[1], at, &much, LEN_MAX * 4).is_ok() {
            at += much.len();
        }
        let kept =
            access.lookup_string_without_touch(&keys[1]).expect("a string").expect("it is there");
        assert_eq!(kept.len(), at);
        let done = string::append(access, &keys[0], &much, LEN_MAX);
        assert_eq!(done, Err(string::StringError::NoSpace));
        let kept =
            access.lookup_string_without_touch(&keys[0]).expect("a string").expect("it is there");
        assert!(kept == *value);
    });
}

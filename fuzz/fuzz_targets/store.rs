//! Any sequence of operations on a store by one thread: the same answers as maps.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use base::{KeyHasher, Millis};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use store::{
    Encoding, EvictionPolicy, Expiry, Flush, Key, Limits, NoSpace, ScanFilter, Scanned, ShardSet,
    Store, StoreConfig, ThreadContext,
};

const DATABASES: usize = 2;
const START: u64 = 1_700_000_000_000;
/// Heads are sealed at a 64th of this, so that little has to be written before cleaning begins.
const MAXMEMORY: u64 = 12 << 20;

#[derive(Arbitrary, Debug, Clone, Copy)]
struct Name {
    number: u8,
    database: bool,
    /// Long keys take other headers.
    is_long: bool,
}

#[derive(Arbitrary, Debug)]
enum Op {
    Write { name: Name, len: u32, byte: u8, expiry: Option<u16>, keeps: bool },
    WriteMany { first: u8, database: bool, len: u16 },
    Resize { name: Name, len: u32 },
    Edit { name: Name, byte: u8 },
    SetDeadline { name: Name, deadline: Option<u16> },
    Remove { name: Name },
    Rename { from: Name, to: Name },
    Copy { from: Name, to: Name },
    Read { name: Name },
    Scan { database: bool, cursor: u64, count: u8 },
    Clean { bytes: u32 },
    Upkeep,
    Sweep,
    Reap { records: u8 },
    Return,
    Age { shard: u8 },
    Advance { millis: u16 },
    Flush { database: bool },
    Swap,
    Verify,
}

type Model = BTreeMap<Vec<u8>, (Vec<u8>, Option<Millis>)>;

struct World {
    store: Store,
    thread: ThreadContext,
    now: Millis,
    models: [Model; DATABASES],
}

/// Long values are rarer than the numbers that name them: most are below a kilobyte, a few get
/// slots of their own.
fn length(len: u32) -> usize {
    let most = [40, 40, 300, 300, 1_000, 10_000, 70_000, 300_000][len as usize % 8];
    len as usize / 8 % most
}

impl Name {
    fn bytes(self) -> Vec<u8> {
        let len = if self.is_long { 300 } else { 1 + usize::from(self.number) % 20 };
        let mut bytes = vec![b'k'; len];
        bytes[0] = self.number;
        bytes
    }

    fn database(self) -> usize {
        self.database.into()
    }
}

impl World {
    fn new(is_limited: bool) -> World {
        let store = Store::new(StoreConfig {
            databases: DATABASES,
            hasher: KeyHasher::from_seed(7),
            address_space: Some(1 << 30),
        });
        let store = store.expect("address space");
        if is_limited {
            store.set_limits(&Limits {
                maxmemory: MAXMEMORY,
                other_bytes: 0,
                workers: 1,
                eviction: EvictionPolicy::NoEviction,
                reclaim: heap::ReclaimPolicy::Greedy,
                lfu_log_factor: 10,
                lfu_decay_minutes: 1,
            });
        }
        let thread = store.thread_context().expect("a thread");
        World { store, thread, now: Millis(START), models: Default::default() }
    }

    /// Under a limit a write may be refused; the key is as before then.
    fn may_refuse(&self) -> bool {
        self.store.heap().budget() != u64::MAX
    }

    fn expected(&mut self, name: Name) -> Option<(Vec<u8>, Option<Millis>)> {
        let (model, key) = (&mut self.models[name.database()], name.bytes());
        if model.get(&key).is_some_and(|it| it.1.is_some_and(|it| it <= self.now)) {
            model.remove(&key);
        }
        model.get(&key).cloned()
    }

    fn write(&mut self, name: Name, value: Vec<u8>, expiry: Expiry) {
        let old = self.expected(name).and_then(|it| it.1);
        let bytes = name.bytes();
        let extent = value.len() + bytes.len() + 30;
        let reserved = self.store.reserve(&mut self.thread, extent, self.now);
        let key = key(&self.store, name, &bytes);
        let mut access = self.store.lock(&mut self.thread, &key, self.now).muted();
        let written = access.set_string(&key, &value, Encoding::of_new(&value), expiry);
        drop(access);
        assert!(written.is_ok() || reserved.is_err() || self.may_refuse());
        if written.is_err() {
            return self.read(name);
        }
        let deadline = match expiry {
            Expiry::Keep => old,
            Expiry::Never => None,
            Expiry::At(at) => Some(at),
        };
        self.models[name.database()].insert(bytes, (value, deadline));
    }

    fn resize(&mut self, name: Name, len: usize) {
        let (mut value, deadline) = self.expected(name).unwrap_or_default();
        value.resize(len, 0);
        let bytes = name.bytes();
        let key = key(&self.store, name, &bytes);
        let mut access = self.store.lock(&mut self.thread, &key, self.now).muted();
        match access.resize(&key, len) {
            Ok(resized) => assert!(resized == value),
            Err(NoSpace) => {
                drop(access);
                assert!(self.may_refuse());
                return self.read(name);
            }
        }
        self.models[name.database()].insert(bytes, (value, deadline));
    }

    fn edit(&mut self, name: Name, byte: u8) {
        let expected = self.expected(name);
        let bytes = name.bytes();
        let key = key(&self.store, name, &bytes);
        let mut access = self.store.lock(&mut self.thread, &key, self.now).muted();
        let value = access.edit(&key);
        assert_eq!(value.is_some(), expected.is_some());
        if let (Some(value), Some((mut changed, deadline))) = (value, expected) {
            value.fill(byte);
            changed.fill(byte);
            self.models[name.database()].insert(bytes, (changed, deadline));
        }
    }

    fn set_deadline(&mut self, name: Name, deadline: Option<Millis>) {
        let expected = self.expected(name);
        let bytes = name.bytes();
        let key = key(&self.store, name, &bytes);
        let set =
            self.store.lock(&mut self.thread, &key, self.now).muted().set_deadline(&key, deadline);
        if set.is_err() {
            assert!(self.may_refuse());
            return self.read(name);
        }
        assert_eq!(set, Ok(expected.is_some()));
        if let Some((value, _)) = expected {
            self.models[name.database()].insert(bytes, (value, deadline));
        }
    }

    fn remove(&mut self, name: Name) {
        let expected = self.expected(name).is_some();
        let bytes = name.bytes();
        let key = key(&self.store, name, &bytes);
        assert_eq!(
            self.store.lock(&mut self.thread, &key, self.now).muted().remove(&key),
            expected
        );
        self.models[name.database()].remove(&bytes);
    }

    fn pass_on(&mut self, from: Name, to: Name, moves: bool) {
        let (source, target) = (from.bytes(), to.bytes());
        if source == target && from.database == to.database {
            return;
        }
        let expected = self.expected(from);
        let (source_key, target_key) =
            (key(&self.store, from, &source), key(&self.store, to, &target));
        let mut shards = ShardSet::new();
        [source_key.hash, target_key.hash].into_iter().for_each(|hash| shards.add(hash));
        let mut access = self.store.lock_all(&mut self.thread, shards, self.now).muted();
        let done: Result<bool, NoSpace> = if moves {
            access.rename(&source_key, &target_key)
        } else {
            access.copy(&source_key, &target_key)
        };
        drop(access);
        if done.is_err() {
            assert!(self.may_refuse());
            self.read(from);
            return self.read(to);
        }
        assert_eq!(done, Ok(expected.is_some()));
        let Some(value) = expected else { return };
        if moves {
            self.models[from.database()].remove(&source);
        }
        self.models[to.database()].insert(target, value);
    }

    fn read(&mut self, name: Name) {
        let expected = self.expected(name);
        let bytes = name.bytes();
        let key = key(&self.store, name, &bytes);
        // More than one burst of keys, so that records of one are looked at with buckets of the
        // next.
        self.store.prefetch_keys(&[(key.keyspace, key.hash); 9]);
        let mut access = self.store.lock(&mut self.thread, &key, self.now).muted();
        let found = access.read(&key).map(|it| (it.bytes.to_vec(), it.deadline));
        assert!(found == expected);
    }

    fn flush(&mut self, database: usize) {
        self.store.enter(&self.thread);
        self.store.flush(&mut self.thread, Flush::One(database));
        self.store.leave(&self.thread);
        self.models[database].clear();
    }

    fn swap(&mut self) {
        self.store.enter(&self.thread);
        self.store.swap_databases(&mut self.thread, 0, 1, self.now);
        self.store.leave(&self.thread);
        self.models.swap(0, 1);
    }

    fn inside(&mut self, act: impl FnOnce(&Store, &mut ThreadContext, Millis)) {
        self.store.enter(&self.thread);
        act(&self.store, &mut self.thread, self.now);
        self.store.leave(&self.thread);
    }

    fn verify(&mut self) {
        let now = self.now;
        let (mut live, mut records) = (0, 0);
        for (database, model) in self.models.iter_mut().enumerate() {
            let keyspace = self.store.keyspace(database).expect("a database");
            let mut keys = Vec::new();
            let all = Scanned { keyspace, now, filter: ScanFilter::default() };
            self.store.each_key(&mut self.thread, all, |key| {
                keys.push(key.to_vec());
                true
            });
            keys.sort();
            model.retain(|_, it| it.1.is_none_or(|it| it > now));
            assert!(keys.iter().eq(model.keys()));
            let expired = self.store.len(database) - model.len() as u64;
            assert!(expired == 0 || self.now.0 > START);
            live += self.store.keyspace_facts(database).bytes;
            records += self.store.len(database);
        }
        self.inside(|store, thread, _| while store.free_some(thread, usize::MAX) {});
        assert_eq!(self.store.live_bytes(), live, "the thread's count and the indexes' sums");
        let facts = self.store.heap().segments();
        let in_heap: u64 = facts.iter().map(|it| it.live).sum();
        assert!(facts.iter().any(|it| it.state == heap::SegmentState::Cleaning) || in_heap >= live);
        assert!(records == 0 || live > 0);
    }

    fn apply(&mut self, op: &Op) {
        let at = |millis: u16| Millis(self.now.0 + 1 + u64::from(millis));
        match *op {
            Op::Write { name, len, byte, expiry, keeps } => {
                let expiry = match expiry {
                    Some(millis) => Expiry::At(at(millis)),
                    None if keeps => Expiry::Keep,
                    None => Expiry::Never,
                };
                self.write(name, vec![byte; length(len)], expiry);
            }
            Op::WriteMany { first, database, len } => {
                for step in 0..64 {
                    let number = first.wrapping_add(step);
                    let name = Name { number, database, is_long: step % 2 == 0 };
                    self.write(name, vec![step; usize::from(len)], Expiry::Never);
                }
            }
            Op::Resize { name, len } => self.resize(name, length(len)),
            Op::Edit { name, byte } => self.edit(name, byte),
            Op::SetDeadline { name, deadline } => self.set_deadline(name, deadline.map(at)),
            Op::Remove { name } => self.remove(name),
            Op::Rename { from, to } => self.pass_on(from, to, true),
            Op::Copy { from, to } => self.pass_on(from, to, false),
            Op::Read { name } => self.read(name),
            Op::Scan { database, cursor, count } => {
                let keyspace = self.store.keyspace(database.into()).expect("a database");
                let all = Scanned { keyspace, now: self.now, filter: ScanFilter::default() };
                self.store.scan(&mut self.thread, all, cursor, count.into(), |_| ());
            }
            Op::Clean { bytes } => self.inside(|store, thread, now| {
                store.clean_at_rest(thread, u64::from(bytes), now);
            }),
            Op::Upkeep => self.inside(|store, thread, now| store.upkeep(thread, now)),
            Op::Sweep => {
                self.store.sweep_deadlines(&mut self.thread, self.now);
            }
            Op::Reap { records } => self.inside(|store, thread, _| {
                store.free_some(thread, usize::from(records));
            }),
            Op::Return => {
                self.store.heap().return_some(0);
            }
            Op::Age { shard } => self.store.age_shard(&mut self.thread, base::ShardId(shard), 30.0),
            Op::Advance { millis } => self.now.0 += u64::from(millis),
            Op::Flush { database } => self.flush(database.into()),
            Op::Swap => self.swap(),
            Op::Verify => self.verify(),
        }
    }
}

fn key<'k>(store: &Store, name: Name, bytes: &'k [u8]) -> Key<'k> {
    store.key(store.keyspace(name.database()).expect("a database"), bytes)
}

// Operations are read one after the other, so that any bytes are a long sequence of them.
fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let mut world = World::new(bool::arbitrary(&mut input).unwrap_or_default());
    while let (false, Ok(op)) = (input.is_empty(), Op::arbitrary(&mut input)) {
        world.apply(&op);
    }
    world.verify();
});

//! Work of one thread: batches of commands, as the pipeline and the handlers of the server run
//! them.

use crate::numbers::{Choice, Numbers};
use base::{KeyspaceId, Millis, clock};
use clap::ValueEnum;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use store::value::sorted_set::{self, SortedSetLimit, Terms};
use store::value::string;
use store::{Encoding, Event, Expiry, LOCKS_AHEAD, Sought, Store, ThreadContext};

/// Workloads; each has a database of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// GET of values of 16 bytes.
    Get,
    /// SET of values of 16 bytes over others, in place.
    Set,
    /// SET of values of 16 or 64 bytes by chance: half of the records are written anew, and the
    /// cleaner moves what lives out of their segments.
    SetAnew,
    /// ZADD of another score of a member; a hundred members to a sorted set.
    Zadd,
    /// INCR of one key.
    Incr,
}

impl Operation {
    pub const ALL: [Operation; 5] =
        [Operation::Get, Operation::Set, Operation::SetAnew, Operation::Zadd, Operation::Incr];

    pub fn choices(self) -> &'static [Choice] {
        match self {
            Operation::Incr => &[Choice::Uniform],
            _ => &[Choice::Uniform, Choice::Zipf],
        }
    }

    /// GET and SET of the same length share their keys.
    pub fn database(self) -> usize {
        match self {
            Operation::Get | Operation::Set => 0,
            Operation::SetAnew => 1,
            Operation::Zadd => 2,
            Operation::Incr => 3,
        }
    }
}

pub const DATABASES: usize = 4;
/// Requests that a worker parses before it looks ahead for them.
const BATCH: usize = 32;
/// Batches that a worker serves in one loop iteration, inside the gate: as many connections.
const BATCHES_INSIDE: usize = 8;
const KEY_BYTES: usize = 16;
const VALUE: [u8; 16] = [b'v'; 16];
const LONG_VALUE: [u8; 64] = [b'v'; 64];
const MEMBERS_PER_SET: u32 = 100;
/// Bytes of a record beside its arguments for which the server makes room.
const RECORD_OVERHEAD: usize = 32;
const LIMIT: SortedSetLimit = SortedSetLimit { members_max: 128, member_bytes_max: 64 };

const SET: Event = Event::string("set");
const INCRBY: Event = Event::string("incrby");
const ZADD: Event = Event::sorted_set("zadd");

type Name = [u8; KEY_BYTES];

/// The phases of a run.
pub const WARMING: u8 = 0;
pub const MEASURED: u8 = 1;
pub const OVER: u8 = 2;

/// Thread that works on a store.
pub struct Worker<'s> {
    store: &'s Store,
    thread: ThreadContext,
    keyspace: KeyspaceId,
    operation: Operation,
    numbers: Numbers,
    keys: u32,
    batch: [(u32, Name); BATCH],
    sought: [Sought; BATCH],
    replies: Vec<u8>,
    /// Score of the member that is set next.
    score: f64,
}

impl<'s> Worker<'s> {
    pub fn new(store: &'s Store, operation: Operation, numbers: Numbers, keys: u32) -> Self {
        let thread = store.thread_context().expect("fewer threads than a store may have");
        let keyspace = store.keyspace(operation.database()).expect("a database");
        let hash = store.hash(b"");
        Worker {
            store,
            thread,
            keyspace,
            operation,
            numbers,
            keys,
            batch: [(0, [0; KEY_BYTES]); BATCH],
            sought: [(keyspace, hash); BATCH],
            replies: Vec::new(),
            score: 0.0,
        }
    }

    /// Makes all keys of the workload.
    pub fn load(&mut self) {
        let keys = if self.operation == Operation::Incr { 1 } else { self.keys };
        let now = clock::wall_now();
        self.store.enter(&self.thread);
        for number in 0..keys {
            self.execute(number, &name(self.key_number(number)), None, now);
            self.store.upkeep(&mut self.thread, now);
        }
        self.store.leave(&self.thread);
    }

    /// Gives the thread's context back.
    pub fn retire(self) {
        self.store.retire(self.thread);
    }

    /// Works while the phase is `phase`; returns the number of operations.
    pub fn run(&mut self, phase: &AtomicU8, during: u8) -> u64 {
        let mut batches = 0;
        while phase.load(Relaxed) == during {
            self.iterate();
            batches += BATCHES_INSIDE as u64;
        }
        batches * BATCH as u64
    }

    /// Runs so many batches, or a few more.
    pub fn run_batches(&mut self, batches: u64) {
        (0..batches.div_ceil(BATCHES_INSIDE as u64)).for_each(|_| self.iterate());
    }

    /// One loop iteration of a worker.
    fn iterate(&mut self) {
        self.store.enter(&self.thread);
        for _ in 0..BATCHES_INSIDE {
            self.run_batch();
            self.store.pass(&self.thread);
        }
        self.store.leave(&self.thread);
    }

    fn run_batch(&mut self) {
        let now = clock::wall_now();
        self.replies.clear();
        for at in 0..BATCH {
            let number = self.numbers.next();
            let name = name(self.key_number(number));
            self.batch[at] = (number, name);
            self.sought[at].1 = self.store.hash(&name);
        }
        self.store.prefetch_keys(&self.sought);
        for at in 0..BATCH {
            if let Some((_, hash)) = self.sought.get(at + LOCKS_AHEAD) {
                self.store.prefetch_lock(*hash);
            }
            let (number, name) = self.batch[at];
            self.execute(number, &name, Some(self.sought[at]), now);
        }
        self.store.upkeep(&mut self.thread, now);
    }

    /// Number of the key that a drawn number stands for.
    #[inline]
    fn key_number(&self, number: u32) -> u32 {
        match self.operation {
            Operation::Zadd => number % (self.keys / MEMBERS_PER_SET).max(1),
            Operation::Incr => 0,
            _ => number,
        }
    }

    #[inline]
    fn execute(&mut self, number: u32, name: &Name, sought: Option<Sought>, now: Millis) {
        match self.operation {
            Operation::Get if sought.is_some() => self.get(name, sought, now),
            Operation::Get | Operation::Set => self.set(name, sought, &VALUE, now),
            Operation::SetAnew if self.thread.random.one_in(2) => {
                self.set(name, sought, &LONG_VALUE, now);
            }
            Operation::SetAnew => self.set(name, sought, &VALUE, now),
            Operation::Zadd => self.zadd(name, sought, number, now),
            Operation::Incr => self.incr(name, sought, now),
        }
    }

    #[inline]
    fn key<'k>(&self, bytes: &'k Name, sought: Option<Sought>) -> store::Key<'k> {
        match sought {
            Some((keyspace, hash)) => store::Key { bytes, hash, keyspace },
            None => self.store.key(self.keyspace, bytes),
        }
    }

    #[inline]
    fn get(&mut self, name: &Name, sought: Option<Sought>, now: Millis) {
        let key = self.key(name, sought);
        let mut access = self.store.lock(&mut self.thread, &key, now);
        let found = access.read_string(&key).expect("all are strings");
        let bytes = found.and_then(|value| value.as_slice()).expect("all keys were made");
        self.replies.extend_from_slice(bytes);
    }

    #[inline]
    fn set(&mut self, name: &Name, sought: Option<Sought>, value: &[u8], now: Millis) {
        let room = KEY_BYTES + value.len() + RECORD_OVERHEAD;
        self.store.reserve(&mut self.thread, room, now).expect("memory has no limit");
        let key = self.key(name, sought);
        let mut access = self.store.lock(&mut self.thread, &key, now);
        access.set_string(&key, value, Encoding::Embedded, Expiry::Never).expect("room was made");
        access.report_changes(1, SET, &key);
    }

    #[inline]
    fn zadd(&mut self, name: &Name, sought: Option<Sought>, number: u32, now: Millis) {
        self.score = (self.score + 1.0) % 1e6;
        let member = u64::from(number).to_be_bytes();
        let room = KEY_BYTES + member.len() + size_of::<f64>() + RECORD_OVERHEAD;
        self.store.reserve(&mut self.thread, room, now).expect("memory has no limit");
        let key = self.key(name, sought);
        let pairs = [(self.score, &member[..])];
        let mut access = self.store.lock(&mut self.thread, &key, now);
        let done = sorted_set::add(&mut access, &key, &pairs, Terms::default(), LIMIT);
        let done = done.expect("all are sorted sets");
        access.report_changes(done.added + done.updated, ZADD, &key);
    }

    #[inline]
    fn incr(&mut self, name: &Name, sought: Option<Sought>, now: Millis) {
        self.store.reserve(&mut self.thread, 64, now).expect("memory has no limit");
        let key = self.key(name, sought);
        let mut access = self.store.lock(&mut self.thread, &key, now);
        let sum = string::add(&mut access, &key, 1).expect("it is a number");
        access.report_changes(1, INCRBY, &key);
        self.replies.extend_from_slice(&sum.to_le_bytes());
    }
}

fn name(number: u32) -> Name {
    let mut name = *b"key:............";
    name[8..].copy_from_slice(&u64::from(number).to_be_bytes());
    name
}

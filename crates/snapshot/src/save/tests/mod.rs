//! The snapshot is the cut: a model is copied at the cut, clients change everything while the saver
//! writes, and the file holds the model, each key once, and nothing else.

mod client;
mod commands;
mod model;
mod slow;

use super::{Save, Target};
use crate::{Expired, Load, Progress, SaveError, SaveProgress};
use base::{KeyHasher, Millis};
use client::Client;
use model::{Model, read_model};
use rdb::{Checks, Version};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use store::{EvictionPolicy, Limits, Store, StoreConfig, ThreadContext};

const DATABASES: usize = 3;
const START: Millis = Millis(1_700_000_000_000);

/// Memory in which segments are small, and enough for all keys.
const MEMORY: u64 = 96 << 20;
/// Memory that does not hold all keys.
const LITTLE_MEMORY: u64 = 4 << 20;

fn new_store(seed: u64, maxmemory: u64) -> Store {
    let hasher = KeyHasher::from_seed(seed);
    let config = StoreConfig { databases: DATABASES, hasher, address_space: None };
    let store = Store::new(config).expect("address space");
    store.set_limits(&Limits {
        maxmemory,
        other_bytes: 0,
        workers: 2,
        eviction: match maxmemory {
            LITTLE_MEMORY => EvictionPolicy::AllKeysLru,
            _ => EvictionPolicy::NoEviction,
        },
        reclaim: store::ReclaimPolicy::Original,
        lfu_log_factor: 10,
        lfu_decay_minutes: 1,
    });
    store
}

/// A sink that lets clients change some keys before it takes bytes.
struct Busy<'c, 's> {
    client: &'c mut Client<'s>,
    changes: u64,
    bytes: Vec<u8>,
}

impl Write for Busy<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for _ in 0..self.changes {
            self.client.change();
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file into a store of its own, in which each key may be there once.
fn model_of_file(bytes: &[u8], seed: u64) -> Model {
    let store = new_store(seed, 0);
    let mut thread = store.thread_context().expect("a thread");
    let mut load = Load {
        store: &store,
        thread: &mut thread,
        bytes: 0,
        threads: 1,
        limits: client::limits(),
        now: START,
        expired: Expired::Stay,
        replaces: false,
        beside: None,
        checks: Checks::ALL,
        progress: &Progress::default(),
    };
    load.read(bytes).expect("a sound file");
    read_model(&store, &mut thread, START)
}

#[track_caller]
fn assert_same(found: &Model, expected: &Model, what: &str) {
    for (name, value) in expected {
        let found = found.get(name);
        assert!(found.is_some(), "{what}: {name:?} {:?} is missing", value.kind);
        assert!(found == Some(value), "{what}: {name:?} {:?} has changed", value.kind);
    }
    let more = found.keys().find(|name| !expected.contains_key(*name));
    assert_eq!(more, None, "{what}: it was not there at the cut");
}

fn save<'a>(
    store: &'a Store,
    thread: &'a mut ThreadContext,
    now: Millis,
    progress: &'a SaveProgress,
) -> Save<'a> {
    Save {
        store,
        thread,
        now,
        timed: Some(Version::VALKEY),
        compresses: false,
        checks: true,
        is_base: false,
        functions: Arc::default(),
        key_delay: 0,
        leaves_out_keys: false,
        leaves_out_functions: false,
        fields: Arc::default(),
        progress,
    }
}

impl<W: Write> Target<'_, W> {
    /// Makes all pieces short, so that much happens between them.
    fn in_small_pieces(mut self) -> Self {
        (self.piece_bytes, self.bytes_per_hold) = (200, 300);
        self
    }
}

/// Saves while one client changes keys, step by step. Returns the numbers of segments that were
/// cleaned, and of keys that were evicted.
fn saves_the_cut(seed: u64, maxmemory: u64, changes: u64, compresses: bool) -> (u64, u64) {
    let store = new_store(seed, maxmemory);
    let [mut thread, mut other] = [(); 2].map(|()| store.thread_context().expect("a thread"));
    let mut client = Client::new(&store, seed, START);
    for _ in 0..6_000 {
        client.change();
    }
    let progress = SaveProgress::default();
    let (now, mut expected) = (client.now, Model::new());
    let mut save = save(&store, &mut thread, now, &progress);
    save.compresses = compresses;
    let sink = Busy { client: &mut client, changes, bytes: Vec::new() };
    let mut target = save.target(sink, &progress).in_small_pieces();
    let written = save.write_to(&mut target, || expected = read_model(&store, &mut other, now));
    let keys = written.expect("a sink that takes everything");
    let bytes = target.sink.bytes;
    assert_eq!(keys, expected.len() as u64);
    assert_same(&model_of_file(&bytes, seed), &expected, &format!("seed {seed}"));
    let totals = store.totals();
    nothing_is_kept(&store, &mut thread);
    (totals.cleaned_segments, totals.evicted)
}

/// Empties the store, and finds that no byte is left of it.
fn nothing_is_kept(store: &Store, thread: &mut ThreadContext) {
    store.enter(thread);
    store.flush(thread, store::Flush::All);
    while store.free_some(thread, usize::MAX) {}
    store.leave(thread);
    assert_eq!((store.live_bytes(), store.used_bytes() - store.index_bytes()), (0, 0));
    assert_eq!((store.bytes_handed_over(), store.retained_bytes()), (0, 0));
}

#[test]
fn a_snapshot_is_the_cut_whatever_changes_between_its_steps() {
    for seed in 0..12 {
        let (cleaned, _) = saves_the_cut(seed, MEMORY, 1 + seed % 5, seed % 2 == 0);
        assert!(cleaned > 0, "nothing was moved");
    }
}

#[test]
fn a_snapshot_is_the_cut_while_keys_are_evicted() {
    let evicted: u64 = (100..108).map(|seed| saves_the_cut(seed, LITTLE_MEMORY, 2, false).1).sum();
    assert!(evicted > 100, "{evicted} keys were evicted");
}

#[test]
fn a_snapshot_is_the_cut_while_threads_change_everything() {
    for seed in 0..3 {
        let store = new_store(seed, MEMORY);
        let [mut thread, mut other] = [(); 2].map(|()| store.thread_context().expect("a thread"));
        let (progress, is_done) = (SaveProgress::default(), AtomicBool::new(false));
        let mut first = Client::new(&store, seed, START);
        (0..8_000).for_each(|_| first.change());
        let now = first.now;
        std::thread::scope(|scope| {
            for number in 0..2 {
                let (store, is_done) = (&store, &is_done);
                scope.spawn(move || {
                    let mut client = Client::new(store, seed * 10 + number, now);
                    while !is_done.load(Relaxed) {
                        client.change();
                    }
                });
            }
            let _end = End(&is_done);
            for round in 0..4 {
                let (mut expected, mut bytes) = (Model::new(), Vec::new());
                let mut save = save(&store, &mut thread, now, &progress);
                let mut target = save.target(&mut bytes, &progress).in_small_pieces();
                let at_cut = || expected = read_model(&store, &mut other, now);
                let written = save.write_to(&mut target, at_cut).map(drop);
                drop(target);
                let what = format!("seed {seed}, round {round}");
                assert_same(&model_of_file(&bytes, seed), &expected, &what);
                written.expect("a sink that takes everything");
            }
        });
        nothing_is_kept(&store, &mut thread);
    }
}

/// Tells threads to end, also where the test has failed.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_snapshot_that_is_cancelled_keeps_nothing() {
    let store = new_store(7, MEMORY);
    let mut thread = store.thread_context().expect("a thread");
    let mut client = Client::new(&store, 7, START);
    (0..6_000).for_each(|_| client.change());
    for after in [0, 1, 5, 40, 200] {
        let (progress, now) = (SaveProgress::default(), client.now);
        let mut save = save(&store, &mut thread, now, &progress);
        let sink = Cancelling { client: &mut client, progress: &progress, after };
        let mut target = save.target(sink, &progress).in_small_pieces();
        let saved = save.write_to(&mut target, || ());
        assert!(matches!(saved, Err(SaveError::Cancelled)), "after {after}");
    }
    nothing_is_kept(&store, &mut thread);
}

/// A sink that cancels the snapshot after some pieces.
struct Cancelling<'c, 's> {
    client: &'c mut Client<'s>,
    progress: &'c SaveProgress,
    after: u64,
}

impl Write for Cancelling<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (0..3).for_each(|_| self.client.change());
        self.progress.is_cancelled.store(self.after == 0, Relaxed);
        self.after = self.after.saturating_sub(1);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn there_is_one_snapshot_at_a_time() {
    let store = new_store(1, 0);
    let [mut one, mut other] = [(); 2].map(|()| store.thread_context().expect("a thread"));
    let cut = store.cut(&mut one, START, || ()).expect("no other");
    assert!(store.cut(&mut other, START, || ()).is_none());
    drop(cut);
    assert!(store.cut(&mut other, START, || ()).is_some());
}

//! Sinks that are slow or stand still, while somebody changes everything.

use super::{
    Model, START, assert_same, model_of_file, new_store, nothing_is_kept, read_model, save,
};
use crate::{SaveError, SaveProgress};
use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use store::{Encoding, Expiry, Store, ThreadContext};

/// Keys that are together far more than may wait.
const KEYS: u64 = 32_000;
const VALUE_BYTES: usize = 1 << 10;
/// More than a copy of a key takes, with the rest of its block.
const COPY_BYTES: u64 = 4 * (VALUE_BYTES as u64 + 100);
/// Distance from a key to the next one that is changed: all have their turn.
const STEP: u64 = 7_919;
/// Changes that somebody wants to make while the sink takes a piece.
const CHANGES: u64 = 8_000;

/// Somebody who changes keys, unless writers are stalled.
struct Writer<'s> {
    store: &'s Store,
    thread: ThreadContext,
    /// Number of changes so far.
    made: u64,
}

impl<'s> Writer<'s> {
    fn new(store: &'s Store) -> Writer<'s> {
        let thread = store.thread_context().expect("a thread");
        let mut writer = Writer { store, thread, made: 0 };
        (0..KEYS).for_each(|number| writer.set(number));
        writer
    }

    fn set(&mut self, number: u64) {
        let (store, name) = (self.store, format!("key:{number}"));
        let key = store.key(store.keyspace(0).expect("it exists"), name.as_bytes());
        let value = vec![narrow::low_u8(self.made); VALUE_BYTES];
        store.enter(&self.thread);
        store.reserve(&mut self.thread, 1 << 16, START).expect("room");
        let mut access = store.lock(&mut self.thread, &key, START).muted();
        access.set_string(&key, &value, Encoding::Raw, Expiry::Never).expect("room");
        access.report_changes_silently(1);
        drop(access);
        store.upkeep(&mut self.thread, START);
        store.leave(&self.thread);
    }

    /// Makes so many changes, or as many as it may; returns their number.
    fn write(&mut self, most: u64) -> u64 {
        let before = self.made;
        while self.made - before < most && !self.store.stalls_writers() {
            self.made += 1;
            self.set(self.made * STEP % KEYS);
        }
        self.made - before
    }
}

/// A sink that takes pieces so slowly that much changes meanwhile.
struct Slow<'w, 's> {
    writer: &'w mut Writer<'s>,
    bytes: Vec<u8>,
    /// Pieces in whose time somebody was stalled.
    stalled: u64,
}

impl Write for Slow<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let store = self.writer.store;
        let left = (3 * KEYS).saturating_sub(self.writer.made);
        self.writer.write(CHANGES.min(left));
        self.stalled += u64::from(store.stalls_writers());
        assert!(store.bytes_handed_over() <= store.handed_over_max() + COPY_BYTES);
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn behind_a_slow_sink_no_more_waits_than_may_and_writers_go_on_once_it_takes() {
    let store = new_store(1, 0);
    let [mut thread, mut other] = [(); 2].map(|()| store.thread_context().expect("a thread"));
    let (mut writer, progress) = (Writer::new(&store), SaveProgress::default());
    let mut expected = Model::new();
    let mut sink = Slow { writer: &mut writer, bytes: Vec::new(), stalled: 0 };
    let mut save = save(&store, &mut thread, START, &progress);
    let at_cut = || expected = read_model(&store, &mut other, START);
    store.enter(save.thread);
    let keys = save.write(&mut sink, at_cut).expect("a sink that takes everything");
    store.leave(save.thread);
    assert_eq!(keys, KEYS);
    assert!(sink.stalled > 0, "nobody was stalled");
    let most = progress.retained_bytes_most.load(Relaxed);
    assert!(most > store.handed_over_max() / 2, "{most} bytes waited at most");
    assert_same(&model_of_file(&sink.bytes, 1), &expected, "slow");
    nothing_is_kept(&store, &mut thread);
}

/// A sink that stands still at a piece, until the snapshot is given up as the server does it.
struct Still<'w, 's> {
    writer: &'w mut Writer<'s>,
    progress: &'w SaveProgress,
    pieces: u64,
}

impl Write for Still<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (store, many) = (self.writer.store, 2 * KEYS);
        self.pieces += 1;
        if self.pieces == 3 {
            assert!(self.writer.write(many) < many, "nobody is stalled");
            self.progress.is_too_slow.store(true, Relaxed);
            self.progress.is_cancelled.store(true, Relaxed);
            store.give_up_cut();
            let waiting = store.bytes_handed_over();
            assert_eq!(self.writer.write(many), many, "somebody waits for the sink");
            assert_eq!(store.bytes_handed_over(), waiting);
        }
        assert!(self.pieces <= 3, "more is written of what was given up");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_snapshot_whose_sink_stands_still_is_given_up_and_the_next_one_is_whole() {
    let store = new_store(2, 0);
    let [mut thread, mut other] = [(); 2].map(|()| store.thread_context().expect("a thread"));
    let (mut writer, progress) = (Writer::new(&store), SaveProgress::default());
    let mut save = save(&store, &mut thread, START, &progress);
    let still = Still { writer: &mut writer, progress: &progress, pieces: 0 };
    store.enter(save.thread);
    let outcome = save.write(still, || ());
    assert!(matches!(outcome, Err(SaveError::TooSlow)), "{outcome:?}");
    assert_eq!(store.bytes_handed_over(), 0);
    progress.reset();
    let (mut expected, mut bytes) = (Model::new(), Vec::new());
    let at_cut = || expected = read_model(&store, &mut other, START);
    save.write(&mut bytes, at_cut).expect("a sink that takes everything");
    store.leave(save.thread);
    assert_same(&model_of_file(&bytes, 2), &expected, "after it");
    nothing_is_kept(&store, &mut thread);
}

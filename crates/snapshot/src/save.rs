//! Files, written from a store.

use crate::encode::{form_of, write_value};
use crate::save_progress::{KeyDelay, SaveError, SaveProgress};
use base::{Millis, Pacer};
use rdb::{Checksum, Opening, Output, Version};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use store::eviction::{IDLE_SECONDS, frequency};
use store::{Access, Key, ScanFilter, Scanned, Store, ThreadContext};

/// Bytes that are collected before they are written.
const PIECE_BYTES: usize = 64 << 10;
/// Number of keys whose names are collected before their values are read.
const BATCH: usize = 1024;

/// Saving of all keys to one sink.
#[derive(Debug)]
pub struct Save<'a> {
    /// The store.
    pub store: &'a Store,
    /// Thread that saves, inside the gate.
    pub thread: &'a mut ThreadContext,
    /// Present time.
    pub now: Millis,
    /// Version in which deadlines of fields are written.
    pub timed: Version,
    /// True if long texts are compressed.
    pub compresses: bool,
    /// True if a checksum stands behind the file, and not zero.
    pub checks: bool,
    /// True if the file is the base of an append-only file.
    pub is_base: bool,
    /// Sources of function libraries.
    pub functions: &'a [Vec<u8>],
    /// Pause after each key in microseconds; if negative, a number of keys after which one
    /// microsecond passes.
    pub key_delay: i32,
    /// Where to tell how far it has come, and to hear that it is to end.
    pub progress: &'a SaveProgress,
}

/// Bytes on their way to the sink.
struct Target<'a, W> {
    output: Output,
    sink: W,
    checksum: Checksum,
    progress: &'a SaveProgress,
    delay: KeyDelay,
}

impl Save<'_> {
    /// Writes an RDB file, of the version that most servers read if the data fits it. Returns the
    /// number of keys. `at_cut` is called once, while no other thread is inside the gate, at the
    /// moment whose data the file holds. The thread is inside the gate before and after, but
    /// neither while the sink takes bytes nor in pauses.
    ///
    /// # Errors
    /// When the sink refuses or is too slow, or when it is cancelled.
    pub fn write(&mut self, sink: impl Write, at_cut: impl FnOnce()) -> Result<u64, SaveError> {
        let (store, progress) = (self.store, self.progress);
        let output = Output::new(self.compresses);
        let (checksum, delay) = (Checksum::default(), KeyDelay::new(self.key_delay));
        let mut target = Target { output, sink, checksum, progress, delay };
        store.exclusively(self.thread, |_| {
            at_cut();
            progress.total_keys.store(store.keys(), Relaxed);
        });
        self.write_head(&mut target.output);
        for database in 0..store.databases() {
            if store.len(database) > 0 {
                self.write_database(database, &mut target)?;
            }
        }
        target.output.end();
        self.flush(&mut target)?;
        let checksum = if self.checks { target.checksum.value() } else { 0 };
        target.sink.write_all(&checksum.to_le_bytes())?;
        target.sink.flush()?;
        Ok(progress.keys.load(Relaxed))
    }

    fn write_head(&self, output: &mut Output) {
        let databases = 0..self.store.databases();
        let hashes =
            databases.map(|it| self.store.keyspace_facts(it).with_timed_parts).sum::<u64>();
        output.header(if hashes > 0 { self.timed } else { Version::COMMON });
        output.aux("varve-ver", env!("CARGO_PKG_VERSION").as_bytes());
        output.aux("redis-bits", b"64");
        output.aux("ctime", (self.now.0 / 1000).to_string().as_bytes());
        output.aux("used-mem", self.store.used_bytes().to_string().as_bytes());
        output.aux("aof-base", if self.is_base { b"1" } else { b"0" });
        self.functions.iter().for_each(|source| output.function(source));
    }

    fn write_database(
        &mut self,
        database: usize,
        target: &mut Target<'_, impl Write>,
    ) -> Result<(), SaveError> {
        let facts = self.store.keyspace_facts(database);
        target.output.database(database as u64, facts.keys, facts.with_deadline);
        let (mut names, mut cursor) = (Vec::new(), 0);
        let mut pacer = Pacer::new();
        loop {
            let Some(keyspace) = self.store.keyspace(database) else { return Ok(()) };
            let scanned = Scanned { keyspace, now: self.now, filter: ScanFilter::default() };
            let keep = |name: &[u8]| names.push(name.to_vec());
            cursor = self.store.scan(self.thread, scanned, cursor, BATCH, keep);
            for name in names.drain(..) {
                self.write_key(database, &name, target)?;
                pacer.yield_if_due();
            }
            if cursor == 0 {
                return Ok(());
            }
            self.store.pass(self.thread);
        }
    }

    fn write_key(
        &mut self,
        database: usize,
        name: &[u8],
        target: &mut Target<'_, impl Write>,
    ) -> Result<(), SaveError> {
        let Some(keyspace) = self.store.keyspace(database) else { return Ok(()) };
        let key = self.store.key(keyspace, name);
        let counts_uses = self.store.eviction_policy().counts_uses();
        let access = self.store.lock(self.thread, &key, self.now);
        let is_there = write_key(&access, &key, self.timed, counts_uses, &mut target.output);
        drop(access);
        self.progress.keys.fetch_add(u64::from(is_there), Relaxed);
        if target.output.bytes().len() >= PIECE_BYTES {
            self.flush(target)?;
        }
        if target.delay.is_due() {
            self.store.leave(self.thread);
            target.delay.sleep(self.progress);
            self.store.enter(self.thread);
        }
        if self.progress.is_cancelled.load(Relaxed) { Err(SaveError::Cancelled) } else { Ok(()) }
    }

    /// Gives the sink what was collected, outside the gate.
    fn flush(&self, target: &mut Target<'_, impl Write>) -> Result<(), SaveError> {
        self.store.leave(self.thread);
        let flushed = target.flush();
        self.store.enter(self.thread);
        flushed
    }
}

/// Writes a key; returns false if there is none.
fn write_key(
    access: &Access<'_>,
    key: &Key<'_>,
    timed: Version,
    counts_uses: bool,
    output: &mut Output,
) -> bool {
    let Some(form) = form_of(access, key, timed) else { return false };
    let Some(number) = form.value_type.number(form.version.dialect()) else { return false };
    let deadline = access.lookup_without_touch(key).and_then(|value| value.deadline);
    let bits = access.access_bits(key).unwrap_or(0);
    let idle = u64::from(IDLE_SECONDS[usize::from(bits & 15)]);
    output.opening(Opening {
        deadline: deadline.map(|deadline| deadline.0),
        idle: (!counts_uses && idle > 0).then_some(idle),
        frequency: counts_uses.then(|| narrow::low_u8(frequency(bits).into())),
    });
    output.byte(number);
    output.text(key.bytes);
    write_value(access, key, form, output);
    true
}

impl<W: Write> Target<'_, W> {
    fn flush(&mut self) -> Result<(), SaveError> {
        self.checksum.add(self.output.bytes());
        self.sink.write_all(self.output.bytes())?;
        self.progress.bytes.fetch_add(self.output.bytes().len() as u64, Relaxed);
        self.output.clear();
        Ok(())
    }
}

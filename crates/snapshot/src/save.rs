//! Files, written from a store that nobody changes meanwhile.

use crate::encode::{form_of, write_value};
use base::Millis;
use rdb::{Checksum, Opening, Output, Version};
use std::io::{self, Write};
use store::eviction::{IDLE_SECONDS, frequency};
use store::{Access, Key, ScanFilter, Scanned, Store, ThreadContext};

/// Bytes that are collected before they are written.
const PIECE_BYTES: usize = 64 << 10;
/// Number of keys whose names are collected before their values are read.
const BATCH: usize = 1024;

/// Saving of all keys to one file.
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
    /// Sources of function libraries.
    pub functions: &'a [Vec<u8>],
}

/// Bytes on their way to the file.
struct Target<W> {
    output: Output,
    file: W,
    checksum: Checksum,
}

impl Save<'_> {
    /// Writes an RDB file, of the version that most servers read if the data fits it. Returns the
    /// number of keys.
    ///
    /// # Errors
    /// When the system refuses to write.
    pub fn write(&mut self, file: impl Write) -> io::Result<u64> {
        let output = Output::new(self.compresses);
        let mut target = Target { output, file, checksum: Checksum::default() };
        self.write_head(&mut target.output);
        let mut keys = 0;
        for database in 0..self.store.databases() {
            if self.store.len(database) > 0 {
                keys += self.write_database(database, &mut target)?;
            }
        }
        target.output.end();
        target.flush()?;
        let checksum = if self.checks { target.checksum.value() } else { 0 };
        target.file.write_all(&checksum.to_le_bytes())?;
        target.file.flush()?;
        Ok(keys)
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
        output.aux("aof-base", b"0");
        self.functions.iter().for_each(|source| output.function(source));
    }

    fn write_database(
        &mut self,
        database: usize,
        target: &mut Target<impl Write>,
    ) -> io::Result<u64> {
        let Some(keyspace) = self.store.keyspace(database) else { return Ok(0) };
        let facts = self.store.keyspace_facts(database);
        target.output.database(database as u64, facts.keys, facts.with_deadline);
        let scanned = Scanned { keyspace, now: self.now, filter: ScanFilter::default() };
        let (mut names, mut cursor, mut keys) = (Vec::new(), 0, 0);
        loop {
            let keep = |name: &[u8]| names.push(name.to_vec());
            cursor = self.store.scan(self.thread, scanned, cursor, BATCH, keep);
            for name in names.drain(..) {
                let key = self.store.key(keyspace, &name);
                let counts_uses = self.store.eviction_policy().counts_uses();
                let access = self.store.lock(self.thread, &key, self.now);
                let is_there =
                    write_key(&access, &key, self.timed, counts_uses, &mut target.output);
                keys += u64::from(is_there);
                drop(access);
                target.flush_if_large()?;
            }
            if cursor == 0 {
                return Ok(keys);
            }
        }
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

impl<W: Write> Target<W> {
    fn flush_if_large(&mut self) -> io::Result<()> {
        if self.output.bytes().len() >= PIECE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.checksum.add(self.output.bytes());
        self.file.write_all(self.output.bytes())?;
        self.output.clear();
        Ok(())
    }
}

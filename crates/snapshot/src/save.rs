//! Files, written from a snapshot while clients go on.

use crate::commands::{Commands, write_command};
use crate::encode::Encoder;
use crate::save_progress::{KeyDelay, SaveError, SaveProgress};
use base::Millis;
use rdb::{Checksum, Opening, Output, Version};
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::eviction::{IDLE_SECONDS, frequency};
use store::{Copied, Copies, Cut, Store, ThreadContext, ValueRef};

/// Bytes that are collected before they go to the sink, while they are near.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes handed over that may wait while the sink collects more: behind it, a slow sink takes what
/// there is, and clients that are stalled go on.
const WAITING_CALM: u64 = 1 << 20;
/// Number of the type of strings, which all versions share.
const STRING: u8 = 0;
/// Bytes of a large value that are written under one hold of its lock.
const BYTES_PER_HOLD: usize = 32 << 10;
/// The same where they are compressed.
const COMPRESSED_BYTES_PER_HOLD: usize = 8 << 10;

/// Names and values of further fields in the head of a file.
pub type Fields = Vec<(&'static str, String)>;

/// Saving of all keys to one sink.
#[derive(Debug)]
pub struct Save<'a> {
    /// The store.
    pub store: &'a Store,
    /// Thread that saves, inside the gate.
    pub thread: &'a mut ThreadContext,
    /// Present time.
    pub now: Millis,
    /// Version in which deadlines of fields are written; `None` if the reader knows none.
    pub timed: Option<Version>,
    /// True if long texts are compressed.
    pub compresses: bool,
    /// True if a checksum stands behind the file, and not zero.
    pub checks: bool,
    /// True if the file is the base of an append-only file.
    pub is_base: bool,
    /// True if keys are left out.
    pub leaves_out_keys: bool,
    /// True if libraries of functions are left out.
    pub leaves_out_functions: bool,
    /// What else stands in the head of the file, if it is there by the cut.
    pub fields: Arc<OnceLock<Fields>>,
    /// Sources of the function libraries that there are at the cut, if they are there by then.
    pub functions: Arc<OnceLock<Vec<Vec<u8>>>>,
    /// Pause after each key in microseconds; if negative, a number of keys after which one
    /// microsecond passes.
    pub key_delay: i32,
    /// Where to report how far it has come, and to see that it is to end.
    pub progress: &'a SaveProgress,
}

/// Bytes on their way to the sink.
struct Target<'a, W> {
    output: Output,
    sink: W,
    checksum: Checksum,
    /// Keys written.
    keys: u64,
    progress: &'a SaveProgress,
    delay: KeyDelay,
    timed: Version,
    counts_uses: bool,
    /// False if plain commands are written.
    is_rdb: bool,
    /// True while the sink is to take what there is, since much waits.
    is_hurried: bool,
    /// Bytes that are collected before they go to the sink.
    piece_bytes: usize,
    /// Bytes of a large value that are written under one hold.
    bytes_per_hold: usize,
    /// Databases whose sizes were written, and the one whose keys follow.
    begun: Vec<usize>,
    selected: Option<usize>,
}

impl Save<'_> {
    /// Writes an RDB file, of the version that most servers read if the data fits it. Returns the
    /// number of keys. `at_cut` is called once, while no other thread is inside the gate, at the
    /// moment whose data the file holds: every key that was there, with the value and the deadline
    /// that it had. The thread is inside the gate before and after, but not meanwhile.
    ///
    /// # Errors
    /// When the sink refuses or is too slow, when it is cancelled, or while another one is taken.
    pub fn write(&mut self, sink: impl Write, at_cut: impl FnOnce()) -> Result<u64, SaveError> {
        let mut target = self.target(sink, self.progress);
        self.store.leave(self.thread);
        let saved = self.write_to(&mut target, at_cut);
        self.store.enter(self.thread);
        saved
    }

    /// Does the same with plain commands in place of an RDB file, of which each writes some
    /// elements.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn write_commands(
        &mut self,
        sink: impl Write,
        at_cut: impl FnOnce(),
    ) -> Result<u64, SaveError> {
        let mut target = Target { is_rdb: false, ..self.target(sink, self.progress) };
        self.store.leave(self.thread);
        let saved = self.write_to(&mut target, at_cut);
        self.store.enter(self.thread);
        saved
    }

    /// Does so outside the gate.
    fn write_to(
        &mut self,
        target: &mut Target<'_, impl Write>,
        at_cut: impl FnOnce(),
    ) -> Result<u64, SaveError> {
        let (store, progress) = (self.store, self.progress);
        let cut = store.cut(self.thread, self.now, at_cut);
        let mut cut = cut.ok_or(SaveError::Busy)?;
        progress.pause_micros.store(micros(cut.pause()), Relaxed);
        let keys = cut.databases().iter().map(|database| database.facts.keys).sum();
        progress.total_keys.store(keys, Relaxed);
        let head = Head {
            store,
            now: self.now,
            timed: self.timed,
            is_base: self.is_base,
            leaves_out_keys: self.leaves_out_keys,
            fields: &self.fields,
            functions: self.functions.get().filter(|_| !self.leaves_out_functions),
        };
        write_head(target, &cut, &head)?;
        let mut copies = Copies::default();
        while !self.leaves_out_keys && cut.take(&mut copies) {
            let waiting = store.bytes_handed_over();
            progress.note_retained(store.retained_bytes());
            target.is_hurried = waiting > WAITING_CALM;
            for copied in copies.iter() {
                target.write_key(&mut cut, &copied)?;
            }
        }
        if cut.is_given_up() {
            return Err(self.progress.cancelled());
        }
        drop(cut);
        target.finish(self.checks)?;
        Ok(progress.keys.load(Relaxed))
    }

    fn target<'p, W>(&self, sink: W, progress: &'p SaveProgress) -> Target<'p, W> {
        Target {
            output: Output::new(self.compresses),
            sink,
            checksum: Checksum::default(),
            keys: 0,
            progress,
            delay: KeyDelay::new(self.key_delay),
            timed: self.timed.unwrap_or(Version::COMMON),
            counts_uses: self.store.eviction_policy().counts_uses(),
            is_rdb: true,
            is_hurried: false,
            piece_bytes: PIECE_BYTES,
            bytes_per_hold: if self.compresses {
                COMPRESSED_BYTES_PER_HOLD
            } else {
                BYTES_PER_HOLD
            },
            begun: Vec::new(),
            selected: None,
        }
    }
}

/// Whole microseconds, at least one.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1)
}

/// What the head of a file tells.
struct Head<'a> {
    store: &'a Store,
    now: Millis,
    timed: Option<Version>,
    is_base: bool,
    leaves_out_keys: bool,
    fields: &'a OnceLock<Fields>,
    functions: Option<&'a Vec<Vec<u8>>>,
}

fn write_head<W>(
    target: &mut Target<'_, W>,
    cut: &Cut<'_>,
    head: &Head<'_>,
) -> Result<(), SaveError> {
    let output = &mut target.output;
    if !target.is_rdb {
        let mut load = |source: &Vec<u8>| write_command(&[b"FUNCTION", b"LOAD", source], output);
        head.functions.into_iter().flatten().for_each(&mut load);
        return Ok(());
    }
    let mut timed = cut.databases().iter().filter(|it| it.facts.with_timed_parts > 0);
    let version = match timed.next().filter(|_| !head.leaves_out_keys) {
        None => Version::COMMON,
        Some(database) => head.timed.ok_or(SaveError::Unreadable(database.number))?,
    };
    output.header(version);
    output.aux("varve-ver", env!("CARGO_PKG_VERSION").as_bytes());
    output.aux("redis-bits", b"64");
    output.aux("ctime", (head.now.0 / 1000).to_string().as_bytes());
    output.aux("used-mem", head.store.used_bytes().to_string().as_bytes());
    let fields = head.fields.get().into_iter().flatten();
    fields.for_each(|(name, value)| output.aux(name, value.as_bytes()));
    output.aux("aof-base", if head.is_base { b"1" } else { b"0" });
    head.functions.into_iter().flatten().for_each(|source| output.function(source));
    Ok(())
}

impl<W: Write> Target<'_, W> {
    /// Writes a key. A large value is written in slices, and what was kept for it let go.
    fn write_key(&mut self, cut: &mut Cut<'_>, copied: &Copied<'_>) -> Result<(), SaveError> {
        if self.progress.is_cancelled.load(Relaxed) || copied.is_large() && cut.is_given_up() {
            return Err(self.progress.cancelled());
        }
        match copied.whole_string() {
            Some(text) if self.is_rdb => self.write_whole_string(cut, copied, text)?,
            _ if self.is_rdb => self.write_rdb_key(cut, copied)?,
            _ => self.write_key_in_commands(cut, copied)?,
        }
        if copied.is_large() {
            cut.let_go(copied);
        }
        if self.delay.is_due() {
            self.delay.sleep(self.progress);
        }
        Ok(())
    }

    /// Writes a key of the most frequent kind, whose value needs no slices.
    fn write_whole_string(
        &mut self,
        cut: &Cut<'_>,
        copied: &Copied<'_>,
        text: &[u8],
    ) -> Result<(), SaveError> {
        self.select(cut, copied);
        self.write_opening(copied);
        self.output.byte(STRING);
        self.output.text(copied.key());
        self.output.text(text);
        self.count_key();
        self.flush_if_large()
    }

    fn count_key(&mut self) {
        self.keys += 1;
        self.progress.keys.store(self.keys, Relaxed);
    }

    fn write_rdb_key(&mut self, cut: &mut Cut<'_>, copied: &Copied<'_>) -> Result<(), SaveError> {
        let (timed, mut encoder) = (self.timed, Encoder::default());
        let form = loop {
            // Parts past their deadline are there until their removal is in the stream.
            let looked = cut.read(copied, |value| encoder.look(value.with_expired(), timed));
            if let ControlFlow::Break(form) = looked {
                break form;
            }
        };
        let number = form.and_then(|form| form.value_type.number(form.version.dialect()));
        if let (Some(form), Some(number)) = (form, number) {
            self.select(cut, copied);
            self.write_opening(copied);
            self.output.byte(number);
            self.output.text(copied.key());
            self.write_slices(cut, copied, |value, output, most| {
                encoder.write(value.with_expired(), form, output, most)
            })?;
            self.count_key();
        }
        Ok(())
    }

    fn write_key_in_commands(
        &mut self,
        cut: &mut Cut<'_>,
        copied: &Copied<'_>,
    ) -> Result<(), SaveError> {
        let number = cut.database_of(copied);
        if self.selected.replace(number) != Some(number) {
            write_command(&[b"SELECT", number.to_string().as_bytes()], &mut self.output);
        }
        let mut commands = Commands::default();
        self.write_slices(cut, copied, |value, output, most| commands.write(value, output, most))?;
        if let Some(deadline) = copied.deadline() {
            let at = deadline.0.to_string();
            write_command(&[b"PEXPIREAT", copied.key(), at.as_bytes()], &mut self.output);
        }
        self.count_key();
        Ok(())
    }

    /// Writes the number of the database of a copy unless it is that of the key before, and its
    /// sizes at its first key.
    fn select(&mut self, cut: &Cut<'_>, copied: &Copied<'_>) {
        let number = cut.database_of(copied);
        if self.selected.replace(number) == Some(number) {
            return;
        }
        if self.begun.contains(&number) {
            return self.output.select(number as u64);
        }
        self.begun.push(number);
        let database = cut.databases().iter().find(|database| database.number == number);
        let facts = database.map(|database| database.facts).unwrap_or_default();
        self.output.database(number as u64, facts.keys, facts.with_deadline);
    }

    fn write_opening(&mut self, copied: &Copied<'_>) {
        let bits = copied.access_bits();
        let idle = u64::from(IDLE_SECONDS[usize::from(bits & 15)]);
        self.output.opening(Opening {
            deadline: copied.deadline().map(|deadline| deadline.0),
            idle: (!self.counts_uses && idle > 0).then_some(idle),
            frequency: self.counts_uses.then(|| narrow::low_u8(frequency(bits).into())),
            attributes: copied.attributes().note().unless_empty(),
        });
    }

    fn write_slices(
        &mut self,
        cut: &mut Cut<'_>,
        copied: &Copied<'_>,
        mut write: impl FnMut(ValueRef<'_>, &mut Output, usize) -> bool,
    ) -> Result<(), SaveError> {
        loop {
            let (output, most) = (&mut self.output, self.bytes_per_hold);
            let is_complete = cut.read(copied, |value| write(value, output, most));
            self.flush_if_large()?;
            if is_complete {
                return Ok(());
            }
            if self.progress.is_cancelled.load(Relaxed) {
                return Err(self.progress.cancelled());
            }
        }
    }

    /// Writes what stands behind all keys.
    fn finish(&mut self, checks: bool) -> Result<(), SaveError> {
        if self.is_rdb {
            self.output.end();
        }
        self.flush()?;
        if self.is_rdb {
            let checksum = if checks { self.checksum.value() } else { 0 };
            self.sink.write_all(&checksum.to_le_bytes())?;
        }
        self.sink.flush()?;
        Ok(())
    }

    #[inline]
    fn flush_if_large(&mut self) -> Result<(), SaveError> {
        if self.output.bytes().len() < self.piece_bytes { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), SaveError> {
        let bytes = self.output.bytes();
        self.checksum.add(bytes);
        self.sink.write_all(bytes)?;
        if self.is_hurried {
            self.sink.flush()?;
        }
        self.progress.bytes.fetch_add(bytes.len() as u64, Relaxed);
        self.output.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Filling from a running server: SCAN of each database, DUMP of each key, and what a Varve has
//! noted of it.
//!
//! A key that is there from the begin to the end is found; what is changed meanwhile may arrive as
//! it was before, as it was after, or not at all.

use crate::error::Error;
use crate::keys::{absolute, deadline_word, page};
use crate::ledger::Ledger;
use crate::note::{ATTRIBUTES, note_of};
use crate::payload::Value;
use crate::resp::Reply;
use crate::resume::Mark;
use crate::run::Run;
use crate::server::{Link, Server};
use crate::sink::{Put, Shared, put, take_jobs};
use crate::usage::Usage;
use base::mutex::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Keys of one pipeline.
const AT_ONCE: usize = 64;
/// Chunks that wait in line.
const CHUNKS_MAX: usize = 64;
/// Bytes of values that are sent together.
const BYTES_AT_ONCE: usize = 8 << 20;

/// Keys of one database.
pub struct Chunk {
    /// Number of the database.
    pub database: u64,
    /// Names of the keys.
    pub keys: Vec<Vec<u8>>,
    number: u64,
}

/// Sends all keys of a server to another one.
///
/// # Errors
/// When a connection breaks.
pub fn fill(run: &mut Run<'_>, source: &Server) -> Result<(), Error> {
    let target = run.server;
    let shared = Shared::new(target, run.tally, usize::MAX);
    let ledger = Ledger::new(run.resume.mark().clone());
    let options = run.options;
    let links = (0..options.connections.max(1))
        .map(|_| Ok((Link::open(&source.address)?, Link::open(&target.address)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let (sender, receiver) = sync_channel(CHUNKS_MAX);
    let receiver = Mutex::new(receiver);
    let scanned = std::thread::scope(|scope| {
        let (shared, ledger, receiver) = (&shared, &ledger, &receiver);
        for (mut from, mut to) in links {
            let meter = &run.meter;
            scope.spawn(move || {
                let copy = |chunks: &[Chunk]| {
                    for chunk in chunks {
                        let mut copier = Copier { source, from: &mut from, to: &mut to, shared };
                        copier.copy(chunk, options.usage)?;
                        ledger.finish(chunk.number);
                        meter.add(chunk.keys.len() as u64);
                    }
                    Ok(())
                };
                take_jobs(receiver, shared, 1, copy, |_| ());
            });
        }
        let resume = &mut run.resume;
        let mut pages = Pages { ledger, sender, mark: resume.mark().clone() };
        pages.scan(source, || {
            resume.note(ledger.safe())?;
            Ok(!shared.has_failed())
        })
    });
    run.resume.write_mark(ledger.safe())?;
    shared.outcome()?;
    scanned
}

/// Pages of SCAN, on their way to the threads that copy.
struct Pages<'p> {
    ledger: &'p Ledger<Mark>,
    sender: SyncSender<Chunk>,
    mark: Mark,
}

impl Pages<'_> {
    fn scan(
        &mut self,
        source: &Server,
        mut goes_on: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut link = Link::open(&source.address)?;
        let begin = self.mark.clone();
        let later = source.databases.iter().filter(|(number, _)| *number >= begin.database);
        for (database, _) in later {
            let cursor =
                if *database == begin.database { begin.cursor.clone() } else { String::new() };
            if cursor == "end" {
                continue;
            }
            let mut cursor = if cursor.is_empty() { "0".to_owned() } else { cursor };
            loop {
                let (next, keys) = page(&mut link, *database, cursor.as_bytes())?;
                let is_over = next == b"0";
                let after = String::from_utf8_lossy(&next).into_owned();
                let after = if is_over { "end".to_owned() } else { after };
                self.send(*database, keys, &after);
                if !goes_on()? {
                    return Ok(());
                }
                if is_over {
                    break;
                }
                cursor = after;
            }
        }
        Ok(())
    }

    fn send(&mut self, database: u64, keys: Vec<Vec<u8>>, after: &str) {
        let behind = Mark { database, cursor: after.to_owned(), ..Mark::default() };
        if keys.is_empty() {
            let number = self.ledger.begin(behind.clone());
            self.ledger.finish(number);
        }
        let last = keys.len().div_ceil(AT_ONCE);
        for (at, keys) in keys.chunks(AT_ONCE).enumerate() {
            let mark = if at + 1 == last { &behind } else { &self.mark };
            let number = self.ledger.begin(mark.clone());
            // The receiver lives longer than this.
            let _ = self.sender.send(Chunk { database, keys: keys.to_vec(), number });
        }
        self.mark = behind;
    }
}

/// One connection to each side.
struct Copier<'c> {
    source: &'c Server,
    from: &'c mut Link,
    to: &'c mut Link,
    shared: &'c Shared<'c>,
}

impl Copier<'_> {
    fn copy(&mut self, chunk: &Chunk, usage: Option<Usage>) -> Result<(), Error> {
        self.from.select(chunk.database)?;
        for key in &chunk.keys {
            self.from.request(&[b"DUMP", &key[..]])?;
            self.from.request(&[deadline_word(self.source), key])?;
            if let Some(usage) = usage {
                self.from.request(&[b"OBJECT", usage.word(), key])?;
            }
            if self.source.has_attributes {
                self.from.request(&[ATTRIBUTES.as_bytes(), key])?;
            }
        }
        self.from.flush()?;
        let (mut puts, mut bytes) = (Vec::new(), 0);
        for key in &chunk.keys {
            let (payload, deadline) = (self.from.reply()?, self.from.reply()?);
            let used = usage.map(|usage| Ok(usage.of(&self.from.reply()?))).transpose()?;
            let has_attributes = self.source.has_attributes;
            let attributes = has_attributes.then(|| self.from.reply()).transpose()?;
            if let Some(put) = self.put_of(chunk.database, key, &payload, &deadline) {
                bytes += put.bytes();
                let attributes = attributes.as_ref().and_then(note_of);
                puts.push(Put { used: used.flatten(), attributes, ..put });
            }
            if bytes >= BYTES_AT_ONCE {
                self.send(&mut puts)?;
                bytes = 0;
            }
        }
        self.send(&mut puts)
    }

    fn send(&mut self, puts: &mut Vec<Put>) -> Result<(), Error> {
        let all: Vec<&Put> = puts.iter().collect();
        put(self.to, self.shared, &all)?;
        puts.clear();
        Ok(())
    }

    /// What to send; nothing for a key that is gone.
    fn put_of(&self, database: u64, key: &[u8], payload: &Reply, deadline: &Reply) -> Option<Put> {
        let fail = |why: &str| self.shared.tally.fail(database, key, why);
        let bytes = match payload {
            Reply::Nil => return None,
            Reply::Bulk(bytes) => bytes,
            other => {
                fail(&other.shown());
                return None;
            }
        };
        let mut value = Value::of_payload(bytes).map_err(|error| fail(&error.to_string())).ok()?;
        if value.is_empty() {
            self.shared.tally.empty.fetch_add(1, Relaxed);
            return None;
        }
        if let Some(miscount) = value.mend() {
            self.shared.tally.note_mended(database, key, miscount);
        }
        let deadline = match deadline.integer() {
            Some(-1) => None,
            Some(-2) => return None,
            Some(time) => absolute(self.source, time),
            None => {
                fail(&deadline.shown());
                return None;
            }
        };
        Some(Put { database, name: key.to_vec(), value, deadline, used: None, attributes: None })
    }
}

//! Commands on their way to the target, in one transaction with the place to which they bring it.
//!
//! ```text
//! MULTI ─▶ SELECT, commands, SELECT, commands ... ─▶ SELECT, SET position ─▶ EXEC ─▶ WATCH
//! ```
//! EXEC does nothing if the position has been changed since: by the same transaction that came by
//! another way after all, or by another process that follows.
//!
//! A transaction is executed whole or not at all, so after a broken connection the position tells
//! which. A command that is refused before EXEC spoils it, and nothing of it was executed.

use crate::error::Error;
use crate::note::behind_note;
use crate::payload::Request;
use crate::refusals::is_of_server;
use crate::resp::{Reply, encode};
use crate::server::Link;
use std::ops::Range;

/// What is to be written down of how far the target is.
#[derive(Clone, Debug)]
pub struct Place {
    /// Name of the key.
    pub key: Vec<u8>,
    /// Number of its database.
    pub database: u64,
}

/// A command of a batch.
#[derive(Clone, Debug)]
struct Command {
    /// Where its request is.
    request: Range<usize>,
    /// The database that it is for; of SELECT, the one that it selects.
    database: u64,
    selects: bool,
}

/// Commands that are to be executed together.
#[derive(Debug, Default)]
pub struct Batch {
    /// Requests, one behind the other.
    encoded: Vec<u8>,
    commands: Vec<Command>,
    /// True if databases are swapped.
    swaps: bool,
    /// Commands that are not SELECT.
    pub count: usize,
}

/// How a transaction has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was executed. These of its commands have failed, each with the error.
    Executed(Vec<(usize, String)>),
    /// Nothing was executed, since the target does not take these.
    Refused(Vec<(usize, String)>),
    /// Nothing was executed, and it is to be tried again later.
    NotNow(String),
    /// Nothing was executed, since another client has changed the position.
    Moved,
}

impl Batch {
    /// Bytes of the requests.
    pub fn bytes(&self) -> usize {
        self.encoded.len()
    }

    /// True if there is nothing to execute.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a command, as it is encoded.
    pub fn add_encoded(&mut self, database: u64, request: &[u8]) {
        self.select(database);
        let begin = self.encoded.len();
        self.encoded.extend_from_slice(request);
        self.added(begin, database, false);
    }

    /// Adds a command.
    pub fn add(&mut self, database: u64, request: &Request) {
        self.swaps |= request[0] == b"SWAPDB";
        self.select(database);
        let begin = self.encoded.len();
        encode(&mut self.encoded, request);
        self.added(begin, database, false);
    }

    fn added(&mut self, begin: usize, database: u64, selects: bool) {
        self.commands.push(Command { request: begin..self.encoded.len(), database, selects });
        self.count += usize::from(!selects);
    }

    fn select(&mut self, database: u64) {
        if self.commands.last().is_none_or(|last| last.database != database) {
            let begin = self.encoded.len();
            encode(&mut self.encoded, &["SELECT".to_owned(), database.to_string()]);
            self.added(begin, database, true);
        }
    }

    /// The begin of a command, for people: its name and what may be its key.
    pub fn shown(&self, command: usize) -> Vec<u8> {
        first_words(&self.encoded[self.commands[command].request.clone()]).unwrap_or_default()
    }

    /// The database of a command.
    pub fn database_of(&self, command: usize) -> u64 {
        self.commands[command].database
    }

    /// Databases that are selected, some of them more than once.
    pub fn databases(&self) -> impl Iterator<Item = u64> {
        self.commands.iter().filter(|it| it.selects).map(|it| it.database)
    }

    /// The largest command: its begin and its bytes.
    pub fn largest(&self) -> Option<(Vec<u8>, usize)> {
        let bytes = |at: &usize| self.commands[*at].request.len();
        let at = (0..self.commands.len()).max_by_key(bytes)?;
        Some((self.shown(at), bytes(&at)))
    }

    /// Leaves commands out, which are named in ascending order.
    pub fn remove(&mut self, commands: &[usize]) {
        let mut kept = Batch { swaps: self.swaps, ..Batch::default() };
        let mut removed = commands.iter().peekable();
        for (at, command) in self.commands.iter().enumerate() {
            if removed.next_if(|it| **it == at).is_none() {
                let begin = kept.encoded.len();
                kept.encoded.extend_from_slice(&self.encoded[command.request.clone()]);
                kept.added(begin, command.database, command.selects);
            }
        }
        *self = kept;
    }

    /// Has all executed, together with a note of the position behind it, unless another client has
    /// changed that since the last time.
    ///
    /// # Errors
    /// When the connection breaks: nobody knows then whether it was executed. When the target does
    /// not take MULTI, and has executed all behind it.
    pub fn execute(&self, link: &mut Link, place: &Place, value: &[u8]) -> Result<Ended, Error> {
        let select = ["SELECT".to_owned(), place.database.to_string()];
        link.request(&["MULTI"])?;
        if self.swaps {
            // The key would go where its database goes.
            link.request(&select)?;
            link.request(&[&b"DEL"[..], &place.key])?;
        }
        link.add_encoded(&self.encoded);
        link.request(&select)?;
        link.request(&[&b"SET"[..], &place.key, value])?;
        link.request(&["EXEC"])?;
        link.request(&[&b"WATCH"[..], &place.key])?;
        link.flush()?;
        let before = if self.swaps { 2 } else { 0 };
        let queued = before + self.commands.len() + 2;
        let begun = link.reply()?;
        let (mut refused, mut not_now) = (Vec::new(), None);
        for at in 0..queued {
            let Some(error) = link.reply()?.error() else { continue };
            let own = at.checked_sub(before).filter(|own| *own < self.commands.len());
            match own {
                Some(own) if !is_of_server(&error) => refused.push((own, error)),
                _ => drop(not_now.get_or_insert(error)),
            }
        }
        let (done, watched) = (link.reply()?, link.reply()?);
        if begun.error().is_some() {
            return Err(link.refused("MULTI", &begun));
        }
        if let Some(error) = not_now.or(watched.error()) {
            return Ok(Ended::NotNow(error));
        }
        if !refused.is_empty() {
            return Ok(Ended::Refused(refused));
        }
        let replies = match &done {
            Reply::Array(replies) => replies,
            Reply::Nil => return Ok(Ended::Moved),
            other => return Ok(Ended::NotNow(other.shown())),
        };
        let own = replies.get(before..before + self.commands.len()).unwrap_or_default();
        let failed = |(at, reply): (usize, &Reply)| Some((at, reply.error()?));
        Ok(Ended::Executed(own.iter().enumerate().filter_map(failed).collect()))
    }
}

/// The first two words of a request, behind what is noted for it.
fn first_words(request: &[u8]) -> Option<Vec<u8>> {
    let mut rest = request;
    let count = size_of_line(&mut rest)?;
    let mut words = Vec::new();
    for _ in 0..count.min(4) {
        let size = size_of_line(&mut rest)?;
        words.push(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
    let words = behind_note(&words);
    Some(words[..words.len().min(2)].join(&b' '))
}

/// Takes a line, and returns the number behind its first byte.
fn size_of_line(rest: &mut &[u8]) -> Option<usize> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let number = text::parse_u64(rest.get(1..end.checked_sub(1)?)?)?;
    *rest = &rest[end + 1..];
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Request {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    fn text(batch: &Batch) -> String {
        let commands = batch.commands.iter().enumerate();
        let shown = commands.map(|(at, _)| String::from_utf8_lossy(&batch.shown(at)).into_owned());
        shown.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn databases_are_selected_where_they_change_and_what_is_removed_is_gone() {
        let mut batch = Batch::default();
        batch.add(0, &request(&["SET", "a", "1"]));
        batch.add_encoded(0, b"*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n");
        batch.add(3, &request(&["PING"]));
        assert_eq!(text(&batch), "SELECT 0; SET a; DEL b; SELECT 3; PING");
        assert_eq!((batch.count, batch.is_empty()), (3, false));
        assert_eq!((batch.database_of(2), batch.database_of(4)), (0, 3));
        assert!(batch.databases().eq([0, 3]));
        batch.add(3, &request(&["VARVE.NOTED", "f5", "SET", "c", "1"]));
        assert_eq!(batch.shown(5), b"SET c");
        batch.remove(&[1, 4, 5]);
        assert_eq!((text(&batch).as_str(), batch.count), ("SELECT 0; DEL b; SELECT 3", 1));
        assert!(batch.bytes() > 0 && Batch::default().is_empty());
    }
}

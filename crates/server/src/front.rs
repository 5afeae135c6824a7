//! What a connection speaks: the parser of its requests, with the state of an incomplete one.
//!
//! Which protocol that is depends on where the client has connected, and on nothing that it sends:
//! `get k` is a request in both.

use command::{Row, Table};
use memcached::{Command, Resume};
use session::Args;
use std::borrow::Cow;
use wire::{RequestParser, Span};

/// Place of the first flag among the words of mg.
const FLAGS_AT: usize = 2;

/// Protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// RESP2 or RESP3, as the client chooses.
    #[default]
    Resp,
    /// Memcached's text and meta protocol.
    Memcached,
}

/// Parser of the requests of a connection.
#[derive(Debug)]
pub enum Front {
    /// Of RESP.
    Resp(RequestParser),
    /// Of Memcached's protocol.
    Memcached(memcached::RequestParser),
}

/// State of a front before some request, from which that can be parsed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Again(Resume);

/// A long argument that is on its way.
#[derive(Debug)]
pub struct Arriving<'q> {
    /// Row of its command.
    pub row: &'static Row,
    /// Its place among the arguments.
    pub at: usize,
    /// Its bytes, as announced.
    pub len: usize,
    /// The first key of the request.
    pub key: Cow<'q, [u8]>,
}

impl Front {
    /// Returns the front of a connection that has sent nothing.
    pub fn new(dialect: Dialect) -> Front {
        match dialect {
            Dialect::Resp => Front::Resp(RequestParser::new()),
            Dialect::Memcached => Front::Memcached(memcached::RequestParser::new()),
        }
    }

    /// Returns the state from which the input behind what was parsed is parsed.
    pub fn again(&self) -> Again {
        match self {
            Front::Resp(_) => Again::default(),
            Front::Memcached(parser) => Again(parser.resume()),
        }
    }

    /// Goes back to a state, for input that is parsed again.
    pub fn go_back(&mut self, again: Again) {
        match self {
            Front::Resp(parser) => *parser = RequestParser::new(),
            Front::Memcached(parser) => parser.resume_at(again.0),
        }
    }

    /// Returns true if part of a request was parsed and the rest is awaited.
    pub fn is_unfinished(&self) -> bool {
        match self {
            Front::Resp(parser) => parser.is_unfinished(),
            Front::Memcached(parser) => parser.is_unfinished(),
        }
    }

    /// Returns the bytes that are missing of an argument whose length was announced, given that
    /// `received` bytes of its request are there.
    #[inline]
    pub fn announced(&self, received: usize) -> usize {
        match self {
            Front::Resp(parser) => parser.announced(received),
            Front::Memcached(parser) => parser.announced(received),
        }
    }

    /// Returns the argument that is on its way, behind the first arguments of its request in
    /// `query`, if its row is known.
    pub fn arriving<'q>(&self, table: &'static Table, query: &'q [u8]) -> Option<Arriving<'q>> {
        let key = |row: &Row, spans: &[Span]| {
            spans.get(row.first_key).map_or(&b""[..], |span| span.of(query))
        };
        match self {
            Front::Resp(parser) => {
                let (spans, len) = parser.arriving()?;
                let row = table.find(Args::new(query, spans).get(0))?;
                let key = Cow::Borrowed(key(row, spans));
                Some(Arriving { row, at: spans.len(), len, key })
            }
            Front::Memcached(parser) => {
                let memcached::Arriving { command, spans, len, is_base64 } = parser.arriving()?;
                let row = row_of(table, command);
                let key = match is_base64 {
                    true => Cow::Owned(key_of_base64(key(row, spans))),
                    false => Cow::Borrowed(key(row, spans)),
                };
                Some(Arriving { row, at: spans.len(), len, key })
            }
        }
    }

    /// Leaves the bytes of the argument that is arriving to the caller.
    pub fn leave_out(&mut self) {
        match self {
            Front::Resp(parser) => parser.leave_out(),
            Front::Memcached(parser) => parser.leave_out(),
        }
    }

    /// Returns the bytes of an unfinished request that were parsed.
    pub fn taken(&self) -> usize {
        match self {
            Front::Resp(parser) => parser.taken(),
            Front::Memcached(parser) => parser.taken(),
        }
    }

    /// Returns the bytes of memory held for an unfinished request.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Front::Resp(parser) => parser.heap_bytes(),
            Front::Memcached(parser) => parser.heap_bytes(),
        }
    }
}

impl Again {
    /// Returns the state before a request of Memcached's protocol.
    pub fn before(resume: Resume) -> Again {
        Again(resume)
    }
}

/// Returns the key that a word means, of which the parser has found out that it is base64.
#[cold]
pub fn key_of_base64(word: &[u8]) -> Vec<u8> {
    let mut room = memcached::base64::KEY_ROOM;
    memcached::base64::decode(word, &mut room).unwrap_or_default().to_vec()
}

/// Returns the row of a line of Memcached's protocol: mg has another one where it may write.
#[inline]
pub fn row_of_line(table: &'static Table, command: Command, words: &Args<'_>) -> &'static Row {
    let is_writing = |word: &[u8]| matches!(word.first(), Some(b'N' | b'T'));
    if command == Command::MetaGet && words.from(FLAGS_AT).any(is_writing) {
        return table.unlisted().last().unwrap_or(table.nameless());
    }
    row_of(table, command)
}

/// Returns the row of a command of Memcached's protocol.
#[inline]
pub fn row_of(table: &'static Table, command: Command) -> &'static Row {
    let row = table.unlisted().get(command as usize);
    row.unwrap_or(table.nameless())
}

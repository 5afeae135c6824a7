//! Requests that are looked at together, so that their cache misses overlap.
//!
//! ```text
//! parse    request 1..n           spans of their words
//! first    find rows, hash keys   prefetch index lines
//! second   compare tags           prefetch records
//! then     execute in order
//! ```
//! The looks take no locks, and what they find is used as a hint alone.

use base::{KeyspaceId, PositionHash};
use command::{Args, Row, find_row};
use store::Store;
use wire::{Limits, Progress, ProtocolError, RequestParser, Span};

/// The words of an inline request, written down one behind the other.
#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
}

/// One request of a batch.
#[derive(Debug)]
pub struct Request {
    /// Where it begins in the input.
    pub start: usize,
    /// Its words: a range of the batch's spans.
    first_span: u32,
    last_span: u32,
    /// The words of an inline request, which do not stand in the input.
    inline: Option<Box<Written>>,
    /// Its row, if there is one that accepts it.
    pub row: Option<&'static Row>,
    /// Hash of its first key.
    pub hash: Option<PositionHash>,
}

/// What ended the parsing of a batch.
#[derive(Debug)]
pub enum End {
    /// The batch is full; more may follow.
    Full,
    /// The rest of the input is no whole request.
    Incomplete,
    /// The rest of the input is no request.
    Broken(ProtocolError),
}

/// See the module page. Kept from batch to batch, so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Batch {
    spans: Vec<Span>,
    requests: Vec<Request>,
    /// First keys that a second look did not find in their home lines.
    displaced: Vec<PositionHash>,
    /// Bytes of input that parsing has passed.
    pub parsed: usize,
}

impl Batch {
    /// Parses up to `most` requests from `input`, beginning at `from`.
    pub fn fill(
        &mut self,
        parser: &mut RequestParser,
        input: &[u8],
        from: usize,
        most: usize,
        limits: &Limits,
    ) -> End {
        self.spans.clear();
        self.requests.clear();
        self.parsed = from;
        while self.requests.len() < most {
            let start = self.parsed;
            if start == input.len() {
                return End::Incomplete;
            }
            let first_span = self.spans.len() as u32;
            let (consumed, inline) = match parser.parse(&input[start..], &mut self.spans, limits) {
                Ok(Progress::Complete { consumed }) => (consumed, None),
                Ok(Progress::Inline { consumed, arguments }) => {
                    (consumed, Some(self.write_down(&arguments)))
                }
                Ok(Progress::Incomplete { .. }) => return End::Incomplete,
                Err(error) => return End::Broken(error),
            };
            self.parsed += consumed;
            let last_span = self.spans.len() as u32;
            if last_span > first_span {
                let (row, hash) = (None, None);
                self.requests.push(Request { start, first_span, last_span, inline, row, hash });
            }
        }
        End::Full
    }

    fn write_down(&mut self, words: &[Vec<u8>]) -> Box<Written> {
        let mut written = Box::<Written>::default();
        for word in words {
            let start = written.bytes.len() as u32;
            self.spans.push(Span { start, len: word.len() as u32 });
            written.bytes.extend_from_slice(word);
        }
        written
    }

    /// Requests that were parsed.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// A request and its words.
    #[inline]
    pub fn request<'b>(&'b self, at: usize, input: &'b [u8]) -> (&'b Request, Args<'b>) {
        let request = &self.requests[at];
        let spans = &self.spans[request.first_span as usize..request.last_span as usize];
        let bytes = match &request.inline {
            Some(written) => &written.bytes[..],
            None => &input[request.start..],
        };
        (request, Args::new(bytes, spans))
    }

    /// Finds rows and hashes first keys; with several requests, looks ahead for them.
    #[inline]
    pub fn look_ahead(&mut self, store: &Store, keyspace: KeyspaceId, input: &[u8]) {
        let several = self.requests.len() > 1;
        for at in 0..self.requests.len() {
            let (_, args) = self.request(at, input);
            let row = find_row(&args).ok();
            let first = row.map_or(0, |row| row.spec.keys.first);
            let key = (first > 0).then(|| store.key(keyspace, args.get(first as usize)));
            if let (true, Some(key)) = (several, &key) {
                store.prefetch_line(key);
            }
            let hash = key.map(|key| key.hash);
            let request = &mut self.requests[at];
            (request.row, request.hash) = (row, hash);
        }
        if several {
            self.look_at_records(store, keyspace);
        }
    }

    fn look_at_records(&mut self, store: &Store, keyspace: KeyspaceId) {
        self.displaced.clear();
        for hash in self.requests.iter().filter_map(|request| request.hash) {
            if store.prefetch_record(keyspace, hash) {
                self.displaced.push(hash);
            }
        }
        self.displaced.iter().for_each(|hash| store.prefetch_displaced(keyspace, *hash));
    }
}

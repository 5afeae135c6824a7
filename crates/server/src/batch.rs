//! Requests that are looked at together, so that their cache misses overlap.
//!
//! ```text
//! parse        request 1..n        spans of their words, rows, hashes of first keys
//! look ahead   first keys          index buckets and records come nearer
//! then         execute in order
//! ```

use base::{KeyspaceId, PositionHash};
use command::{Args, Row, RowMemo};
use std::ops::Range;
use store::{Sought, Store};
use wire::{Limits, Progress, ProtocolError, RequestParser, Span};

/// One request of a batch.
#[derive(Debug)]
pub struct Request {
    /// Where it begins in the input.
    pub start: usize,
    /// Where its words begin among the batch's spans, and how many they are.
    first_span: usize,
    words: u32,
    /// One more than the number of its inline words; zero if they stand in the input.
    inline: u32,
    /// Its row.
    pub row: &'static Row,
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

/// What parsing and looking ahead need to know of a connection.
#[derive(Debug)]
pub struct Ahead<'a> {
    /// Requests that are looked at together.
    pub most: usize,
    /// What the client may send.
    pub limits: Limits,
    /// Where keys are looked up.
    pub store: &'a Store,
    /// The keyspace in which they are expected.
    pub keyspace: KeyspaceId,
}

/// See the module page. Kept from batch to batch, so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Batch {
    spans: Vec<Span>,
    requests: Vec<Request>,
    /// The words of inline requests, each written down one behind the other.
    inline: Vec<Vec<u8>>,
    rows: RowMemo,
    /// The first keys of all requests that have one.
    keys: Vec<Sought>,
}

/// What of a batch came from one input.
#[derive(Debug)]
pub struct Part {
    /// Its requests.
    pub requests: Range<usize>,
    /// Bytes of the input that parsing has passed.
    pub parsed: usize,
    /// Why it stopped.
    pub end: End,
}

impl Batch {
    /// Forgets all requests.
    #[inline]
    pub fn clear(&mut self) {
        self.spans.clear();
        self.requests.clear();
        self.inline.clear();
        self.keys.clear();
    }

    /// Adds requests of one connection: those in `input`, beginning at `from`, until the batch
    /// holds as many as are looked at together.
    #[inline]
    pub fn add(
        &mut self,
        parser: &mut RequestParser,
        input: &[u8],
        from: usize,
        ahead: &Ahead<'_>,
    ) -> Part {
        let first = self.requests.len();
        let mut parsed = from;
        let end = self.parse(parser, input, &mut parsed, ahead);
        Part { requests: first..self.requests.len(), parsed, end }
    }

    /// Looks ahead for the keys of all requests.
    #[inline]
    pub fn look_ahead(&self, store: &Store) {
        if self.keys.len() > 1 {
            store.prefetch_keys(&self.keys);
        }
    }

    fn parse(
        &mut self,
        parser: &mut RequestParser,
        input: &[u8],
        parsed: &mut usize,
        ahead: &Ahead<'_>,
    ) -> End {
        while self.requests.len() < ahead.most {
            let start = *parsed;
            if start == input.len() {
                return End::Incomplete;
            }
            let first_span = self.spans.len();
            let rest = &input[start..];
            let inline = match parser.parse(rest, &mut self.spans, &ahead.limits) {
                Ok(Progress::Complete { consumed }) => {
                    *parsed += consumed;
                    0
                }
                Ok(Progress::Inline { consumed, arguments }) => {
                    *parsed += consumed;
                    self.write_down(&arguments)
                }
                Ok(Progress::Incomplete { .. }) => return End::Incomplete,
                Err(error) => return End::Broken(error),
            };
            // Each takes more than a byte of the request, which is shorter than 4 GiB.
            let words = narrow::to_u32(self.spans.len() - first_span);
            if words > 0 {
                let (row, hash) = (self.rows.latest(), None);
                let mut request = Request { start, first_span, words, inline, row, hash };
                self.name(&mut request, input, ahead);
                self.requests.push(request);
            }
        }
        End::Full
    }

    #[cold]
    fn write_down(&mut self, words: &[Vec<u8>]) -> u32 {
        let mut written = Vec::new();
        for word in words {
            let start = narrow::to_u32(written.len());
            self.spans.push(Span { start, len: narrow::to_u32(word.len()) });
            written.extend_from_slice(word);
        }
        self.inline.push(written);
        narrow::to_u32(self.inline.len())
    }

    /// Requests that were parsed.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// A request and its words.
    #[inline]
    pub fn request<'b>(&'b self, at: usize, input: &'b [u8]) -> (&'b Request, Args<'b>) {
        let request = &self.requests[at];
        (request, self.args(request, input))
    }

    #[inline]
    fn args<'b>(&'b self, request: &Request, input: &'b [u8]) -> Args<'b> {
        let spans = &self.spans[request.first_span..][..request.words as usize];
        let bytes = match request.inline {
            0 => &input[request.start..],
            inline => &self.inline[inline as usize - 1][..],
        };
        Args::new(bytes, spans)
    }

    /// Finds the row and hashes the first key.
    #[inline]
    fn name(&mut self, request: &mut Request, input: &[u8], ahead: &Ahead<'_>) {
        let mut rows = self.rows;
        let args = self.args(request, input);
        request.row = rows.find(&args);
        let first = request.row.first_key;
        if first > 0 {
            let key = ahead.store.key(ahead.keyspace, args.get(first));
            request.hash = Some(key.hash);
            self.keys.push((key.keyspace, key.hash));
        }
        self.rows = rows;
    }
}

//! Batch of requests, whose keys are prefetched together so that their cache misses overlap.
//!
//! ```text
//! parse        request 1..n        spans of their words, rows, hashes of first keys
//! look ahead   first keys          index buckets and records are prefetched
//! then         execute in order
//! ```

use base::{KeyspaceId, PositionHash};
use command::{Row, RowMemo, Table};
use session::Args;
use std::ops::Range;
use store::{LOCKS_AHEAD, Sought, Store};
use wire::{Limits, Progress, ProtocolError, RequestParser, Span};

/// Most places of arguments for which an empty batch keeps room: a request may have millions.
const SPANS_KEPT: usize = 8192;

/// Request of a batch.
#[derive(Debug)]
pub struct Request {
    /// Offset of the request in the input.
    pub start: usize,
    /// Index of its first argument among the batch's spans; the number of arguments follows.
    first_span: usize,
    words: u32,
    /// Index of its inline arguments in the batch plus one; zero if its arguments are in the input.
    inline: u32,
    /// Row of its command.
    pub row: &'static Row,
    /// Hash of its first key, or of the word where that mostly stands.
    pub hash: Option<PositionHash>,
}

/// Reason why the parsing of a batch stopped.
#[derive(Debug)]
pub enum End {
    /// The batch is full; more may follow.
    Full,
    /// The rest of the input is an incomplete request.
    Incomplete,
    /// The rest of the input is not a valid request.
    Broken(ProtocolError),
}

/// Parameters of parsing and prefetching for one connection.
#[derive(Debug)]
pub struct Ahead<'a> {
    /// Most requests in a batch.
    pub most: usize,
    /// Limits of a request.
    pub limits: Limits,
    /// Store in which keys are looked up.
    pub store: &'a Store,
    /// Keyspace in which the keys are looked up.
    pub keyspace: KeyspaceId,
}

/// Requests of a batch, parsed and prefetched. Kept from batch to batch, so that nothing is
/// allocated.
#[derive(Debug)]
pub struct Batch {
    spans: Vec<Span>,
    requests: Vec<Request>,
    /// Bytes of the arguments of each inline request, one argument behind the other.
    inline: Vec<Vec<u8>>,
    rows: RowMemo,
    /// First keys of all requests that have one.
    keys: Vec<Sought>,
}

/// Requests of a batch that came from one input.
#[derive(Debug)]
pub struct Part {
    /// Indices of its requests in the batch.
    pub requests: Range<usize>,
    /// Offset in the input up to which it was parsed.
    pub parsed: usize,
    /// Reason why parsing stopped.
    pub end: End,
}

impl Batch {
    /// Returns a batch without requests, of commands in a table.
    pub fn new(table: &'static Table) -> Batch {
        Batch {
            spans: Vec::new(),
            requests: Vec::new(),
            inline: Vec::new(),
            rows: RowMemo::new(table),
            keys: Vec::new(),
        }
    }

    /// Drops all requests.
    #[inline]
    pub fn clear(&mut self) {
        if self.spans.capacity() > SPANS_KEPT {
            self.spans = Vec::new();
        }
        self.spans.clear();
        self.requests.clear();
        self.inline.clear();
        self.keys.clear();
    }

    /// Parses requests of one connection, in `input` from `from` on, until the batch is full. Finds
    /// their rows, and hashes their first keys.
    #[inline]
    pub fn add(
        &mut self,
        parser: &mut RequestParser,
        input: &[u8],
        from: usize,
        ahead: &Ahead<'_>,
    ) -> Part {
        let (first, mut parsed) = (self.requests.len(), from);
        let end = loop {
            if self.requests.len() >= ahead.most {
                break End::Full;
            }
            if parsed == input.len() {
                break End::Incomplete;
            }
            let (start, first_span) = (parsed, self.spans.len());
            let inline = match parser.parse(&input[start..], &mut self.spans, &ahead.limits) {
                Ok(Progress::Complete { consumed }) => {
                    parsed += consumed;
                    0
                }
                Ok(Progress::Inline { consumed, arguments }) => {
                    parsed += consumed;
                    self.write_down(&arguments)
                }
                Ok(Progress::Incomplete { .. }) => break End::Incomplete,
                Err(error) => break End::Broken(error),
            };
            // Each argument takes at least one byte of the request, which is shorter than 4 GiB.
            let words = narrow::to_u32(self.spans.len() - first_span);
            if words == 0 {
                continue;
            }
            let (row, hash) = (self.rows.latest(), None);
            let mut request = Request { start, first_span, words, inline, row, hash };
            let args = args(&request, &self.spans, &self.inline, input);
            request.row = self.rows.find(&args);
            let at = request.row.key_ahead;
            if at > 0 && at < args.len() {
                let key = ahead.store.key(ahead.keyspace, args.get(at));
                request.hash = Some(key.hash);
                self.keys.push((key.keyspace, key.hash));
            }
            self.requests.push(request);
        };
        Part { requests: first..self.requests.len(), parsed, end }
    }

    /// Returns the first keys of all requests. One alone needs no prefetch.
    #[inline]
    pub fn keys(&self) -> &[Sought] {
        &self.keys
    }

    /// Prefetches the lock for a request that comes a few after the one at `at`.
    #[inline(always)]
    pub fn prefetch_lock(&self, at: usize, store: &Store) {
        let later = self.requests.get(at + LOCKS_AHEAD).and_then(|request| request.hash);
        later.into_iter().for_each(|hash| store.prefetch_lock(hash));
    }

    #[cold]
    fn write_down(&mut self, words: &[Vec<u8>]) -> u32 {
        self.spans.extend(Span::of_joined(words));
        self.inline.push(words.concat());
        narrow::to_u32(self.inline.len())
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns a request and its arguments.
    #[inline(always)]
    pub fn request<'b>(&'b self, at: usize, input: &'b [u8]) -> (&'b Request, Args<'b>) {
        let request = &self.requests[at];
        (request, args(request, &self.spans, &self.inline, input))
    }
}

/// Returns the arguments of a request in a batch with these spans and inline requests.
#[inline]
fn args<'b>(
    request: &Request,
    spans: &'b [Span],
    inline: &'b [Vec<u8>],
    input: &'b [u8],
) -> Args<'b> {
    let spans = &spans[request.first_span..][..request.words as usize];
    let bytes = match request.inline {
        0 => &input[request.start..],
        at => &inline[at as usize - 1][..],
    };
    Args::new(bytes, spans)
}

#[cfg(test)]
mod tests {
    use super::{Batch, SPANS_KEPT};
    use wire::Span;

    #[test]
    fn a_request_of_very_many_arguments_leaves_little_behind() {
        let mut batch = Batch::new(families::table());
        for count in [SPANS_KEPT / 2, 10 * SPANS_KEPT] {
            batch.spans.extend((0..count).map(|_| Span { start: 0, len: 1 }));
            batch.clear();
            assert!(batch.spans.is_empty() && batch.spans.capacity() <= SPANS_KEPT);
        }
    }
}

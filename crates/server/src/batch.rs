//! Batch of requests, whose keys are prefetched together so that their cache misses overlap.
//!
//! ```text
//! parse        request 1..n        spans of their words, rows, hashes of first keys
//! look ahead   first keys          index buckets and records are prefetched
//! then         execute in order
//! ```

use crate::front::{Again, Front, key_of_base64, row_of_line};
use base::{KeyspaceId, PositionHash};
use command::{Row, RowMemo, Table};
use memcached::Progress;
use session::{Args, Line};
use std::ops::Range;
use store::{LOCKS_AHEAD, Sought, Store};
use wire::{Limits, ProtocolError, RequestParser, Span};

/// Place of the key among the words of a meta command.
const KEY_AT: usize = 1;
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
    /// A line is not executed. More may follow behind it.
    Refused(memcached::Refused),
    /// The connection is to be closed without a word.
    Silent(Silence),
}

/// Reason why a client is told nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It sends what no client of the protocol does.
    Nonsense,
    /// It speaks the binary protocol of Memcached.
    Binary,
}

/// Parameters of parsing and prefetching for one connection.
#[derive(Debug)]
pub struct Ahead<'a> {
    /// Most requests in a batch.
    pub most: usize,
    /// Limits of a request.
    pub limits: Limits,
    /// Most bytes of a value that a client of Memcached's protocol may set.
    pub item_bytes_max: u64,
    /// True until a request of the connection was served.
    pub is_first: bool,
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
    table: &'static Table,
    /// What is known of the requests of Memcached's protocol, and where each begins again.
    lines: Vec<(Line, Again)>,
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
    /// State of the connection's front before it.
    pub again: Again,
    /// Index of what is known of its first line; `None` for requests of RESP.
    first_line: Option<usize>,
}

impl Batch {
    /// Returns a batch without requests, of commands in a table.
    pub fn new(table: &'static Table) -> Batch {
        Batch {
            spans: Vec::new(),
            requests: Vec::new(),
            inline: Vec::new(),
            rows: RowMemo::new(table),
            table,
            lines: Vec::new(),
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
        self.lines.clear();
        self.keys.clear();
    }

    /// Parses requests of one connection, in `input` from `from` on, until the batch is full. Finds
    /// their rows, and hashes their first keys.
    #[inline]
    pub fn add(&mut self, front: &mut Front, input: &[u8], from: usize, ahead: &Ahead<'_>) -> Part {
        match front {
            Front::Resp(parser) => self.add_requests(parser, input, from, ahead),
            Front::Memcached(parser) => self.add_lines(parser, input, from, ahead),
        }
    }

    #[inline]
    fn add_requests(
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
                Ok(wire::Progress::Complete { consumed }) => {
                    parsed += consumed;
                    0
                }
                Ok(wire::Progress::Inline { consumed, arguments }) => {
                    parsed += consumed;
                    self.write_down(&arguments)
                }
                Ok(wire::Progress::Incomplete { .. }) => break End::Incomplete,
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
        let (requests, again) = (first..self.requests.len(), Again::default());
        Part { requests, parsed, end, again, first_line: None }
    }

    /// Does the same with lines of Memcached's protocol.
    #[inline(never)]
    fn add_lines(
        &mut self,
        parser: &mut memcached::RequestParser,
        input: &[u8],
        from: usize,
        ahead: &Ahead<'_>,
    ) -> Part {
        let (first, first_line, mut parsed) = (self.requests.len(), self.lines.len(), from);
        let again = Again::before(parser.resume());
        let limits = memcached::Limits {
            item_bytes_max: ahead.item_bytes_max,
            authenticated: ahead.limits.authenticated,
            is_first: ahead.is_first && from == 0,
            ..memcached::Limits::default()
        };
        let end = loop {
            if self.requests.len() - first >= ahead.most {
                break End::Full;
            }
            if parsed == input.len() {
                break End::Incomplete;
            }
            let (start, first_span) = (parsed, self.spans.len());
            let resume = parser.resume();
            let line = match parser.parse(&input[start..], &mut self.spans, &limits) {
                Progress::Request(request) => {
                    parsed += request.consumed;
                    Line { request, refusal: None }
                }
                Progress::Refused(refused) => {
                    parsed += refused.consumed;
                    match Line::of_removal(&refused) {
                        Some(line) => line,
                        None => break End::Refused(refused),
                    }
                }
                Progress::Swallowed { consumed } => {
                    parsed += consumed;
                    continue;
                }
                Progress::Incomplete { .. } => break End::Incomplete,
                Progress::Close => break End::Silent(Silence::Nonsense),
                Progress::Binary => break End::Silent(Silence::Binary),
            };
            self.push_line(&line, input, (start, first_span), ahead);
            self.lines.push((line, Again::before(resume)));
        };
        let requests = first..self.requests.len();
        Part { requests, parsed, end, again, first_line: Some(first_line) }
    }

    /// Adds the request of a line, whose words are the spans from `first_span` on.
    #[inline]
    fn push_line(
        &mut self,
        line: &Line,
        input: &[u8],
        (start, first_span): (usize, usize),
        ahead: &Ahead<'_>,
    ) {
        let is_base64 = line.request.is_base64;
        let inline = if is_base64 { self.decode_key(input, start, first_span) } else { 0 };
        // Each word takes at least one byte of the input, which is shorter than 4 GiB.
        let words = narrow::to_u32(self.spans.len() - first_span);
        let (row, hash) = (self.rows.latest(), None);
        let mut request = Request { start, first_span, words, inline, row, hash };
        let args = args(&request, &self.spans, &self.inline, input);
        request.row = row_of_line(self.table, line.request.command, &args);
        // Of several keys the command finds the hashes itself, and looks ahead for all.
        let at = request.row.first_key;
        if request.row.has_one_key || at > 0 && args.len() == at + 1 {
            let key = ahead.store.key(ahead.keyspace, args.get(at));
            request.hash = Some(key.hash);
            self.keys.push((key.keyspace, key.hash));
        }
        self.requests.push(request);
    }

    /// Returns what is known of a request of Memcached's protocol.
    #[inline(always)]
    pub fn line(&self, part: &Part, at: usize) -> Option<Line> {
        Some(self.lines[part.first_line? + at - part.requests.start].0)
    }

    /// Returns the state of the connection's front before a request.
    pub fn again(&self, part: &Part, at: usize) -> Again {
        let line = part.first_line.map(|first| first + at - part.requests.start);
        line.map_or(Again::default(), |line| self.lines[line].1)
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

    /// Writes down the words of a line whose key is in base64, with the key as it is meant.
    #[cold]
    fn decode_key(&mut self, input: &[u8], start: usize, first_span: usize) -> u32 {
        let spans = self.spans.drain(first_span..);
        let mut words: Vec<Vec<u8>> = spans.map(|span| span.of(&input[start..]).to_vec()).collect();
        if let Some(key) = words.get_mut(KEY_AT) {
            *key = key_of_base64(key);
        }
        self.write_down(&words)
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

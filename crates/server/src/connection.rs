//! One client's connection: its socket, what it has sent and not yet been served, what it has not
//! yet taken.

use crate::output::Output;
use crate::query::Query;
use crate::stream::Stream;
use base::Millis;
use command::Session;
use settings::OutputLimit;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wire::RequestParser;

/// A client silent for longer needs no room in its query buffer.
const SILENT_MILLIS: u64 = 2000;
/// Bytes of replies that wait for a client, at most, before its requests are held back. While it
/// sends more than that they are read none the less, and served until as many bytes of replies
/// wait: so whoever sends all requests before reading a reply gets all replies.
const BACKLOG_MAX: usize = 1 << 20;
/// Bytes that are read from a client while it waits for keys.
const READ_AHEAD_MAX: usize = 1 << 20;

/// See the module page.
#[derive(Debug)]
pub struct Connection {
    /// Its socket.
    pub stream: Stream,
    /// Its protocol state.
    pub session: Session,
    /// Where in a request it is.
    pub parser: RequestParser,
    /// Bytes that were received and not served: the begin of a request, or requests held back.
    pub query: Query,
    /// Replies that the socket did not take, messages, and what may not leave yet.
    output: Output,
    /// Bytes of replies that may wait whatever it has sent.
    backlog_max: usize,
    /// Held back by CLIENT PAUSE.
    pub is_paused: bool,
    /// Its last command waits for keys, and its answer has not yet come.
    pub is_waiting: bool,
    /// Its time was over before its requests were: `query` holds some that can be served.
    pub is_cut: bool,
    /// The client will send nothing beyond what its socket holds.
    pub is_ending: bool,
    /// Its worker will look at it in the next loop iteration.
    pub is_unread: bool,
    /// Its socket was not read to the end, and was not to be read further.
    pub is_undrained: bool,
    /// Its worker will write to it at the end of the loop iteration.
    pub is_unwritten: bool,
    /// Its worker knows that some of its output waits for a position.
    pub is_noted_as_marked: bool,
    /// Others were told that its buffers take memory.
    is_shown_with_buffers: Cell<bool>,
    /// When it gives up waiting for keys.
    pub gives_up_at: Option<Millis>,
    /// Since when the output is above its soft limit.
    pub over_soft_limit_since: Option<Millis>,
}

impl Connection {
    /// A connection that has sent nothing yet.
    pub fn new(stream: Stream, session: Session) -> Connection {
        Connection {
            stream,
            session,
            parser: RequestParser::new(),
            query: Query::default(),
            output: Output::default(),
            backlog_max: BACKLOG_MAX,
            is_paused: false,
            is_waiting: false,
            is_cut: false,
            is_ending: false,
            is_unread: false,
            is_undrained: false,
            is_unwritten: false,
            is_noted_as_marked: false,
            is_shown_with_buffers: Cell::new(false),
            gives_up_at: None,
            over_soft_limit_since: None,
        }
    }

    /// Bytes of replies that wait for the client.
    #[inline]
    pub fn backlog(&self) -> usize {
        self.output.len()
    }

    /// Whether it has neither a request that waits nor a reason to wait.
    pub fn is_simple(&self) -> bool {
        self.query.is_empty() && !self.is_cut && !self.is_held(0)
    }

    /// Whether the requests that wait in its query buffer are held back.
    pub fn is_query_held(&self) -> bool {
        self.is_held(self.query.len())
    }

    /// Whether its requests are held back, of which `unserved` bytes wait.
    #[inline]
    pub fn is_held(&self, unserved: usize) -> bool {
        let session = &self.session;
        let backlog = self.backlog();
        self.is_paused
            || session.close_after_reply
            || self.is_waiting
            || (backlog > self.backlog_max && backlog > unserved)
    }

    /// Whether its socket is to be read, be it only to put requests behind those held back.
    pub fn is_to_be_read(&self) -> bool {
        let session = &self.session;
        // Of one that is gone the end is to be found, which lies behind what its socket holds.
        let has_read_ahead =
            self.is_waiting && !self.is_ending && self.query.len() > READ_AHEAD_MAX;
        !(self.is_paused || session.close_after_reply || has_read_ahead)
    }

    /// Whether some of what waits for the client waits for a position.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.output.is_marked()
    }

    /// Has the replies behind the next `ahead` bytes wait until `position` is safe.
    #[cfg_attr(not(test), expect(dead_code, reason = "nothing makes positions yet"))]
    pub fn mark(&mut self, ahead: usize, position: u64) {
        self.output.mark(ahead, position);
    }

    /// Puts a message that others get too behind what waits; the next write takes it along.
    pub fn share(&mut self, message: Arc<[u8]>) {
        self.output.share(message);
    }

    /// Writes `replies` behind what waits already, as far as positions up to `safe` allow, keeping
    /// what the socket does not take, if need be with its memory. Returns the bytes that were
    /// written.
    ///
    /// # Errors
    /// When the connection is broken.
    #[inline]
    pub fn send(&mut self, replies: &mut Vec<u8>, safe: u64) -> io::Result<usize> {
        self.output.send(replies, &mut self.stream, safe)
    }

    /// Lets the backlog grow to where `limit` closes the connection, as it could not otherwise.
    pub fn follow_limit(&mut self, limit: &OutputLimit) {
        let closed_at = limit.hard_bytes.max(limit.soft_bytes);
        self.backlog_max = BACKLOG_MAX.max(usize::try_from(closed_at).unwrap_or(usize::MAX));
    }

    /// Has it closed, without what waits for it.
    pub fn give_up(&mut self) {
        self.output.clear();
        self.session.close_after_reply = true;
    }

    /// Writes what waits, as far as the socket takes it and positions up to `safe` allow. Returns
    /// the bytes that were written.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn flush(&mut self, safe: u64) -> io::Result<usize> {
        self.output.write_to(&mut self.stream, safe)
    }

    /// Makes room for the argument that the client is sending.
    #[inline]
    pub fn expect_announced(&mut self) {
        if !self.query.is_empty() {
            self.query.expect(self.parser.announced(self.query.len()));
        }
    }

    /// Milliseconds since it sent or took something.
    pub fn silent_for(&self, now: Millis) -> u64 {
        now.since(Millis(self.session.client.last_interaction.load(Relaxed)))
    }

    /// Whether it may be closed for its silence: not while it is the server's turn to speak.
    pub fn may_time_out(&self) -> bool {
        !self.is_waiting && !self.is_paused
    }

    /// Takes room back that the query buffer did not need lately, when its client has been silent
    /// for `silent` milliseconds.
    pub fn trim(&mut self, silent: u64) {
        if self.query.trim(silent > SILENT_MILLIS) {
            self.publish_query();
        }
    }

    /// Lets others see how the connection stands.
    #[inline]
    pub fn publish(&self, now: Millis) {
        let client = &self.session.client;
        client.last_interaction.store(now.0, Relaxed);
        if self.has_buffers() || self.is_shown_with_buffers.get() {
            self.publish_query();
            client.output_bytes.store(self.backlog() as u64, Relaxed);
            client.output_room.store(self.output.room() as u64, Relaxed);
            self.is_shown_with_buffers.set(self.has_buffers());
        }
    }

    #[inline]
    fn has_buffers(&self) -> bool {
        self.query.room() + self.output.room() > 0
    }

    /// Counts bytes that came from the client.
    #[inline]
    pub fn note_received(&self, bytes: usize) {
        add(&self.session.client.received, bytes);
    }

    /// Counts bytes that went to the client.
    #[inline]
    pub fn note_sent(&self, bytes: usize) {
        add(&self.session.client.sent, bytes);
    }

    #[inline]
    fn publish_query(&self) {
        let client = &self.session.client;
        client.query_bytes.store(self.query.len() as u64, Relaxed);
        client.query_free.store((self.query.room() - self.query.len()) as u64, Relaxed);
    }
}

/// Adds to a count that only this thread writes.
#[inline]
fn add(count: &AtomicU64, by: usize) {
    count.store(count.load(Relaxed) + by as u64, Relaxed);
}

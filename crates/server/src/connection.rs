//! One client's connection: its socket, what it has sent and not yet been served, what it has not
//! yet taken.

use crate::stream::Stream;
use base::Millis;
use command::Session;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wire::RequestParser;

/// A buffer of replies that grew beyond this is given back once it is empty.
const OUTPUT_KEPT: usize = 16 << 10;
/// Room of a query buffer that is in use.
const QUERY_MIN: usize = 16 << 10;
/// Room that an empty query buffer keeps until it is trimmed.
const QUERY_KEPT: usize = 64 << 10;
/// A query buffer up to this size is not trimmed while its client is busy.
const QUERY_UNTRIMMED: usize = 32 << 10;
/// Room made for an argument whose length was announced, before its bytes come.
const ANNOUNCED_MAX: usize = 1 << 20;
/// A client silent for longer needs no room in its query buffer.
const SILENT_MILLIS: u64 = 2000;
/// A client with so many bytes of replies waiting is not served before it takes some.
const BACKLOG_MAX: usize = 64 << 20;

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
    pub query: Vec<u8>,
    /// The most bytes that were in `query` since it was last trimmed.
    query_peak: usize,
    /// Replies that the socket did not take.
    output: Vec<u8>,
    /// Bytes of `output` that were written.
    written: usize,
    /// Held back by CLIENT PAUSE.
    pub is_paused: bool,
    /// Its time was over before its requests were: `query` holds some that can be served.
    pub is_cut: bool,
    /// Its worker will look at it in the next turn.
    pub is_unread: bool,
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
            query: Vec::new(),
            query_peak: 0,
            output: Vec::new(),
            written: 0,
            is_paused: false,
            is_cut: false,
            is_unread: false,
            over_soft_limit_since: None,
        }
    }

    /// Bytes of replies that wait for the client.
    pub fn backlog(&self) -> usize {
        self.output.len() - self.written
    }

    /// Whether it has neither a request that waits nor a reason to wait.
    pub fn is_simple(&self) -> bool {
        self.query.is_empty() && !self.is_cut && !self.is_held()
    }

    /// Whether nothing should be read from it now.
    pub fn is_held(&self) -> bool {
        let session = &self.session;
        self.is_paused
            || session.close_after_reply
            || session.is_waiting
            || self.backlog() > BACKLOG_MAX
    }

    /// Writes `replies` behind what waits already, keeping what the socket does not take.
    /// Returns the bytes that were written.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send(&mut self, replies: &[u8]) -> io::Result<usize> {
        if self.output.is_empty() {
            let taken = self.write(replies)?;
            self.output.extend_from_slice(&replies[taken..]);
            return Ok(taken);
        }
        self.output.extend_from_slice(replies);
        self.flush()
    }

    /// Writes what waits, as far as the socket takes it. Returns the bytes that were written.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn flush(&mut self) -> io::Result<usize> {
        let mut taken = 0;
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    self.written += bytes;
                    taken += bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(taken),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        self.output.clear();
        self.output.shrink_to(if self.output.capacity() > OUTPUT_KEPT { 0 } else { OUTPUT_KEPT });
        Ok(taken)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.stream.write(&bytes[taken..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => taken += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Puts bytes that were not served behind those that wait.
    #[inline]
    pub fn keep(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.query.reserve(bytes.len().max(QUERY_MIN.saturating_sub(self.query.len())));
            self.query.extend_from_slice(bytes);
            self.query_peak = self.query_peak.max(self.query.len());
        }
    }

    /// Makes room for the argument that the client is sending.
    #[inline]
    pub fn expect_announced(&mut self) {
        if !self.query.is_empty() {
            let announced = self.parser.announced(self.query.len()).min(ANNOUNCED_MAX);
            self.query.reserve_exact(announced);
        }
    }

    /// Forgets the first `served` bytes of the query buffer.
    pub fn drop_served(&mut self, served: usize) {
        if served < self.query.len() {
            self.query.drain(..served);
        } else if self.query.capacity() <= QUERY_KEPT {
            self.query.clear();
        } else {
            self.query = Vec::with_capacity(QUERY_KEPT);
        }
    }

    /// Takes room back that the query buffer did not need lately, when its client has been silent
    /// for `silent` milliseconds.
    pub fn trim(&mut self, silent: u64) {
        let (room, len) = (self.query.capacity(), self.query.len());
        let needed = if silent > SILENT_MILLIS { len } else { self.query_peak.max(QUERY_MIN) };
        let is_large = room > QUERY_UNTRIMMED && self.query_peak < room / 2;
        if room > needed && (silent > SILENT_MILLIS || is_large) {
            self.query.shrink_to(needed);
            self.publish_query();
        }
        self.query_peak = len;
    }

    /// Lets others see how the connection stands.
    #[inline]
    pub fn publish(&self, now: Millis) {
        let client = &self.session.client;
        client.last_interaction.store(now.0, Relaxed);
        self.publish_query();
        client.output_bytes.store(self.backlog() as u64, Relaxed);
        client.output_room.store(self.output.capacity() as u64, Relaxed);
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
        client.query_free.store((self.query.capacity() - self.query.len()) as u64, Relaxed);
    }
}

/// Adds to a count that only this thread writes.
#[inline]
fn add(count: &AtomicU64, by: usize) {
    count.store(count.load(Relaxed) + by as u64, Relaxed);
}

//! One client's connection: its socket, what it has sent and not yet been served, what it has not
//! yet taken.

use crate::stream::Stream;
use base::Millis;
use command::Session;
use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use wire::RequestParser;

/// A buffer that grew beyond this is given back once it is empty.
const BUFFER_KEPT: usize = 16 << 10;
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
    /// Replies that the socket did not take.
    output: Vec<u8>,
    /// Bytes of `output` that were written.
    written: usize,
    /// Held back by CLIENT PAUSE.
    pub is_paused: bool,
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
            output: Vec::new(),
            written: 0,
            is_paused: false,
            over_soft_limit_since: None,
        }
    }

    /// Bytes of replies that wait for the client.
    pub fn backlog(&self) -> usize {
        self.output.len() - self.written
    }

    /// Whether nothing should be read from it now.
    pub fn is_held(&self) -> bool {
        self.is_paused || self.session.close_after_reply || self.backlog() > BACKLOG_MAX
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
        give_back(&mut self.output);
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

    /// Forgets the first `served` bytes of the query buffer.
    pub fn drop_served(&mut self, served: usize) {
        if served == self.query.len() {
            give_back(&mut self.query);
        } else {
            self.query.drain(..served);
        }
    }

    /// Lets others see how the connection stands.
    #[inline]
    pub fn publish(&self, now: Millis) {
        let client = &self.session.client;
        client.last_interaction.store(now.0, Relaxed);
        client.query_bytes.store(self.query.len() as u64, Relaxed);
        client.query_free.store((self.query.capacity() - self.query.len()) as u64, Relaxed);
        client.output_bytes.store(self.backlog() as u64, Relaxed);
    }
}

/// Empties a buffer, and frees it if it is large.
fn give_back(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > BUFFER_KEPT {
        *buffer = Vec::new();
    }
}

//! One connection with at most one batch in flight.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::answer::Expected;
use super::protocol::{Counter, Protocol};
use super::replies::Replies;

/// Result of [`Connection::receive`].
pub enum Progress {
    /// Replies of the batch are still missing.
    Waiting,
    /// The last reply of the batch has arrived.
    Done {
        /// Replies of the server.
        replies: Replies,
        /// Time at which the batch was sent.
        sent_at: Instant,
        /// Time at which the first bytes of its replies were seen.
        heard_at: Instant,
    },
}

/// A non-blocking connection.
pub struct Connection {
    stream: TcpStream,
    unsent: Vec<u8>,
    counter: Counter,
    expected: Expected,
    sent_at: Instant,
    heard_at: Option<Instant>,
}

impl Connection {
    /// Connects to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn open(port: u16) -> Result<Self> {
        Self::open_speaking(port, Protocol::Resp)
    }

    /// Connects to a server of any protocol; otherwise as [`Connection::open`].
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn open_speaking(port: u16, protocol: Protocol) -> Result<Self> {
        let stream =
            TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(5))
                .with_context(|| format!("cannot connect to port {port}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            unsent: Vec::new(),
            counter: Counter::of(protocol),
            expected: Expected::default(),
            sent_at: Instant::now(),
            heard_at: None,
        })
    }

    /// Returns the socket, for registration with epoll.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the time at which the last batch was sent or the connection opened.
    pub fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// Returns true while a batch is in flight.
    pub fn is_busy(&self) -> bool {
        self.expected.total() > 0
    }

    /// Returns true while bytes of the batch wait for room in the socket.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Returns the text of the first error reply.
    pub fn first_error(&self) -> Option<&str> {
        self.counter.first_error()
    }

    /// Sends a batch; bytes that the socket does not take wait for [`Connection::flush`].
    ///
    /// # Errors
    /// If the connection is broken.
    #[inline]
    pub fn send(&mut self, bytes: &[u8], expected: Expected, now: Instant) -> Result<()> {
        assert!(!self.is_busy(), "one batch at a time");
        self.expected = expected;
        self.sent_at = now;
        self.heard_at = None;
        let sent = taken(self.stream.write(bytes)).context("the connection broke in sending")?;
        if sent < bytes.len() {
            self.unsent.extend_from_slice(&bytes[sent..]);
        }
        Ok(())
    }

    /// Sends unsent bytes, as far as the socket takes them.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn flush(&mut self) -> Result<()> {
        let sent =
            taken(self.stream.write(&self.unsent)).context("the connection broke in sending")?;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Reads once and counts the replies.
    ///
    /// # Errors
    /// If the connection is broken or closed, or the replies do not answer the batch.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Progress> {
        let heard_at = *self.heard_at.get_or_insert_with(Instant::now);
        let read = match self.stream.read(buffer) {
            Ok(0) => bail!("the server closed the connection"),
            read => taken(read).context("the connection broke in receiving")?,
        };
        if let Err(unexpected) = self.counter.feed(&buffer[..read]) {
            bail!("unexpected reply: {:?}", unexpected.0);
        }
        let arrived = self.counter.counted().total();
        if arrived < self.expected.total() || arrived == 0 {
            return Ok(Progress::Waiting);
        }
        let replies = self.counter.take();
        if !self.expected.is_met_by(&replies) {
            bail!("{replies:?} do not answer {:?}", self.expected);
        }
        self.expected = Expected::default();
        Ok(Progress::Done { replies, sent_at: self.sent_at, heard_at })
    }
}

fn taken(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(0)
        }
        result => result,
    }
}

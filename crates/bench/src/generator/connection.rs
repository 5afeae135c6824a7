//! One connection with at most one batch in flight.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Answer, Expected, Replies, ReplyReader};

/// Requests that are sent at once.
pub struct Batch {
    /// The requests.
    pub bytes: Vec<u8>,
    /// The replies that they must bring.
    pub expected: Expected,
    /// Time from which their latency counts.
    pub since: Instant,
}

impl Batch {
    /// Adds the reply that a request must bring.
    #[inline]
    pub fn expect(&mut self, answer: Answer) {
        self.expected.count(answer);
    }
}

/// A non-blocking connection.
pub(super) struct Connection {
    stream: TcpStream,
    unsent: Vec<u8>,
    pub(super) reader: ReplyReader,
    expected: Expected,
    /// Time from which the batch in flight counts.
    pub(super) since: Instant,
    heard_at: Option<Instant>,
}

impl Connection {
    /// Connects to a port on 127.0.0.1.
    pub(super) fn open(port: u16, reader: ReplyReader) -> Result<Self> {
        let stream =
            TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(5))
                .with_context(|| format!("cannot connect to port {port}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let (unsent, expected, since) = (Vec::new(), Expected::default(), Instant::now());
        Ok(Self { stream, unsent, reader, expected, since, heard_at: None })
    }

    /// Returns the socket, for registration with epoll.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns true while a batch is in flight.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.expected.total() > 0
    }

    /// Returns true while bytes of the batch wait for room in the socket.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends a batch; bytes that the socket does not take wait for [`Connection::flush`].
    #[inline]
    pub(super) fn send(&mut self, batch: &Batch) -> Result<()> {
        assert!(!self.is_busy(), "one batch at a time");
        (self.expected, self.since, self.heard_at) = (batch.expected, batch.since, None);
        let sent = taken(self.stream.write(&batch.bytes)).context("sending")?;
        if sent < batch.bytes.len() {
            self.unsent.extend_from_slice(&batch.bytes[sent..]);
        }
        Ok(())
    }

    /// Sends unsent bytes, as far as the socket takes them.
    pub(super) fn flush(&mut self) -> Result<()> {
        let sent = taken(self.stream.write(&self.unsent)).context("sending")?;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Reads once. Returns the replies when the last of the batch is there, with the time at which
    /// the first bytes of them were seen.
    #[inline]
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<(Replies, Instant)>> {
        let heard_at = *self.heard_at.get_or_insert_with(Instant::now);
        let read = match self.stream.read(buffer) {
            Ok(0) => bail!("the server closed the connection"),
            read => taken(read).context("receiving")?,
        };
        if let Err(unexpected) = self.reader.feed(&buffer[..read]) {
            bail!("unexpected reply: {:?}", unexpected.0);
        }
        let arrived = self.reader.counted().total();
        if arrived < self.expected.total() || arrived == 0 {
            return Ok(None);
        }
        let replies = self.reader.take();
        if !self.expected.is_met_by(&replies) {
            bail!("{replies:?} do not answer {:?}", self.expected);
        }
        self.expected = Expected::default();
        Ok(Some((replies, heard_at)))
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

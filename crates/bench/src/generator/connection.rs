//! One connection with at most one batch in flight.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Expected, Heard, Protocol, ReplyReader};
use crate::control::Control;
use crate::socket::Socket;

/// Requests that are sent at once, and the replies that they must bring.
#[derive(Default)]
pub struct Batch {
    pub bytes: Vec<u8>,
    pub expected: Expected,
}

pub(super) struct Connection {
    pub(super) socket: Socket,
    reader: ReplyReader,
    expected: Expected,
    /// Time from which the batch in flight counts.
    since: Instant,
    heard_at: Option<Instant>,
}

impl Connection {
    /// Connects to a port on 127.0.0.1, and has `opens` answered.
    pub(super) fn open(port: u16, opens: &[String], reader: ReplyReader) -> Result<Self> {
        let failure = || format!("cannot connect to port {port}");
        let mut control = Control::open(port, Protocol::Resp).with_context(failure)?;
        for request in opens {
            control.tell(&request.split(' ').collect::<Vec<_>>())?;
        }
        let stream = control.stream;
        let (socket, expected, since) = (Socket::new(stream)?, Expected::default(), Instant::now());
        Ok(Self { socket, reader, expected, since, heard_at: None })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.expected.total() > 0
    }

    /// Sends a batch, as far as the socket takes it.
    pub(super) fn send(&mut self, batch: &Batch, since: Instant) -> Result<()> {
        assert!(!self.is_busy(), "one batch at a time");
        (self.expected, self.since, self.heard_at) = (batch.expected, since, None);
        self.socket.send(&batch.bytes).context("sending")
    }

    /// Reads once. Returns the replies when the last of the batch is there.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Heard<'_>>> {
        let first = *self.heard_at.get_or_insert_with(Instant::now);
        let read = self.socket.read(buffer).context("receiving")?;
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
        Ok(Some(Heard {
            replies,
            values: self.reader.take_values(),
            first_error: self.reader.first_error(),
            since: self.since,
            first,
            now: Instant::now(),
        }))
    }
}

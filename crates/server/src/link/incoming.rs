//! A snapshot that its loader reads while it comes.

use super::socket::Socket;
use super::thread::LOOK;
use base::Steady;
use replication::{Ending, transfer::Transfer};
use session::Instance;
use settings::replication::REPL_TIMEOUT;
use std::io::{self, Read};
use std::sync::atomic::Ordering::Relaxed;

/// Milliseconds between two signs of life while a snapshot is loaded.
pub(super) const SIGN_MILLIS: u64 = 1000;

/// The bytes of the snapshot, up to its end. What stands behind them stays with the socket.
pub(super) struct Incoming<'s> {
    socket: &'s mut Socket,
    instance: &'s Instance,
    ending: Ending,
    /// True once nobody wants it any more.
    is_over: &'s dyn Fn() -> bool,
    /// What has come of it, and how much of that was read.
    came: Vec<u8>,
    read: usize,
    is_whole: bool,
    /// When the primary was last told that this server lives.
    said_at: Steady,
}

impl<'s> Incoming<'s> {
    /// A snapshot that comes from a socket.
    pub fn new(
        socket: &'s mut Socket,
        instance: &'s Instance,
        transfer: Transfer,
        is_over: &'s dyn Fn() -> bool,
    ) -> Incoming<'s> {
        let ending = Ending::new(transfer);
        let (came, said_at) = (Vec::new(), instance.clock.steady());
        Incoming { socket, instance, ending, is_over, came, read: 0, is_whole: false, said_at }
    }

    /// Takes the rest of it, once its loader has read all that it wants. Returns how many bytes it
    /// had.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn finish(&mut self) -> io::Result<u64> {
        while !self.is_whole {
            self.take()?;
        }
        Ok(self.ending.passed())
    }

    /// Takes what has come, or waits a moment for more.
    ///
    /// # Errors
    /// When the connection is broken or silent for long, or the server has another role.
    fn take(&mut self) -> io::Result<()> {
        if (self.is_over)() {
            return Err(io::Error::other("the role has changed"));
        }
        let now = self.instance.clock.steady();
        if now.since(self.said_at) >= SIGN_MILLIS {
            self.said_at = now;
            self.socket.send(b"\n")?;
        }
        if self.socket.received.is_empty() {
            self.socket.read(LOOK, now)?;
        }
        let most = u64::from(REPL_TIMEOUT.get(&self.instance.settings)) * 1000;
        self.instance.upstream.hear(self.socket.heard_at);
        if now.since(self.socket.heard_at) > most {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.read = 0;
        self.came.clear();
        let (ending, came) = (&mut self.ending, &mut self.came);
        let taken = ending.take(&self.socket.received, |piece| came.extend_from_slice(piece));
        self.socket.received.drain(..taken.taken);
        self.is_whole = taken.is_whole;
        self.instance.upstream.transfer.read.store(self.ending.passed(), Relaxed);
        Ok(())
    }
}

impl Read for Incoming<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.came.len() && !self.is_whole {
            self.take()?;
        }
        let left = &self.came[self.read..];
        let bytes = left.len().min(into.len());
        into[..bytes].copy_from_slice(&left[..bytes]);
        self.read += bytes;
        Ok(bytes)
    }
}

//! A snapshot that its loader reads while it comes.

use super::socket::Socket;
use super::thread::LOOK;
use base::Steady;
use base::mutex::Mutex;
use replication::{Ending, transfer::Transfer};
use session::Instance;
use settings::replication::REPL_TIMEOUT;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Milliseconds between two signs of life while a snapshot is loaded.
pub(super) const SIGN_MILLIS: u64 = 1000;

/// The socket, shared with a thread that tells the primary now and then that this server lives,
/// also while the loader has enough to do with what it has read.
pub(super) struct SharedSocket<'s> {
    socket: Mutex<&'s mut Socket>,
    /// When that was told last.
    said_at: AtomicU64,
}

impl<'s> SharedSocket<'s> {
    /// A socket by which something was said just now.
    pub fn new(socket: &'s mut Socket, now: Steady) -> SharedSocket<'s> {
        SharedSocket { socket: Mutex::new(socket), said_at: AtomicU64::new(now.0) }
    }

    /// Tells the primary that this server lives, if it has not heard that for long.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn sign(&self, now: Steady) -> io::Result<()> {
        self.sign_with(&mut self.socket.lock(), now)
    }

    fn sign_with(&self, socket: &mut Socket, now: Steady) -> io::Result<()> {
        if now.since(Steady(self.said_at.load(Relaxed))) < SIGN_MILLIS {
            return Ok(());
        }
        self.said_at.store(now.0, Relaxed);
        socket.send(b"\n")
    }
}

/// The bytes of the snapshot, up to its end. What stands behind them stays with the socket.
pub(super) struct Incoming<'s> {
    shared: &'s SharedSocket<'s>,
    instance: &'s Instance,
    ending: Ending,
    /// True once nobody wants it any more.
    is_over: &'s dyn Fn() -> bool,
    /// What has come of it, and how much of that was read.
    came: Vec<u8>,
    read: usize,
    is_whole: bool,
}

impl<'s> Incoming<'s> {
    /// A snapshot that comes from a socket.
    pub fn new(
        shared: &'s SharedSocket<'s>,
        instance: &'s Instance,
        transfer: Transfer,
        is_over: &'s dyn Fn() -> bool,
    ) -> Incoming<'s> {
        let ending = Ending::new(transfer);
        Incoming { shared, instance, ending, is_over, came: Vec::new(), read: 0, is_whole: false }
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
        let mut socket = self.shared.socket.lock();
        self.shared.sign_with(&mut socket, now)?;
        if socket.received.is_empty() {
            socket.read(LOOK, now)?;
        }
        let most = u64::from(REPL_TIMEOUT.get(&self.instance.settings)) * 1000;
        self.instance.upstream.hear(socket.heard_at);
        if now.since(socket.heard_at) > most {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.read = 0;
        self.came.clear();
        let (ending, came) = (&mut self.ending, &mut self.came);
        let taken = ending.take(&socket.received, |piece| came.extend_from_slice(piece));
        socket.received.drain(..taken.taken);
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

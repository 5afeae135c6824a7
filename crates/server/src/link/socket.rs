//! The socket of the link: bytes as they come, and lines among them.

use crate::peer_stream::PeerStream;
use crate::tls::Tls;
use base::{Spool, Steady};
use session::Primary;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Connects to an address, from one of this machine if that can be.
fn connect(to: SocketAddr, from: Option<IpAddr>, timeout: Duration) -> io::Result<TcpStream> {
    let socket = socket2::Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(from) = from
        && let Err(error) = socket.bind(&SocketAddr::new(from, 0).into())
    {
        tracing::warn!("The link does not come from {from} (`bind-source-addr`): {error}");
    }
    socket.connect_timeout(&to.into(), timeout)?;
    Ok(socket.into())
}

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// Time in which a socket takes what it has room for.
const AT_ONCE: Duration = Duration::from_millis(1);
/// Wait for bytes that nobody can make use of yet.
const MOMENT: Duration = Duration::from_millis(10);

/// The socket, and what has come and was not taken yet.
pub struct Socket {
    stream: Box<dyn PeerStream>,
    /// The same socket, to set times and to end it.
    raw: TcpStream,
    wait: Duration,
    /// Time for which a write may wait.
    patience: Duration,
    room: Vec<u8>,
    pub received: Vec<u8>,
    /// What has come behind that, before somebody could make use of it; and how much of it was
    /// taken.
    ahead: Spool,
    taken: u64,
    /// Why nothing more can be read.
    failure: Option<io::Error>,
    /// When something came last.
    pub heard_at: Steady,
}

impl Socket {
    /// Connects. Names are looked up each time.
    ///
    /// # Errors
    /// Those of the system, and of TLS.
    pub fn connect(
        primary: &Primary,
        (from, tls): (Option<IpAddr>, Option<&Tls>),
        timeout: Duration,
        now: Steady,
    ) -> io::Result<Socket> {
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in (primary.host.as_str(), primary.port).to_socket_addrs()? {
            let raw = match connect(address, from, timeout) {
                Ok(raw) => raw,
                Err(error) => {
                    failure = error;
                    continue;
                }
            };
            raw.set_nodelay(true)?;
            raw.set_read_timeout(Some(timeout))?;
            raw.set_write_timeout(Some(timeout))?;
            let plain = raw.try_clone()?;
            let stream: Box<dyn PeerStream> = match tls {
                Some(tls) => tls.connect(&primary.host, plain)?,
                None => Box::new(plain),
            };
            return Ok(Socket {
                stream,
                raw,
                wait: timeout,
                patience: timeout,
                room: vec![0; READ_BYTES],
                received: Vec::new(),
                ahead: Spool::default(),
                taken: 0,
                failure: None,
                heard_at: now,
            });
        }
        Err(failure)
    }

    /// The socket, by which another thread may end it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn raw(&self) -> io::Result<TcpStream> {
        self.raw.try_clone()
    }

    /// Waits for bytes, for so long at most. Returns how many have come.
    ///
    /// # Errors
    /// When the connection is broken or at its end.
    pub fn read(&mut self, most: Duration, now: Steady) -> io::Result<usize> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let bytes = match self.ahead.end() {
            Some(end) if self.taken < end => {
                let bytes = self.ahead.read(self.taken, &mut self.room)?;
                self.taken += bytes as u64;
                self.ahead.forget(self.taken);
                bytes
            }
            _ => self.receive(most, now)?,
        };
        self.received.extend_from_slice(&self.room[..bytes]);
        Ok(bytes)
    }

    /// Waits a moment for bytes, and keeps them in files of a directory: a primary that has to keep
    /// them itself for long gives the link up. What fails is told by the next `read`.
    pub fn read_ahead(&mut self, directory: &Path, now: Steady) {
        if self.failure.is_some() {
            return thread::sleep(MOMENT);
        }
        let end = self.ahead.end().unwrap_or(self.taken);
        let received = self.receive(MOMENT, now);
        let kept = received.and_then(|bytes| match bytes {
            0 => Ok(()),
            _ => self.ahead.push(directory, end, &self.room[..bytes]),
        });
        self.failure = kept.err();
    }

    /// Receives into the room. Returns how many bytes, none if the time of the wait is over.
    fn receive(&mut self, most: Duration, now: Steady) -> io::Result<usize> {
        if self.wait != most {
            self.raw.set_read_timeout(Some(most))?;
            self.wait = most;
        }
        match self.stream.read(&mut self.room) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                self.heard_at = now;
                Ok(bytes)
            }
            Err(error) if is_over(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Sends bytes, all of them.
    ///
    /// # Errors
    /// When the connection is broken, or takes nothing for long.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Sends bytes while the thread holds up others: what the other side does not take at once ends
    /// the link. What fails is told by the next `read`.
    pub fn send_at_once(&mut self, bytes: &[u8]) {
        let sent = (self.raw.set_write_timeout(Some(AT_ONCE)))
            .and_then(|()| self.send(bytes))
            .and_then(|()| self.raw.set_write_timeout(Some(self.patience)));
        self.failure = self.failure.take().or(sent.err());
    }

    /// Takes the next line, without its end, if it has come. Lines are at most so long.
    ///
    /// # Errors
    /// When what has come is longer and has no end.
    pub fn take_line(&mut self, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(end) = self.received.iter().take(bytes_max).position(|byte| *byte == b'\n') else {
            let is_endless = self.received.len() >= bytes_max;
            let endless = || io::Error::new(io::ErrorKind::InvalidData, "a line without an end");
            return if is_endless { Err(endless()) } else { Ok(None) };
        };
        let mut line: Vec<u8> = self.received.drain(..=end).collect();
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }
}

/// True if only the time of a wait is over.
fn is_over(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut, io::ErrorKind::Interrupted];
    kinds.contains(&error.kind())
}

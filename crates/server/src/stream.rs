//! Stream of a client over TCP, TLS or a Unix socket. It knows whether there is more to read.

use crate::front::Dialect;
use crate::tls_stream::TlsStream;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use session::Endpoint;
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Stream of a client: its socket, and what is known of its input.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// True if it may hold input of which no event will tell.
    may_hold_more: bool,
    /// True if the client sends nothing beyond what the socket holds.
    is_ending: bool,
    /// The protocol that is spoken where the client has connected.
    pub dialect: Dialect,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    fn new(socket: Socket) -> Stream {
        Stream { socket, may_hold_more: false, is_ending: false, dialect: Dialect::Resp }
    }

    /// The same, for a client that speaks another protocol.
    pub fn speaking(self, dialect: Dialect) -> Stream {
        Stream { dialect, ..self }
    }

    /// Returns true if it may hold input, or its end, of which no event will tell: what it holds
    /// was not read to the end.
    #[inline]
    pub fn may_hold_more(&self) -> bool {
        self.may_hold_more
    }

    /// Notes that there may be input: an event told of some, or was missed.
    #[inline]
    pub fn expect_more(&mut self) {
        self.may_hold_more = true;
    }

    /// Notes that the client sends nothing beyond what the socket holds.
    pub fn expect_end(&mut self) {
        self.is_ending = true;
        self.may_hold_more = true;
    }

    /// Returns true if the client sends nothing beyond what the socket holds.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Reads once into `room`. Returns the number of bytes, or `None` if there are none at present.
    /// `ciphertext` is room for what is encrypted, whatever that holds.
    ///
    /// # Errors
    /// When the connection is broken, or `UnexpectedEof` when the client has ended it.
    #[inline]
    pub fn receive(
        &mut self,
        room: &mut [u8],
        ciphertext: &mut Vec<u8>,
    ) -> io::Result<Option<usize>> {
        loop {
            let outcome = match &mut self.socket {
                Socket::Tcp(stream) => stream.read(room),
                Socket::Unix(stream) => stream.read(room),
                Socket::Tls(_) => return self.receive_encrypted(room, ciphertext),
            };
            match outcome {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => {
                    // A socket that had less than was asked for holds no more, and an event tells
                    // of what comes next; but none tells of the end behind what was read.
                    self.may_hold_more = (bytes == room.len()) | self.is_ending;
                    return Ok(Some(bytes));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.may_hold_more = false;
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[inline(never)]
    fn receive_encrypted(
        &mut self,
        room: &mut [u8],
        ciphertext: &mut Vec<u8>,
    ) -> io::Result<Option<usize>> {
        let Socket::Tls(stream) = &mut self.socket else { return Ok(None) };
        let received = stream.receive(room, ciphertext, self.is_ending);
        self.may_hold_more = stream.may_hold_more();
        received
    }

    /// Does the same as `receive`, but gives what is read to `take`: what is encrypted need not go
    /// through `room` then.
    ///
    /// # Errors
    /// As `receive`.
    pub fn receive_with(
        &mut self,
        take: &mut dyn FnMut(&[u8]),
        room: &mut [u8],
        ciphertext: &mut Vec<u8>,
    ) -> io::Result<Option<usize>> {
        if let Socket::Tls(stream) = &mut self.socket {
            let received = stream.receive_with(take, ciphertext, self.is_ending);
            self.may_hold_more = stream.may_hold_more();
            return received;
        }
        let received = self.receive(room, ciphertext)?;
        if let Some(bytes) = received {
            take(&room[..bytes]);
        }
        Ok(received)
    }

    /// Notes that what the socket may hold was not read.
    pub fn leave_unread(&mut self) {
        self.may_hold_more = true;
    }

    /// Returns the bytes of memory that it holds for what has not left yet, besides the output of
    /// its connection.
    #[inline]
    pub fn output_room(&self) -> usize {
        match &self.socket {
            Socket::Tcp(_) | Socket::Unix(_) => 0,
            Socket::Tls(stream) => stream.sealed(),
        }
    }

    /// Returns the bytes of memory that encryption takes, but for `output_room`.
    #[inline]
    pub fn encryption_memory(&self) -> usize {
        match &self.socket {
            Socket::Tcp(_) | Socket::Unix(_) => 0,
            Socket::Tls(stream) => stream.memory(),
        }
    }

    /// Returns true if its bytes are encrypted.
    #[inline]
    pub fn is_encrypted(&self) -> bool {
        matches!(self.socket, Socket::Tls(_))
    }

    /// Returns the names of the client's certificate by which it is to be logged in, once.
    pub fn take_names(&mut self) -> Vec<Vec<u8>> {
        match &mut self.socket {
            Socket::Tcp(_) | Socket::Unix(_) => Vec::new(),
            Socket::Tls(stream) => stream.take_names(),
        }
    }

    /// Tells the client that nothing more comes, where the protocol has a word for that.
    pub fn end(&mut self) {
        if let Socket::Tls(stream) = &mut self.socket {
            stream.end();
        }
    }

    /// The TCP socket, if it is not a Unix socket.
    fn tcp(&self) -> Option<&TcpStream> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream),
            Socket::Tls(stream) => Some(stream.socket()),
            Socket::Unix(_) => None,
        }
    }

    /// Turns on TCP_NODELAY, and TCP keepalive after `keepalive` of silence unless that is zero.
    pub fn tune(&self, keepalive: Duration) {
        let Some(stream) = self.tcp() else { return };
        // Best effort: a peer that is gone already shows so at the first read.
        let _ = stream.set_nodelay(true);
        if !keepalive.is_zero() {
            let probe = (keepalive / 3).max(Duration::from_secs(1));
            let probes = TcpKeepalive::new().with_time(keepalive).with_interval(probe);
            let _ = SockRef::from(stream).set_tcp_keepalive(&probes.with_retries(3));
        }
    }

    /// Has the system gather small writes, which costs time and saves packets.
    pub fn delay_small_writes(&self) {
        if let Some(stream) = self.tcp() {
            // Best effort, as in `tune`.
            let _ = stream.set_nodelay(false);
        }
    }

    /// Returns the addresses of the connection.
    pub fn endpoint(&self) -> Endpoint {
        match &self.socket {
            Socket::Tcp(stream) => tcp_endpoint(stream),
            Socket::Tls(stream) => tcp_endpoint(stream.socket()),
            Socket::Unix(stream) => {
                let path = stream.local_addr().ok();
                let path = path.and_then(|it| it.as_pathname().map(|it| it.display().to_string()));
                let address = format!("{}:0", path.unwrap_or_default());
                let fd = stream.as_raw_fd();
                Endpoint { local_address: address.clone(), address, fd, is_unix: true }
            }
        }
    }

    /// Returns true if the peer is on this machine.
    pub fn is_local(&self) -> bool {
        self.tcp().is_none_or(is_local)
    }
}

fn tcp_endpoint(stream: &TcpStream) -> Endpoint {
    let shown = |address: io::Result<SocketAddr>| {
        address.map_or_else(|_| "?:0".to_owned(), |it| it.to_string())
    };
    Endpoint {
        address: shown(stream.peer_addr()),
        local_address: shown(stream.local_addr()),
        fd: stream.as_raw_fd(),
        is_unix: false,
    }
}

/// Returns true if the peer is on this machine.
pub fn is_local(stream: &TcpStream) -> bool {
    stream.peer_addr().is_ok_and(|peer| match peer.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
    })
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Stream {
        Stream::new(Socket::Tcp(stream))
    }
}

impl From<TlsStream> for Stream {
    fn from(stream: TlsStream) -> Stream {
        let may_hold_more = stream.may_hold_more();
        Stream {
            socket: Socket::Tls(Box::new(stream)),
            may_hold_more,
            is_ending: false,
            dialect: Dialect::Resp,
        }
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Stream {
        Stream::new(Socket::Unix(stream))
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write(from),
            Socket::Unix(stream) => stream.write(from),
            Socket::Tls(stream) => stream.write_vectored(&[IoSlice::new(from)]),
        }
    }

    #[inline]
    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write_vectored(from),
            Socket::Unix(stream) => stream.write_vectored(from),
            Socket::Tls(stream) => stream.write_vectored(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Stream {
    fn register(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.register(to, token, interest),
            Socket::Unix(stream) => stream.register(to, token, interest),
            Socket::Tls(stream) => stream.socket_mut().register(to, token, interest),
        }
    }

    fn reregister(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.reregister(to, token, interest),
            Socket::Unix(stream) => stream.reregister(to, token, interest),
            Socket::Tls(stream) => stream.socket_mut().reregister(to, token, interest),
        }
    }

    fn deregister(&mut self, from: &Registry) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.deregister(from),
            Socket::Unix(stream) => stream.deregister(from),
            Socket::Tls(stream) => stream.socket_mut().deregister(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;
    use std::io::{ErrorKind, Write};
    use std::os::unix::net::UnixStream;

    fn pair() -> (Stream, UnixStream) {
        let (near, far) = UnixStream::pair().expect("two ends");
        near.set_nonblocking(true).expect("a socket that does not block");
        (mio::net::UnixStream::from_std(near).into(), far)
    }

    #[test]
    fn a_socket_that_filled_the_room_may_hold_more_and_one_that_did_not_holds_none() {
        let (mut stream, mut far) = pair();
        assert!(!stream.may_hold_more());
        far.write_all(b"abcde").expect("room in the socket");
        assert_eq!(stream.receive(&mut [0; 5], &mut Vec::new()).expect("bytes"), Some(5));
        assert!(stream.may_hold_more());
        assert_eq!(stream.receive(&mut [0; 5], &mut Vec::new()).expect("no bytes"), None);
        assert!(!stream.may_hold_more());
        far.write_all(b"fgh").expect("room in the socket");
        assert_eq!(stream.receive(&mut [0; 5], &mut Vec::new()).expect("bytes"), Some(3));
        assert!(!stream.may_hold_more());
    }

    #[test]
    fn the_end_behind_what_was_read_is_still_to_be_read() {
        let (mut stream, mut far) = pair();
        far.write_all(b"abc").expect("room in the socket");
        drop(far);
        stream.expect_end();
        assert_eq!(stream.receive(&mut [0; 5], &mut Vec::new()).expect("bytes"), Some(3));
        assert!(stream.may_hold_more());
        let end = stream.receive(&mut [0; 5], &mut Vec::new()).expect_err("the end");
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    }
}

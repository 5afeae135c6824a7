//! Socket of a client, TCP or Unix.

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use session::Endpoint;
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Socket of a client.
#[derive(Debug)]
pub enum Stream {
    /// TCP socket.
    Tcp(TcpStream),
    /// Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Turns on TCP_NODELAY, and TCP keepalive after `keepalive` of silence unless that is zero.
    pub fn tune(&self, keepalive: Duration) {
        let Stream::Tcp(stream) = self else { return };
        // Best effort: a peer that is gone already shows so at the first read.
        let _ = stream.set_nodelay(true);
        if !keepalive.is_zero() {
            let probe = (keepalive / 3).max(Duration::from_secs(1));
            let probes = TcpKeepalive::new().with_time(keepalive).with_interval(probe);
            let _ = SockRef::from(stream).set_tcp_keepalive(&probes.with_retries(3));
        }
    }

    /// Returns the addresses of the connection.
    pub fn endpoint(&self) -> Endpoint {
        match self {
            Stream::Tcp(stream) => Endpoint {
                address: stream.peer_addr().map_or_else(|_| "?:0".into(), |it| it.to_string()),
                local_address: stream
                    .local_addr()
                    .map_or_else(|_| "?:0".into(), |it| it.to_string()),
                fd: stream.as_raw_fd(),
                is_unix: false,
            },
            Stream::Unix(stream) => {
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
        match self {
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| match peer.ip() {
                std::net::IpAddr::V4(ip) => ip.is_loopback(),
                std::net::IpAddr::V6(ip) => {
                    ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
                }
            }),
            Stream::Unix(_) => true,
        }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Stream {
        Stream::Tcp(stream)
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Stream {
        Stream::Unix(stream)
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(to),
            Stream::Unix(stream) => stream.read(to),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(from),
            Stream::Unix(stream) => stream.write(from),
        }
    }

    #[inline]
    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write_vectored(from),
            Stream::Unix(stream) => stream.write_vectored(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Stream {
    fn register(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.register(to, token, interest),
            Stream::Unix(stream) => stream.register(to, token, interest),
        }
    }

    fn reregister(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.reregister(to, token, interest),
            Stream::Unix(stream) => stream.reregister(to, token, interest),
        }
    }

    fn deregister(&mut self, from: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.deregister(from),
            Stream::Unix(stream) => stream.deregister(from),
        }
    }
}

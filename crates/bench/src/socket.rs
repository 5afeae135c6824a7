//! Non-blocking sockets, and the level-triggered epoll that watches them: of clients and of the
//! null server.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use tls::{Channel, RECORD_BYTES};

use crate::address::Stream;

/// A socket, and the bytes that wait for room in it.
pub(crate) struct Socket {
    stream: TcpStream,
    unsent: Vec<u8>,
    encrypted: Option<Box<Encrypted>>,
}

/// What a connection with TLS has besides.
struct Encrypted {
    channel: Channel,
    ciphertext: Vec<u8>,
}

impl Socket {
    pub(crate) fn new(stream: Stream) -> io::Result<Self> {
        let (stream, encrypted) = match stream {
            Stream::Plain(stream) => (stream, None),
            Stream::Encrypted(stream) => {
                let (channel, stream) = stream.into_parts();
                let ciphertext = vec![0; CIPHERTEXT_BYTES];
                (stream, Some(Box::new(Encrypted { channel, ciphertext })))
            }
        };
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, unsent: Vec::new(), encrypted })
    }

    /// Returns true while bytes wait for room.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends bytes; those that the socket does not take wait for [`Socket::flush`].
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = self.write(bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(encrypted) = &mut self.encrypted else {
            return or_later(self.stream.write(bytes));
        };
        let mut sent = 0;
        while sent < bytes.len() {
            let left = IoSlice::new(&bytes[sent..]);
            match or_later(encrypted.channel.write(&[left], &mut self.stream))? {
                0 => break,
                more => sent += more,
            }
        }
        Ok(sent)
    }

    /// Sends waiting bytes, as far as the socket takes them.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.write(&unsent)?;
        self.unsent.extend_from_slice(&unsent[sent..]);
        Ok(())
    }

    /// Reads once what has arrived, which may be nothing; fails where the stream ends.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(encrypted) = &mut self.encrypted else {
            return read_some(&mut self.stream, buffer);
        };
        // No more than a record may be there in part already: nothing is left of what is read, so
        // no event is missed.
        let most = buffer.len().saturating_sub(RECORD_BYTES).min(CIPHERTEXT_BYTES);
        let read = read_some(&mut self.stream, &mut encrypted.ciphertext[..most])?;
        let opened = encrypted.channel.open(&encrypted.ciphertext[..read], buffer);
        opened.map_err(io::Error::other)
    }
}

/// Reads once what has arrived; fails where the stream ends.
fn read_some(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    match stream.read(buffer) {
        Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection was closed")),
        read => or_later(read),
    }
}

/// Most bytes of ciphertext that are read at a time.
const CIPHERTEXT_BYTES: usize = 64 << 10;

/// Returns the number of bytes, which is zero if it is to be tried again.
fn or_later(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(0)
        }
        done => done,
    }
}

/// Watches sockets, each with a number of its own.
pub(crate) struct Poller(OwnedFd);

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Watches a socket for bytes to read.
    pub(crate) fn add(&self, socket: &Socket, number: usize) -> io::Result<()> {
        let data = EventData::new_u64(number as u64);
        Ok(epoll::add(&self.0, &socket.stream, data, EventFlags::IN)?)
    }

    /// Watches a socket for other events from now on.
    pub(crate) fn watch(&self, socket: &Socket, number: usize, to: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.0, &socket.stream, EventData::new_u64(number as u64), to)?)
    }

    /// Ends the watch of a socket. Closing it does that only once nobody holds a copy, as a process
    /// that another thread is starting may for a moment.
    pub(crate) fn remove(&self, socket: &Socket) -> io::Result<()> {
        Ok(epoll::delete(&self.0, &socket.stream)?)
    }

    /// Waits for events, with numbers of sockets; there may be none, after `longest` or before.
    pub(crate) fn wait(
        &self,
        events: &mut Vec<Event>,
        longest: Option<Duration>,
    ) -> io::Result<()> {
        events.clear();
        let longest = longest.map(TryInto::try_into).transpose().map_err(io::Error::other)?;
        match epoll::wait(&self.0, spare_capacity(events), longest.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_removed_socket_has_no_events_though_a_copy_of_it_is_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        let _copy = stream.try_clone().unwrap();
        let (poller, socket) =
            (Poller::new().unwrap(), Socket::new(Stream::Plain(stream)).unwrap());
        let mut events = Vec::with_capacity(1);
        poller.add(&socket, 7).unwrap();
        peer.write_all(b"x").unwrap();
        poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert_eq!(events[0].data.u64(), 7);
        poller.remove(&socket).unwrap();
        drop(socket);
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty());
    }
}

//! Stream of a client whose connection is encrypted.

use mio::net::TcpStream;
use std::io::{self, IoSlice, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tls::{Channel, Error};

/// Most bytes of ciphertext that are read from the socket at a time.
const READ_BYTES: usize = 64 << 10;
/// Most such reads in a row that bring no plaintext: others have their turn then.
const FRUITLESS_READS: usize = 4;

/// Stream of a client whose connection is encrypted: its socket, and what is known of its input.
///
/// Plaintext counts as written once its ciphertext has left, so what waits for the socket waits in
/// the output of the connection, as it does for others. The next write then begins with the same
/// bytes.
#[derive(Debug)]
pub struct TlsStream {
    socket: TcpStream,
    channel: Channel,
    /// True if the socket may hold input of which no event will tell.
    socket_may_hold_more: bool,
    /// Names of its certificate, by which it is to be logged in.
    names: Vec<Vec<u8>>,
    /// True while the socket is to take nothing, for tests.
    refuses_writes: Arc<AtomicBool>,
}

impl TlsStream {
    /// Returns the stream of an established connection, whose certificate has these names.
    pub fn new(
        (socket, channel): (TcpStream, Channel),
        names: Vec<Vec<u8>>,
        refuses_writes: Arc<AtomicBool>,
    ) -> TlsStream {
        TlsStream { socket, channel, socket_may_hold_more: true, names, refuses_writes }
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The socket, to be registered.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Returns the names by which the client is to be logged in, once.
    pub fn take_names(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.names)
    }

    /// Returns true if there may be input, or its end, of which no event will tell.
    #[inline]
    pub fn may_hold_more(&self) -> bool {
        self.socket_may_hold_more || self.channel.plaintext() > 0 || self.channel.is_ending()
    }

    /// Returns the bytes that are encrypted and have not left.
    #[inline]
    pub fn sealed(&self) -> usize {
        self.channel.sealed()
    }

    /// Reads plaintext into `room`; `ciphertext` is where it is put before, whatever that holds.
    /// Returns the number of bytes, or `None` if there are none at present. `is_ending` says that
    /// the socket gets nothing more.
    ///
    /// # Errors
    /// When the connection is broken, or `UnexpectedEof` when the client has ended it.
    pub fn receive(
        &mut self,
        room: &mut [u8],
        ciphertext: &mut Vec<u8>,
        is_ending: bool,
    ) -> io::Result<Option<usize>> {
        let bytes = self.channel.read(room);
        if bytes > 0 {
            return Ok(Some(bytes));
        }
        let most = room.len();
        self.receive_some(ciphertext, (most, is_ending), |channel, it| channel.open(it, room))
    }

    /// Does the same, but gives the plaintext to `take`.
    ///
    /// # Errors
    /// As `receive`.
    pub fn receive_with(
        &mut self,
        take: &mut dyn FnMut(&[u8]),
        ciphertext: &mut Vec<u8>,
        is_ending: bool,
    ) -> io::Result<Option<usize>> {
        let bytes = self.channel.read_with(take);
        if bytes > 0 {
            return Ok(Some(bytes));
        }
        let how = (READ_BYTES, is_ending);
        self.receive_some(ciphertext, how, |channel, it| channel.open_with(it, take))
    }

    /// Reads from the socket until `open` has moved some plaintext.
    #[inline]
    fn receive_some(
        &mut self,
        ciphertext: &mut Vec<u8>,
        (most, is_ending): (usize, bool),
        mut open: impl FnMut(&mut Channel, &[u8]) -> Result<usize, Error>,
    ) -> io::Result<Option<usize>> {
        ciphertext.resize(READ_BYTES, 0);
        let most = most.min(READ_BYTES);
        for _ in 0..FRUITLESS_READS {
            if self.channel.is_ended() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(read) = self.read_socket(&mut ciphertext[..most])? else { return Ok(None) };
            // None tells of the end behind what was read.
            self.socket_may_hold_more = read == most || is_ending;
            let opened = open(&mut self.channel, &ciphertext[..read]);
            // Besides what was asked for, the protocol may have something to say. If the socket
            // does not take that now, it goes with what is written next.
            let sent = self.send();
            let bytes =
                opened.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            sent?;
            if bytes > 0 {
                return Ok(Some(bytes));
            }
            if !self.may_hold_more() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Reads once from the socket; `None` if there is nothing at present.
    fn read_socket(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match self.socket.read(into) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket_may_hold_more = false;
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&mut self) -> io::Result<()> {
        match self.channel.send(&mut self.socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes the first bytes of `from`. Returns how many they are.
    ///
    /// # Errors
    /// That of the socket; after `WouldBlock` the same bytes come first again.
    pub fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.refuses_writes.load(Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.channel.write(from, &mut self.socket)
    }

    /// Tells the client that nothing more comes, unless something is left that has not gone.
    pub fn end(&mut self) {
        if self.channel.sealed() == 0 {
            self.channel.end(&mut self.socket);
        }
    }
}

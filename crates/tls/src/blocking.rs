//! Client's side of a connection whose socket blocks: for tools.

use crate::channel::Channel;
use crate::rules::ClientRules;
use rustls::{ClientConnection, Connection};
use rustls_pki_types::ServerName;
use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr};

/// Most bytes that are read from the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// A connection to a server, over a socket that blocks.
#[derive(Debug)]
pub struct BlockingStream<S> {
    channel: Channel,
    /// The socket.
    pub socket: S,
    ciphertext: Vec<u8>,
    room: Vec<u8>,
    /// Bytes of `room` that are filled, and of them those that were read.
    filled: usize,
    taken: usize,
}

impl<S: Read + Write> BlockingStream<S> {
    /// Establishes a connection over `socket`. `name` is told to the server, if it is a name.
    ///
    /// # Errors
    /// That of `socket`, and `InvalidData` where the server is not to be trusted or refuses.
    pub fn connect(rules: &ClientRules, name: &str, mut socket: S) -> io::Result<Self> {
        let mut connection = client(rules, name)?;
        while connection.is_handshaking() {
            let (read, written) = connection.complete_io(&mut socket)?;
            if (read, written) == (0, 0) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        while connection.wants_write() {
            connection.write_tls(&mut socket)?;
        }
        Ok(BlockingStream {
            channel: Channel::new(connection),
            socket,
            ciphertext: vec![0; READ_BYTES],
            room: vec![0; READ_BYTES],
            filled: 0,
            taken: 0,
        })
    }

    /// Returns the established connection and the socket. Nothing that was read may be left.
    pub fn into_parts(self) -> (Channel, S) {
        debug_assert_eq!(self.taken, self.filled, "something that was read is lost");
        (self.channel, self.socket)
    }
}

impl ClientRules {
    /// Returns what a client sends first.
    ///
    /// # Errors
    /// When the rules allow nothing.
    pub fn first_message(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut connection = client(self, name)?;
        let mut message = Vec::new();
        connection.write_tls(&mut message)?;
        Ok(message)
    }
}

fn client(rules: &ClientRules, name: &str) -> io::Result<Connection> {
    let nobody = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
    let name = ServerName::try_from(name.to_owned()).unwrap_or(nobody);
    let connection = ClientConnection::new(rules.config.clone(), name);
    Ok(Connection::from(connection.map_err(io::Error::other)?))
}

impl<S: Read + Write> Read for BlockingStream<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.filled {
            self.taken = 0;
            self.filled = self.channel.read(&mut self.room);
            if self.filled > 0 {
                break;
            }
            if self.channel.is_ended() {
                return Ok(0);
            }
            let bytes = self.socket.read(&mut self.ciphertext)?;
            if bytes == 0 {
                return Ok(0);
            }
            let opened = self.channel.open(&self.ciphertext[..bytes], &mut self.room);
            self.filled =
                opened.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        let bytes = into.len().min(self.filled - self.taken);
        into[..bytes].copy_from_slice(&self.room[self.taken..self.taken + bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}

impl<S: Read + Write> Write for BlockingStream<S> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.channel.write(&[IoSlice::new(from)], &mut self.socket)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

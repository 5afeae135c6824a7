//! Client's side of a connection whose socket blocks: for tools.

use crate::channel::Channel;
use crate::handshake::ClientHandshake;
use crate::rules::ClientRules;
use std::io::{self, IoSlice, Read, Write};

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

/// A stream to a server, plain or with TLS, over a socket that blocks.
#[derive(Debug)]
pub enum ClientStream<S> {
    /// What is written is sent as it is.
    Plain(S),
    /// What is written is encrypted.
    Encrypted(Box<BlockingStream<S>>),
}

impl<S: Read + Write> ClientStream<S> {
    /// Establishes a connection over `socket`, with TLS if there are rules for it. `name` is told
    /// to the server, if it is a name.
    ///
    /// # Errors
    /// As `BlockingStream::connect`.
    pub fn establish(rules: Option<&ClientRules>, name: &str, socket: S) -> io::Result<Self> {
        let Some(rules) = rules else { return Ok(ClientStream::Plain(socket)) };
        let stream = BlockingStream::connect(rules, name, socket)?;
        Ok(ClientStream::Encrypted(Box::new(stream)))
    }

    /// The socket.
    pub fn socket(&self) -> &S {
        match self {
            ClientStream::Plain(socket) => socket,
            ClientStream::Encrypted(stream) => &stream.socket,
        }
    }
}

impl<S: Read + Write> Read for ClientStream<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(socket) => socket.read(into),
            ClientStream::Encrypted(stream) => stream.read(into),
        }
    }
}

impl<S: Read + Write> Write for ClientStream<S> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(socket) => socket.write(from),
            ClientStream::Encrypted(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ClientStream::Plain(socket) => socket.flush(),
            ClientStream::Encrypted(stream) => stream.flush(),
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl<S: Read + Write> BlockingStream<S> {
    /// Establishes a connection over `socket`. `name` is told to the server, if it is a name.
    ///
    /// # Errors
    /// That of `socket`, and `InvalidData` where the server is not to be trusted or refuses.
    pub fn connect(rules: &ClientRules, name: &str, mut socket: S) -> io::Result<Self> {
        let mut handshake = ClientHandshake::new(rules, name).map_err(invalid)?;
        let mut ciphertext = vec![0; READ_BYTES];
        handshake.write_to(&mut socket)?;
        while !handshake.is_done() {
            let read = socket.read(&mut ciphertext)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let received = handshake.receive(&ciphertext[..read]);
            handshake.write_to(&mut socket)?;
            received.map_err(invalid)?;
        }
        let channel = handshake.finish().ok_or(io::ErrorKind::UnexpectedEof)?;
        let (room, filled, taken) = (vec![0; READ_BYTES], 0, 0);
        Ok(BlockingStream { channel, socket, ciphertext, room, filled, taken })
    }

    /// Returns the established connection and the socket. Nothing that was read may be left.
    pub fn into_parts(self) -> (Channel, S) {
        debug_assert_eq!(self.taken, self.filled, "something that was read is lost");
        (self.channel, self.socket)
    }
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
            self.filled = opened.map_err(invalid)?;
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

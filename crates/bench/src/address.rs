//! Where a server is reached, plain or with TLS, and the stream to it.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use tls::{BlockingStream, ClientHandshake, ClientRules};

/// Address of a server on this machine.
#[derive(Clone, Debug)]
pub struct Address {
    port: u16,
    /// Rules of TLS, if that is spoken there.
    rules: Option<ClientRules>,
}

/// A stream to a server, which blocks.
pub enum Stream {
    Plain(TcpStream),
    Encrypted(Box<BlockingStream<TcpStream>>),
}

impl Address {
    /// Returns the address of a port where TLS is spoken.
    pub fn encrypted(port: u16, rules: ClientRules) -> Self {
        Self { port, rules: Some(rules) }
    }

    /// Connects, and establishes the connection.
    pub fn connect(&self) -> io::Result<Stream> {
        let stream = self.connect_plain()?;
        Ok(match &self.rules {
            None => Stream::Plain(stream),
            Some(rules) => {
                let stream = BlockingStream::connect(rules, "localhost", stream)?;
                Stream::Encrypted(Box::new(stream))
            }
        })
    }

    /// Returns half of what a client with TLS sends first.
    pub fn first_message(&self) -> io::Result<Vec<u8>> {
        let rules = self.rules.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let handshake = ClientHandshake::new(rules, "localhost");
        let mut message = Vec::new();
        handshake.map_err(io::Error::other)?.write_to(&mut message)?;
        message.truncate(message.len() / 2);
        Ok(message)
    }

    /// Connects to the port, and says nothing.
    pub fn connect_plain(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.port)
    }
}

impl From<u16> for Address {
    fn from(port: u16) -> Self {
        Self { port, rules: None }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::Plain(stream)
    }
}

impl Stream {
    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Encrypted(stream) => &stream.socket,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Encrypted(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(from),
            Self::Encrypted(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

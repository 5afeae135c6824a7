//! Where a server is reached, plain or with TLS, and the stream to it.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpStream};

use tls::{ClientHandshake, ClientRules, ClientStream};

/// A stream to a server, which blocks.
pub type Stream = ClientStream<TcpStream>;

/// Address of a server on this machine.
#[derive(Clone, Debug)]
pub struct Address {
    port: u16,
    /// Rules of TLS, if that is spoken there.
    rules: Option<ClientRules>,
}

impl Address {
    /// Returns the address of a port where TLS is spoken.
    pub fn encrypted(port: u16, rules: ClientRules) -> Self {
        Self { port, rules: Some(rules) }
    }

    /// Connects, and establishes the connection.
    ///
    /// # Errors
    /// If nobody accepts, or the server does not speak TLS by these rules.
    pub fn connect(&self) -> io::Result<Stream> {
        self.establish(self.connect_plain()?)
    }

    /// Establishes a connection.
    ///
    /// # Errors
    /// If the server does not speak TLS by these rules.
    pub fn establish(&self, socket: TcpStream) -> io::Result<Stream> {
        ClientStream::establish(self.rules.as_ref(), "localhost", socket)
    }

    /// Returns half of what a client with TLS sends first.
    ///
    /// # Errors
    /// If the address is plain.
    pub fn first_message(&self) -> io::Result<Vec<u8>> {
        let rules = self.rules.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let handshake = ClientHandshake::new(rules, "localhost");
        let mut message = Vec::new();
        handshake.map_err(io::Error::other)?.write_to(&mut message)?;
        message.truncate(message.len() / 2);
        Ok(message)
    }

    /// Connects to the port, and says nothing.
    ///
    /// # Errors
    /// If nobody accepts.
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

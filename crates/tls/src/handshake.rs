//! A connection that is not established: of a server, or of a client.
//!
//! That of a server takes next to no memory before the first byte, and no rules before the whole of
//! the client's first message. How long either may take is its owner's to limit.

use crate::channel::Channel;
use crate::rules::{ClientRules, ServerRules};
use rustls::server::{AcceptedAlert, Acceptor, ServerConnection};
use rustls::{ClientConnection, Error};
use rustls_pki_types::ServerName;
use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use thiserror::Error as ThisError;

/// First byte of everything that a client of TLS sends first.
const HANDSHAKE: u8 = 22;

/// Why a connection cannot be established.
#[derive(Clone, Debug, ThisError, PartialEq)]
pub enum HandshakeError {
    /// What the client sends is not TLS.
    #[error("the client does not speak TLS")]
    NotTls,
    /// Any other reason.
    #[error("{0}")]
    Tls(Error),
}

/// A connection of a server that is not established.
pub struct Handshake {
    stage: Stage,
}

enum Stage {
    /// Nothing has come.
    Silent,
    /// Some of the client's first message has come.
    Hello(Box<Acceptor>),
    /// All of it has.
    Under(Box<ServerConnection>),
    /// It has failed; there may be something to say about that.
    Failed(AcceptedAlert),
    /// It has failed, and nothing is said.
    Mute,
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Silent => "silent",
            Stage::Hello(_) => "hello",
            Stage::Under(_) => "under way",
            Stage::Failed(_) | Stage::Mute => "failed",
        };
        f.debug_struct("Handshake").field("stage", &stage).finish()
    }
}

impl Default for Handshake {
    fn default() -> Handshake {
        Handshake { stage: Stage::Silent }
    }
}

impl Handshake {
    /// Takes bytes that came from the client, and makes ready what is to be written to it.
    ///
    /// # Errors
    /// When the connection cannot be established: what `write_to` writes then, says so.
    pub fn receive(&mut self, bytes: &[u8], rules: &ServerRules) -> Result<(), HandshakeError> {
        let mut left = bytes;
        if let (Stage::Silent, Some(first)) = (&self.stage, left.first()) {
            if *first != HANDSHAKE {
                self.stage = Stage::Mute;
                return Err(HandshakeError::NotTls);
            }
            self.stage = Stage::Hello(Box::default());
        }
        while !left.is_empty() {
            let taken = match &mut self.stage {
                Stage::Silent | Stage::Failed(_) | Stage::Mute => return Ok(()),
                Stage::Hello(acceptor) => {
                    let taken = acceptor.read_tls(&mut left);
                    self.accept(rules)?;
                    taken
                }
                Stage::Under(connection) => {
                    let taken = connection.read_tls(&mut left);
                    connection.process_new_packets().map_err(HandshakeError::Tls)?;
                    taken
                }
            };
            match taken {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(failure(&error)),
            }
        }
        Ok(())
    }

    /// Goes on to the answer if the whole of the client's first message is there.
    fn accept(&mut self, rules: &ServerRules) -> Result<(), HandshakeError> {
        let Stage::Hello(acceptor) = &mut self.stage else { return Ok(()) };
        let accepted = match acceptor.accept() {
            Ok(None) => return Ok(()),
            Ok(Some(accepted)) => accepted.into_connection(rules.config.clone()),
            Err(failed) => Err(failed),
        };
        match accepted {
            Ok(connection) => {
                let mut connection = Box::new(connection);
                // More than the first message may have come.
                let processed = connection.process_new_packets();
                self.stage = Stage::Under(connection);
                processed.map(drop).map_err(HandshakeError::Tls)
            }
            Err((error, alert)) => {
                self.stage = Stage::Failed(alert);
                Err(HandshakeError::Tls(error))
            }
        }
    }

    /// Returns true if nothing has come from the client.
    pub fn is_silent(&self) -> bool {
        matches!(self.stage, Stage::Silent)
    }

    /// Writes what is ready for the client to `socket`. Returns true if that is all.
    ///
    /// # Errors
    /// That of `socket`, unless it would block.
    pub fn write_to(&mut self, socket: &mut dyn Write) -> io::Result<bool> {
        loop {
            let written = match &mut self.stage {
                Stage::Under(connection) if connection.wants_write() => {
                    connection.write_tls(socket)
                }
                Stage::Failed(alert) => alert.write(socket),
                _ => return Ok(true),
            };
            match written {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns true if the connection is established, but for what is to be written.
    pub fn is_done(&self) -> bool {
        matches!(&self.stage, Stage::Under(connection) if !connection.is_handshaking())
    }

    /// Returns the connection if it is established.
    pub fn finish(self) -> Option<Channel> {
        match self.stage {
            Stage::Under(connection) if !connection.is_handshaking() => {
                Some(Channel::new(*connection))
            }
            _ => None,
        }
    }
}

/// A connection of a client that is not established.
pub struct ClientHandshake {
    connection: Box<ClientConnection>,
}

impl fmt::Debug for ClientHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientHandshake").field("is_done", &self.is_done()).finish()
    }
}

impl ClientHandshake {
    /// Begins a connection. `name` is told to the server, if it is a name.
    ///
    /// # Errors
    /// When the rules allow nothing.
    pub fn new(rules: &ClientRules, name: &str) -> Result<ClientHandshake, HandshakeError> {
        let nobody = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
        let name = ServerName::try_from(name.to_owned()).unwrap_or(nobody);
        let connection = ClientConnection::new(rules.config.clone(), name);
        let connection = connection.map_err(HandshakeError::Tls)?;
        Ok(ClientHandshake { connection: Box::new(connection) })
    }

    /// Takes bytes that came from the server, and makes ready what is to be written to it.
    ///
    /// # Errors
    /// When the connection cannot be established: what `write_to` writes then, says so.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<(), HandshakeError> {
        while !bytes.is_empty() {
            match self.connection.read_tls(&mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(failure(&error)),
            }
            self.connection.process_new_packets().map_err(HandshakeError::Tls)?;
        }
        Ok(())
    }

    /// Writes what is ready for the server to `socket`. Returns true if that is all.
    ///
    /// # Errors
    /// That of `socket`, unless it would block.
    pub fn write_to(&mut self, socket: &mut dyn Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Returns true if the connection is established, but for what is to be written.
    pub fn is_done(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Returns the connection if it is established.
    pub fn finish(self) -> Option<Channel> {
        self.is_done().then(|| Channel::new(*self.connection))
    }
}

fn failure(error: &io::Error) -> HandshakeError {
    HandshakeError::Tls(Error::General(error.to_string()))
}

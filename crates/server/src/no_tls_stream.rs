//! Stream of a client whose connection is encrypted, in a server that was built without TLS.

use mio::net::TcpStream;
use std::io::{self, IoSlice};

/// Stream of a client whose connection is encrypted: there is none.
#[derive(Debug)]
pub enum TlsStream {}

impl TlsStream {
    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        match *self {}
    }

    /// The socket, to be registered.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        match *self {}
    }

    /// Returns the names by which the client is to be logged in.
    pub fn take_names(&mut self) -> Vec<Vec<u8>> {
        match *self {}
    }

    /// Returns true if there may be input of which no event will tell.
    pub fn may_hold_more(&self) -> bool {
        match *self {}
    }

    /// Returns the bytes that are encrypted and have not left.
    pub fn sealed(&self) -> usize {
        match *self {}
    }

    /// Returns the bytes of memory that TLS takes.
    pub fn memory(&self) -> usize {
        match *self {}
    }

    /// Reads plaintext.
    ///
    /// # Errors
    /// None.
    pub fn receive(&mut self, _: &mut [u8], _: &mut Vec<u8>, _: bool) -> io::Result<Option<usize>> {
        match *self {}
    }

    /// Reads plaintext.
    ///
    /// # Errors
    /// None.
    pub fn receive_with(
        &mut self,
        _: &mut dyn FnMut(&[u8]),
        _: &mut Vec<u8>,
        _: bool,
    ) -> io::Result<Option<usize>> {
        match *self {}
    }

    /// Writes plaintext.
    ///
    /// # Errors
    /// None.
    pub fn write_vectored(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        match *self {}
    }

    /// Tells the client that nothing more comes.
    pub fn end(&mut self) {
        match *self {}
    }
}

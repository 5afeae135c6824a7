//! A plain connection that sends and reads at will.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::control::encode;
use crate::servers::Server;

/// Blocking TCP connection to a server.
pub struct Stream(TcpStream);

impl Stream {
    /// Connects to a server.
    pub fn open(server: &Server) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    /// Returns a second handle of the same connection, to send with one and read with the other.
    pub fn clone(&self) -> Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).context("sending")
    }

    /// Sends one command, without reading its reply.
    pub fn tell(&mut self, command: &[&str]) -> Result<()> {
        self.send(encode(command).as_bytes())
    }

    /// Reads and drops so many bytes, with a pause after each `piece` of them.
    pub fn skip(&mut self, bytes: u64, piece: usize, pause: Duration) -> Result<()> {
        let (mut left, mut room) = (bytes, vec![0; piece]);
        while left > 0 {
            let most = room.len().min(usize::try_from(left)?);
            let read = self.0.read(&mut room[..most]).context("reading")?;
            ensure!(read > 0, "the server closed the connection");
            left -= read as u64;
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
        Ok(())
    }

    /// Reads until the server closes the connection; returns the number of bytes read.
    pub fn read_to_end(&mut self) -> u64 {
        let (mut bytes, mut room) = (0, vec![0; 1 << 20]);
        while let Ok(read @ 1..) = self.0.read(&mut room) {
            bytes += read as u64;
        }
        bytes
    }
}

/// Returns the bytes of a reply that is one value.
pub fn bulk_bytes(value: usize) -> u64 {
    (format!("${value}\r\n").len() + value + 2) as u64
}

const PATIENCE: Duration = Duration::from_secs(60);

//! A plain connection that sends and reads at will.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::thread;
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

    /// Sends requests.
    pub fn send(&mut self, requests: &str) -> Result<()> {
        self.0.write_all(requests.as_bytes()).context("sending")
    }

    /// Sends requests and reads replies of so many bytes.
    pub fn exchange(&mut self, requests: &str, replies: usize) -> Result<()> {
        self.send(requests)?;
        self.skip(replies, 64 << 10, Duration::ZERO)
    }

    /// Reads and drops so many bytes, with a pause after each `piece` of them.
    pub fn skip(&mut self, bytes: usize, piece: usize, pause: Duration) -> Result<()> {
        let (mut left, mut room) = (bytes, vec![0; piece]);
        while left > 0 {
            let most = room.len().min(left);
            let read = self.0.read(&mut room[..most]).context("reading")?;
            ensure!(read > 0, "the server closed the connection");
            left -= read;
            if !pause.is_zero() {
                thread::sleep(pause);
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

/// Returns a command, whose words are separated by spaces, for the wire.
pub fn request(line: &str) -> String {
    encode(&line.split(' ').collect::<Vec<_>>())
}

const PATIENCE: Duration = Duration::from_secs(60);

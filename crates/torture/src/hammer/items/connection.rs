//! Connection to the port of Memcached's protocol.

use super::super::phase::Place;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

/// Connection to the port of Memcached's protocol.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(super) fn open(place: &Place) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, place.memcached_port))?;
        stream.set_read_timeout(Some(place.patience))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(64 << 10, stream) })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes).context("sending")
    }

    /// Sends one line, with its block, and waits for its answer.
    pub(super) fn ask(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.send(bytes)?;
        self.answer()
    }

    /// Waits for the answer to one line: all items of get with their end, else one line and the
    /// block behind it.
    pub(super) fn answer(&mut self) -> Result<Vec<u8>> {
        let mut answer = Vec::new();
        loop {
            let begin = answer.len();
            self.stream.read_until(b'\n', &mut answer).context("waiting for an answer")?;
            let line = &answer[begin..];
            ensure!(line.ends_with(b"\r\n"), "the server closed the connection");
            let mut words = line.trim_ascii_end().split(|byte| *byte == b' ');
            let (place_of_length, is_last) = match words.next() {
                Some(b"VALUE") => (2, false),
                Some(b"VA") => (0, true),
                _ => return Ok(answer),
            };
            let length = words.nth(place_of_length).context("a length")?;
            let length: usize = std::str::from_utf8(length)?.parse()?;
            let block = answer.len();
            answer.resize(block + length + LINE_END.len(), 0);
            self.stream.read_exact(&mut answer[block..]).context("waiting for a block")?;
            if is_last {
                return Ok(answer);
            }
        }
    }
}

const LINE_END: &[u8] = b"\r\n";

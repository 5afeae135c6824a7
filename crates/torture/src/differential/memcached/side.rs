//! One of the two servers, and its connection.

use super::super::pair::Broken;
use super::answer::Answer;
use super::step::{Step, Told};
use crate::addresses::free_port;
use anyhow::{Context, Result, ensure};
use bench::servers::{Kind, Launch, Peers, Program, Server};
use std::io::ErrorKind::WouldBlock;
use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// One of the two servers.
pub struct Side {
    /// Name in reports.
    pub name: &'static str,
    program: Program,
    launch: Launch,
    server: Option<Server>,
    port: u16,
    line: Option<BufReader<TcpStream>>,
    marks: u64,
    /// CAS numbers that it told.
    pub told: Told,
}

impl Side {
    /// Creates Varve, which is started when it is first needed.
    pub fn varve(program: Program, threads: usize) -> Side {
        let launch = Launch::on(2, threads).with("memcached-max-item-size", ITEM_BYTES_MAX);
        Side::of("Varve", program, launch)
    }

    /// Creates Memcached, which is started when it is first needed.
    pub fn memcached(peers: &Peers) -> Side {
        let size = ITEM_BYTES_MAX.to_string();
        let program = peers.program("memcached").with_arguments(&["-I", &size]);
        Side::of("Memcached", program, Launch::on(2, 2).with("maxmemory", "1024mb"))
    }

    fn of(name: &'static str, program: Program, launch: Launch) -> Side {
        let (server, line) = (None, None);
        Side { name, program, launch, server, port: 0, line, marks: 0, told: Told::new() }
    }

    /// Removes all items of these keys, behind a new connection.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub fn renew(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        self.line = None;
        if self.clear(keys).is_err() {
            self.server = None;
            self.start()?;
            self.clear(keys)?;
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        let mut launch = self.launch.clone();
        let port = free_port()?;
        if self.program.kind == Kind::Varve {
            launch = launch.with("memcached-port", port);
        }
        let server = self.program.start(&launch)?;
        self.port = if self.program.kind == Kind::Varve { port } else { server.port };
        self.server = Some(server);
        // Numbers of CAS that clients make up are below those that are drawn.
        let writes = format!("set k 0 0 1 noreply\r\n1\r\n{}", "incr k 1 noreply\r\n".repeat(100));
        self.send(&[writes.into_bytes()])?;
        self.answers(1)?;
        Ok(())
    }

    fn clear(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        ensure!(self.server.is_some(), "not started");
        self.told.clear();
        let mut bytes = b"flush_all noreply\r\n".to_vec();
        for key in keys {
            let name = base64(key);
            for words in [[&b"md "[..], &name, b" b q\r\n"], [b"md ", &name, b" q\r\n"]] {
                bytes.extend(words.concat());
            }
        }
        self.send(&[bytes])?;
        self.answers(1)?;
        Ok(())
    }

    /// Sends steps in one piece, each with a line behind it whose answer marks the end of theirs.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn send_steps(&mut self, steps: &[Step], now: i64) -> Result<(), Broken> {
        let all: Vec<_> = steps.iter().map(|step| step.encoded(&self.told, now)).collect();
        self.send(&all)
    }

    fn send(&mut self, all: &[Vec<u8>]) -> Result<(), Broken> {
        let mut bytes = Vec::new();
        for one in all {
            self.marks += 1;
            bytes.extend_from_slice(one);
            bytes.extend_from_slice(format!("mg ~ O{}\r\n", self.marks).as_bytes());
        }
        // Some lines come in two pieces.
        let cut = if self.marks.is_multiple_of(3) { bytes.len() / 3 } else { 0 };
        let sent = self.line().and_then(|line| {
            for piece in [&bytes[..cut], &bytes[cut..]] {
                match line.get_mut().write_all(piece) {
                    Err(error) if error.kind() == WouldBlock => return Err(error.into()),
                    // Of any other error the answer tells.
                    _ => {}
                }
            }
            Ok(())
        });
        sent.map_err(|error| self.broken(&error))
    }

    /// Waits for the answers to what was sent last, in so many pieces. Behind the end of the
    /// connection there are none.
    ///
    /// # Errors
    /// If no answer comes.
    pub fn answers(&mut self, count: usize) -> Result<Vec<Answer>, Broken> {
        let mut answers = Vec::with_capacity(count);
        for number in 0..count as u64 {
            let mark = format!("EN O{}", self.marks - (count as u64 - 1 - number));
            let answer = self.line().and_then(|line| Answer::read(line, mark.as_bytes()));
            let answer = answer.map_err(|error| self.broken(&error))?;
            let is_closed = answer.is_closed;
            answers.push(answer);
            if is_closed {
                self.line = None;
                if !self.is_alive() {
                    return Err(self.broken(&anyhow::anyhow!("the connection was closed")));
                }
                break;
            }
        }
        Ok(answers)
    }

    fn line(&mut self) -> Result<&mut BufReader<TcpStream>> {
        if self.line.is_none() {
            let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            socket.set_write_timeout(Some(PATIENCE))?;
            socket.set_nodelay(true)?;
            self.line = Some(BufReader::with_capacity(64 << 10, socket));
        }
        self.line.as_mut().context("a connection")
    }

    fn is_alive(&self) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
    }

    /// Returns the failure of a connection; if the server has ended, with its reason.
    fn broken(&mut self, error: &anyhow::Error) -> Broken {
        let mut error = format!("{error:#}");
        self.line = None;
        if !self.is_alive() {
            self.server = None;
            error += &format!("; {}", self.program.ended().join("; "));
        }
        Broken { side: self.name, error }
    }
}

/// Returns bytes in base64.
pub fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at > group.len() { b'=' } else { letter });
        }
    }
    out
}

/// Most bytes of an item: twice the largest value that is drawn, with what Memcached counts too.
pub const ITEM_BYTES_MAX: usize = 2 << 20;
const PATIENCE: Duration = Duration::from_secs(5);
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_filled_up() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text.as_bytes());
        }
    }
}

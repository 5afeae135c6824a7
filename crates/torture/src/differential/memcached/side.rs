//! One of the two servers, and its connection.

use super::super::pair::Broken;
use super::answer::Answer;
use super::base64;
use super::step::{Step, Told};
use crate::addresses::free_port;
use anyhow::{Context, Result, ensure};
use bench::servers::{Kind, Launch, Peers, Program, Server};
use std::io::ErrorKind::WouldBlock;
use std::io::{BufReader, Read, Write};
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
    /// Keys that may have items.
    keys: Vec<Vec<u8>>,
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
        let (server, line, keys) = (None, None, Vec::new());
        Side { name, program, launch, server, port: 0, line, marks: 0, told: Told::new(), keys }
    }

    /// Removes all items of these keys, behind a new connection.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub fn renew(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        (self.line, self.keys) = (None, keys.to_vec());
        if self.clear().is_err() {
            self.server = None;
            self.start()?;
            self.clear()?;
        }
        Ok(())
    }

    /// Returns true if it serves nobody any more.
    pub fn has_ended(&self) -> bool {
        self.server.is_none()
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
        Ok(self.do_quietly(writes.into_bytes())?)
    }

    fn clear(&mut self) -> Result<()> {
        ensure!(self.server.is_some(), "not started");
        self.told.clear();
        Ok(self.remove_all()?)
    }

    /// Removes all items, whatever answers that gives. It takes more than a flush_all: Memcached
    /// leaves items that are in use at that moment.
    fn remove_all(&mut self) -> Result<(), Broken> {
        let mut bytes = b"flush_all noreply\r\n".to_vec();
        for key in &self.keys {
            let name = base64::encode(key);
            for words in [[&b"md "[..], &name, b" b q\r\n"], [b"md ", &name, b" q\r\n"]] {
                bytes.extend(words.concat());
            }
            if !base64::is_needed(key) {
                bytes.extend([&b"md "[..], key, b" q\r\n"].concat());
            }
        }
        self.do_quietly(bytes)
    }

    fn do_quietly(&mut self, bytes: Vec<u8>) -> Result<(), Broken> {
        self.send(&[Sent { bytes, has_end: true }], "the lines between rounds")?;
        self.answer(self.marks, "the lines between rounds")?;
        Ok(())
    }

    /// Sends steps in one piece, each with a line behind it whose answer marks the end of theirs.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn send_steps(&mut self, steps: &[Step], now: i64) -> Result<(), Broken> {
        let all: Vec<_> = steps.iter().map(|step| self.sent(step, now)).collect();
        self.send(&all, &steps[0].name())
    }

    /// Sends steps, each when the one before is answered, so that no answer that is under way holds
    /// an item: Memcached changes those otherwise. Returns the answers.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn ask(&mut self, steps: &[Step], now: i64) -> Result<Vec<Answer>, Broken> {
        let all: Vec<_> = steps.iter().map(|step| self.sent(step, now)).collect();
        let mut answers = Vec::with_capacity(steps.len());
        for (step, mut sent) in steps.iter().zip(all) {
            if step.name() == "ms" {
                // Where a block is bad, Memcached keeps the CAS for whatever is stored next.
                sent.bytes.extend_from_slice(b"set ~~ 0 0 1 noreply\r\n1\r\n");
            }
            self.send(&[sent], &step.name())?;
            let answer = self.answer(self.marks, &step.name())?;
            let is_closed = answer.is_closed;
            answers.push(answer);
            if is_closed {
                break;
            }
            if step.flushes() {
                self.remove_all()?;
            }
        }
        Ok(answers)
    }

    fn sent(&self, step: &Step, now: i64) -> Sent {
        Sent { bytes: step.encoded(&self.told, now), has_end: !step.end.is_empty() }
    }

    fn send(&mut self, all: &[Sent], name: &str) -> Result<(), Broken> {
        let mut bytes = Vec::new();
        for one in all {
            self.marks += 1;
            bytes.extend_from_slice(&one.bytes);
            if one.has_end {
                bytes.extend_from_slice(format!("mg ~ O{}\r\n", self.marks).as_bytes());
            }
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
        sent.map_err(|error| self.broken(&error, name))
    }

    /// Waits for the answers to the steps that were sent last. Behind the end of the connection
    /// there are none.
    ///
    /// # Errors
    /// If no answer comes.
    pub fn answers(&mut self, steps: &[Step]) -> Result<Vec<Answer>, Broken> {
        let first = self.marks + 1 - steps.len() as u64;
        let mut answers = Vec::with_capacity(steps.len());
        for (number, step) in (first..).zip(steps) {
            let answer = self.answer(number, &step.name())?;
            let is_closed = answer.is_closed;
            answers.push(answer);
            if is_closed {
                break;
            }
        }
        Ok(answers)
    }

    /// Waits for the answer before a mark.
    fn answer(&mut self, number: u64, name: &str) -> Result<Answer, Broken> {
        let answer = self.line().and_then(|line| Answer::read(line, &mark(number)));
        let answer = answer.map_err(|error| self.broken(&error, name))?;
        if answer.is_closed {
            self.line = None;
            if !self.is_alive() {
                return Err(self.broken(&anyhow::anyhow!("the connection was closed"), name));
            }
        }
        Ok(answer)
    }

    fn line(&mut self) -> Result<&mut BufReader<TcpStream>> {
        if self.line.is_none() {
            self.line = Some(BufReader::with_capacity(64 << 10, self.connect()?));
        }
        self.line.as_mut().context("a connection")
    }

    /// Returns true if another connection is served. That it is accepted is not enough: the system
    /// does that for a process which is ending.
    fn is_alive(&self) -> bool {
        let served = || -> Result<()> {
            let mut socket = self.connect()?;
            socket.write_all(b"mn\r\n")?;
            Ok(socket.read_exact(&mut [0; 4])?)
        };
        served().is_ok()
    }

    fn connect(&self) -> Result<TcpStream> {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        Ok(socket)
    }

    /// Returns the failure of a connection that waits for the answer to a command; if the server
    /// has ended, with its reason.
    fn broken(&mut self, error: &anyhow::Error, name: &str) -> Broken {
        let mut error = format!("at {name:?}: {error:#}");
        self.line = None;
        if !self.is_alive() {
            self.server = None;
            error += &format!("; {}", self.program.ended().join("; "));
        }
        Broken { side: self.name, error }
    }
}

/// Bytes of a step.
struct Sent {
    bytes: Vec<u8>,
    /// True if its last line has an end, so that a mark may follow.
    has_end: bool,
}

/// Returns the line that marks the end of an answer.
fn mark(number: u64) -> Vec<u8> {
    format!("EN O{number}").into_bytes()
}

/// Most bytes of an item: twice the largest value that is drawn, with what Memcached counts too.
pub const ITEM_BYTES_MAX: usize = 2 << 20;
const PATIENCE: Duration = Duration::from_secs(5);

//! The null server: parses requests and touches no data. Its cost is that of sockets and protocol
//! alone, the lower limit for every real server.
//!
//! Each thread has one level-triggered epoll, and one read and one write per connection and loop
//! iteration.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;

use crate::generator::{Frame, Protocol, Unexpected, frame};

/// Serves connections until the process ends. They are dealt out to `threads` in turn and all get
/// the same replies. Fails only if epoll or the listening socket does; a failing connection is
/// closed.
pub fn serve(listener: &TcpListener, threads: usize, replies: &Replies) -> io::Result<()> {
    let mut workers = Vec::new();
    for _ in 0..threads {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let connections = Mutex::default();
        let worker = Arc::new(Worker { epoll, connections, replies: replies.clone() });
        workers.push(Arc::clone(&worker));
        thread::spawn(move || worker.run());
    }
    for (stream, worker) in listener.incoming().zip(workers.iter().cycle()) {
        match stream {
            Ok(stream) => worker.admit(stream)?,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A thread's connections.
struct Worker {
    epoll: OwnedFd,
    /// Connections by file descriptor.
    connections: Mutex<Vec<Option<Connection>>>,
    replies: Replies,
}

impl Worker {
    fn admit(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let slot = stream.as_raw_fd() as usize;
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() <= slot {
            connections.resize_with(slot + 1, || None);
        }
        epoll::add(&self.epoll, &stream, EventData::new_u64(slot as u64), EventFlags::IN)?;
        connections[slot] = Some(Connection { stream, partial: Vec::new(), unsent: Vec::new() });
        Ok(())
    }

    fn run(&self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        let (mut input, mut output) = (vec![0; INPUT_BYTES], Vec::with_capacity(INPUT_BYTES));
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            for event in &events {
                let slot = event.data.u64() as usize;
                let Some(connection) = &mut connections[slot] else { continue };
                if self.turn(slot, connection, &mut input, &mut output).is_err() {
                    connections[slot] = None;
                }
            }
        }
    }

    /// Serves one connection once.
    fn turn(
        &self,
        slot: usize,
        connection: &mut Connection,
        input: &mut [u8],
        output: &mut Vec<u8>,
    ) -> io::Result<()> {
        let was_blocked = connection.is_blocked();
        match was_blocked {
            true => connection.flush()?,
            false => connection.answer(input, output, &self.replies)?,
        }
        if connection.is_blocked() != was_blocked {
            let flags = if was_blocked { EventFlags::IN } else { EventFlags::OUT };
            let data = EventData::new_u64(slot as u64);
            epoll::modify(&self.epoll, &connection.stream, data, flags)?;
        }
        Ok(())
    }
}

/// Connection with its unsent bytes. Nothing is read while replies are unsent, so that a client
/// that never reads costs one buffer.
struct Connection {
    stream: TcpStream,
    partial: Vec<u8>,
    unsent: Vec<u8>,
}

impl Connection {
    fn is_blocked(&self) -> bool {
        !self.unsent.is_empty()
    }

    fn answer(
        &mut self,
        input: &mut [u8],
        output: &mut Vec<u8>,
        replies: &Replies,
    ) -> io::Result<()> {
        let read = match self.stream.read(input) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            read => or_later(read)?,
        };
        output.clear();
        if self.partial.is_empty() {
            let used = answer_all(&input[..read], output, replies)?;
            self.partial.extend_from_slice(&input[used..read]);
        } else {
            self.partial.extend_from_slice(&input[..read]);
            let used = answer_all(&self.partial, output, replies)?;
            self.partial.drain(..used);
        }
        if !output.is_empty() {
            let written = or_later(self.stream.write(output))?;
            self.unsent.extend_from_slice(&output[written..]);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = or_later(self.stream.write(&self.unsent))?;
        self.unsent.drain(..written);
        Ok(())
    }
}

/// Answers every whole command and returns how many bytes they took.
fn answer_all(bytes: &[u8], output: &mut Vec<u8>, replies: &Replies) -> io::Result<usize> {
    let mut used = 0;
    let malformed = |unexpected: Unexpected| io::Error::other(unexpected.0);
    while used < bytes.len()
        && let Some((name, length)) = scan(&bytes[used..]).map_err(malformed)?
    {
        output.extend_from_slice(replies.to(name).as_bytes());
        used += length;
    }
    Ok(used)
}

/// Returns the number of bytes, which is zero if it is to be tried again.
fn or_later(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(0)
        }
        done => done,
    }
}

/// Finds the first command; returns its name and its length in bytes, `None` if the rest of it has
/// not arrived. Fails if the bytes are no array of bulk strings, or an excessively large one.
#[inline]
pub fn scan(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Unexpected> {
    short(bytes).map_or_else(|| scan_any(bytes), |found| Ok(Some(found)))
}

/// Finds the first command if it is whole and sound and its numbers have few digits, which costs
/// less than a search for the end of each line.
#[inline]
fn short(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (count, mut at) = short_head(bytes, b'*')?;
    let mut name = None;
    for _ in 0..count {
        let (length, head) = short_head(bytes.get(at..)?, b'$')?;
        let (argument, end) = bytes.get(at + head..)?.split_at_checked(length)?;
        end.starts_with(b"\r\n").then(|| name.get_or_insert(argument))?;
        at += head + length + 2;
    }
    Some((name?, at)).filter(|_| count <= ARGUMENTS_MAX)
}

/// Reads the number behind the first byte, and the length of its line.
#[inline]
fn short_head(bytes: &[u8], kind: u8) -> Option<(usize, usize)> {
    let (_, digits) = bytes.split_first().filter(|(first, _)| **first == kind)?;
    let mut number = 0;
    for (at, byte) in digits.iter().enumerate().take(DIGITS_SHORT + 1) {
        match byte {
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            b'\r' if at > 0 && digits.get(at + 1) == Some(&b'\n') => return Some((number, at + 3)),
            _ => return None,
        }
    }
    None
}

/// Finds the first command as [`scan`] does, frame by frame.
#[cold]
fn scan_any(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Unexpected> {
    let unexpected = || Unexpected(String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into());
    let Some((head, mut at)) = frame(Protocol::Resp, bytes)? else { return Ok(None) };
    let Frame::Array(count @ ..=ARGUMENTS_MAX) = head else { return Err(unexpected()) };
    let mut name = None;
    for _ in 0..count {
        let Some((argument, length)) = frame(Protocol::Resp, &bytes[at..])? else {
            return Ok(None);
        };
        let Frame::Value(argument) = argument else { return Err(unexpected()) };
        name.get_or_insert(argument);
        at += length;
    }
    Ok(Some((name.unwrap_or_default(), at)))
}

/// Sizes of the replies; by default those of YCSB's core workloads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Shape {
    /// Fields of a record, in replies to HGETALL.
    #[arg(long, default_value_t = Self::default().fields)]
    pub fields: usize,
    /// Bytes in each field.
    #[arg(long, default_value_t = Self::default().field_bytes)]
    pub field_bytes: usize,
    /// Keys in replies to ZRANGEBYSCORE.
    #[arg(long, default_value_t = Self::default().keys)]
    pub keys: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { fields: 10, field_bytes: 100, keys: 50 }
    }
}

/// Constant replies, in the form of a server that stores data.
#[derive(Clone, Debug)]
pub struct Replies {
    named: Vec<(&'static str, String)>,
    /// Reply to all other commands.
    other: String,
}

impl Replies {
    /// Creates the same reply, given in wire format, to every command but PING and INFO, which
    /// clients send to detect a server.
    pub fn always(reply: &str) -> Self {
        let named = ["PING", "INFO"].map(|name| (name, OK.to_owned())).to_vec();
        Self { named, other: reply.to_owned() }
    }

    /// Creates replies of the given sizes; a value has 16 bytes.
    pub fn new(Shape { fields, field_bytes, keys }: Shape) -> Self {
        let text = bulk(&"v".repeat(field_bytes));
        let record = (0..fields).map(|field| bulk(&format!("field{field}")) + &text);
        let record = format!("*{}\r\n{}", 2 * fields, record.collect::<String>());
        let names = (0..keys).map(|key| bulk(&format!("user{key:019}")));
        let names = format!("*{keys}\r\n{}", names.collect::<String>());
        let one = ":1\r\n".to_owned();
        let named = vec![
            ("GET", bulk(&"v".repeat(16))),
            ("SET", OK.to_owned()),
            ("HGETALL", record),
            ("ZRANGEBYSCORE", names),
            ("ZADD", one.clone()),
            ("ZREM", one.clone()),
            ("DEL", one),
        ];
        Self { named, other: OK.to_owned() }
    }

    #[inline]
    fn to(&self, name: &[u8]) -> &str {
        let is = |(known, _): &&(&str, String)| name.eq_ignore_ascii_case(known.as_bytes());
        self.named.iter().find(is).map_or(&self.other, |(_, reply)| reply)
    }
}

impl Default for Replies {
    fn default() -> Self {
        Self::new(Shape::default())
    }
}

/// Returns a bulk string in wire format.
pub fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

const EVENTS_PER_TURN: usize = 256;
const INPUT_BYTES: usize = 64 * 1024;
const OK: &str = "+OK\r\n";
const ARGUMENTS_MAX: usize = 1024;
/// Most digits of a number that the shortcut reads.
const DIGITS_SHORT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_each_whole_command_and_leaves_the_rest() {
        let first = b"*2\r\n$3\r\nGET\r\n$4\r\nk\r\n1\r\n";
        let bytes = [&first[..], b"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n"].concat();
        for end in 0..=bytes.len() {
            let (used, reply) = match end {
                _ if end < first.len() => (0, ""),
                _ if end < bytes.len() => (first.len(), "$16\r\nvvvvvvvvvvvvvvvv\r\n"),
                _ => (end, "$16\r\nvvvvvvvvvvvvvvvv\r\n+OK\r\n"),
            };
            let mut output = Vec::new();
            let answered = answer_all(&bytes[..end], &mut output, &Replies::default());
            assert_eq!((answered.unwrap(), &output[..]), (used, reply.as_bytes()), "{end} bytes");
        }
    }

    #[test]
    fn answers_are_as_large_as_records_are_or_all_alike() {
        let shaped = Replies::new(Shape { fields: 2, field_bytes: 3, keys: 1 });
        let alike = Replies::always(":7\r\n");
        for (replies, name, reply) in [
            (
                &shaped,
                "HGETALL",
                "*4\r\n$6\r\nfield0\r\n$3\r\nvvv\r\n$6\r\nfield1\r\n$3\r\nvvv\r\n",
            ),
            (&shaped, "ZRANGEBYSCORE", "*1\r\n$23\r\nuser0000000000000000000\r\n"),
            (&shaped, "ZADD", ":1\r\n"),
            (&shaped, "del", ":1\r\n"),
            (&shaped, "HMSET", "+OK\r\n"),
            (&shaped, "INFO", "+OK\r\n"),
            (&alike, "GET", ":7\r\n"),
            (&alike, "PING", "+OK\r\n"),
        ] {
            assert_eq!(replies.to(name.as_bytes()), reply, "{name}");
        }
    }

    #[test]
    fn the_shortcut_finds_what_the_frames_hold() {
        for (arguments, bytes, is_short) in [
            (vec!["GET", "k"], String::new(), true),
            (vec!["PING"], String::new(), true),
            (vec!["SET", ""], "v".repeat(9999), true),
            (vec!["SET", "k"], "v".repeat(10_000), false),
            (vec!["k"; ARGUMENTS_MAX - 1], String::new(), true),
            (vec!["k"; ARGUMENTS_MAX], String::new(), false),
        ] {
            let all = arguments.iter().copied().chain([&*bytes]).map(bulk).collect::<String>();
            let command = format!("*{}\r\n{all}", arguments.len() + 1);
            let found = Some((arguments[0].as_bytes(), command.len()));
            let shortly = short(command.as_bytes());
            assert_eq!(shortly, found.filter(|_| is_short), "{} bytes", command.len());
            let is_sound = arguments.len() < ARGUMENTS_MAX;
            assert_eq!(scan_any(command.as_bytes()).ok(), is_sound.then_some(found));
        }
    }

    #[test]
    fn what_is_no_command_or_has_no_end_is_malformed() {
        let endless = [&b"*"[..], &b"0".repeat(100_000)].concat();
        for bytes in [
            &b"GET k\r\n"[..],
            b"*1\r\n:3\r\n",
            b"*x\r\n",
            b"*1\r\n$-5\r\n",
            b"*1025\r\n",
            b"*1\r\n$99999999999\r\n",
            b"*1\r\n$\r\n",
            &endless,
        ] {
            assert!(scan(bytes).is_err(), "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}

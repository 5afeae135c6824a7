//! The null server: parses requests and touches no data. Its cost is that of sockets and protocol
//! alone, the lower limit for every real server.
//!
//! Each thread has one level-triggered epoll, and one read and one write per connection and loop
//! iteration.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::event::epoll::EventFlags;
use slab::Slab;

use crate::address::Stream;
use crate::protocol::Protocol;
use crate::replies::{Frame, Unexpected, frame, numbered_line, read_on, unexpected};
use crate::socket::{Poller, Socket};

/// Serves connections until the process ends. They are dealt out to `threads` in turn and all get
/// the same replies. Fails only if epoll or the listening socket does; a failing connection is
/// closed.
pub fn serve(listener: &TcpListener, threads: usize, replies: &Replies) -> io::Result<()> {
    let mut workers = Vec::new();
    for _ in 0..threads {
        let (poller, replies) = (Poller::new()?, replies.clone());
        let worker = Arc::new(Worker { poller, connections: Mutex::default(), replies });
        workers.push(Arc::clone(&worker));
        thread::spawn(move || worker.run());
    }
    for (stream, worker) in listener.incoming().zip(workers.iter().cycle()) {
        match stream {
            Ok(stream) => worker.admit(Socket::new(Stream::Plain(stream))?)?,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A thread's connections.
struct Worker {
    poller: Poller,
    connections: Mutex<Slab<Connection>>,
    replies: Replies,
}

impl Worker {
    fn admit(&self, socket: Socket) -> io::Result<()> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        self.poller.add(&socket, connections.vacant_key())?;
        connections.insert(Connection { socket, partial: Vec::new() });
        Ok(())
    }

    fn run(&self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        let (mut input, mut output) = (vec![0; INPUT_BYTES], Vec::with_capacity(INPUT_BYTES));
        loop {
            self.poller.wait(&mut events, None)?;
            let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            for event in &events {
                let number = event.data.u64() as usize;
                if self.turn(number, &mut connections[number], &mut input, &mut output).is_err() {
                    self.poller.remove(&connections.remove(number).socket)?;
                }
            }
        }
    }

    /// Serves one connection once. Nothing is read while replies are unsent, so that a client that
    /// never reads costs one buffer.
    fn turn(
        &self,
        number: usize,
        connection: &mut Connection,
        input: &mut [u8],
        output: &mut Vec<u8>,
    ) -> io::Result<()> {
        let Connection { socket, partial } = connection;
        let was_blocked = socket.is_blocked();
        if was_blocked {
            socket.flush()?;
        } else {
            let read = socket.read(input)?;
            output.clear();
            read_on(partial, &input[..read], |bytes| answer_all(bytes, output, &self.replies))?;
            if !output.is_empty() {
                socket.send(output)?;
            }
        }
        if socket.is_blocked() != was_blocked {
            let flags = if was_blocked { EventFlags::IN } else { EventFlags::OUT };
            self.poller.watch(socket, number, flags)?;
        }
        Ok(())
    }
}

/// Connection with the beginning of a command.
struct Connection {
    socket: Socket,
    partial: Vec<u8>,
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

/// Finds the first command; returns its name and its length in bytes, `None` if the rest of it has
/// not arrived. Fails if the bytes are no array of bulk strings, or an excessively large one.
#[inline]
pub fn scan(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Unexpected> {
    whole(bytes).map_or_else(|| scan_any(bytes), |found| Ok(Some(found)))
}

/// Finds the first command if it is whole and sound, at the least cost.
#[inline]
fn whole(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (count, mut at) = numbered_line(bytes, b'*')?;
    let mut name = None;
    for _ in 0..count {
        let (length, head) = numbered_line(bytes.get(at..)?, b'$')?;
        let (argument, end) = bytes.get(at + head..)?.split_at_checked(length)?;
        end.starts_with(b"\r\n").then(|| name.get_or_insert(argument))?;
        at += head + length + 2;
    }
    Some((name?, at)).filter(|_| count <= ARGUMENTS_MAX)
}

/// Finds the first command, or what is wrong, frame by frame.
#[cold]
fn scan_any(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Unexpected> {
    let Some((head, mut at)) = frame(Protocol::Resp, bytes)? else { return Ok(None) };
    let Frame::Array(count @ ..=ARGUMENTS_MAX) = head else { return Err(unexpected(bytes)) };
    let mut name = None;
    for _ in 0..count {
        let Some((argument, length)) = frame(Protocol::Resp, &bytes[at..])? else {
            return Ok(None);
        };
        let Frame::Value(argument) = argument else { return Err(unexpected(bytes)) };
        name.get_or_insert(argument);
        at += length;
    }
    Ok(Some((name.unwrap_or_default(), at)))
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
        let named = vec![("PING", OK.to_owned()), ("INFO", info())];
        Self { named, other: reply.to_owned() }
    }

    /// Creates the replies of a record with so many fields, and of 50 keys that have a score; a
    /// value has 16 bytes.
    pub fn new(fields: usize, field_bytes: usize) -> Self {
        let text = bulk(&"v".repeat(field_bytes));
        let record = (0..fields).map(|field| bulk(&format!("field{field}")) + &text);
        let record = format!("*{}\r\n{}", 2 * fields, record.collect::<String>());
        let names = (0..50).map(|key| bulk(&format!("user{key:019}")));
        let names = format!("*50\r\n{}", names.collect::<String>());
        let one = ":1\r\n".to_owned();
        let named = vec![
            ("GET", bulk(&"v".repeat(16))),
            ("SET", OK.to_owned()),
            ("HGETALL", record),
            ("ZRANGEBYSCORE", names),
            ("ZADD", one.clone()),
            ("ZREM", one.clone()),
            ("DEL", one),
            ("INFO", info()),
        ];
        Self { named, other: OK.to_owned() }
    }

    #[inline]
    fn to(&self, name: &[u8]) -> &str {
        let is = |(known, _): &&(&str, String)| name.eq_ignore_ascii_case(known.as_bytes());
        self.named.iter().find(is).map_or(&self.other, |(_, reply)| reply)
    }
}

/// Returns the part of INFO that tells which process is to be measured.
fn info() -> String {
    bulk(&format!("process_id:{}\r\n", std::process::id()))
}

/// Returns a bulk string in wire format.
pub fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

const EVENTS_PER_TURN: usize = 256;
const INPUT_BYTES: usize = 64 * 1024;
const OK: &str = "+OK\r\n";
const ARGUMENTS_MAX: usize = 1024;

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
            let answered = answer_all(&bytes[..end], &mut output, &Replies::new(10, 100));
            assert_eq!((answered.unwrap(), &output[..]), (used, reply.as_bytes()), "{end} bytes");
        }
    }

    #[test]
    fn answers_are_as_large_as_records_are_or_all_alike() {
        let shaped = Replies::new(2, 3);
        let alike = Replies::always(":7\r\n");
        let record = "*4\r\n$6\r\nfield0\r\n$3\r\nvvv\r\n$6\r\nfield1\r\n$3\r\nvvv\r\n";
        let keys = (0..50).map(|key| format!("$23\r\nuser{key:019}\r\n"));
        let keys = format!("*50\r\n{}", keys.collect::<String>());
        for (replies, name, reply) in [
            (&shaped, "HGETALL", record),
            (&shaped, "ZRANGEBYSCORE", &keys),
            (&shaped, "ZADD", ":1\r\n"),
            (&shaped, "del", ":1\r\n"),
            (&shaped, "HMSET", "+OK\r\n"),
            (&shaped, "INFO", &info()),
            (&alike, "GET", ":7\r\n"),
            (&alike, "PING", "+OK\r\n"),
        ] {
            assert_eq!(replies.to(name.as_bytes()), reply, "{name}");
        }
    }

    #[test]
    fn commands_are_found_up_to_their_most_arguments() {
        for (count, value_bytes) in [(1, 0), (2, 9999), (2, 10_000), (1024, 1), (1025, 1)] {
            let value = "v".repeat(value_bytes);
            let arguments = ["GET", &value].into_iter().chain(["k"; 1023]);
            let all = arguments.take(count).map(bulk).collect::<String>();
            let command = format!("*{count}\r\n{all}");
            let found = Some((&b"GET"[..], command.len()));
            let is_sound = count <= ARGUMENTS_MAX;
            assert_eq!(whole(command.as_bytes()), found.filter(|_| is_sound), "{count}");
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

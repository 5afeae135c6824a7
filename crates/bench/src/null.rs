//! The null server: parses requests and touches no data. Its cost is that of sockets and protocol
//! alone, the lower limit for every real server.
//!
//! Each thread has one level-triggered epoll, and one read and one write per connection and loop
//! iteration.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;

/// Serves connections until the process ends. They are dealt out to `threads` in turn and all get
/// the same replies. Fails only if epoll or the listening socket does; a failing connection is
/// closed.
pub fn serve(listener: &TcpListener, threads: usize, replies: &Replies) -> io::Result<()> {
    let mut doors = Vec::new();
    for _ in 0..threads {
        let (mut server, door) = Server::new(replies)?;
        doors.push(door);
        thread::spawn(move || server.run());
    }
    for (stream, door) in listener.incoming().zip(doors.iter().cycle()) {
        match stream {
            Ok(stream) => door.send_in(stream)?,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Entrance of a thread for new connections: its epoll and a channel.
struct Door {
    epoll: OwnedFd,
    streams: Sender<TcpStream>,
}

impl Door {
    /// Registers the stream and sends it to the thread, which picks it up when its first bytes
    /// arrive.
    fn send_in(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let number = stream.as_raw_fd() as u64;
        epoll::add(&self.epoll, &stream, EventData::new_u64(number), EventFlags::IN)?;
        // Epoll is level-triggered: it reports the stream again until the thread has received it.
        self.streams.send(stream).map_err(io::Error::other)
    }
}

struct Server {
    epoll: OwnedFd,
    streams: Receiver<TcpStream>,
    /// Connections by file descriptor.
    connections: Vec<Option<Connection>>,
    input: Box<[u8]>,
    output: Vec<u8>,
    replies: Replies,
}

impl Server {
    fn new(replies: &Replies) -> io::Result<(Self, Door)> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (sender, streams) = mpsc::channel();
        let door = Door { epoll: epoll.try_clone()?, streams: sender };
        let server = Self {
            epoll,
            streams,
            connections: Vec::new(),
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            output: Vec::with_capacity(INPUT_BYTES),
            replies: replies.clone(),
        };
        Ok((server, door))
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.turn(event.data.u64() as usize);
            }
        }
    }

    fn let_in(&mut self) {
        while let Ok(stream) = self.streams.try_recv() {
            let number = stream.as_raw_fd() as usize;
            if self.connections.len() <= number {
                self.connections.resize_with(number + 1, || None);
            }
            let (partial, unsent) = (Vec::new(), Vec::new());
            self.connections[number] = Some(Connection { stream, partial, unsent, unsent_from: 0 });
        }
    }

    /// Serves one connection once; an error closes that connection only.
    fn turn(&mut self, slot: usize) {
        if !matches!(self.connections.get(slot), Some(Some(_))) {
            self.let_in();
        }
        let Some(Some(connection)) = self.connections.get_mut(slot) else { return };
        let was_blocked = connection.is_blocked();
        let result = if was_blocked {
            connection.flush()
        } else {
            connection.answer(&mut self.input, &mut self.output, &self.replies)
        };
        let result = result.and_then(|()| {
            if connection.is_blocked() == was_blocked {
                return Ok(());
            }
            let flags = if was_blocked { EventFlags::IN } else { EventFlags::OUT };
            let number = EventData::new_u64(slot as u64);
            Ok(epoll::modify(&self.epoll, &connection.stream, number, flags)?)
        });
        if result.is_err() {
            self.connections[slot] = None;
        }
    }
}

/// Connection with its unsent bytes. Nothing is read while replies are unsent, so that a client
/// that never reads costs one buffer.
struct Connection {
    stream: TcpStream,
    partial: Vec<u8>,
    unsent: Vec<u8>,
    unsent_from: usize,
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
            Ok(read) => read,
            Err(error) => return retry_later(error),
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
        if output.is_empty() {
            return Ok(());
        }
        let written = match self.stream.write(output) {
            Ok(written) => written,
            Err(error) => retry_later(error).map(|()| 0)?,
        };
        self.unsent.extend_from_slice(&output[written..]);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.stream.write(&self.unsent[self.unsent_from..]) {
            Ok(written) => self.unsent_from += written,
            Err(error) => return retry_later(error),
        }
        if self.unsent_from == self.unsent.len() {
            self.unsent.clear();
            self.unsent_from = 0;
        }
        Ok(())
    }
}

/// Answers every whole command and returns how many bytes they took.
fn answer_all(bytes: &[u8], output: &mut Vec<u8>, replies: &Replies) -> io::Result<usize> {
    let mut used = 0;
    loop {
        match scan(&bytes[used..]) {
            Ok((command, length)) => {
                output.extend_from_slice(replies.0[command as usize].as_bytes());
                used += length;
            }
            Err(Stop::Partial) => return Ok(used),
            Err(Stop::Malformed) => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn retry_later(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Reason why the bytes do not begin with a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The rest of it has not arrived.
    Partial,
    /// Not an array of bulk strings, or an excessively large one.
    Malformed,
}

/// Commands with replies of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say all")]
pub enum Command {
    Get,
    Hgetall,
    /// ZADD, and what deletes.
    Count,
    Zrangebyscore,
    Other,
    /// PING or INFO, which clients send to detect a server.
    Search,
}

impl Command {
    #[inline]
    fn named(name: &[u8]) -> Self {
        let is = |text: &[u8]| name.eq_ignore_ascii_case(text);
        match name.len() {
            3 if is(b"GET") => Self::Get,
            3 if is(b"DEL") => Self::Count,
            4 if is(b"ZADD") || is(b"ZREM") => Self::Count,
            4 if is(b"PING") || is(b"INFO") => Self::Search,
            7 if is(b"HGETALL") => Self::Hgetall,
            13 if is(b"ZRANGEBYSCORE") => Self::Zrangebyscore,
            _ => Self::Other,
        }
    }
}

/// Finds the first command; returns it and its length in bytes.
pub fn scan(bytes: &[u8]) -> Result<(Command, usize), Stop> {
    let (count, mut at) = header(bytes, 0, b'*', ARGUMENTS_MAX)?;
    let mut command = Command::Other;
    let reach = bytes.len().min(COMMAND_BYTES_MAX);
    for argument in 0..count {
        let (length, from) = header(bytes, at, b'$', BULK_BYTES_MAX)?;
        at = from + length + 2;
        if at > reach {
            return Err(if at > COMMAND_BYTES_MAX { Stop::Malformed } else { Stop::Partial });
        }
        if argument == 0 {
            command = Command::named(&bytes[from..from + length]);
        }
    }
    Ok((command, at))
}

/// Reads `<kind><digits>\r\n` at `at`; returns the number, and the position behind the line.
fn header(bytes: &[u8], at: usize, kind: u8, max: usize) -> Result<(usize, usize), Stop> {
    let line = &bytes[at.min(bytes.len())..];
    match line.first() {
        None => return Err(Stop::Partial),
        Some(found) if *found != kind => return Err(Stop::Malformed),
        Some(_) => {}
    }
    let mut number = 0;
    let within = &line[..line.len().min(HEADER_BYTES_MAX)];
    for (index, byte) in within.iter().enumerate().skip(1) {
        match byte {
            b'0'..=b'9' if number <= max => number = number * 10 + usize::from(byte - b'0'),
            b'\r' if index > 1 && number <= max => {
                return match line.get(index + 1) {
                    Some(b'\n') => Ok((number, at + index + 2)),
                    Some(_) => Err(Stop::Malformed),
                    None => Err(Stop::Partial),
                };
            }
            _ => return Err(Stop::Malformed),
        }
    }
    Err(if within.len() < HEADER_BYTES_MAX { Stop::Partial } else { Stop::Malformed })
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

/// Constant replies, in the form of a server that stores data, in the order of [`Command`].
#[derive(Clone, Debug)]
pub struct Replies([String; 6]);

impl Replies {
    /// Creates the same reply, given in wire format, to every command but PING and INFO.
    pub fn always(reply: &str) -> Self {
        let mut replies = [reply; 6].map(str::to_owned);
        replies[Command::Search as usize] = OK.to_owned();
        Self(replies)
    }

    /// Creates replies of the given sizes; a value has 16 bytes.
    pub fn new(Shape { fields, field_bytes, keys }: Shape) -> Self {
        let text = bulk(&"v".repeat(field_bytes));
        let record = (0..fields).map(|field| bulk(&format!("field{field}")) + &text);
        let record = format!("*{}\r\n{}", 2 * fields, record.collect::<String>());
        let names = (0..keys).map(|key| bulk(&format!("user{key:019}")));
        let names = format!("*{keys}\r\n{}", names.collect::<String>());
        let (value, one) = (bulk(&"v".repeat(16)), ":1\r\n".to_owned());
        Self([value, record, one, names, OK.to_owned(), OK.to_owned()])
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
const BULK_BYTES_MAX: usize = 64 << 20;
const COMMAND_BYTES_MAX: usize = 2 * BULK_BYTES_MAX;
/// Most bytes up to the end of the line that holds a length.
const HEADER_BYTES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answers to some commands without arguments.
    fn answers(replies: &Replies, names: &[&str]) -> String {
        let commands = names.iter().map(|name| format!("*1\r\n{}", bulk(name)));
        let (bytes, mut output) = (commands.collect::<String>(), Vec::new());
        assert_eq!(answer_all(bytes.as_bytes(), &mut output, replies).unwrap(), bytes.len());
        String::from_utf8(output).unwrap()
    }

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
    fn answers_are_as_large_as_records_are() {
        let replies = Replies::new(Shape { fields: 2, field_bytes: 3, keys: 1 });
        for (name, reply) in [
            ("HGETALL", "*4\r\n$6\r\nfield0\r\n$3\r\nvvv\r\n$6\r\nfield1\r\n$3\r\nvvv\r\n"),
            ("ZRANGEBYSCORE", "*1\r\n$23\r\nuser0000000000000000000\r\n"),
            ("ZADD", ":1\r\n"),
            ("del", ":1\r\n"),
            ("HMSET", "+OK\r\n"),
            ("INFO", "+OK\r\n"),
        ] {
            assert_eq!(answers(&replies, &[name]), reply, "{name}");
        }
    }

    #[test]
    fn answers_everything_alike_if_it_is_told_to() {
        let said = answers(&Replies::always(":7\r\n"), &["SET", "GET", "ZADD", "PING"]);
        assert_eq!(said, ":7\r\n:7\r\n:7\r\n+OK\r\n", "but who looks for it finds it");
    }

    #[test]
    fn what_is_no_command_or_has_no_end_is_malformed() {
        let endless = [&b"*"[..], &b"0".repeat(100)].concat();
        for bytes in [
            &b"GET k\r\n"[..],
            b"*1\r\n:3\r\n",
            b"*x\r\n",
            b"*1\r\n$-5\r\n",
            b"*2147483647\r\n",
            b"*1\r\n$99999999999\r\n",
            b"*1\r\n$\r\n",
            &endless,
        ] {
            assert_eq!(scan(bytes), Err(Stop::Malformed), "{:?}", String::from_utf8_lossy(bytes));
            assert!(answer_all(bytes, &mut Vec::new(), &Replies::default()).is_err());
        }
        let largest = b"$67108864\r\n";
        let mut bytes = [&b"*2\r\n"[..], largest].concat();
        bytes.resize(bytes.len() + BULK_BYTES_MAX + 2, 0);
        assert_eq!(scan(&bytes), Err(Stop::Partial));
        bytes.extend_from_slice(largest);
        assert_eq!(scan(&bytes), Err(Stop::Malformed));
    }
}

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

mod replies;
mod scan;

pub use replies::{Replies, Shape, bulk};
pub use scan::{Command, Scanned, scan};

/// Serves connections until the process ends. They are dealt out to `threads` in turn and all get
/// the same replies.
///
/// # Errors
/// Only failures of epoll or of the listening socket; a failing connection is closed.
pub fn serve(listener: &TcpListener, threads: usize, replies: &Replies) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let (mut first, first_door) = Server::new(replies)?;
    let mut doors = vec![first_door];
    for _ in 1..threads {
        let (mut server, door) = Server::new(replies)?;
        doors.push(door);
        thread::spawn(move || server.run(|| Ok(())));
    }
    epoll::add(&first.epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut doors = doors.iter().cycle();
    first.run(|| accept(listener, &mut doors))
}

fn accept<'d>(
    listener: &TcpListener,
    doors: &mut impl Iterator<Item = &'d Door>,
) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => doors.next().map_or(Ok(()), |door| door.send_in(stream))?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
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

    fn run(&mut self, mut accept: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => accept()?,
                    number => self.turn(number as usize),
                }
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
        let is_blocked = connection.is_blocked();
        let result = result.and_then(|()| match (was_blocked, is_blocked) {
            (false, true) => self.listen(slot, EventFlags::OUT),
            (true, false) => self.listen(slot, EventFlags::IN),
            _ => Ok(()),
        });
        if result.is_err() {
            self.connections[slot] = None;
        }
    }

    fn listen(&self, slot: usize, flags: EventFlags) -> io::Result<()> {
        match &self.connections[slot] {
            Some(connection) => Ok(epoll::modify(
                &self.epoll,
                &connection.stream,
                EventData::new_u64(slot as u64),
                flags,
            )?),
            None => Ok(()),
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
            Scanned::Command(command, length) => {
                output.extend_from_slice(replies.to(command));
                used += length;
            }
            Scanned::Partial => return Ok(used),
            Scanned::Malformed => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn retry_later(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

const LISTENER: u64 = u64::MAX;
const EVENTS_PER_TURN: usize = 256;
const INPUT_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::{Replies, Shape, answer_all};

    #[test]
    fn answers_each_whole_command_and_leaves_the_rest() {
        let mut output = Vec::new();
        let bytes = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\
            *3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n*1\r\n$4\r\nPI";
        let used = answer_all(bytes, &mut output, &Replies::default()).unwrap();
        assert_eq!(&bytes[used..], b"*1\r\n$4\r\nPI");
        assert_eq!(output, b"$16\r\nvvvvvvvvvvvvvvvv\r\n+OK\r\n");
    }

    #[test]
    fn answers_are_as_large_as_records_are() {
        let shape = Shape { fields: 2, field_bytes: 3, keys: 1, ..Shape::default() };
        let answer = |name: &str| {
            let bytes = format!("*1\r\n${}\r\n{name}\r\n", name.len());
            let mut output = Vec::new();
            answer_all(bytes.as_bytes(), &mut output, &Replies::new(shape)).unwrap();
            String::from_utf8(output).unwrap()
        };
        let fields = "$6\r\nfield0\r\n$3\r\nvvv\r\n$6\r\nfield1\r\n$3\r\nvvv\r\n";
        assert_eq!(answer("HGETALL"), format!("*4\r\n{fields}"));
        assert_eq!(answer("hmget"), "*1\r\n$3\r\nvvv\r\n");
        assert_eq!(answer("ZRANGEBYSCORE"), "*1\r\n$23\r\nuser0000000000000000000\r\n");
        assert_eq!((answer("ZADD"), answer("HMSET")), (":1\r\n".into(), "+OK\r\n".into()));
    }

    #[test]
    fn answers_everything_alike_if_it_is_told_to() {
        let bytes =
            b"*1\r\n$3\r\nSET\r\n*1\r\n$3\r\nGET\r\n*1\r\n$4\r\nZADD\r\n*1\r\n$4\r\nPING\r\n";
        let mut output = Vec::new();
        answer_all(bytes, &mut output, &Replies::always(":7\r\n")).unwrap();
        assert_eq!(output, b":7\r\n:7\r\n:7\r\n+OK\r\n", "but who looks for it finds it");
    }

    #[test]
    fn refuses_what_is_not_an_array_of_bulk_strings() {
        for bytes in [&b"GET k\r\n"[..], b"*1\r\n:3\r\n", b"*x\r\n", b"*1\r\n$-5\r\n"] {
            assert!(answer_all(bytes, &mut Vec::new(), &Replies::default()).is_err());
        }
    }
}

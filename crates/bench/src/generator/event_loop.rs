//! The loop that keeps all connections of a thread busy.
//!
//! It reads from all connections that have replies before it sends the next batches, so that the
//! server finds many at once and no reply waits for requests to be written.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rustix::event::epoll::{Event, EventFlags};

use super::Turn;
use crate::address::Address;
use crate::control::Control;
use crate::protocol::Protocol;
use crate::replies::{Expected, Replies, ReplyReader, Value};
use crate::socket::{Poller, Socket};

/// Connections of one kind: what they send, and when.
pub trait Client {
    /// Decides what a connection without a batch in flight does next; a batch that it is to send is
    /// written into `batch`, which is empty.
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Turn>;

    /// Takes the replies to the batch of a connection; returns true if it must be asked before
    /// those that wait for a time, since it has more to send at once.
    fn on_replies(&mut self, connection: usize, received: &Received<'_>) -> Result<bool>;

    /// Returns the number of batches that may be in flight when the run ends: those of connections
    /// that wait for something that nobody will do.
    fn left_waiting(&self) -> usize {
        0
    }
}

/// Requests that are sent at once, and the replies that they must bring.
#[derive(Default)]
pub struct Batch {
    pub bytes: Vec<u8>,
    pub expected: Expected,
}

/// Replies to a batch.
pub struct Received<'a> {
    pub replies: Replies,
    /// Their values, if the connection keeps them.
    pub values: Vec<Value>,
    /// Text of the connection's first error reply so far.
    pub first_error: Option<&'a str>,
    /// Time from which the batch counts.
    pub since: Instant,
    /// Time at which the first bytes were seen.
    pub first: Instant,
    /// Time at which the last reply was read.
    pub now: Instant,
}

/// Connections of one thread, in groups of one kind each.
pub struct EventLoop {
    poller: Poller,
    /// Connections, with the number of their group.
    connections: Vec<(usize, Connection)>,
    groups: Vec<Group>,
    /// True if it spins before a due time, since the kernel may sleep longer than asked. A thread
    /// that spins keeps its core from the kernel's own threads, which deliver what it waits for.
    pub is_exact: bool,
    buffer: Box<[u8]>,
    batch: Batch,
}

/// Connections of one client: those from `first` on.
struct Group {
    first: usize,
    count: usize,
    /// Connections that must be asked what they do next.
    idle: VecDeque<usize>,
    /// Number of connections with a batch in flight.
    busy: usize,
}

impl EventLoop {
    pub fn new() -> Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            connections: Vec::new(),
            groups: Vec::new(),
            is_exact: true,
            buffer: vec![0; BUFFER_BYTES].into(),
            batch: Batch::default(),
        })
    }

    /// Opens the connections of a group to a server, each with such a reader; each sends `opens` at
    /// first.
    pub fn connect(
        &mut self,
        address: &Address,
        count: usize,
        opens: &[String],
        reader: &ReplyReader,
    ) -> Result<()> {
        let group = self.groups.len();
        let first = self.connections.len();
        self.groups.push(Group { first, count, idle: VecDeque::new(), busy: 0 });
        for _ in 0..count {
            let connection = Connection::open(address, opens, reader.clone())?;
            self.poller.add(&connection.socket, self.connections.len())?;
            self.connections.push((group, connection));
        }
        Ok(())
    }

    /// Lets the clients of all groups send and hear until all of them rest.
    pub fn run(&mut self, clients: &mut [&mut dyn Client]) -> Result<()> {
        assert_eq!(clients.len(), self.groups.len(), "a client for each group");
        for group in &mut self.groups {
            let is_free = |number: &usize| !self.connections[group.first + number].1.is_busy();
            group.idle = (0..group.count).filter(is_free).collect();
        }
        let mut events = Vec::with_capacity(self.connections.len().max(1));
        let mut last_received = Instant::now();
        loop {
            let now = Instant::now();
            let mut wake = None;
            for (group, client) in clients.iter_mut().enumerate() {
                let at = self.send(group, *client, now)?;
                wake = at.into_iter().chain(wake).min();
            }
            let mut groups = self.groups.iter().zip(&*clients);
            let is_awaited = groups.any(|(group, client)| group.busy > client.left_waiting());
            if wake.is_none() && !is_awaited {
                return Ok(());
            }
            let longest = wake.map(|at: Instant| at.saturating_duration_since(now));
            self.wait(longest, &mut events)?;
            if !events.is_empty() {
                last_received = now;
            }
            self.receive_all(&events, clients)?;
            let is_silent = wake.is_none() && now - last_received >= SILENCE_MAX;
            ensure!(!is_silent, "no reply for {SILENCE_MAX:?}");
        }
    }

    /// Sends the next batches of a group; returns the time at which it must be asked again, if no
    /// reply comes before.
    fn send(
        &mut self,
        group: usize,
        client: &mut dyn Client,
        now: Instant,
    ) -> Result<Option<Instant>> {
        while let Some(number) = self.groups[group].idle.front().copied() {
            self.batch.bytes.clear();
            self.batch.expected = Expected::default();
            match client.next(number, now, &mut self.batch)? {
                Turn::At(at) => return Ok(Some(at)),
                Turn::Over => {}
                Turn::Send(since, _) => {
                    let token = self.groups[group].first + number;
                    self.groups[group].busy += 1;
                    let connection = &mut self.connections[token].1;
                    connection.send(&self.batch, since)?;
                    if connection.socket.is_blocked() {
                        let both = EventFlags::IN | EventFlags::OUT;
                        self.poller.watch(&connection.socket, token, both)?;
                    }
                }
            }
            self.groups[group].idle.pop_front();
        }
        Ok(None)
    }

    fn wait(&self, longest: Option<Duration>, events: &mut Vec<Event>) -> Result<()> {
        let longest = longest.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        let sleep = if self.is_exact { longest.saturating_sub(SHORTEST_SLEEP) } else { longest };
        Ok(self.poller.wait(events, Some(sleep))?)
    }

    fn receive_all(&mut self, events: &[Event], clients: &mut [&mut dyn Client]) -> Result<()> {
        for event in events {
            let (token, flags) = (event.data.u64() as usize, event.flags);
            let (group, connection) = &mut self.connections[token];
            if flags.contains(EventFlags::OUT) {
                connection.socket.flush()?;
                if !connection.socket.is_blocked() {
                    self.poller.watch(&connection.socket, token, EventFlags::IN)?;
                }
            }
            if !flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP) {
                continue;
            }
            let Some(received) = connection.receive(&mut self.buffer)? else { continue };
            let number = token - self.groups[*group].first;
            let goes_on = clients[*group].on_replies(number, &received)?;
            let group = &mut self.groups[*group];
            if goes_on {
                group.idle.push_front(number)
            } else {
                group.idle.push_back(number)
            }
            group.busy -= 1;
        }
        Ok(())
    }
}

/// One connection with at most one batch in flight.
struct Connection {
    socket: Socket,
    reader: ReplyReader,
    expected: Expected,
    /// Time from which the batch in flight counts.
    since: Instant,
    first_byte_at: Option<Instant>,
}

impl Connection {
    /// Connects to a server, and has `opens` answered.
    fn open(address: &Address, opens: &[String], reader: ReplyReader) -> Result<Self> {
        let failure = || format!("cannot connect to {address}");
        let mut control = Control::open(address, Protocol::Resp).with_context(failure)?;
        opens.iter().try_for_each(|request| control.run(request.split(' ')))?;
        let stream = control.stream;
        let (socket, expected, since) = (Socket::new(stream)?, Expected::default(), Instant::now());
        Ok(Self { socket, reader, expected, since, first_byte_at: None })
    }

    fn is_busy(&self) -> bool {
        self.expected.total() > 0
    }

    /// Sends a batch, as far as the socket takes it.
    fn send(&mut self, batch: &Batch, since: Instant) -> Result<()> {
        assert!(!self.is_busy(), "one batch at a time");
        (self.expected, self.since, self.first_byte_at) = (batch.expected, since, None);
        self.socket.send(&batch.bytes).context("sending")
    }

    /// Reads once. Returns the replies when the last of the batch is there.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Received<'_>>> {
        let first = *self.first_byte_at.get_or_insert_with(Instant::now);
        let read = self.socket.read(buffer).context("receiving")?;
        let fed = self.reader.feed(&buffer[..read]);
        fed.map_err(|unexpected| anyhow!("unexpected reply: {:?}", unexpected.0))?;
        let arrived = self.reader.counted.total();
        if arrived < self.expected.total() || arrived == 0 {
            return Ok(None);
        }
        let replies = self.reader.take();
        let expected = std::mem::take(&mut self.expected);
        ensure!(expected.is_met_by(&replies), "{replies:?} do not answer {expected:?}");
        Ok(Some(Received {
            replies,
            values: self.reader.take_values(),
            first_error: self.reader.first_error(),
            since: self.since,
            first,
            now: Instant::now(),
        }))
    }
}

const BUFFER_BYTES: usize = 256 * 1024;
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Longest wait, after which a run that was ended by another thread is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Shortest sleep, since the kernel may sleep this much longer than asked.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);

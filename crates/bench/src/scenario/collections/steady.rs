//! Clients that send requests at a steady rate, whatever the server does, and one that sends
//! commands meanwhile; all on one thread.
//!
//! A request waits from its due time on, also while all clients wait for replies, so every request
//! that falls due during a stall sees it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;

use crate::generator::{
    Connection, KeyChoice, Keys, Operation, Progress, RequestShape, Requests, Script, ScriptShape,
    Source, ValueSize,
};
use crate::scenario::growth::pause::Moment;
use crate::servers::Server;

/// Requests of the clients: GETs and SETs, half of each.
#[derive(Clone, Copy, Debug)]
pub struct Others {
    /// Number of keys.
    pub keys: u64,
    /// Bytes in a value.
    pub value: usize,
    /// Distance between requests of all clients together.
    pub every: Duration,
}

/// Measurements of the clients.
pub struct Seen {
    /// Reply times of GETs and SETs, in nanoseconds.
    pub others: Histogram<u64>,
    /// Reply time of each command, less the time that other processes took.
    pub caller: Vec<Duration>,
    /// Time that other processes took from clients and server in all.
    pub taken: Duration,
}

/// Clients that send requests at a steady rate, and one that sends commands.
pub struct Steady {
    server_pid: u32,
    epoll: OwnedFd,
    events: Vec<Event>,
    /// Connections; the last is the one for commands.
    connections: Vec<Connection>,
    idle: Vec<usize>,
    /// Due times of requests that no client could send yet.
    waiting: VecDeque<Instant>,
    requests: Requests,
    keys: Keys,
    every: Duration,
    /// Time at which the last command was sent.
    commanded: Moment,
    buffer: Vec<u8>,
}

impl Steady {
    /// Connects the clients.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn connect(server: &Server, others: &Others) -> Result<Self> {
        let value = ValueSize::Fixed(others.value);
        let shape = RequestShape { operation: Operation::Mixed(50), value, pipeline: 1 };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for slot in 0..=CLIENTS {
            let connection = Connection::open(server.port)?;
            let data = EventData::new_u64(slot as u64);
            epoll::add(&epoll, connection.stream(), data, EventFlags::IN)?;
            connections.push(connection);
        }
        Ok(Self {
            server_pid: server.pid,
            epoll,
            events: Vec::with_capacity(CLIENTS + 1),
            connections,
            idle: (0..CLIENTS).collect(),
            waiting: VecDeque::new(),
            requests: Requests::new(&shape, 1)?,
            keys: Keys::new(&KeyChoice::Uniform, others.keys, 1)?,
            every: others.every,
            commanded: Moment::default(),
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Runs the clients for so long, and sends the commands at equal distances, the first at once.
    ///
    /// # Errors
    /// If the server answers with an error or stops answering.
    pub fn watch(&mut self, time: Duration, commands: &[String]) -> Result<Seen> {
        let others = Histogram::new_with_bounds(1, 60_000_000_000, 3)?;
        let mut seen = Seen { others, caller: Vec::new(), taken: Duration::ZERO };
        let distance = time / u32::try_from(commands.len())?.max(1);
        let mut commands = commands.iter();
        let first = Moment::now(self.server_pid)?;
        let began = Instant::now();
        let (mut due, mut next_command) = (began, began);
        loop {
            let now = Instant::now();
            while due <= now && due < began + time {
                self.waiting.push_back(due);
                due += self.every;
            }
            self.ask()?;
            if now >= next_command && !self.connections[CLIENTS].is_busy() {
                commands.next().map_or(Ok(()), |command| self.command(command))?;
                next_command += distance;
            }
            if now >= began + time && self.is_quiet() {
                seen.taken = self.taken_since(&first)?;
                return Ok(seen);
            }
            ensure!(now < began + time + SILENCE_MAX, "no reply for {SILENCE_MAX:?}");
            self.wait(due.saturating_duration_since(now))?;
            self.receive(&mut seen)?;
        }
    }

    fn is_quiet(&self) -> bool {
        self.idle.len() == CLIENTS
            && self.waiting.is_empty()
            && !self.connections[CLIENTS].is_busy()
    }

    fn ask(&mut self) -> Result<()> {
        while !self.waiting.is_empty()
            && let Some(slot) = self.idle.pop()
            && let Some(due) = self.waiting.pop_front()
        {
            let (bytes, expected) = self.requests.fill(1, &mut self.keys);
            self.connections[slot].send(bytes, expected, due)?;
        }
        Ok(())
    }

    fn command(&mut self, command: &str) -> Result<()> {
        let mut script = Script::new(&ScriptShape::new(command, 1), 1)?;
        let (bytes, expected) = script.fill(1);
        self.commanded = Moment::now(self.server_pid)?;
        self.connections[CLIENTS].send(bytes, expected, Instant::now())
    }

    fn taken_since(&self, before: &Moment) -> Result<Duration> {
        let (client, server) = Moment::now(self.server_pid)?.away_since(before);
        Ok(client + server)
    }

    /// Waits for replies; returns at once where the sleep would probably last too long.
    fn wait(&mut self, longest: Duration) -> Result<()> {
        let longest = longest.min(self.every).saturating_sub(LATE_MAX);
        let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&mut self, seen: &mut Seen) -> Result<()> {
        for slot in 0..self.events.len() {
            let slot = self.events[slot].data.u64() as usize;
            let connection = &mut self.connections[slot];
            let Progress::Done { replies, sent_at, .. } = connection.receive(&mut self.buffer)?
            else {
                continue;
            };
            if replies.error > 0 {
                bail!("{}", connection.first_error().unwrap_or_default());
            }
            let waited = sent_at.elapsed();
            if slot == CLIENTS {
                seen.caller.push(waited.saturating_sub(self.taken_since(&self.commanded)?));
            } else {
                seen.others.saturating_record(waited.as_nanos() as u64);
                self.idle.push(slot);
            }
        }
        Ok(())
    }
}

const CLIENTS: usize = 20;
/// How much longer than asked the kernel may sleep, which counts in whole milliseconds.
const LATE_MAX: Duration = Duration::from_millis(1);
const SILENCE_MAX: Duration = Duration::from_secs(60);

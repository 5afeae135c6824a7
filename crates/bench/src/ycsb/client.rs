//! Clients that run one operation after the other, all on one thread.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::connector::{Connector, Status, Step};
use super::measured::Measured;
use super::workload::{Kind, Load, Operation, Workload};
use crate::generator::{Lag, SHORTEST_SLEEP};
use crate::process;

/// Phase of a workload.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// Stores records.
    Load(Load),
    /// Runs so many operations.
    Run(u64),
}

impl Phase {
    fn operations(self) -> u64 {
        match self {
            Self::Load(load) => load.count,
            Self::Run(operations) => operations,
        }
    }
}

/// Settings of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of clients; each has one operation in flight.
    pub clients: usize,
    /// Phase that they run.
    pub phase: Phase,
    /// Operations per second of all clients together; no limit if it is zero. With a target,
    /// latencies count from the due times of operations.
    pub target: f64,
    /// Time after which they stop; no limit if it is zero.
    pub longest: Duration,
}

/// Clients of one server.
pub struct Clients<C> {
    plan: Plan,
    epoll: OwnedFd,
    clients: Vec<Client<C>>,
    /// Due times of clients whose next operation is not due yet.
    waiting: BTreeSet<(Instant, usize)>,
    begun: u64,
    measured: Measured,
    started: Instant,
}

struct Client<C> {
    stream: TcpStream,
    connector: C,
    workload: Workload,
    operation: Option<Operation>,
    /// Start or due time of the operation; below it, start of its present part.
    since: Instant,
    part_since: Instant,
    input: Vec<u8>,
    output: Vec<u8>,
    waits_for_room: bool,
}

impl<C: Connector + Default> Clients<C> {
    /// Connects clients to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the server does not accept them all.
    pub fn connect(port: u16, plan: Plan, workload: &Workload) -> Result<Self> {
        ensure!(plan.clients > 0, "threadcount is 0");
        ensure!(plan.target >= 0.0, "the target is {}", plan.target);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let now = Instant::now();
        let mut clients = Vec::new();
        for number in 0..plan.clients {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .with_context(|| format!("cannot connect to port {port}"))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(&epoll, &stream, EventData::new_u64(number as u64), EventFlags::IN)?;
            clients.push(Client {
                stream,
                connector: C::default(),
                workload: workload.for_client(number as u64),
                operation: None,
                since: now,
                part_since: now,
                input: Vec::new(),
                output: Vec::new(),
                waits_for_room: false,
            });
        }
        let (measured, waiting) = (Measured::new()?, BTreeSet::new());
        Ok(Self { plan, epoll, clients, waiting, begun: 0, measured, started: now })
    }

    /// Runs all operations; calls `watch` with the number of finished ones a few times per second.
    /// If a connection breaks, or the server sends invalid replies or none, [`Measured::failure`]
    /// is set.
    pub fn run(mut self, watch: impl FnMut(u64)) -> Measured {
        let cpu_before = process::cpu_time_of_this_thread();
        self.started = Instant::now();
        let failure = self.do_everything(watch).err();
        let errors = self.clients.iter().find_map(|client| client.connector.last_error());
        Measured {
            elapsed: self.started.elapsed(),
            lag: self.lag(),
            client_cpu: process::cpu_time_of_this_thread() - cpu_before,
            error: errors.map(str::to_owned),
            failure,
            ..self.measured
        }
    }

    fn do_everything(&mut self, mut watch: impl FnMut(u64)) -> Result<()> {
        for number in 0..self.clients.len() {
            self.go_on(number)?;
        }
        let mut watched = self.started;
        let mut events = Vec::with_capacity(self.clients.len());
        while !self.waiting.is_empty() || self.clients.iter().any(|it| it.operation.is_some()) {
            self.wait(&mut events)?;
            for event in &events {
                self.turn(event.data.u64() as usize, event.flags)?;
            }
            self.begin_those_due()?;
            if watched.elapsed() > WATCH_EVERY {
                watched = Instant::now();
                watch(self.measured.operations);
            }
        }
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<Event>) -> Result<()> {
        events.clear();
        let next = self.waiting.first().map(|(due, _)| *due);
        let longest = next.map_or(SILENCE_MAX, |due| {
            // Wakes up before it is due, since the kernel may sleep longer than asked.
            due.saturating_duration_since(Instant::now()).saturating_sub(SHORTEST_SLEEP)
        });
        let timeout =
            Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout)) {
            Ok(0) if next.is_none() => bail!("no reply for {} s", SILENCE_MAX.as_secs()),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_those_due(&mut self) -> Result<()> {
        let now = Instant::now();
        while let Some((due, number)) = self.waiting.pop_first() {
            if due > now {
                self.waiting.insert((due, number));
                break;
            }
            self.begin(number, due)?;
        }
        Ok(())
    }

    /// Begins the next operation of a client, at once or when it is due.
    fn go_on(&mut self, number: usize) -> Result<()> {
        if self.plan.target <= 0.0 {
            return self.begin(number, Instant::now());
        }
        // Clients take turns: the first operations of all clients come before the second of any.
        let place = self.begun + self.waiting.len() as u64;
        let due = self.due_time(place);
        if place < self.plan.phase.operations() && !self.is_over_at(due) {
            // An operation that is due beyond the range of `Instant` never begins.
            self.waiting.extend(self.started.checked_add(due).map(|due| (due, number)));
        }
        Ok(())
    }

    /// Returns the due time of an operation since the start, for a run with a target.
    fn due_time(&self, place: u64) -> Duration {
        Duration::try_from_secs_f64(place as f64 / self.plan.target).unwrap_or(Duration::MAX)
    }

    fn is_over_at(&self, time: Duration) -> bool {
        !self.plan.longest.is_zero() && time > self.plan.longest
    }

    /// Begins operations until one is in flight or none is left.
    fn begin(&mut self, number: usize, since: Instant) -> Result<()> {
        loop {
            let Some(operation) = self.next_operation(number) else { return Ok(()) };
            self.begun += 1;
            if self.plan.target > 0.0 {
                self.measured.note_begun(since);
            }
            let client = &mut self.clients[number];
            (client.since, client.part_since) = (since, since);
            let Client { connector, workload, output, .. } = client;
            if connector.begin(operation, workload, output) {
                client.operation = Some(operation);
                return self.send(number);
            }
            let status = Status::NotImplemented;
            self.measured.count_whole(operation.kind, status, Duration::ZERO)?;
        }
    }

    /// Returns the next operation; `None` once all have begun or the time is over.
    fn next_operation(&mut self, number: usize) -> Option<Operation> {
        let is_over = self.is_over_at(self.started.elapsed());
        let workload = &mut self.clients[number].workload;
        match self.plan.phase {
            _ if is_over => None,
            Phase::Load(load) if self.begun < load.count => {
                Some(workload.insertion(load.first + self.begun))
            }
            Phase::Run(operations) if self.begun < operations => Some(workload.draw()),
            _ => None,
        }
    }

    /// Returns the delay with which the last operation began, or that of the next one if it did not
    /// begin in time.
    fn lag(&self) -> Option<Lag> {
        let Lag { most, at_end, .. } = self.measured.lag?;
        let all = self.plan.phase.operations();
        let planned = self.due_time(all);
        if !self.is_over_at(planned) {
            return Some(Lag { schedule: planned, most, at_end, unsent: 0 });
        }
        let schedule = self.plan.longest;
        let due = (schedule.as_secs_f64() * self.plan.target) as u64;
        let unsent = due.min(all).saturating_sub(self.begun);
        let at_end = match unsent {
            0 => at_end,
            _ => schedule.saturating_sub(self.due_time(self.begun)),
        };
        Some(Lag { schedule, most: most.max(at_end), at_end, unsent })
    }

    fn turn(&mut self, number: usize, flags: EventFlags) -> Result<()> {
        if flags.contains(EventFlags::OUT) {
            self.send(number)?;
        }
        if !flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP) {
            return Ok(());
        }
        self.clients[number].read()?;
        while let Some(operation) = self.clients[number].operation {
            let Client { connector, workload, input, output, .. } = &mut self.clients[number];
            let Some((len, step)) = connector.hear(input, workload, output)? else {
                return Ok(());
            };
            input.drain(..len);
            self.follow(number, operation, step)?;
        }
        Ok(())
    }

    fn follow(&mut self, number: usize, operation: Operation, step: Step) -> Result<()> {
        let client = &mut self.clients[number];
        let now = Instant::now();
        match step {
            Step::Goes => self.send(number),
            Step::Part(kind, status) => {
                let part = now - client.part_since;
                client.part_since = now;
                self.measured.count(kind, status, part)?;
                self.send(number)
            }
            Step::Done(status) => {
                client.operation = None;
                if operation.kind == Kind::Insert && matches!(self.plan.phase, Phase::Run(_)) {
                    client.workload.records.note_stored(operation.record);
                }
                let (whole, part) = (now - client.since, now - client.part_since);
                if operation.kind == Kind::ReadModifyWrite {
                    let is_read = client.part_since != client.since;
                    let last = if is_read { Kind::Update } else { Kind::Read };
                    self.measured.count(last, status, part)?;
                }
                self.measured.count_whole(operation.kind, status, whole)?;
                self.go_on(number)
            }
        }
    }

    /// Sends as much as the socket takes, and waits for room for the rest.
    fn send(&mut self, number: usize) -> Result<()> {
        let client = &mut self.clients[number];
        client.write()?;
        let has_rest = !client.output.is_empty();
        if has_rest != client.waits_for_room {
            client.waits_for_room = has_rest;
            let room = if has_rest { EventFlags::OUT } else { EventFlags::empty() };
            let data = EventData::new_u64(number as u64);
            epoll::modify(&self.epoll, &client.stream, data, EventFlags::IN | room)?;
        }
        Ok(())
    }
}

impl<C> Client<C> {
    fn read(&mut self) -> Result<()> {
        self.input.reserve(READ_BYTES);
        match rustix::io::read(&self.stream, spare_capacity(&mut self.input)) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("receiving"),
        }
    }

    fn write(&mut self) -> Result<()> {
        match self.stream.write(&self.output) {
            Ok(written) => drop(self.output.drain(..written)),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error).context("sending"),
        }
        Ok(())
    }
}

const READ_BYTES: usize = 64 * 1024;
const SILENCE_MAX: Duration = Duration::from_secs(60);
const WATCH_EVERY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::ycsb::properties::Properties;
    use crate::ycsb::redis::Redis;
    use crate::ycsb::resp::Frame;

    /// Serves one connection after the other, as a server that has every record.
    fn serve(listener: &TcpListener, clients: usize) {
        let streams: Vec<_> = (0..clients).map(|_| listener.accept().unwrap().0).collect();
        let serve_one = |mut stream: TcpStream| {
            let (mut input, mut buffer) = (Vec::new(), [0; 4096]);
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                input.extend_from_slice(&buffer[..read]);
                while let Some(frame) = Frame::first_of(&input).unwrap() {
                    let reply = match frame.texts().next() {
                        Some(b"HMSET") => &b"+OK\r\n"[..],
                        Some(b"ZADD") => b":1\r\n",
                        Some(b"ZRANGEBYSCORE") => b"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
                        _ => b"*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
                    };
                    stream.write_all(reply).unwrap();
                    let len = frame.len();
                    input.drain(..len);
                }
            }
        };
        thread::scope(|scope| {
            streams.into_iter().for_each(|stream| drop(scope.spawn(move || serve_one(stream))));
        });
    }

    fn run(settings: &[(&str, &str)], plan: Plan) -> Measured {
        let mut properties = Properties::default();
        for (name, value) in
            [("recordcount", "100"), ("operationcount", "100")].iter().chain(settings)
        {
            properties.set(name, value).unwrap();
        }
        let workload = Workload::new(&properties).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || serve(&listener, plan.clients));
        let clients = Clients::<Redis>::connect(port, plan, &workload).unwrap();
        let measured = clients.run(|_| ());
        assert!(measured.failure.is_none(), "{measured:?}");
        measured
    }

    fn plan(phase: Phase) -> Plan {
        Plan { clients: 3, phase, target: 0.0, longest: Duration::ZERO }
    }

    #[test]
    fn a_load_stores_every_record_once() {
        let measured = run(&[], plan(Phase::Load(Load { first: 10, count: 50 })));
        assert_eq!((measured.operations, measured.failures), (50, 0));
        assert_eq!(measured.tallies[&Kind::Insert].latencies.len(), 50);
    }

    #[test]
    fn a_run_does_all_operations_and_counts_the_parts_of_those_that_have_any() {
        let shares = [
            ("readproportion", "0.25"),
            ("updateproportion", "0"),
            ("insertproportion", "0.25"),
            ("scanproportion", "0.25"),
            ("readmodifywriteproportion", "0.25"),
        ];
        let measured = run(&shares, plan(Phase::Run(2_000)));
        assert_eq!((measured.operations, measured.failures), (2_000, 0));
        let count = |kind| measured.tallies[&kind].latencies.len();
        assert_eq!(count(Kind::Update), count(Kind::ReadModifyWrite));
        assert_eq!(
            2_000 + 2 * count(Kind::Update),
            measured.tallies.values().map(|it| it.latencies.len()).sum::<u64>()
        );
    }

    #[test]
    fn a_target_is_kept_and_ends_with_its_last_operation() {
        let slow = Plan { target: 2_000.0, clients: 50, ..plan(Phase::Run(200)) };
        let measured = run(&[], slow);
        assert_eq!(measured.operations, 200);
        // The last of two hundred is due after 199 times half a millisecond.
        assert!(measured.elapsed >= Duration::from_micros(99_500), "{:?}", measured.elapsed);
        let lag = measured.lag.unwrap();
        assert_eq!((lag.schedule, lag.unsent), (Duration::from_millis(100), 0));
    }

    #[test]
    fn a_target_that_is_too_high_for_the_time_is_told_with_what_was_not_sent() {
        let target = 1e9;
        let fast =
            Plan { target, longest: Duration::from_millis(100), ..plan(Phase::Run(u64::MAX)) };
        let measured = run(&[], fast);
        let lag = measured.lag.unwrap();
        assert_eq!(lag.schedule, Duration::from_millis(100));
        assert!(lag.unsent > 90_000_000 && lag.unsent < 100_000_000, "{lag:?}");
        let complaint = measured.complaint().unwrap();
        assert!(complaint.contains("behind schedule"), "{complaint}");
    }
}

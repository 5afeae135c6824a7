//! Loop that keeps every connection busy until the run is over.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;

use super::arrival::Stop;
use super::connection::{Connection, Progress};
use super::keys::Keys;
use super::outcome::Outcome;
use super::protocol::Protocol;
use super::requests::Requests;
use super::source::{Drawn, Source};
use super::tally::Tally;

/// Connections to one server, driven by the calling thread.
pub struct Generator {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    buffer: Box<[u8]>,
    events: Vec<Event>,
}

impl Generator {
    /// Opens `count` connections to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the server does not accept them all.
    pub fn connect(port: u16, count: usize) -> Result<Self> {
        Self::connect_speaking(port, count, Protocol::Resp)
    }

    /// Opens connections to a server of any protocol; otherwise as [`Generator::connect`].
    ///
    /// # Errors
    /// As [`Generator::connect`].
    pub fn connect_speaking(port: u16, count: usize, protocol: Protocol) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::with_capacity(count);
        for slot in 0..count {
            let connection = Connection::open_speaking(port, protocol)?;
            let data = EventData::new_u64(slot as u64);
            epoll::add(&epoll, connection.stream(), data, EventFlags::IN)?;
            connections.push(connection);
        }
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Ok(Self { epoll, connections, buffer, events: Vec::with_capacity(count.max(1)) })
    }

    /// Runs a closed loop on all connections.
    ///
    /// # Errors
    /// If a connection breaks, a reply does not fit its request, or an earlier run failed and left
    /// batches in flight. Error replies are counted.
    pub fn run(&mut self, requests: &mut Requests, keys: &mut Keys, stop: Stop) -> Result<Outcome> {
        self.drive(&mut Drawn { requests, keys }, stop)
    }

    /// Runs a closed loop as [`Generator::run`] does; calls `watch` with the number of operations
    /// answered so far, about every `every` operations.
    ///
    /// # Errors
    /// As [`Generator::run`], and those of `watch`.
    pub fn run_watched(
        &mut self,
        requests: &mut Requests,
        keys: &mut Keys,
        stop: Stop,
        every: u64,
        watch: impl FnMut(u64) -> Result<()>,
    ) -> Result<Outcome> {
        self.drive_watched(&mut Drawn { requests, keys }, stop, every, watch)
    }

    /// Runs a closed loop with batches of any source; otherwise as [`Generator::run`].
    ///
    /// # Errors
    /// As [`Generator::run`].
    pub fn drive(&mut self, source: &mut impl Source, stop: Stop) -> Result<Outcome> {
        self.drive_watched(source, stop, u64::MAX, |_| Ok(()))
    }

    /// Runs a watched closed loop with batches of any source; otherwise as
    /// [`Generator::run_watched`].
    ///
    /// # Errors
    /// As [`Generator::run_watched`].
    pub fn drive_watched(
        &mut self,
        source: &mut impl Source,
        stop: Stop,
        every: u64,
        mut watch: impl FnMut(u64) -> Result<()>,
    ) -> Result<Outcome> {
        self.check_idle()?;
        let mut tally = Tally::start(stop, Arc::default())?;
        let mut watch_at = every;
        self.closed_loop(source, &mut tally, |answered| {
            if answered >= watch_at {
                watch(answered)?;
                watch_at = answered + every;
            }
            Ok(())
        })?;
        Ok(tally.finish(self.first_error()))
    }

    /// Reads from all connections that have replies before it sends the next batches, so that the
    /// server finds many at once and no reply waits for requests to be written. Calls `turned`
    /// after each iteration, with the number of operations answered so far.
    pub(super) fn closed_loop(
        &mut self,
        source: &mut impl Source,
        tally: &mut Tally,
        mut turned: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut idle = Vec::with_capacity(self.connections.len());
        for slot in 0..self.connections.len() {
            self.send_next(slot, source, tally)?;
        }
        while !tally.is_idle() {
            let mut events = std::mem::take(&mut self.events);
            self.wait(&mut events)?;
            for event in &events {
                if self.hear(*event, tally)? {
                    idle.push(event.data.u64() as usize);
                }
            }
            self.events = events;
            for slot in idle.drain(..) {
                self.send_next(slot, source, tally)?;
            }
            turned(tally.answered())?;
        }
        Ok(())
    }

    pub(super) fn check_idle(&self) -> Result<()> {
        let is_busy = self.connections.iter().any(Connection::is_busy);
        ensure!(!is_busy, "batches of a run that failed are still in flight");
        Ok(())
    }

    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    pub(super) fn first_error(&self) -> Option<&str> {
        self.connections.iter().find_map(Connection::first_error)
    }

    fn wait(&self, events: &mut Vec<Event>) -> Result<()> {
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&SILENCE_MAX)) {
            Ok(0) => anyhow::bail!("no reply for {} s", SILENCE_MAX.tv_sec),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends and receives as far as a connection is ready. Returns true if the last reply of its
    /// batch has arrived.
    #[inline]
    pub(super) fn hear(&mut self, event: Event, tally: &mut Tally) -> Result<bool> {
        let slot = event.data.u64() as usize;
        let connection = &mut self.connections[slot];
        let flags = event.flags;
        if flags.contains(EventFlags::OUT) {
            connection.flush()?;
            if !connection.has_unsent() {
                self.listen(slot, EventFlags::IN)?;
            }
        }
        if !flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP) {
            return Ok(false);
        }
        let connection = &mut self.connections[slot];
        match connection.receive(&mut self.buffer)? {
            Progress::Waiting => Ok(false),
            Progress::Done { replies, sent_at, heard_at } => {
                tally.record(&replies, sent_at, heard_at);
                Ok(true)
            }
        }
    }

    #[inline]
    fn send_next(
        &mut self,
        slot: usize,
        source: &mut impl Source,
        tally: &mut Tally,
    ) -> Result<()> {
        self.send_due(slot, source, tally, None)
    }

    /// Sends a batch that was due at a given time, or now, if more may be sent.
    #[inline]
    pub(super) fn send_due(
        &mut self,
        slot: usize,
        source: &mut impl Source,
        tally: &mut Tally,
        due: Option<Instant>,
    ) -> Result<()> {
        let count = tally.allowance(source.pipeline());
        if count == 0 {
            return Ok(());
        }
        let (bytes, expected) = source.fill(count);
        let connection = &mut self.connections[slot];
        connection.send(bytes, expected, due.unwrap_or_else(Instant::now))?;
        if connection.has_unsent() {
            self.listen(slot, EventFlags::IN | EventFlags::OUT)?;
        }
        Ok(())
    }

    fn listen(&self, slot: usize, flags: EventFlags) -> Result<()> {
        let data = EventData::new_u64(slot as u64);
        Ok(epoll::modify(&self.epoll, self.connections[slot].stream(), data, flags)?)
    }
}

const BUFFER_BYTES: usize = 256 * 1024;
pub(super) const SILENCE_MAX: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::generator::{
        Arrival, KeyChoice, Monitor, Operation, Pace, RequestShape, Spacing, ValueSize,
    };
    use crate::null;

    fn run(operation: Operation, pipeline: usize, value: usize, operations: u64) -> Outcome {
        try_run(operation, pipeline, value, operations).unwrap()
    }

    /// Runs so many operations on seven connections to a null server.
    fn try_run(
        operation: Operation,
        pipeline: usize,
        value: usize,
        operations: u64,
    ) -> Result<Outcome> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || null::serve(&listener, 1, &null::Replies::default()));
        let shape = RequestShape { operation, value: ValueSize::Fixed(value), pipeline };
        let mut requests = Requests::new(&shape, 1).unwrap();
        let mut keys = Keys::new(&KeyChoice::Uniform, 1000, 1).unwrap();
        let mut generator = Generator::connect(port, 7).unwrap();
        generator.run(&mut requests, &mut keys, Stop::Operations(operations))
    }

    #[test]
    fn exactly_the_wanted_operations_are_done() {
        for pipeline in [1, 16, 100] {
            let outcome = run(Operation::Get, pipeline, 16, 1234);
            assert_eq!((outcome.operations, outcome.replies.bulk), (1234, 1234));
        }
    }

    #[test]
    fn both_halves_of_a_mix_are_answered() {
        let replies = run(Operation::Mixed(50), 16, 16, 20 * 16 * 2).replies;
        assert_eq!((replies.bulk, replies.status), (20 * 16, 20 * 16));
    }

    #[test]
    fn a_batch_larger_than_the_socket_takes_arrives_whole() {
        let outcome = run(Operation::Set, 20, 1 << 20, 140);
        assert_eq!(outcome.replies.status, 140);
    }

    /// Starts a server that waits a while before it answers all GETs of a loop iteration.
    fn slow_server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = |mut stream: TcpStream| {
            let mut requests = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut requests) {
                thread::sleep(Duration::from_millis(50));
                let gets = requests[..length].iter().filter(|byte| **byte == b'*').count();
                stream.write_all(&b"$-1\r\n".repeat(gets)).unwrap();
            }
        };
        let accept = move || {
            listener.incoming().for_each(|it| drop(thread::spawn(move || serve(it.unwrap()))))
        };
        thread::spawn(accept);
        port
    }

    fn gets() -> (Requests, Keys) {
        let shape =
            RequestShape { operation: Operation::Get, value: ValueSize::Fixed(0), pipeline: 2 };
        let keys = Keys::new(&KeyChoice::Uniform, 1000, 1).unwrap();
        (Requests::new(&shape, 1).unwrap(), keys)
    }

    #[test]
    fn a_run_that_is_halted_waits_for_what_is_in_flight() {
        let pace = Pace { per_second: 1000.0, spacing: Spacing::Even, seed: 1 };
        let mut generator = Generator::connect(slow_server(), 3).unwrap();
        let (mut requests, mut keys) = gets();
        for arrival in [Arrival::Open(pace), Arrival::Limited(pace), Arrival::Closed] {
            let monitor = Arc::new(Monitor::default());
            let to_halt = Arc::clone(&monitor);
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                to_halt.halt();
            });
            let mut source = Drawn { requests: &mut requests, keys: &mut keys };
            let stop = Stop::After(Duration::from_secs(10));
            let ended = generator.drive_to_end(&mut source, arrival, stop, &monitor).unwrap();
            assert!(ended.failure.is_none(), "{arrival:?}: {:?}", ended.failure);
            let next = generator.run(&mut requests, &mut keys, Stop::Operations(6)).unwrap();
            assert_eq!(next.replies.nil, 6, "behind {arrival:?}");
        }
    }

    #[test]
    fn a_generator_with_batches_in_flight_takes_no_other_run() {
        let mut generator = Generator::connect(slow_server(), 3).unwrap();
        let (mut requests, mut keys) = gets();
        let stop = Stop::Operations(100);
        let stopped = |_| anyhow::bail!("seen enough");
        assert!(generator.run_watched(&mut requests, &mut keys, stop, 1, stopped).is_err());
        let error = generator.run(&mut requests, &mut keys, stop).err().unwrap().to_string();
        assert!(error.contains("in flight"), "{error}");
    }

    #[test]
    fn a_reply_of_the_wrong_kind_ends_the_run() {
        let outcome = try_run(Operation::Delete, 1, 16, 10);
        assert!(outcome.is_err(), "the null server answers DEL with OK");
    }
}

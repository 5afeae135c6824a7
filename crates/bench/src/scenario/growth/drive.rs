//! Sets new keys, sends the probe's requests and takes samples, on one thread.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;

use super::pause::{Moment, Pause};
use crate::generator::{
    Connection, KeyChoice, Keys, Operation, Progress, RequestShape, Requests, ValueSize,
};
use crate::process;
use crate::servers::Server;

/// Measurements while the keys grow.
pub struct Grown {
    /// Resident memory of the empty server, in bytes.
    pub empty: u64,
    /// Resident memory at points of the growth.
    pub samples: Vec<Sample>,
    /// Reply times of the probe, in nanoseconds.
    pub pauses: Histogram<u64>,
    /// Longest pauses of the probe, less the time that other processes took, longest first.
    pub longest: Vec<Pause>,
    /// CPU time that the hypervisor took from all cores.
    pub stolen: Duration,
    /// SETs per second.
    pub sets_per_second: f64,
}

/// Resident memory at one point.
pub struct Sample {
    /// Number of keys.
    pub keys: u64,
    /// Resident memory in bytes.
    pub resident: u64,
}

/// Grows a server to so many keys, each with or without an expiry in seconds.
pub fn grow(server: &Server, keys: u64, expire_seconds: Option<u32>) -> Result<Grown> {
    Growth::new(server, keys, expire_seconds)?.grow()
}

struct Growth<'server> {
    server: &'server Server,
    keys: u64,
    epoll: OwnedFd,
    events: Vec<Event>,
    writer: Connection,
    sets: Requests,
    set_keys: Keys,
    probe: Connection,
    gets: Requests,
    get_keys: Keys,
    buffer: Vec<u8>,
    done: u64,
    sent: u64,
    probe_sent: Moment,
    grown: Grown,
}

impl<'server> Growth<'server> {
    fn new(server: &'server Server, keys: u64, expire_seconds: Option<u32>) -> Result<Self> {
        let operation = expire_seconds.map_or(Operation::Set, Operation::SetFor);
        let shape =
            |operation, pipeline| RequestShape { operation, value: ValueSize::Fixed(16), pipeline };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (writer, probe) = (Connection::open(server.port)?, Connection::open(server.port)?);
        for connection in [&writer, &probe] {
            epoll::add(&epoll, connection.stream(), EventData::new_u64(0), EventFlags::IN)?;
        }
        let grown = Grown {
            empty: server.resident_bytes()?,
            samples: Vec::new(),
            pauses: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
            longest: Vec::new(),
            stolen: Duration::ZERO,
            sets_per_second: 0.0,
        };
        Ok(Self {
            server,
            keys,
            epoll,
            events: Vec::with_capacity(2),
            writer,
            sets: Requests::new(&shape(operation, PIPELINE), 1)?,
            set_keys: Keys::new(&KeyChoice::Sequential, keys, 1)?,
            probe,
            gets: Requests::new(&shape(Operation::Get, 1), 1)?,
            get_keys: Keys::new(&KeyChoice::Uniform, SAMPLE_FROM.min(keys), 1)?,
            buffer: vec![0; 64 * 1024],
            done: 0,
            sent: 0,
            probe_sent: Moment::default(),
            grown,
        })
    }

    fn grow(mut self) -> Result<Grown> {
        let (started, stolen) = (Instant::now(), process::stolen());
        let mut sample_at = SAMPLE_FROM.min(self.keys);
        while self.done < self.keys {
            let silence = [&self.writer, &self.probe]
                .map(|it| if it.is_busy() { it.sent_at().elapsed() } else { Duration::ZERO });
            ensure!(silence.into_iter().all(|it| it < SILENCE_MAX), "no reply for {SILENCE_MAX:?}");
            self.write()?;
            self.look_after_probe()?;
            if self.done >= sample_at {
                let resident = self.server.resident_bytes()?;
                self.grown.samples.push(Sample { keys: self.done, resident });
                sample_at += SAMPLE_EVERY;
            }
            self.wait()?;
        }
        self.grown.stolen = process::stolen().saturating_sub(stolen);
        self.grown.sets_per_second = self.done as f64 / started.elapsed().as_secs_f64();
        Ok(self.grown)
    }

    /// Sleeps until a connection is ready or the probe is due. Sleeping leaves the core to the
    /// kernel's own threads, which deliver loopback traffic when there is much of it: a client that
    /// spins delays its own replies.
    fn wait(&mut self) -> Result<()> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&PROBE_DUE)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&mut self) -> Result<()> {
        if self.writer.has_unsent() {
            self.writer.flush()?;
        }
        if self.writer.is_busy() {
            match self.writer.receive(&mut self.buffer)? {
                Progress::Waiting => return Ok(()),
                Progress::Done { replies, .. } => self.done += replies.status,
            }
            if self.done < self.sent {
                bail!("SET failed: {:?}", self.writer.first_error());
            }
        }
        let count = (self.keys - self.sent).min(PIPELINE as u64);
        if count > 0 {
            let (bytes, expected) = self.sets.fill(count as usize, &mut self.set_keys);
            self.sent += count;
            self.writer.send(bytes, expected, Instant::now())?;
        }
        Ok(())
    }

    fn look_after_probe(&mut self) -> Result<()> {
        if self.probe.is_busy() {
            if let Progress::Done { sent_at, .. } = self.probe.receive(&mut self.buffer)? {
                self.record(sent_at.elapsed())?;
            }
        } else if self.done >= SAMPLE_FROM && self.probe.sent_at().elapsed() >= PROBE_EVERY {
            self.probe_sent = Moment::now(self.server.pid)?;
            let (bytes, expected) = self.gets.fill(1, &mut self.get_keys);
            self.probe.send(bytes, expected, Instant::now())?;
        }
        Ok(())
    }

    fn record(&mut self, seen: Duration) -> Result<()> {
        self.grown.pauses.saturating_record(seen.as_nanos() as u64);
        let mut pause = Pause { seen, keys: self.done, ..Pause::default() };
        if seen > PAUSE_WORTH_A_LOOK {
            let now = Moment::now(self.server.pid)?;
            (pause.client_away, pause.server_away) = now.away_since(&self.probe_sent);
            pause.ran = now.ran_since(&self.probe_sent, seen / 5);
        }
        let longest = &mut self.grown.longest;
        let place = longest.partition_point(|other| other.own() >= pause.own());
        longest.insert(place, pause);
        longest.truncate(PAUSES_KEPT);
        Ok(())
    }
}

/// Pipeline of the SETs: small, so that the probe waits behind only some tens of microseconds of
/// work.
const PIPELINE: usize = 64;
const PROBE_EVERY: Duration = Duration::from_micros(200);
const PROBE_DUE: Timespec = Timespec { tv_sec: 0, tv_nsec: PROBE_EVERY.subsec_nanos() as _ };
const PAUSE_WORTH_A_LOOK: Duration = Duration::from_micros(300);
const SILENCE_MAX: Duration = Duration::from_secs(60);
const PAUSES_KEPT: usize = 5;
const SAMPLE_FROM: u64 = 1_000_000;
const SAMPLE_EVERY: u64 = 25_000;

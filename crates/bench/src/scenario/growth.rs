//! Resident memory per key at every point while new keys are set, and the longest pause that
//! another client sees meanwhile.
//!
//! One thread drives both connections and never sleeps, so the probe is not delayed by a second
//! client thread, and a gap between two turns of the loop shows when the client itself was off
//! its core.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;

use super::{Bench, pin_client};
use crate::generator::{
    Connection, KeyChoice, Keys, Operation, Progress, RequestShape, Requests, ValueSize,
};
use crate::process::{self, SchedulerTimes};
use crate::report::{Aim, Section};
use crate::servers::{Kind, Launch, Program, Server};

/// How far the keys grow.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Keys at the end.
    pub keys: u64,
    /// An expiry on each, in seconds.
    pub expire_seconds: Option<u32>,
}

impl Plan {
    /// The full plan, or a short one.
    pub fn new(quick: bool, expire: bool) -> Self {
        let keys = if quick { 4_000_000 } else { 20_000_000 };
        Self { keys, expire_seconds: expire.then_some(86_400) }
    }

    fn bytes_per_key_max(&self) -> f64 {
        if self.expire_seconds.is_some() { 58.0 } else { 52.0 }
    }

    fn suffix(&self) -> &'static str {
        if self.expire_seconds.is_some() { ", with an expiry on each" } else { "" }
    }
}

/// Grows Varve.
///
/// # Errors
/// If the server fails.
pub fn run(bench: &Bench, plan: &Plan) -> Result<Section> {
    run_one(&bench.varve, plan)
}

/// Grows a peer, which has no aims.
///
/// # Errors
/// If the server fails.
pub fn run_peer(program: &Program, plan: &Plan) -> Result<Section> {
    let mut section = run_one(program, plan)?;
    section.figures.clear();
    Ok(section)
}

fn run_one(program: &Program, plan: &Plan) -> Result<Section> {
    pin_client(1);
    let server = program.start(&Launch::default())?;
    let growth = Growth::new(&server, plan)?.grow()?;
    let title =
        format!("Growth to {} M keys of 16 + 16 bytes{}", plan.keys / 1_000_000, plan.suffix());
    let mut section =
        Section::new(format!("{title}: {}", server.label), &["keys", "bytes/key", "all bytes/key"]);
    section.note("bytes/key: resident memory less that of the empty server; all: with it.");
    memory_rows(&mut section, plan, &growth);
    pause_notes(&mut section, plan, &growth);
    if server.kind == Kind::Varve {
        index_load(&mut section, plan, &server)?;
    }
    Ok(section)
}

fn memory_rows(section: &mut Section, plan: &Plan, growth: &Grown) {
    let step = (growth.samples.len() / ROWS).max(1);
    for sample in growth.samples.iter().rev().step_by(step).collect::<Vec<_>>().into_iter().rev() {
        let of_all = sample.resident as f64 / sample.keys as f64;
        section.row([
            format!("{:.2} M", sample.keys as f64 / 1e6),
            format!("{:.1}", growth.bytes_per_key(sample)),
            format!("{of_all:.1}"),
        ]);
    }
    let worst =
        growth.samples.iter().map(|sample| growth.bytes_per_key(sample)).fold(0.0, f64::max);
    let what = format!(
        "resident bytes per key, worst of {} points{}",
        growth.samples.len(),
        plan.suffix()
    );
    section.figure(what, Aim::AtMost(plan.bytes_per_key_max()), Some(worst), "B");
}

fn pause_notes(section: &mut Section, plan: &Plan, growth: &Grown) {
    let milliseconds = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    let nanoseconds = |value| milliseconds(Duration::from_nanos(value));
    let (pauses, worst) = (&growth.pauses, &growth.worst);
    section.note(format!(
        "{:.2} M SET/s. {} probes of another client from 1 M keys on: p99.99 {}, longest {}.",
        growth.sets_per_second / 1e6,
        pauses.len(),
        nanoseconds(pauses.value_at_quantile(0.9999)),
        nanoseconds(pauses.max()),
    ));
    section.note(format!(
        "Longest without the time that other processes took: {} at {:.2} M keys (seen {}, of \
         which the client was off its core for {} and the server for {}).",
        milliseconds(worst.own()),
        worst.keys as f64 / 1e6,
        milliseconds(worst.seen),
        milliseconds(worst.client_away),
        milliseconds(worst.server_away),
    ));
    let what = format!("longest pause while growing{}", plan.suffix());
    let own = worst.own().as_secs_f64() * 1e3;
    section.figure(what, Aim::AtMost(1.0), Some(own), "ms");
}

fn index_load(section: &mut Section, plan: &Plan, server: &Server) -> Result<()> {
    if plan.expire_seconds.is_some() {
        return Ok(());
    }
    let load = server.control()?.info_number("index_load_before_growth")?;
    section.figure("index load before growth", Aim::AtLeast(85.0), load, "%");
    Ok(())
}

struct Sample {
    keys: u64,
    resident: u64,
}

/// One answer to the probe.
#[derive(Clone, Copy, Default)]
struct Pause {
    seen: Duration,
    /// Time in which the client was off its core.
    client_away: Duration,
    /// Time in which the server was ready and other processes had its core.
    server_away: Duration,
    keys: u64,
}

impl Pause {
    /// What is left when the time is taken off that other processes took.
    fn own(&self) -> Duration {
        self.seen.saturating_sub(self.client_away + self.server_away)
    }
}

/// All threads of the server share one core, so what they did not use of the pause went to
/// others; the server had to wait for that part only as far as it was ready to run. A worker
/// that waits for the server's own background threads is not excused.
fn server_away(seen: Duration, before: SchedulerTimes, after: SchedulerTimes) -> Duration {
    let unused = seen.saturating_sub(after.on_core.saturating_sub(before.on_core));
    after.waiting.saturating_sub(before.waiting).min(unused)
}

struct Grown {
    empty: u64,
    samples: Vec<Sample>,
    pauses: Histogram<u64>,
    worst: Pause,
    sets_per_second: f64,
}

impl Grown {
    fn bytes_per_key(&self, sample: &Sample) -> f64 {
        sample.resident.saturating_sub(self.empty) as f64 / sample.keys as f64
    }
}

struct Growth<'server> {
    server: &'server Server,
    plan: Plan,
    writer: Connection,
    probe: Connection,
    sets: Requests,
    set_keys: Keys,
    gets: Requests,
    get_keys: Keys,
    buffer: Vec<u8>,
    done: u64,
    sent: u64,
    /// When the last turn of the loop began.
    turn: Instant,
    /// Since the last probe was sent.
    client_away: Duration,
    /// When the last probe was sent.
    times: SchedulerTimes,
    grown: Grown,
}

impl<'server> Growth<'server> {
    fn new(server: &'server Server, plan: &Plan) -> Result<Self> {
        let operation = plan.expire_seconds.map_or(Operation::Set, Operation::SetFor);
        let shape =
            |operation, pipeline| RequestShape { operation, value: ValueSize::Fixed(16), pipeline };
        let grown = Grown {
            empty: server.resident_bytes()?,
            samples: Vec::new(),
            pauses: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
            worst: Pause::default(),
            sets_per_second: 0.0,
        };
        Ok(Self {
            server,
            plan: plan.clone(),
            writer: Connection::open(server.port)?,
            probe: Connection::open(server.port)?,
            sets: Requests::new(&shape(operation, PIPELINE), 1)?,
            set_keys: Keys::new(&KeyChoice::Sequential, plan.keys, 1)?,
            gets: Requests::new(&shape(Operation::Get, 1), 1)?,
            get_keys: Keys::new(&KeyChoice::Uniform, PROBED_KEYS.min(plan.keys), 1)?,
            buffer: vec![0; 64 * 1024],
            done: 0,
            sent: 0,
            turn: Instant::now(),
            client_away: Duration::ZERO,
            times: SchedulerTimes::default(),
            grown,
        })
    }

    fn grow(mut self) -> Result<Grown> {
        let started = Instant::now();
        let mut sample_at = SAMPLE_FROM.min(self.plan.keys);
        self.turn = started;
        while self.done < self.plan.keys {
            let now = Instant::now();
            self.client_away += (now - self.turn).saturating_sub(TURN_MAX);
            self.turn = now;
            self.write(now)?;
            self.look_after_probe(now)?;
            if self.done >= sample_at {
                self.sample()?;
                sample_at += SAMPLE_EVERY;
            }
        }
        self.grown.sets_per_second = self.done as f64 / started.elapsed().as_secs_f64();
        Ok(self.grown)
    }

    /// Reading the kernel's counters takes longer than a turn should, so the clock of the turns
    /// starts again behind it.
    fn look_after_probe(&mut self, now: Instant) -> Result<()> {
        if self.probe.is_busy() {
            if let Progress::Done { sent_at, .. } = self.probe.receive(&mut self.buffer)? {
                self.record(Instant::now() - sent_at)?;
                self.turn = Instant::now();
            }
        } else if self.done >= SAMPLE_FROM && now - self.probe.sent_at() >= PROBE_EVERY {
            self.times = process::scheduler_times(self.server.pid)?;
            self.client_away = Duration::ZERO;
            self.turn = Instant::now();
            let (bytes, expected) = self.gets.fill(1, &mut self.get_keys);
            self.probe.send(bytes, expected, self.turn)?;
        }
        Ok(())
    }

    fn record(&mut self, seen: Duration) -> Result<()> {
        self.grown.pauses.saturating_record(seen.as_nanos() as u64);
        let mut pause =
            Pause { seen, client_away: self.client_away, keys: self.done, ..Pause::default() };
        if seen > PAUSE_WORTH_A_LOOK {
            let times = process::scheduler_times(self.server.pid)?;
            pause.server_away = server_away(seen, self.times, times);
        }
        if pause.own() > self.grown.worst.own() {
            self.grown.worst = pause;
        }
        Ok(())
    }

    fn write(&mut self, now: Instant) -> Result<()> {
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
        let count = (self.plan.keys - self.sent).min(PIPELINE as u64);
        if count > 0 {
            let (bytes, expected) = self.sets.fill(count as usize, &mut self.set_keys);
            self.sent += count;
            self.writer.send(bytes, expected, now)?;
        }
        Ok(())
    }

    fn sample(&mut self) -> Result<()> {
        let resident = self.server.resident_bytes()?;
        self.grown.samples.push(Sample { keys: self.done, resident });
        self.turn = Instant::now();
        Ok(())
    }
}

/// Shallow, so that the probe waits behind a few microseconds of work at most.
const PIPELINE: usize = 32;
const PROBE_EVERY: Duration = Duration::from_micros(200);
/// A turn of the loop takes a few microseconds; one that takes longer was interrupted.
const TURN_MAX: Duration = Duration::from_micros(30);
const PAUSE_WORTH_A_LOOK: Duration = Duration::from_micros(300);
const PROBED_KEYS: u64 = 1_000_000;
const SAMPLE_FROM: u64 = 1_000_000;
const SAMPLE_EVERY: u64 = 25_000;
/// Rows in the table; the worst is taken over all samples.
const ROWS: usize = 40;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SchedulerTimes, server_away};

    fn away(seen: u64, on_core: u64, waiting: u64) -> u64 {
        let ms = Duration::from_millis;
        let after = SchedulerTimes { on_core: ms(on_core), waiting: ms(waiting) };
        server_away(ms(seen), SchedulerTimes::default(), after).as_millis() as u64
    }

    #[test]
    fn only_waiting_for_other_processes_is_excused() {
        assert_eq!(away(5, 1, 4), 4, "another process had the core");
        assert_eq!(away(5, 5, 4), 0, "another thread of the server had the core");
        assert_eq!(away(5, 1, 0), 0, "the server was asleep");
    }
}

//! Clients that run one operation after the other, all on one thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use hdrhistogram::Histogram;

use super::talk::{After, Talk};
use super::workload::{Kind, Operation, Workload};
use crate::generator::{
    Arrival, Batch, Client, EventLoop, Heard, Monitor, Next, Outcome, Pace, Protocol, Schedule,
    Spacing, Stop, quantile_us,
};
use crate::measure::{Measured, Target, Watch, settled};
use crate::process::{self, CpuMeter};
use crate::sampler::Sampler;

/// Phase of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Stores records.
    Load,
    /// Runs operations.
    Run,
}

/// Settings of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Phase that they run.
    pub phase: Phase,
    /// Number of clients; each has one operation in flight.
    pub clients: usize,
    /// Most operations of all clients together.
    pub operations: u64,
    /// Operations per second of all clients together; no limit if it is zero. With a target,
    /// latencies count from the due times of operations.
    pub target: f64,
    /// Time after which no operation begins; no limit if it is zero.
    pub longest: Duration,
}

impl Plan {
    /// Creates the plan of the load phase.
    #[must_use]
    pub fn load(workload: &Workload, clients: usize) -> Self {
        let operations = workload.to_load.end - workload.to_load.start;
        Self { phase: Phase::Load, clients, operations, target: 0.0, longest: Duration::ZERO }
    }

    /// Creates the plan of the run phase.
    #[must_use]
    pub fn run(operations: u64, clients: usize) -> Self {
        Self { phase: Phase::Run, clients, operations, target: 0.0, longest: Duration::ZERO }
    }

    fn schedule(&self, now: Instant) -> Result<Option<Schedule>> {
        if self.target == 0.0 {
            return Ok(None);
        }
        let planned = self.operations as f64 / self.target;
        let stop = match self.longest {
            longest if !longest.is_zero() && planned > longest.as_secs_f64() => {
                Stop::After(longest)
            }
            _ => Stop::Operations(self.operations),
        };
        let pace = Pace { per_second: self.target, spacing: Spacing::Even, seed: 1 };
        Schedule::new(Arrival::Open(pace), 1, now, stop)
    }
}

/// Operations of one kind.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies of those that were done, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Number of those that failed.
    pub failed: u64,
}

/// Operations by kind; reads and updates that are parts of others are included.
pub type Tallies = BTreeMap<Kind, Tally>;

/// Result of a phase.
#[derive(Debug)]
pub struct Played {
    /// Operations that are no part of others. It has a failure if one of them was not done.
    pub measured: Measured,
    /// Operations by kind.
    pub tallies: Tallies,
    /// User and system time of the server in clock ticks; only these tell the two apart.
    pub ticked: (Duration, Duration),
}

impl Played {
    /// Returns a quantile of the latencies of some kinds, in microseconds; NaN if there were none.
    #[must_use]
    pub fn latency_us(&self, kinds: &[Kind], quantile: f64) -> f64 {
        let mut all = Outcome::empty().latencies;
        for tally in kinds.iter().filter_map(|kind| self.tallies.get(kind)) {
            // All have the same bounds.
            let _ = all.add(&tally.latencies);
        }
        if all.is_empty() { f64::NAN } else { quantile_us(&all, quantile) }
    }
}

/// Runs a phase with its clients on the calling thread; `watch` gets samples of the server.
pub fn play(target: &Target, plan: &Plan, of: &mut Workload, watch: Option<Watch>) -> Played {
    let ticks = || target.pid.and_then(|pid| process::user_and_system_time(pid).ok());
    let mut clients = Clients {
        protocol: target.protocol,
        plan: *plan,
        workload: of,
        monitor: Arc::default(),
        schedule: None,
        talks: (0..plan.clients).map(|_| None).collect(),
        begun: 0,
        failed: 0,
        started: Instant::now(),
        outcome: Outcome::empty(),
        tallies: Tallies::new(),
    };
    let mut meter = target.pid.map(CpuMeter::new);
    let (before, ticks_before) = (settled(&mut meter), ticks());
    let monitor = Arc::clone(&clients.monitor);
    let sampler = watch.map(|it| Sampler::start(target.pid, it.every, monitor, it.watch));
    let failure = clients.run(target.port).err();
    let samples = sampler.map(Sampler::stop).unwrap_or_default();
    let used = before.zip(settled(&mut meter)).and_then(|(before, now)| now.checked_sub(before));
    let ticked = ticks_before
        .zip(ticks())
        .map(|(before, now)| (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)));
    let Clients { outcome, tallies, failed, .. } = clients;
    let undone = || anyhow!("{failed} of {} operations were not done", outcome.operations);
    let failure = failure.or_else(|| (failed > 0).then(undone));
    let measured = Measured { outcome, server_cpu: used, samples, failure };
    Played { measured, tallies, ticked: ticked.unwrap_or_default() }
}

struct Clients<'w> {
    protocol: Protocol,
    plan: Plan,
    workload: &'w mut Workload,
    monitor: Arc<Monitor>,
    schedule: Option<Schedule>,
    /// Operations on their way, by connection.
    talks: Vec<Option<Talk>>,
    begun: u64,
    failed: u64,
    started: Instant,
    outcome: Outcome,
    tallies: Tallies,
}

impl Clients<'_> {
    fn run(&mut self, port: u16) -> Result<()> {
        let Plan { phase, clients, target, .. } = self.plan;
        ensure!(clients > 0, "threadcount is 0");
        ensure!(target >= 0.0, "the target is {target}");
        let scans = self.workload.has_scans && phase == Phase::Run;
        ensure!(!scans || self.protocol == Protocol::Resp, "Memcached has no scans");
        let mut event_loop = EventLoop::new()?;
        match scans {
            true => event_loop.connect_keeping(port, self.protocol, clients)?,
            false => event_loop.connect(port, self.protocol, clients)?,
        }
        let cpu_before = process::cpu_time_of_this_thread();
        self.started = Instant::now();
        self.schedule = self.plan.schedule(self.started)?;
        let ran = event_loop.run(&mut [self]);
        self.outcome.elapsed = self.started.elapsed();
        self.outcome.client_cpu = process::cpu_time_of_this_thread() - cpu_before;
        self.outcome.lag = self.schedule.as_ref().and_then(Schedule::lag);
        ran
    }

    fn next_operation(&mut self) -> Option<Operation> {
        let operation = match self.plan.phase {
            Phase::Load => Workload::insertion(self.workload.to_load.start + self.begun),
            Phase::Run => self.workload.draw()?,
        };
        self.begun += 1;
        Some(operation)
    }

    fn is_over(&self, now: Instant) -> bool {
        let Plan { operations, longest, .. } = self.plan;
        self.begun >= operations || !longest.is_zero() && now - self.started > longest
    }

    fn count(&mut self, kind: Kind, is_done: bool, latency: Duration) {
        let fresh = || Tally { latencies: Outcome::empty().latencies, failed: 0 };
        let tally = self.tallies.entry(kind).or_insert_with(fresh);
        match is_done {
            true => tally.latencies.saturating_record(latency.as_nanos() as u64),
            false => tally.failed += 1,
        }
    }
}

impl Client for Clients<'_> {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Next> {
        if self.talks[connection].is_none() {
            let mut since = now;
            if let Some(schedule) = &mut self.schedule {
                schedule.advance(now);
                schedule.check(now)?;
            }
            if self.is_over(now) {
                return Ok(Next::Rest);
            }
            if let Some(schedule) = &mut self.schedule {
                match schedule.take(now) {
                    Some(due) => since = due,
                    None if schedule.is_over() => return Ok(Next::Rest),
                    None => return Ok(Next::At(now + schedule.until_next(now))),
                }
            }
            let Some(operation) = self.next_operation() else { return Ok(Next::Rest) };
            self.talks[connection] = Some(Talk::new(operation, self.workload, since));
        }
        if let Some(talk) = &self.talks[connection] {
            talk.write(self.protocol, self.workload, batch)?;
        }
        Ok(Next::Send)
    }

    fn heard(&mut self, connection: usize, heard: &Heard<'_>) -> Result<()> {
        self.outcome.replies.add(&heard.replies);
        if let (None, Some(error)) = (&self.outcome.first_error, heard.first_error) {
            self.outcome.first_error = Some(error.to_owned());
        }
        let Some(mut talk) = self.talks[connection].take() else { return Ok(()) };
        let (kind, part) = (talk.operation.kind, heard.now - talk.part_since);
        let was_read = talk.part_since != talk.since;
        let after = talk.hear(self.protocol, self.workload, heard);
        match after {
            After::WasRead => self.count(Kind::Read, true, part),
            After::Continues => {}
            After::Done | After::Failed => {
                let is_done = after == After::Done;
                if kind == Kind::ReadModifyWrite {
                    let last = if was_read { Kind::Update } else { Kind::Read };
                    self.count(last, is_done, part);
                }
                if kind == Kind::Insert && self.plan.phase == Phase::Run {
                    self.workload.note_stored(talk.operation.record);
                }
                let whole = heard.now - talk.since;
                self.count(kind, is_done, whole);
                self.outcome.operations += 1;
                self.failed += u64::from(!is_done);
                if is_done {
                    self.outcome.latencies.saturating_record(whole.as_nanos() as u64);
                }
                self.monitor.add(1);
                return Ok(());
            }
        }
        self.talks[connection] = Some(talk);
        Ok(())
    }

    fn goes_on(&self, connection: usize) -> bool {
        self.talks[connection].is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;
    use crate::null;
    use crate::ycsb::workload::tests::workload;

    /// Plays against the null server, which has every record.
    fn run(settings: &[(&str, &str)], plan: &Plan) -> Played {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || null::serve(&listener, 1, &null::Replies::default()));
        let (label, protocol) = ("null".to_owned(), Protocol::Resp);
        let target = Target { label, port, pid: None, protocol, cores: 1 };
        let played = play(&target, plan, &mut workload(settings), None);
        assert!(played.measured.failure.is_none(), "{played:?}");
        played
    }

    #[test]
    fn a_load_stores_every_record_once() {
        let settings = [("insertstart", "10"), ("insertcount", "50")];
        let played = run(&settings, &Plan::load(&workload(&settings), 3));
        assert_eq!(played.measured.outcome.operations, 50);
        assert_eq!(played.tallies[&Kind::Insert].latencies.len(), 50);
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
        let played = run(&shares, &Plan::run(2000, 3));
        assert_eq!(played.measured.outcome.latencies.len(), 2000);
        let count = |kind| played.tallies[&kind].latencies.len();
        assert_eq!(count(Kind::Update), count(Kind::ReadModifyWrite));
        let all: u64 = played.tallies.values().map(|it| it.latencies.len()).sum();
        assert_eq!(2000 + 2 * count(Kind::Update), all);
    }

    #[test]
    fn a_target_is_kept_also_by_operations_of_several_steps() {
        let inserts = [("readproportion", "0"), ("insertproportion", "1")];
        let played = run(&inserts, &Plan { target: 2000.0, ..Plan::run(200, 50) });
        let outcome = played.measured.outcome;
        assert_eq!(outcome.operations, 200);
        // The last of two hundred is due after 199 times half a millisecond.
        assert!(outcome.elapsed >= Duration::from_micros(99_500), "{:?}", outcome.elapsed);
        assert_eq!(outcome.lag.unwrap().schedule, Duration::from_millis(100));
    }

    #[test]
    fn a_target_that_is_too_high_for_the_time_is_told_with_what_was_not_sent() {
        let longest = Duration::from_millis(100);
        let fast = Plan { target: 1e8, longest, ..Plan::run(u64::MAX, 3) };
        let lag = run(&[], &fast).measured.outcome.lag.unwrap();
        assert_eq!(lag.schedule, longest);
        assert!(lag.unsent > 9_000_000 && lag.unsent < 10_000_000, "{lag:?}");
        assert!(lag.complaint().unwrap().contains("behind schedule"));
    }
}

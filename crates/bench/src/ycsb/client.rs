//! Clients that run one operation after the other, all on one thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use super::talk::Talk;
use super::workload::{Kind, Workload};
use crate::generator::{
    Arrival, Batch, Client, EventLoop, Heard, Monitor, Next, Outcome, Protocol, ReplyReader,
    Schedule, Stop, Turn,
};
use crate::measure::{Measured, metered};
use crate::process;
use crate::sampler::Watch;
use crate::servers::Server;

/// Settings of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of clients; each has one operation in flight.
    pub clients: usize,
    /// Most operations of all clients together.
    pub operations: u64,
    /// Time after which no operation begins.
    pub longest: Duration,
    /// Operations per second of all clients together. With a target, latencies count from the due
    /// times of operations.
    pub target: Option<f64>,
}

/// Operations by kind, with the latencies of those that were done.
pub type ByKind = BTreeMap<Kind, Outcome>;

/// Runs operations with clients on the calling thread; `watch` gets samples of the server. The
/// result has a failure if one of them was not done.
pub fn play(
    server: &Server,
    plan: Plan,
    workload: &mut Workload,
    watch: Option<Watch>,
) -> (Measured, ByKind) {
    let mut clients = Clients {
        protocol: server.protocol(),
        plan,
        workload,
        monitor: Arc::default(),
        schedule: None,
        talks: (0..plan.clients).map(|_| None).collect(),
        started: Instant::now(),
        outcome: Outcome::empty(),
        by_kind: ByKind::new(),
    };
    let monitor = Arc::clone(&clients.monitor);
    let run = || clients.run(server.port);
    let (ran, server_cpu, samples) = metered(server, &monitor, watch, run);
    let failure = ran.err();
    let Clients { outcome, by_kind, .. } = clients;
    let (all, done) = (outcome.operations, outcome.latencies.len());
    let undone = || anyhow!("{} of {all} operations were not done", all - done);
    let failure = failure.or_else(|| (done < all).then(undone));
    (Measured { outcome, server_cpu, samples, failure }, by_kind)
}

struct Clients<'w> {
    protocol: Protocol,
    plan: Plan,
    workload: &'w mut Workload,
    monitor: Arc<Monitor>,
    schedule: Option<Schedule>,
    /// Operations on their way, by connection.
    talks: Vec<Option<Talk>>,
    started: Instant,
    outcome: Outcome,
    by_kind: ByKind,
}

impl Clients<'_> {
    fn run(&mut self, port: u16) -> Result<()> {
        let Plan { clients, operations, longest, target } = self.plan;
        let scans = self.workload.has_scans;
        ensure!(clients > 0, "threadcount is 0");
        ensure!(!scans || self.protocol == Protocol::Resp, "Memcached has no scans");
        let mut event_loop = EventLoop::new()?;
        let reader = if scans { ReplyReader::keeping } else { ReplyReader::new };
        event_loop.connect_with(port, clients, || reader(self.protocol))?;
        let cpu_before = process::cpu_time_of_this_thread();
        self.started = Instant::now();
        let (arrival, in_time) = match target {
            Some(rate) => (Arrival::Even(rate), (rate * longest.as_secs_f64()) as u64),
            None => (Arrival::Closed, u64::MAX),
        };
        let stop = Stop::Operations(operations.min(in_time));
        self.schedule = Some(Schedule::new(arrival, 1, self.started, stop, 1)?);
        let ran = event_loop.run(&mut [self]);
        self.outcome.elapsed = self.started.elapsed();
        self.outcome.client_cpu = process::cpu_time_of_this_thread() - cpu_before;
        self.outcome.lag = self.schedule.as_ref().and_then(Schedule::lag);
        ran
    }

    /// Begins the next operation of a connection, or returns what it does instead.
    fn begin(&mut self, connection: usize, now: Instant) -> Result<Option<Next>> {
        let turn = self.schedule.as_mut().map_or(Ok(Turn::Over), |it| it.turn(now))?;
        let since = match turn {
            Turn::Send(since, _) if now - self.started <= self.plan.longest => since,
            Turn::At(due) => return Ok(Some(Next::At(due))),
            _ => return Ok(Some(Next::Rest)),
        };
        let talks = self.talks.iter().flatten();
        let in_flight = talks.filter(|it| it.kind == Kind::Insert).map(|it| it.record);
        let operation = self.workload.draw(in_flight);
        let Some(operation) = operation else { return Ok(Some(Next::Rest)) };
        let talk = Talk::new(self.protocol, self.workload, operation, since);
        self.talks[connection] = Some(talk);
        Ok(None)
    }
}

impl Client for Clients<'_> {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Next> {
        if self.talks[connection].is_none()
            && let Some(instead) = self.begin(connection, now)?
        {
            return Ok(instead);
        }
        if let Some(talk) = &self.talks[connection] {
            talk.write(self.protocol, self.workload, batch)?;
        }
        Ok(Next::Send)
    }

    fn heard(&mut self, connection: usize, heard: &Heard<'_>) -> Result<bool> {
        self.outcome.replies.add(&heard.replies);
        if let (None, Some(error)) = (&self.outcome.first_error, heard.first_error) {
            self.outcome.first_error = Some(error.to_owned());
        }
        let Some(mut talk) = self.talks[connection].take() else { return Ok(false) };
        let is_done = talk.hear(heard);
        if is_done && !talk.is_over() {
            self.talks[connection] = Some(talk);
            return Ok(true);
        }
        let nanos = (heard.now - talk.since).as_nanos() as u64;
        let of_kind = self.by_kind.entry(talk.kind).or_insert_with(Outcome::empty);
        for outcome in [&mut self.outcome, of_kind] {
            outcome.operations += 1;
            if is_done {
                outcome.latencies.saturating_record(nanos);
            }
        }
        self.monitor.add(1);
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::null_server;
    use crate::ycsb::workload::tests::workload;

    /// Plays against the null server, which has every record.
    fn run(workload: &mut Workload, plan: Plan) -> (Outcome, ByKind) {
        let (measured, by_kind) = play(&null_server(), plan, workload, None);
        assert!(measured.failure.is_none(), "{measured:?}");
        (measured.outcome, by_kind)
    }

    const PLAN: Plan = Plan { clients: 3, operations: 100, longest: Duration::MAX, target: None };

    #[test]
    fn all_operations_are_done_and_counted_by_kind() {
        let mut mixed = workload("readproportion=0.5 scanproportion=0.5");
        let (outcome, by_kind) = run(&mut mixed.loading(), PLAN);
        assert_eq!((outcome.operations, by_kind[&Kind::Insert].latencies.len()), (100, 100));
        let (outcome, by_kind) = run(&mut mixed, Plan { operations: 2000, ..PLAN });
        let counted: u64 = by_kind.values().map(|it| it.latencies.len()).sum();
        assert_eq!((outcome.latencies.len(), counted), (2000, 2000));
    }

    #[test]
    fn a_target_is_kept_also_by_operations_of_several_steps() {
        let plan = Plan { clients: 50, operations: 200, target: Some(2000.0), ..PLAN };
        let (outcome, _) = run(&mut workload("").loading(), plan);
        // The last of two hundred is due after 199 times half a millisecond.
        assert!(outcome.elapsed >= Duration::from_micros(99_500), "{:?}", outcome.elapsed);
        assert_eq!((outcome.operations, outcome.lag.unwrap().schedule.as_millis()), (200, 100));
    }

    #[test]
    fn a_target_that_is_too_high_for_the_time_is_told_with_what_was_not_sent() {
        let longest = Duration::from_millis(100);
        let fast = Plan { operations: u64::MAX, target: Some(1e8), longest, ..PLAN };
        let lag = run(&mut workload(""), fast).0.lag.unwrap();
        assert!(lag.schedule == longest && !lag.is_held(), "{lag:?}");
        assert!(lag.unsent > 9_000_000 && lag.unsent < 10_000_000, "{lag:?}");
    }
}

//! Clients that run one operation after the other, all on one thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use super::talk::Talk;
use super::workload::{Kind, Workload};
use crate::generator::{
    Arrival, Batch, Client, EventLoop, Load, Meter, Monitor, Outcome, Received, Stop, Turn,
};
use crate::measure::{Measured, metered};
use crate::protocol::Protocol;
use crate::replies::ReplyReader;
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
    let (mut by_kind, monitor) = (ByKind::new(), Arc::default());
    let mut outcome = Outcome::default();
    let (ran, measured) = metered(server, &monitor, watch, || {
        let mut clients = Clients {
            protocol: server.protocol_of_loads(),
            longest: plan.longest,
            talks: (0..plan.clients).map(|_| None).collect(),
            meter: plan.meter(Arc::clone(&monitor))?,
            workload,
            by_kind: &mut by_kind,
        };
        let ran = clients.run(server, plan.clients);
        outcome = clients.meter.finish();
        ran
    });
    let (all, done) = (outcome.operations, outcome.latencies.len());
    let undone = || anyhow!("{} of {all} operations were not done", all - done);
    let failure = ran.err().or_else(|| (done < all).then(undone));
    (Measured { outcome, failure, ..measured }, by_kind)
}

impl Plan {
    fn meter(&self, monitor: Arc<Monitor>) -> Result<Meter> {
        ensure!(self.clients > 0, "threadcount is 0");
        let (arrival, in_time) = match self.target {
            Some(rate) => (Arrival::Even(rate), (rate * self.longest.as_secs_f64()) as u64),
            None => (Arrival::Closed, u64::MAX),
        };
        let load = Load { arrival, pipeline: 1, ..Load::get(1) };
        Meter::start(&load, 0, Stop::Operations(self.operations.min(in_time)), monitor)
    }
}

struct Clients<'w> {
    protocol: Protocol,
    longest: Duration,
    workload: &'w mut Workload,
    /// Operations on their way, by connection.
    talks: Vec<Option<Talk>>,
    meter: Meter,
    by_kind: &'w mut ByKind,
}

impl Clients<'_> {
    fn run(&mut self, server: &Server, clients: usize) -> Result<()> {
        let scans = self.workload.has_scans;
        ensure!(!scans || self.protocol == Protocol::Resp, "Memcached has no scans");
        let mut event_loop = EventLoop::new()?;
        let reader = if scans { ReplyReader::keeping } else { ReplyReader::new };
        let address = server.address_for(self.protocol, false)?;
        event_loop.connect(&address, clients, &[], &reader(self.protocol))?;
        event_loop.run(&mut [self])
    }

    /// Begins the next operation of a connection, or returns what it does instead.
    fn begin(&mut self, connection: usize, now: Instant) -> Result<Turn> {
        let turn = self.meter.turn(now)?;
        let Turn::Send(since, _) = turn else { return Ok(turn) };
        if now - self.meter.started > self.longest {
            return Ok(Turn::Over);
        }
        let talks = self.talks.iter().flatten();
        let in_flight = talks.filter(|it| it.kind == Kind::Insert).map(|it| it.record);
        let Some(operation) = self.workload.draw(in_flight) else { return Ok(Turn::Over) };
        self.talks[connection] = Some(Talk::new(self.protocol, self.workload, operation, since));
        Ok(turn)
    }
}

impl Client for Clients<'_> {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Turn> {
        let is_amid = self.talks[connection].is_some();
        let turn = if is_amid { Turn::Send(now, 1) } else { self.begin(connection, now)? };
        if let (Turn::Send(..), Some(talk)) = (turn, &self.talks[connection]) {
            talk.write(self.protocol, self.workload, batch)?;
        }
        Ok(turn)
    }

    fn on_replies(&mut self, connection: usize, received: &Received<'_>) -> Result<bool> {
        let outcome = &mut self.meter.outcome;
        outcome.replies.add(&received.replies);
        outcome.first_error =
            outcome.first_error.take().or(received.first_error.map(str::to_owned));
        let Some(mut talk) = self.talks[connection].take() else { return Ok(false) };
        let is_done = talk.on_replies(received);
        if is_done && !talk.is_over() {
            self.talks[connection] = Some(talk);
            return Ok(true);
        }
        let nanos = (received.now - talk.since).as_nanos() as u64;
        let of_kind = self.by_kind.entry(talk.kind).or_default();
        for outcome in [&mut self.meter.outcome, of_kind] {
            outcome.operations += 1;
            if is_done {
                outcome.latencies.saturating_record(nanos);
            }
        }
        self.meter.add(1, received.now);
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
    fn a_target_that_is_too_high_for_the_time_is_reported_with_what_was_not_sent() {
        let longest = Duration::from_millis(100);
        let fast = Plan { operations: u64::MAX, target: Some(1e8), longest, ..PLAN };
        let lag = run(&mut workload(""), fast).0.lag.unwrap();
        assert!(lag.schedule == longest && !lag.is_kept(), "{lag:?}");
        assert!(lag.unsent > 9_000_000 && lag.unsent < 10_000_000, "{lag:?}");
    }
}

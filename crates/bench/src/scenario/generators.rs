//! The generator itself beside valkey-benchmark: requests per second of one thread, its CPU time,
//! and whether both see the same latency at the same load.
//!
//! On one connection both have one batch in flight, and must see equal times. On many against the
//! null server the generators are the limit, and each would time itself. On many against another
//! server both get as many replies, so that the mean time is the same, but a slower generator sends
//! its requests later and in other groups, and sees a smaller spread.
//!
//! valkey-benchmark stops its clock at the first bytes of a batch's replies, so that time is
//! compared with it.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::measure::{Load, fill, measure};
use super::{Bench, Scale, Scenario, pin_client};
use crate::generator::{Operation, Stop, ValueSize};
use crate::report::{Figure, Plot, Section};
use crate::servers::{Kind, Launch, Server};
use crate::statistics::median;
use crate::valkey_benchmark::{Gets, ValkeyBenchmark};

/// Amount of load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds.
    pub rounds: usize,
    /// GETs of one measurement on ten connections or more; a tenth of them on one connection.
    pub operations: u64,
    /// Connections, all of one thread.
    pub connections: Vec<usize>,
    /// Pipeline depths.
    pub pipelines: Vec<usize>,
    /// Keys, stored beforehand.
    pub keys: u64,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            rounds: scale.rounds(self.rounds).max(self.rounds.min(ROUNDS_MIN)),
            operations: scale.of(self.operations).max(self.operations.min(OPERATIONS_MIN)),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "GET, {} keys, {} operations in each round, on one connection a tenth of them; one \
             thread. The CPU time of valkey-benchmark includes its start.",
            self.keys, self.operations
        ));
        if bench.valkey_benchmark.is_none() {
            section.note("valkey-benchmark is not there: nothing was held against it.");
        }
        let mut plot =
            Plot::bars("GETs per second by one thread", Vec::new(), "operations per second");
        for program in [&bench.null].into_iter().chain(&bench.valkey) {
            let server = program.start(&Launch::default())?;
            if server.kind != Kind::Null {
                fill(&server, self.keys, ValueSize::Fixed(16))?;
            }
            for &connections in &self.connections {
                for &pipeline in &self.pipelines {
                    let place = Place { server: &server, connections, pipeline };
                    let [ours, theirs] = self.rounds(&place, bench.valkey_benchmark.as_ref())?;
                    for (name, rounds) in [(OURS, &ours), (THEIRS, &theirs)] {
                        if let Some(seen) = Seen::median(rounds) {
                            section.row(seen.cells(&place.name(), name));
                            plot.bar(name, &place.name(), seen.operations_per_second);
                        }
                    }
                    figures(section, &place, &ours, &theirs);
                }
            }
        }
        section.plot(plot);
        Ok(())
    }
}

impl Plan {
    fn operations_of(&self, place: &Place<'_>) -> u64 {
        self.operations * place.connections.min(10) as u64 / 10
    }

    /// Measures both generators in turns.
    fn rounds(&self, place: &Place<'_>, other: Option<&ValkeyBenchmark>) -> Result<[Vec<Seen>; 2]> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            ours.push(self.ours(place, round as u64 + 1)?);
            if let Some(other) = other {
                theirs.push(self.theirs(place, other)?);
            }
        }
        Ok([ours, theirs])
    }

    fn ours(&self, place: &Place<'_>, seed: u64) -> Result<Seen> {
        let mut load = Load::new(Operation::Get, place.pipeline, self.keys);
        load.connections = place.connections;
        load.stop = Stop::Operations(self.operations_of(place));
        load.seed = seed;
        let outcome = measure(place.server, &load)?.outcome;
        ensure!(outcome.replies.nil == 0, "keys are missing");
        Ok(Seen {
            operations_per_second: outcome.operations_per_second(),
            p50_us: outcome.first_reply_us(0.5),
            p99_us: outcome.first_reply_us(0.99),
            client_us: outcome.generator_us_per_operation(),
        })
    }

    fn theirs(&self, place: &Place<'_>, program: &ValkeyBenchmark) -> Result<Seen> {
        let gets = Gets {
            port: place.server.port,
            connections: place.connections,
            pipeline: place.pipeline,
            operations: self.operations_of(place),
            keys: self.keys,
        };
        let (said, used) = program.run(gets, 1)?;
        Ok(Seen {
            operations_per_second: said.operations_per_second,
            p50_us: said.p50_us,
            p99_us: said.p99_us,
            client_us: used.as_secs_f64() * 1e6 / self.operations_of(place) as f64,
        })
    }
}

/// Server and load on which both are measured.
struct Place<'a> {
    server: &'a Server,
    connections: usize,
    pipeline: usize,
}

impl Place<'_> {
    fn name(&self) -> String {
        let plural = if self.connections == 1 { "" } else { "s" };
        let (label, connections) = (&self.server.label, self.connections);
        format!("{label}, {connections} connection{plural}, pipeline {}", self.pipeline)
    }
}

/// Measurements of a generator.
struct Seen {
    operations_per_second: f64,
    p50_us: f64,
    p99_us: f64,
    client_us: f64,
}

impl Seen {
    fn median(rounds: &[Self]) -> Option<Self> {
        let of = |value: fn(&Self) -> f64| median(rounds.iter().map(value).collect());
        (!rounds.is_empty()).then(|| Self {
            operations_per_second: of(|seen| seen.operations_per_second),
            p50_us: of(|seen| seen.p50_us),
            p99_us: of(|seen| seen.p99_us),
            client_us: of(|seen| seen.client_us),
        })
    }

    fn cells(&self, group: &str, name: &str) -> [String; 6] {
        [
            group.to_owned(),
            name.to_owned(),
            format!("{:.0}", self.operations_per_second),
            format!("{:.0}", self.p50_us),
            format!("{:.0}", self.p99_us),
            format!("{:.3}", self.client_us),
        ]
    }
}

fn figures(section: &mut Section, place: &Place<'_>, ours: &[Seen], theirs: &[Seen]) {
    let at = place.name();
    let all = |rounds: &[Seen], of: fn(&Seen) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
    if place.server.kind == Kind::Null && place.connections > 1 {
        let rounds = all(ours, |seen| seen.operations_per_second);
        let what = format!("{at}: operations per second");
        section.figures.push(Figure::of_rounds(what, rounds, "op/s").more_is_better());
    }
    if theirs.is_empty() {
        return;
    }
    let ratio = |what: &str, of: fn(&Seen) -> f64| {
        let what = format!("{at}: {what} / valkey-benchmark's");
        Figure::ratio(what, &all(ours, of), &all(theirs, of))
    };
    section.figures.extend([
        ratio("operations per second", |seen| seen.operations_per_second).more_is_better(),
        ratio("client CPU per operation", |seen| seen.client_us),
    ]);
    // The null server is faster than either generator.
    if place.server.kind == Kind::Null && place.connections > 1 {
        return;
    }
    section.figures.extend([
        ratio("p50", |seen| seen.p50_us).one_is_best(),
        ratio("p99", |seen| seen.p99_us).one_is_best(),
    ]);
}

const OURS: &str = "varve-bench";
const THEIRS: &str = "valkey-benchmark";
/// Lower bound of the operations: a shorter measurement is not reliable.
const OPERATIONS_MIN: u64 = 1_000_000;
/// Lower bound of the rounds. The 99th percentile depends mostly on the machine: many short rounds
/// in turns are more reliable than a few long ones.
const ROUNDS_MIN: usize = 5;
const COLUMNS: [&str; 6] =
    ["load", "generator", "op/s", "first reply p50 us", "p99 us", "client us/op"];

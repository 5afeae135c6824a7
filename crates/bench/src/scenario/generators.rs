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

use anyhow::Result;
use serde::Deserialize;

use super::rounds::cell;
use super::{Bench, Scenario, pin_client};
use crate::generator::{Load, Sizes, quantile_us};
use crate::measure::{fill, measure};
use crate::report::{Figure, Plot, Section};
use crate::servers::{Kind, Launch, Server};
use crate::statistics::median;
use crate::valkey_benchmark;

/// Amount of load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds. The 99th percentile depends mostly on the machine: many short rounds in
    /// turns are more reliable than a few long ones.
    rounds: usize,
    /// GETs of one measurement on ten connections or more; a tenth of them on one connection.
    operations: u64,
    /// Connections, all of one thread.
    connections: Vec<usize>,
    /// Pipeline depths.
    pipelines: Vec<usize>,
    /// Keys, stored beforehand.
    keys: u64,
}

impl Scenario for Plan {
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
            fill(&server, self.keys, &Sizes::fixed(16))?;
            for &connections in &self.connections {
                for &pipeline in &self.pipelines {
                    let gets = self.gets(connections, pipeline);
                    let seen = self.rounds(&server, &gets, bench.valkey_benchmark.as_deref())?;
                    let plural = if connections == 1 { "" } else { "s" };
                    let label = &server.label;
                    let at =
                        format!("{label}, {connections} connection{plural}, pipeline {pipeline}");
                    for (name, seen) in ["varve-bench", "valkey-benchmark"].iter().zip(&seen) {
                        if seen[0].is_empty() {
                            continue;
                        }
                        let cells =
                            [0, 0, 0, 3].iter().zip(seen).map(|(digits, it)| cell(it, *digits));
                        section.row([at.clone(), (*name).to_owned()].into_iter().chain(cells));
                        plot.bar(name, &at, median(seen[0].clone()));
                    }
                    let is_limit = server.kind == Kind::Null && connections > 1;
                    figures(section, &at, is_limit, &seen);
                }
            }
        }
        section.plot(plot);
        Ok(())
    }
}

/// Rounds of the quantities in the table: operations per second, median and 99th percentile of the
/// time to the first reply, CPU time of the generator.
type Seen = [Vec<f64>; 4];

impl Plan {
    fn gets(&self, connections: usize, pipeline: usize) -> Load {
        let operations = self.operations * connections.min(10) as u64 / 10;
        Load::get(self.keys).on(connections).pipelined(pipeline).count(operations)
    }

    /// Measures both generators in turns, ours first.
    fn rounds(&self, server: &Server, gets: &Load, other: Option<&[String]>) -> Result<[Seen; 2]> {
        let mut seen = [Seen::default(), Seen::default()];
        let mut note = |generator: usize, quantities: [f64; 4]| {
            for (rounds, value) in seen[generator].iter_mut().zip(quantities) {
                rounds.push(value);
            }
        };
        for round in 1..=self.rounds as u64 {
            let outcome = measure(server, &gets.clone().seeded(round))?.outcome;
            let [p50, p99] = [0.5, 0.99].map(|at| quantile_us(&outcome.first_replies, at));
            note(0, [outcome.per_second(), p50, p99, outcome.client_us()]);
            if let Some(other) = other {
                note(1, valkey_benchmark::run(other, server.port, gets, 1)?);
            }
        }
        Ok(seen)
    }
}

/// Adds the figures of one load; `is_limit` says that either generator is slower than the server.
fn figures(section: &mut Section, at: &str, is_limit: bool, [ours, theirs]: &[Seen; 2]) {
    if is_limit {
        let what = format!("{at}: operations per second");
        section.figures.push(Figure::of_rounds(what, ours[0].clone(), "op/s").more_is_better());
    }
    if theirs[0].is_empty() {
        return;
    }
    let whats = ["operations per second", "p50", "p99", "client CPU per operation"];
    let [per_second, p50, p99, cpu] = std::array::from_fn(|quantity| {
        let what = format!("{at}: {} / valkey-benchmark's", whats[quantity]);
        Figure::ratio(what, &ours[quantity], &theirs[quantity])
    });
    section.figures.extend([per_second.more_is_better(), cpu]);
    if !is_limit {
        section.figures.extend([p50.one_is_best(), p99.one_is_best()]);
    }
}

const COLUMNS: [&str; 6] =
    ["load", "generator", "op/s", "first reply p50 us", "p99 us", "client us/op"];

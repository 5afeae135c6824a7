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

use super::rounds::by_value;
use super::{Bench, Scenario, pin_client};
use crate::generator::{Load, Sizes, quantile_us};
use crate::measure::{fill, measure};
use crate::report::Section;
use crate::servers::{Launch, Server};
use crate::valkey_benchmark;

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
    pipelines: Vec<usize>,
    /// Keys, stored beforehand.
    keys: u64,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        if bench.valkey_benchmark.is_none() {
            section.note("valkey-benchmark is not there: nothing was held against it.");
        }
        for program in [&bench.null].into_iter().chain(&bench.valkey) {
            let server = program.start(&Launch::default())?;
            fill(&server, self.keys, &Sizes::fixed(16))?;
            for &connections in &self.connections {
                for &pipeline in &self.pipelines {
                    let operations = self.operations * connections.min(10) as u64 / 10;
                    let gets = Load::get(self.keys).on(connections).pipelined(pipeline);
                    let gets = gets.count(operations);
                    let plural = if connections == 1 { "" } else { "s" };
                    let label = &server.label;
                    let row =
                        format!("{label}, {connections} connection{plural}, pipeline {pipeline}");
                    let seen = self.rounds(&server, &gets, bench.valkey_benchmark.as_deref())?;
                    for (name, seen) in ["varve-bench", "valkey-benchmark"].iter().zip(&seen) {
                        if !seen.is_empty() {
                            section.measured(&row, name, &by_value(seen));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Measures both generators in turns, ours first; returns the rounds of the quantities in the
    /// table.
    fn rounds(
        &self,
        server: &Server,
        gets: &Load,
        other: Option<&[String]>,
    ) -> Result<[Vec<[f64; 4]>; 2]> {
        let mut seen = [Vec::new(), Vec::new()];
        for round in 1..=self.rounds as u64 {
            let outcome = measure(server, &gets.clone().seeded(round))?.outcome;
            let [p50, p99] = [0.5, 0.99].map(|at| quantile_us(&outcome.first_replies, at));
            seen[0].push([outcome.per_second(), p50, p99, outcome.client_us()]);
            if let Some(other) = other {
                seen[1].push(valkey_benchmark::run(other, server.port, gets, 1)?);
            }
        }
        Ok(seen)
    }
}

const COLUMNS: &str = "load | generator | op/s .0 | first reply p50 us .0 | p99 us .0 | \
    client us/op .3";

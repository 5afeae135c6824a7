//! Server CPU per operation: beside the peers and the null server, with two threads, and over many
//! keys. Rounds are interleaved (A B C A B C ...), so that a slow minute of the machine falls on
//! all servers; the median over the rounds counts.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::bare::Bare;
use super::measure::{Load, fill};
use super::rounds::{Median, interleaved};
use super::{Bench, Scale, Scenario, milliseconds, peers_missing, pin_client};
use crate::generator::{KeyChoice, Operation, Stop, ValueSize};
use crate::process;
use crate::report::{Plot, Section};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Thoroughness of the CPU measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Pipeline depths.
    pub pipelines: Vec<usize>,
    /// Interleaved rounds.
    pub rounds: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
    /// Keys loaded beforehand.
    pub keys: u64,
    /// Keys of the server that holds many.
    #[serde(default)]
    pub many_keys: u64,
}

impl Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            rounds: scale.rounds(self.rounds),
            time: scale.time(self.time),
            many_keys: scale.of(self.many_keys).max(2 * self.keys),
            ..self
        }
    }
}

/// Varve, the peers and the null server side by side.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Compare(Plan);

/// One thread against two, per operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Threads(Plan);

/// A pipeline of 100 over 1 M keys against the same over many, beside Valkey and beside the cost
/// for the machine alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct ManyKeys(Plan);

impl Scenario for Compare {
    fn scaled(self, scale: Scale) -> Self {
        Self(self.0.scaled(scale))
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        let plan = &self.0;
        pin_client(1);
        let programs: Vec<_> = bench.all_programs().collect();
        let servers = start_filled(&programs, plan.keys)?;
        section.columns(&COMPARE_COLUMNS);
        section.note(
            "50 connections, 1 M keys, keys and values of 16 bytes; mix: GET and SET, zipf 0.99.",
        );
        peers_missing(section, bench);
        for &pipeline in &plan.pipelines {
            let title = format!("Server CPU per operation at pipeline {pipeline}");
            let mut plot = Plot::bars(title, Vec::new(), "microseconds");
            for workload in &WORKLOADS {
                let load = workload.load(pipeline, plan);
                let medians = interleaved(&servers, |_| load.clone(), plan.rounds)?;
                for median in &medians {
                    section.row(cells(median, pipeline, workload.name, &medians));
                    plot.bar(&median.label, workload.name, median.server_us);
                }
                compare_figures(section, pipeline, workload.name, &medians);
            }
            section.plot(plot);
        }
        Ok(())
    }
}

impl Scenario for Threads {
    fn scaled(self, scale: Scale) -> Self {
        Self(self.0.scaled(scale))
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        let plan = &self.0;
        pin_client(2);
        section.columns(&PAIR_COLUMNS);
        if process::cores() < 3 {
            section.note("Fewer than three cores: the client shares one with the servers.");
        }
        section.note("null: what two threads cost a server that parses and stores nothing.");
        let mut servers = Vec::new();
        for (program, name) in [(&bench.varve, ""), (&bench.null, ", null")] {
            for (threads, text) in [(1, "1 thread"), (2, "2 threads")] {
                let launch = Launch::default().with_threads(threads).on_cores(2);
                let mut server = program.start(&launch)?;
                server.label = format!("{text}{name}");
                servers.push(server);
            }
        }
        for server in &servers[..2] {
            fill(server, plan.keys, ValueSize::Fixed(16))?;
        }
        for &pipeline in &plan.pipelines {
            for workload in &WORKLOADS[..2] {
                let load = workload.load(pipeline, plan);
                let what =
                    format!("{} at pipeline {pipeline}: 2 threads / 1 thread", workload.name);
                let medians = interleaved(&servers, |_| load.clone(), plan.rounds)?;
                pair_rows(section, &medians[2..], pipeline, workload.name);
                pair_rows(section, &medians[..2], pipeline, workload.name);
                section.figures.push(medians[1].cpu_ratio(format!("CPU of {what}"), &medians[0]));
            }
        }
        Ok(())
    }
}

impl Scenario for ManyKeys {
    fn scaled(self, scale: Scale) -> Self {
        Self(self.0.scaled(scale))
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        let plan = &self.0;
        pin_client(1);
        section.columns(&PAIR_COLUMNS);
        section.note(
            "bare: a read of a random line and of the record that it names, eight at a time, and \
             nothing else; its time is that of a core.",
        );
        let counts = [plan.keys, plan.many_keys];
        let mut servers = Vec::new();
        for program in [&bench.varve].into_iter().chain(&bench.valkey) {
            for keys in counts {
                let mut server = program.start(&Launch::default())?;
                fill(&server, keys, ValueSize::Fixed(16))?;
                server.label = format!("{} M keys, {}", keys / 1_000_000, server.label);
                servers.push(server);
            }
        }
        for workload in &WORKLOADS[..2] {
            let load_of = |server| {
                workload.load(100, &Plan { keys: counts[server % counts.len()], ..plan.clone() })
            };
            let medians = interleaved(&servers, load_of, plan.rounds)?;
            for pair in medians.chunks(counts.len()).skip(1) {
                pair_rows(section, pair, 100, workload.name);
            }
            pair_rows(section, &medians[..counts.len()], 100, workload.name);
            let what = format!("CPU of {} at pipeline 100: many keys / 1 M keys", workload.name);
            section.figures.push(medians[1].cpu_ratio(what, &medians[0]));
        }
        drop(servers);
        bare_rows(section, counts, plan.rounds)?;
        Ok(())
    }
}

fn bare_rows(section: &mut Section, counts: [u64; 2], rounds: usize) -> Result<()> {
    let bare = counts.map(Bare::new);
    let mut nanos = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (bare, nanos) in bare.iter().zip(&mut nanos) {
            nanos.push(bare.nanos_per_lookup()?);
        }
    }
    let medians = nanos.map(median);
    for (keys, nanos) in counts.iter().zip(medians) {
        section.row([
            "bare".to_owned(),
            format!("{} M keys", keys / 1_000_000),
            format!("{:.3}", nanos / 1e3),
            format!("{:.2}", nanos / medians[0]),
        ]);
    }
    Ok(())
}

struct Workload {
    name: &'static str,
    operation: Operation,
    zipf: bool,
}

const WORKLOADS: [Workload; 3] = [
    Workload { name: "GET", operation: Operation::Get, zipf: false },
    Workload { name: "SET", operation: Operation::Set, zipf: false },
    Workload { name: "mix", operation: Operation::Mixed(50), zipf: true },
];

impl Workload {
    fn load(&self, pipeline: usize, plan: &Plan) -> Load {
        let mut load = Load::new(self.operation, pipeline, plan.keys);
        if self.zipf {
            load.keys = KeyChoice::Zipf { exponent: 0.99 };
        }
        load.stop = Stop::After(plan.time);
        load.warm_up = plan.time / 5;
        load
    }
}

fn cells(median: &Median, pipeline: usize, workload: &str, all: &[Median]) -> Vec<String> {
    let ratio = |to: &str| {
        let to = all.iter().find(|other| other.label == to);
        to.map_or("-".to_owned(), |to| format!("{:.2}", median.server_us / to.server_us))
    };
    let mut cells = vec![format!("{pipeline} {workload}"), median.label.clone()];
    cells.extend([format!("{:.3}", median.server_us), ratio("valkey"), ratio("null")]);
    cells.extend(median.speed_cells());
    cells
}

fn start_filled(programs: &[&Program], keys: u64) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    for program in programs {
        let server = program.start(&Launch::default())?;
        if server.kind != Kind::Null {
            fill(&server, keys, ValueSize::Fixed(16))?;
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Adds the ratios of Varve, which is the first, to each of the others.
fn compare_figures(section: &mut Section, pipeline: usize, name: &str, medians: &[Median]) {
    let Some((varve, others)) = medians.split_first() else { return };
    for other in others {
        let what = format!("CPU of {name} at pipeline {pipeline} / {}", other.label);
        section.figures.push(varve.cpu_ratio(what, other));
    }
}

/// Adds the rows of two medians.
fn pair_rows(section: &mut Section, medians: &[Median], pipeline: usize, name: &str) {
    let base = medians[0].server_us;
    for median in medians {
        let mut cells = vec![format!("{pipeline} {name}"), median.label.clone()];
        cells.extend([
            format!("{:.3}", median.server_us),
            format!("{:.2}", median.server_us / base),
        ]);
        cells.extend(median.speed_cells());
        section.row(cells);
    }
}

const COMPARE_COLUMNS: [&str; 9] = [
    "pipeline",
    "server",
    "CPU us/op",
    "of Valkey",
    "of null",
    "op/s",
    "p50 us",
    "p99 us",
    "client us/op",
];
const PAIR_COLUMNS: [&str; 8] =
    ["pipeline", "server", "CPU us/op", "ratio", "op/s", "p50 us", "p99 us", "client us/op"];

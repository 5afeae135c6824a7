//! GETs and SETs beside all peers: latency with one client, throughput with many.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::measure::{Load, fill};
use super::rounds::{Median, interleaved};
use super::{Bench, Scale, Scenario, milliseconds, pin_client};
use crate::generator::{KeyChoice, Operation, Stop, ValueSize};
use crate::report::{Plot, Section};
use crate::servers::{Kind, Launch, Server};

/// Data, loads and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds.
    pub rounds: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
    /// Bytes of keys and values that are stored.
    pub payload: u64,
    /// Connections.
    pub connections: usize,
    /// Requests in flight on each of them.
    pub pipeline: usize,
    /// Quantity that is shown.
    pub shows: Shows,
    /// Sizes of values, each with fresh servers.
    pub data: Vec<Data>,
    /// Loads for each size of values.
    pub mixes: Vec<Mix>,
}

/// Quantity that is drawn and compared with the peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// Round trips.
    Latency,
    /// Operations per second, and server CPU per operation.
    Throughput,
}

/// Values of one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    name: String,
    /// Bytes in a value.
    value: usize,
}

/// GETs and SETs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    name: String,
    /// Percentage of GETs.
    reads: u8,
    /// Exponent of a Zipf distribution of keys; uniform without it.
    zipf: Option<f64>,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            rounds: scale.rounds(self.rounds),
            time: scale.time(self.time),
            payload: scale.of(self.payload),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} connections, pipeline {}, {} MiB of keys of 16 bytes and values.",
            self.connections,
            self.pipeline,
            self.payload >> 20
        ));
        let (title, unit) = match self.shows {
            Shows::Latency => ("Round trip, the middle one", "microseconds"),
            Shows::Throughput => ("Operations per second", "operations per second"),
        };
        let mut plot = Plot::bars(title, Vec::new(), unit);
        for data in &self.data {
            let keys = (self.payload / (16 + data.value) as u64).max(1);
            let servers = start_filled(bench, keys, data)?;
            for mix in &self.mixes {
                let load = self.load(data, mix, keys);
                let medians = interleaved(&servers, |_| load.clone(), self.rounds)?;
                let name = [&data.name, &mix.name].map(String::as_str).join(" ");
                self.show(section, &mut plot, name.trim(), &medians);
            }
        }
        section.plot(plot);
        Ok(())
    }
}

impl Plan {
    fn load(&self, data: &Data, mix: &Mix, keys: u64) -> Load {
        let operation = match mix.reads {
            0 => Operation::Set,
            100.. => Operation::Get,
            reads => Operation::Mixed(reads),
        };
        let mut load = Load::new(operation, self.pipeline, keys);
        load.connections = self.connections;
        load.shape.value = ValueSize::Fixed(data.value);
        load.keys = mix.zipf.map_or(KeyChoice::Uniform, |exponent| KeyChoice::Zipf { exponent });
        load.stop = Stop::After(self.time);
        load.warm_up = self.time / 5;
        load
    }

    fn show(&self, section: &mut Section, plot: &mut Plot, name: &str, medians: &[Median]) {
        for median in medians {
            let mut cells = vec![name.to_owned(), median.label.clone()];
            cells.extend([format!("{:.2}", median.server_us)]);
            cells.extend(median.speed_cells());
            section.row(cells);
            let shown = match self.shows {
                Shows::Latency => median.p50_us,
                Shows::Throughput => median.operations_per_second,
            };
            plot.bar(&median.label, name, shown);
        }
        let Some((varve, others)) = medians.split_first() else { return };
        for other in others {
            let label = &other.label;
            if self.shows == Shows::Latency {
                section.figures.push(varve.p50_ratio(format!("{name}: p50 / {label}"), other));
            } else {
                let what = format!("{name}: CPU per operation / {label}");
                section.figures.push(varve.cpu_ratio(what, other));
                let what = format!("{name}: operations per second / {label}");
                section.figures.push(varve.throughput_ratio(what, other));
            }
        }
    }
}

fn start_filled(bench: &Bench, keys: u64, data: &Data) -> Result<Vec<Server>> {
    let start = |program: &crate::servers::Program| {
        let server = program.start(&Launch::default())?;
        if server.kind != Kind::Null {
            fill(&server, keys, ValueSize::Fixed(data.value))?;
        }
        Ok(server)
    };
    bench.all_programs().map(start).collect()
}

const COLUMNS: [&str; 7] =
    ["load", "server", "CPU us/op", "op/s", "p50 us", "p99 us", "client us/op"];

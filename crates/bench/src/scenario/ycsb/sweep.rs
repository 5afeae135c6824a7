//! Throughput and latency by number of clients, and latency by load.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::cost::{COLUMNS, Cost, Median};
use super::{Settings, Stored, null, programs};
use crate::null::Shape;
use crate::report::{Figure, Plot, Section};
use crate::scenario::{Bench, Scale, Scenario, milliseconds, pin_client};
use crate::servers::Kind;
use crate::ycsb::client::{self, Phase};

/// Workloads, clients and amount of data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds.
    pub rounds: usize,
    /// Property files of the workloads.
    pub workloads: Vec<PathBuf>,
    /// Records that are stored beforehand.
    pub records: u64,
    /// Most operations of one measurement.
    pub operations: u64,
    /// Longest time of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub longest: Duration,
    /// Numbers of clients; each has one operation in flight.
    pub clients: Vec<usize>,
    /// Loads, as fractions of each server's throughput with most clients.
    #[serde(default)]
    pub loads: Vec<f64>,
    /// Workloads that are left out for a server, by the name of the server.
    #[serde(default)]
    pub not_on_memcached: Vec<PathBuf>,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            rounds: scale.rounds(self.rounds),
            records: scale.of(self.records).max(RECORDS_MIN),
            operations: scale.of(self.operations).max(OPERATIONS_MIN),
            longest: self.longest.mul_f64(scale.factor()).max(self.longest.min(LONGEST_MIN)),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} records; at most {} operations, or {} ms, in each measurement; clients are \
             connections of one thread. The null server sends the same fields always, and {} keys \
             to a scan. Reads are reads and scans; writes are updates, insertions, and reads with \
             the update that follows. CPU time of the server; how much of it is system time only \
             where the clock ticked often enough to tell, and in the figures from all numbers of \
             clients.",
            self.records,
            self.operations,
            self.longest.as_millis(),
            Shape::default().keys
        ));
        self.workloads.iter().try_for_each(|file| self.run_one(bench, section, file))
    }
}

impl Plan {
    fn run_one(&self, bench: &Bench, section: &mut Section, file: &PathBuf) -> Result<()> {
        let name = file.file_name().context("a workload has a name")?.to_string_lossy();
        let settings = Settings::read(file, self.records, self.operations)?;
        let asked = |kind| kind != Kind::Memcached || !self.not_on_memcached.contains(file);
        let null = null(bench, &settings);
        let programs = programs(bench).chain([&null]).filter(|program| asked(program.kind));
        let servers =
            programs.map(|it| Stored::start(it, &settings)).collect::<Result<Vec<_>>>()?;
        let mut plot =
            Plot::lines(format!("{name}: throughput"), "clients", "operations per second");
        let mut all: Vec<Vec<Cost>> = servers.iter().map(|_| Vec::new()).collect();
        let mut most = Vec::new();
        for &clients in &self.clients {
            let measured = self.interleaved(&servers, clients, |_| 0.0)?;
            most = measured.iter().map(|rounds| Median::of(rounds)).collect();
            for (median, server) in most.iter().zip(&servers) {
                let label = &server.server.label;
                section.row(median.cells(&format!("{name}, {clients} clients"), label));
                plot.point(label, clients as f64, median.throughput);
            }
            all.iter_mut().zip(measured).for_each(|(all, rounds)| all.extend(rounds));
        }
        if self.clients.len() > 1 {
            section.plot(plot);
        }
        let sums: Vec<_> = all.iter().map(|costs| Cost::system_share_of(costs)).collect();
        figures(section, &name, &servers, &most, &sums);
        if !self.loads.is_empty() {
            self.latency_by_load(section, &name, &servers, &most)?;
        }
        Ok(())
    }

    fn latency_by_load(
        &self,
        section: &mut Section,
        name: &str,
        servers: &[Stored],
        most: &[Median],
    ) -> Result<()> {
        let clients = self.most_clients()?;
        let mut plot = Plot::lines(
            format!("{name}: latency by load, {clients} clients"),
            "operations per second",
            "p99 of all operations in microseconds",
        )
        .log_y();
        for load in &self.loads {
            let measured =
                self.interleaved(servers, clients, |number| most[number].throughput * load)?;
            for (server, rounds) in servers.iter().zip(&measured) {
                let median = Median::of(rounds);
                let label = &server.server.label;
                let what = format!("{name}, {:.0} % of its most", load * 100.0);
                section.row(median.cells(&what, label));
                plot.point(label, median.throughput, median.p99_us);
                if let Some(complaint) = median.complaint {
                    section.note(format!("{label}, {what}: {complaint}"));
                }
            }
        }
        section.plot(plot);
        Ok(())
    }

    fn most_clients(&self) -> Result<usize> {
        self.clients.iter().copied().max().context("no clients")
    }

    /// Measures all servers in turns. `target_of` returns the target in operations per second for
    /// the server of a number; zero for no limit.
    fn interleaved(
        &self,
        servers: &[Stored],
        clients: usize,
        target_of: impl Fn(usize) -> f64,
    ) -> Result<Vec<Vec<Cost>>> {
        let mut measured: Vec<Vec<Cost>> = servers.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.rounds {
            for (number, (server, rounds)) in servers.iter().zip(&mut measured).enumerate() {
                let phase = Phase::Run(self.operations);
                let (target, longest) = (target_of(number), self.longest);
                let plan = client::Plan { clients, phase, target, longest };
                rounds.push(Cost::of(server, plan)?);
            }
        }
        Ok(measured)
    }
}

/// Adds the ratios of Varve, the first, to each of the others, at the highest number of clients.
fn figures(
    section: &mut Section,
    name: &str,
    servers: &[Stored],
    most: &[Median],
    system_shares: &[Option<f64>],
) {
    let Some(varve) = most.first() else { return };
    let system_us = |at: usize| system_shares[at].map(|share: f64| share * most[at].cpu_us);
    for (at, (server, other)) in servers.iter().zip(most).enumerate().skip(1) {
        let label = &server.server.label;
        let ratio = |what: &str, of: fn(&Median) -> &Vec<f64>| {
            Figure::ratio(format!("{name}: {what} / {label}"), of(varve), of(other))
        };
        section.figures.extend([
            ratio("CPU per operation", |median| &median.cpu_rounds),
            ratio("p99 of all operations", |median| &median.p99_rounds),
            ratio("operations per second", |median| &median.throughput_rounds).more_is_better(),
        ]);
        let what = format!("{name}: system time per operation / {label}");
        let ratio = system_us(0).zip(system_us(at)).map(|(ours, theirs)| ours / theirs);
        section.finding(what, ratio, "");
    }
}

const RECORDS_MIN: u64 = 1000;
const LONGEST_MIN: Duration = Duration::from_millis(150);
const OPERATIONS_MIN: u64 = 5_000;

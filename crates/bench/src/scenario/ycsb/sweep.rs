//! Throughput and latency by number of clients, and latency by load.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::claim::Claim;
use super::{name, played, programs, start, workload};
use crate::generator::{Lag, Outcome};
use crate::report::{Figure, Plot, Section};
use crate::scenario::rounds::{cell, in_turns};
use crate::scenario::{Bench, Scenario, milliseconds, pin_client};
use crate::servers::{Kind, Server};
use crate::statistics::median;
use crate::ycsb::{self, Kind as Done, Played, Workload};

/// Workloads, clients and amount of data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds.
    rounds: usize,
    /// Property files of the workloads.
    workloads: Vec<PathBuf>,
    /// True if the workloads follow each other on the records that the first one loads; otherwise
    /// each has fresh servers.
    #[serde(default)]
    same_records: bool,
    /// Records that are stored beforehand.
    records: u64,
    /// Most operations of one measurement; with scans a tenth of them.
    operations: u64,
    /// Longest time of one measurement.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    longest: Duration,
    /// Numbers of clients; each has one operation in flight.
    clients: Vec<usize>,
    /// Loads, as fractions of each server's throughput with most clients.
    #[serde(default)]
    loads: Vec<f64>,
    /// What the source says.
    #[serde(default)]
    claims: Vec<Claim>,
}

/// Server, and what is on it.
struct Stored {
    server: Server,
    workload: RefCell<Workload>,
}

/// Results of one server by round; times are in microseconds.
#[derive(Debug)]
pub(super) struct Costs {
    pub label: String,
    pub workload: String,
    pub clients: usize,
    pub per_second: Vec<f64>,
    /// User and system time of the server per operation.
    pub cpu: Vec<f64>,
    /// Part of it that was spent in the kernel, over all rounds; NaN if too few clock ticks tell.
    pub system: f64,
    pub mean: Vec<f64>,
    p99: Vec<f64>,
    /// p50 and p99 of reads and scans, and of all that writes.
    latencies: [Vec<f64>; 4],
    client: Vec<f64>,
    /// Delay of the worst round behind its target, if it was too long.
    complaint: Option<String>,
}

impl Costs {
    fn of(label: &str, workload: &str, clients: usize, rounds: &[Played]) -> Self {
        let all = |of: &dyn Fn(&Played) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
        let of = |of: fn(&Outcome) -> f64| all(&|it| of(&it.measured.outcome));
        let latency = |kinds: fn(&Played) -> &'static [Done], quantile| {
            all(&|it| it.latency_us(kinds(it), quantile))
        };
        let cpu = all(&|it| it.measured.server_us());
        let user: Duration = rounds.iter().map(|it| it.ticked.0).sum();
        let system: Duration = rounds.iter().map(|it| it.ticked.1).sum();
        let share = system.as_secs_f64() / (user + system).as_secs_f64();
        let is_known = user + system >= TICKED_MIN;
        let lags = rounds.iter().filter_map(|it| it.measured.outcome.lag);
        Self {
            label: label.to_owned(),
            workload: workload.to_owned(),
            clients,
            per_second: of(Outcome::per_second),
            system: if is_known { share * median(cpu.clone()) } else { f64::NAN },
            cpu,
            mean: of(|it| it.latencies.mean() / 1e3),
            p99: of(|it| it.latency_us(0.99)),
            latencies: [
                latency(|_| &[Done::Read, Done::Scan], 0.5),
                latency(|_| &[Done::Read, Done::Scan], 0.99),
                latency(writes, 0.5),
                latency(writes, 0.99),
            ],
            client: of(Outcome::client_us),
            complaint: lags.max_by_key(|lag| lag.at_end).as_ref().and_then(Lag::complaint),
        }
    }

    /// Returns a row of [`COLUMNS`]; a server that was too slow for its target is marked.
    fn cells(&self, what: String) -> Vec<String> {
        let mark = if self.complaint.is_some() { " (too slow)" } else { "" };
        let mut cells = vec![what, self.label.clone()];
        cells.push(cell(&self.per_second, 0) + mark);
        cells.push(cell(&self.mean, 0));
        cells.extend(self.latencies.iter().map(|rounds| cell(rounds, 0)));
        cells.extend([cell(&self.cpu, 2), cell(&[self.system], 2), cell(&self.client, 2)]);
        cells
    }
}

/// Returns the kinds that count as writes. Where records are read to be modified, updates are only
/// parts of that.
fn writes(played: &Played) -> &'static [Done] {
    match played.tallies.contains_key(&Done::ReadModifyWrite) {
        true => &[Done::ReadModifyWrite, Done::Insert],
        false => &[Done::Update, Done::Insert, Done::Delete],
    }
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} records; at most {} operations (a tenth of them with scans), or {} ms, in each \
             measurement; clients are connections of one thread. The null server sends the same \
             fields always, and 50 keys to a scan; Memcached has no scans. CPU time of the server; \
             its system time only where the clock ticked often enough to tell.",
            self.records,
            self.operations,
            self.longest.as_millis(),
        ));
        let mut all = Vec::new();
        let mut servers = Vec::new();
        for file in &self.workloads {
            let next = workload(file, self.records, self.operations)?;
            if servers.is_empty() || !self.same_records {
                servers.clear();
                for program in programs(bench, &next) {
                    let (server, workload) = (start(&program, &next)?, RefCell::new(next.clone()));
                    servers.push(Stored { server, workload });
                }
            }
            let asked = |it: &&Stored| it.server.kind != Kind::Memcached || !next.has_scans;
            let asked: Vec<_> = servers.iter().filter(asked).collect();
            for Stored { workload, .. } in &asked {
                let before = workload.replace(next.clone());
                workload.replace_with(|it| it.clone().after(before));
            }
            let most = self.by_clients(section, &name(file), &asked, &mut all)?;
            if !self.loads.is_empty() {
                self.by_load(section, &name(file), &asked, &most)?;
            }
        }
        self.claims.iter().for_each(|claim| claim.note(section, &all));
        Ok(())
    }
}

impl Plan {
    /// Measures each number of clients; returns the throughput of each server with most clients.
    fn by_clients(
        &self,
        section: &mut Section,
        name: &str,
        servers: &[&Stored],
        all: &mut Vec<Costs>,
    ) -> Result<Vec<f64>> {
        let mut plot =
            Plot::lines(format!("{name}: throughput"), "clients", "operations per second");
        let mut last = Vec::new();
        for &clients in &self.clients {
            all.append(&mut last);
            last = self.costs(name, servers, clients, |_| 0.0)?;
            for costs in &last {
                section.row(costs.cells(format!("{name}, {clients} clients")));
                plot.point(&costs.label, clients as f64, median(costs.per_second.clone()));
            }
        }
        if self.clients.len() > 1 {
            section.plot(plot);
        }
        figures(section, name, &last);
        let most = last.iter().map(|costs| median(costs.per_second.clone())).collect();
        all.append(&mut last);
        Ok(most)
    }

    fn by_load(
        &self,
        section: &mut Section,
        name: &str,
        servers: &[&Stored],
        most: &[f64],
    ) -> Result<()> {
        let clients = self.clients.last().copied().context("no clients")?;
        let title = format!("{name}: latency by load, {clients} clients");
        let y = "p99 of all operations in microseconds";
        let mut plot = Plot::lines(title, "operations per second", y).log_y();
        for load in &self.loads {
            let what = format!("{name}, {:.0} % of its most", load * 100.0);
            for costs in self.costs(name, servers, clients, |number| most[number] * load)? {
                section.row(costs.cells(what.clone()));
                let (x, y) = (median(costs.per_second.clone()), median(costs.p99.clone()));
                plot.point(&costs.label, x, y);
                if let Some(complaint) = costs.complaint {
                    section.note(format!("{}, {what}: {complaint}", costs.label));
                }
            }
        }
        section.plot(plot);
        Ok(())
    }

    /// Measures all servers in turns. `target_of` returns the target in operations per second for
    /// the server of a number; zero for no limit.
    fn costs(
        &self,
        name: &str,
        servers: &[&Stored],
        clients: usize,
        target_of: impl Fn(usize) -> f64,
    ) -> Result<Vec<Costs>> {
        let numbered: Vec<_> = servers.iter().enumerate().collect();
        let all = in_turns(&numbered, self.rounds, |(number, stored), _| {
            let mut workload = stored.workload.borrow_mut();
            let part = if workload.has_scans { 10 } else { 1 };
            let run = ycsb::Plan::run((self.operations / part).max(1), clients);
            let (target, longest) = (target_of(*number), self.longest);
            played(&stored.server, &ycsb::Plan { target, longest, ..run }, &mut workload)
        });
        let costs = servers
            .iter()
            .zip(all)
            .map(|(stored, rounds)| Ok(Costs::of(&stored.server.label, name, clients, &rounds?)));
        costs.collect()
    }
}

/// Adds the ratios of Varve, the first, to each of the others.
fn figures(section: &mut Section, name: &str, all: &[Costs]) {
    let Some((varve, others)) = all.split_first() else { return };
    for other in others {
        let what = |what: &str| format!("{name}: {what} / {}", other.label);
        section.figures.extend([
            Figure::ratio(what("CPU per operation"), &varve.cpu, &other.cpu),
            Figure::ratio(what("p99 of all operations"), &varve.p99, &other.p99),
            Figure::ratio(what("operations per second"), &varve.per_second, &other.per_second)
                .more_is_better(),
        ]);
        let system = Some(varve.system / other.system).filter(|ratio| ratio.is_finite());
        section.finding(what("system time per operation"), system, "");
    }
}

/// Least CPU time for a split into user and system time; clock ticks are ten milliseconds.
const TICKED_MIN: Duration = Duration::from_millis(500);
const COLUMNS: [&str; 11] = [
    "workload",
    "server",
    "op/s",
    "mean us",
    "read p50 us",
    "p99 us",
    "write p50 us",
    "p99 us",
    "CPU us/op",
    "of that system",
    "client us/op",
];

//! Throughput and latency by number of clients, and latency by load.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::costs::{COLUMNS, Costs};
use super::{name, played, programs, start, workload};
use crate::report::{Figure, Plot, Section};
use crate::scenario::rounds::in_turns;
use crate::scenario::{Bench, Scenario, milliseconds, pin_client};
use crate::servers::{Kind, Server};
use crate::statistics::median;
use crate::ycsb::{self, Workload};

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
}

/// Server, and what is on it.
struct Stored {
    server: Server,
    workload: RefCell<Workload>,
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
            let most = self.by_clients(section, &name(file), &asked)?;
            if !self.loads.is_empty() {
                self.by_load(section, &name(file), &asked, &most)?;
            }
        }
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
    ) -> Result<Vec<f64>> {
        let mut plot =
            Plot::lines(format!("{name}: throughput"), "clients", "operations per second");
        let mut last = Vec::new();
        for &clients in &self.clients {
            last = self.costs(servers, clients, |_| 0.0)?;
            for costs in &last {
                section.row(costs.cells(format!("{name}, {clients} clients")));
                plot.point(&costs.label, clients as f64, median(costs.per_second.clone()));
            }
        }
        if self.clients.len() > 1 {
            section.plot(plot);
        }
        figures(section, name, &last);
        Ok(last.iter().map(|costs| median(costs.per_second.clone())).collect())
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
            for costs in self.costs(servers, clients, |number| most[number] * load)? {
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
            .map(|(stored, rounds)| Ok(Costs::of(&stored.server.label, &rounds?)));
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

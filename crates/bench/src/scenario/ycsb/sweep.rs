//! Throughput and latency by number of clients, and latency by load.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::{Details, played, start, workload};
use crate::generator::{Lag, Outcome, quantile_us};
use crate::measure::Measured;
use crate::report::{Figure, Plot, Section};
use crate::scenario::rounds::{self, cell, in_turns};
use crate::scenario::{Bench, Scenario, milliseconds, pin_client};
use crate::servers::{self, Server};
use crate::statistics::median;
use crate::ycsb::{self, Kind, Workload};

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
                // The old ones end first.
                servers.clear();
                servers = all_with(bench, &next)?;
            }
            let asked =
                |it: &&Stored| it.server.kind != servers::Kind::Memcached || !next.has_scans;
            let asked: Vec<_> = servers.iter().filter(asked).collect();
            for stored in &asked {
                stored.workload.replace_with(|before| next.clone().after(before));
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            self.measure(section, &name, &asked)?;
        }
        Ok(())
    }
}

/// Starts all servers, the null server with records as large as those of a workload.
fn all_with(bench: &Bench, workload: &Workload) -> Result<Vec<Stored>> {
    let (fields, bytes) = (workload.fields.len().to_string(), workload.field_bytes.to_string());
    let words = ["--fields", &fields, "--field-bytes", &bytes];
    let null = bench.null.clone().with_arguments(&words);
    let stored = |program| {
        Ok(Stored { server: start(program, workload)?, workload: workload.clone().into() })
    };
    bench.varve_and_all_peers().chain([&null]).map(stored).collect()
}

impl Plan {
    /// Measures a workload with each number of clients, and then with each load.
    fn measure(&self, section: &mut Section, name: &str, servers: &[&Stored]) -> Result<()> {
        let title = format!("{name}: throughput");
        let mut plot = Plot::lines(title, "clients", "operations per second");
        let (mut last, mut most) = (Vec::new(), 0);
        for &clients in &self.clients {
            let what = format!("{name}, {clients} clients");
            (last, most) = (self.costs(section, &what, servers, clients, &[])?, clients);
            for Costs { all, .. } in &last {
                plot.point(&all.label, clients as f64, median(all.per_second.clone()));
            }
        }
        if self.clients.len() > 1 {
            section.plot(plot);
        }
        figures(section, name, &last);
        let title = format!("{name}: latency by load, {most} clients");
        let y = "p99 of all operations in microseconds";
        let mut plot = Plot::lines(title, "operations per second", y).log_y();
        for load in &self.loads {
            let target = |costs: &Costs| median(costs.all.per_second.clone()) * load;
            let targets: Vec<_> = last.iter().map(target).collect();
            let what = format!("{name}, {:.0} % of its most", load * 100.0);
            for Costs { all, .. } in self.costs(section, &what, servers, most, &targets)? {
                plot.point(&all.label, median(all.per_second), median(all.p99_us));
            }
        }
        if !self.loads.is_empty() {
            section.plot(plot);
        }
        Ok(())
    }

    /// Measures all servers in turns, each with its target in operations per second if it has one.
    fn costs(
        &self,
        section: &mut Section,
        what: &str,
        servers: &[&Stored],
        clients: usize,
        targets: &[f64],
    ) -> Result<Vec<Costs>> {
        let numbered: Vec<_> = servers.iter().enumerate().collect();
        let all = in_turns(&numbered, self.rounds, |(number, stored), _| {
            let mut workload = stored.workload.borrow_mut();
            let part = if workload.has_scans { 10 } else { 1 };
            let (operations, longest) = ((self.operations / part).max(1), self.longest);
            let target = targets.get(*number).copied();
            let plan = ycsb::Plan { clients, operations, longest, target };
            played(&stored.server, plan, &mut workload)
        });
        let mut costs = Vec::new();
        for (Stored { server, .. }, rounds) in servers.iter().zip(all) {
            let one = Costs::of(&server.label, rounds?);
            section.row([what.to_owned()].into_iter().chain(one.cells.clone()));
            if let Some(complaint) = &one.complaint {
                section.note(format!("{}, {what}: {complaint}", server.label));
            }
            costs.push(one);
        }
        Ok(costs)
    }
}

/// Adds the ratios of Varve, the first, to each of the others.
fn figures(section: &mut Section, name: &str, costs: &[Costs]) {
    let Some((Costs { all: varve, system, .. }, others)) = costs.split_first() else { return };
    for Costs { all: other, system: of_other, .. } in others {
        let what = |what: &str| format!("{name}: {what} / {}", other.label);
        section.figures.extend([
            Figure::ratio(what("CPU per operation"), &varve.server_us, &other.server_us),
            Figure::ratio(what("p99 of all operations"), &varve.p99_us, &other.p99_us),
            Figure::ratio(what("operations per second"), &varve.per_second, &other.per_second)
                .more_is_better(),
        ]);
        let system = Some(system / of_other).filter(|ratio| ratio.is_finite());
        section.finding(what("system time per operation"), system, "");
    }
}

/// Results of one server; times are in microseconds.
struct Costs {
    /// Costs by round.
    all: rounds::Costs,
    /// Time of the server in the kernel per operation, over all rounds; NaN if too few clock ticks
    /// tell.
    system: f64,
    /// Cells of [`COLUMNS`] from the server on; one that was too slow for its target is marked.
    cells: Vec<String>,
    /// Delay of the worst round behind its target, if it was too long.
    complaint: Option<String>,
}

impl Costs {
    fn of(label: &str, rounds: Vec<(Measured, Details)>) -> Self {
        let (measured, details): (Vec<_>, Vec<_>) = rounds.into_iter().unzip();
        let all = rounds::Costs::of(label, &measured);
        let [user, system]: [Duration; 2] =
            [0, 1].map(|at| details.iter().map(|it| it.ticked[at]).sum());
        let share = system.as_secs_f64() / (user + system).as_secs_f64();
        let is_known = user + system >= TICKED_MIN;
        let system = if is_known { share * median(all.server_us.clone()) } else { f64::NAN };
        let lags = measured.iter().filter_map(|it| it.outcome.lag);
        let complaint = lags.max_by_key(|lag| lag.at_end).as_ref().and_then(Lag::complaint);
        let mark = if complaint.is_some() { " (too slow)" } else { "" };
        let mean = measured.iter().map(|it| it.outcome.latencies.mean() / 1e3).collect::<Vec<_>>();
        let mut cells = vec![label.to_owned(), cell(&all.per_second, 0) + mark, cell(&mean, 0)];
        for (kinds, quantile) in [(READS, 0.5), (READS, 0.99), (WRITES, 0.5), (WRITES, 0.99)] {
            let latency = |it: &Details| latency_us(it, kinds, quantile);
            cells.push(cell(&details.iter().map(latency).collect::<Vec<_>>(), 0));
        }
        cells.extend([cell(&all.server_us, 2), cell(&[system], 2), cell(&all.client_us, 2)]);
        Self { all, system, cells, complaint }
    }
}

/// Returns a quantile of the latencies of some kinds, in microseconds; NaN if there were none.
fn latency_us(details: &Details, kinds: &[Kind], quantile: f64) -> f64 {
    let mut all = Outcome::empty().latencies;
    for outcome in kinds.iter().filter_map(|kind| details.by_kind.get(kind)) {
        // All have the same bounds.
        let _ = all.add(&outcome.latencies);
    }
    if all.is_empty() { f64::NAN } else { quantile_us(&all, quantile) }
}

const READS: &[Kind] = &[Kind::Read, Kind::Scan];
const WRITES: &[Kind] = &[Kind::Update, Kind::Insert, Kind::ReadModifyWrite, Kind::Delete];
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

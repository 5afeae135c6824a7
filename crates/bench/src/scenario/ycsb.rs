//! YCSB's workloads on all servers: throughput and latency by number of clients, and latency by
//! load. Varve, Valkey and Redis have its connector for Redis; Memcached has that for Memcached,
//! and so has Varve a second time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::rounds::in_turns;
use super::{Bench, Scenario};
use crate::generator::{Lag, Outcome, quantile_us};
use crate::measure::Measured;
use crate::process::{self, user_and_system_time};
use crate::protocol::Protocol;
use crate::report::{Plot, Section};
use crate::servers::{self, Launch, Program, Server};
use crate::statistics::median;
use crate::ycsb::{self, ByKind, Kind, Properties, Workload, play};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds.
    rounds: usize,
    workloads: Vec<PathBuf>,
    /// True if the workloads follow each other on the records that the first one loads; otherwise
    /// each has fresh servers.
    #[serde(default)]
    same_records: bool,
    /// Workloads that have half of the records and operations.
    #[serde(default)]
    half: Vec<PathBuf>,
    /// Records that are stored beforehand.
    records: u64,
    /// Most operations of one measurement; with scans a tenth of them.
    operations: u64,
    /// Milliseconds that one measurement takes at most.
    ms: u64,
    /// Numbers of clients; each has one operation in flight.
    clients: Vec<usize>,
    /// Loads, as fractions of each server's throughput with most clients.
    #[serde(default)]
    loads: Vec<f64>,
}

/// Server, and what is on it.
struct Stored {
    server: Server,
    workload: Workload,
    /// Operations per second with most clients.
    most: f64,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        process::pin_this_thread(1);
        section.columns(COLUMNS);
        let mut servers = Vec::new();
        for file in &self.workloads {
            let part = 1 + u64::from(self.half.contains(file));
            let next = workload(file, self.records / part, self.operations / part)?;
            if servers.is_empty() || !self.same_records {
                // The old ones end first.
                servers.clear();
                servers = all_with(bench, &next)?;
            }
            let asked = |it: &&mut Stored| {
                it.server.protocol_of_loads() == Protocol::Resp || !next.has_scans
            };
            let mut asked: Vec<_> = servers.iter_mut().filter(asked).collect();
            for stored in &mut asked {
                stored.workload = next.clone().after(&stored.workload);
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            self.measure(section, &name, &mut asked)?;
        }
        Ok(())
    }
}

/// Starts all servers, the null server with records as large as those of a workload.
fn all_with(bench: &Bench, workload: &Workload) -> Result<Vec<Stored>> {
    let (fields, bytes) = (workload.fields.len().to_string(), workload.field_bytes.to_string());
    let words = ["--fields", &fields, "--field-bytes", &bytes];
    let null = bench.null.clone().with_arguments(&words);
    let mut by_memcached = bench.varve.clone();
    VARVE_MEMCACHED.clone_into(&mut by_memcached.label);
    let stored = |program: &Program| {
        let mut launch = Launch::on(1, 1);
        if program.label == VARVE_MEMCACHED {
            launch = launch.with("memcached", "yes");
        }
        let server = program.start(&launch)?;
        store(&server, workload)?;
        Ok(Stored { server, workload: workload.clone(), most: f64::NAN })
    };
    bench.varve_and_all_peers().chain([&by_memcached, &null]).map(stored).collect()
}

impl Plan {
    /// Measures a workload with each number of clients, and then with each load.
    fn measure(
        &self,
        section: &mut Section,
        name: &str,
        servers: &mut [&mut Stored],
    ) -> Result<()> {
        let (title, y) = (format!("{name}: throughput"), "operations per second");
        let mut most = 0;
        for &clients in &self.clients {
            let what = format!("{name}, {clients} clients");
            let all = self.measure_all(section, &what, servers, clients, None)?;
            for (stored, [per_second, _]) in servers.iter_mut().zip(all) {
                stored.most = per_second;
                if self.clients.len() > 1 {
                    let plot = section.plot(Plot::lines(&title, "clients", y));
                    plot.point(&stored.server.label, clients as f64, per_second);
                }
            }
            most = clients;
        }
        let title = format!("{name}: latency by load, {most} clients");
        let (x, y) = (y, "p99 of all operations in microseconds");
        for load in &self.loads {
            let what = format!("{name}, {:.0} % of its most", load * 100.0);
            let all = self.measure_all(section, &what, servers, most, Some(*load))?;
            for (stored, [per_second, p99]) in servers.iter().zip(all) {
                let plot = section.plot(Plot::lines(&title, x, y).log(false, true));
                plot.point(&stored.server.label, per_second, p99);
            }
        }
        Ok(())
    }

    /// Measures all servers in turns, each with this part of its most operations per second if
    /// there is one, and adds their rows; returns the medians of operations per second and of the
    /// 99th percentile of all operations.
    fn measure_all(
        &self,
        section: &mut Section,
        what: &str,
        servers: &mut [&mut Stored],
        clients: usize,
        load: Option<f64>,
    ) -> Result<Vec<[f64; 2]>> {
        let all = in_turns(servers, self.rounds, |Stored { server, workload, most }, _| {
            let part = if workload.has_scans { 10 } else { 1 };
            let operations = self.operations * workload.record_count / self.records / part;
            let operations = operations.max(1);
            let longest = Duration::from_millis(self.ms);
            let target = load.map(|load| load * *most);
            played(server, ycsb::Plan { clients, operations, longest, target }, workload)
        });
        let show = |(stored, rounds): (&&mut Stored, Result<Vec<_>>)| {
            let (measured, details): (Vec<_>, Vec<_>) = rounds?.into_iter().unzip();
            let cells = cells(&measured, &details);
            section.measured(what, &stored.server.label, &cells);
            let worst = measured.iter().filter_map(|it| it.outcome.lag).max_by_key(|it| it.at_end);
            worst.as_ref().and_then(Lag::complaint).into_iter().for_each(|it| section.remark(it));
            Ok([&cells[0], &cells[2]].map(|rounds| median(rounds.clone())))
        };
        servers.iter().zip(all).map(show).collect()
    }
}

/// Returns the rounds of the columns with numbers; times are in microseconds.
fn cells(measured: &[Measured], details: &[Details]) -> Vec<Vec<f64>> {
    let of = |value: fn(&Measured) -> f64| measured.iter().map(value).collect::<Vec<_>>();
    let server_us = of(Measured::server_us);
    let [user, system]: [Duration; 2] =
        [0, 1].map(|at| details.iter().map(|it| it.ticked[at]).sum());
    let share = system.as_secs_f64() / (user + system).as_secs_f64();
    let is_known = user + system >= TICKED_MIN;
    let system = if is_known { share * median(server_us.clone()) } else { f64::NAN };
    let mean = of(|it| it.outcome.latencies.mean() / 1e3);
    let mut cells =
        vec![of(|it| it.outcome.per_second()), mean, of(|it| it.outcome.latency_us(0.99))];
    for (kinds, quantile) in [(READS, 0.5), (READS, 0.99), (WRITES, 0.5), (WRITES, 0.99)] {
        cells.push(details.iter().map(|it| latency_us(it, kinds, quantile)).collect());
    }
    cells.extend([server_us, vec![system], of(|it| it.outcome.client_us())]);
    cells
}

/// Reads a property file, with other numbers of records and operations.
pub fn workload(file: &Path, records: u64, operations: u64) -> Result<Workload> {
    let mut properties = Properties::default();
    properties.read(file)?;
    properties.set(&format!("recordcount={records}"))?;
    properties.set(&format!("operationcount={operations}"))?;
    Workload::new(&properties)
}

/// Stores the records in a server, unless it stores nothing.
pub fn store(server: &Server, workload: &Workload) -> Result<()> {
    let operations = workload.record_count;
    let plan = ycsb::Plan { clients: LOADERS, operations, longest: Duration::MAX, target: None };
    match server.kind {
        servers::Kind::Null => Ok(()),
        _ => played(server, plan, &mut workload.loading()).map(drop),
    }
}

/// Details of a phase.
struct Details {
    by_kind: ByKind,
    /// User and system time of the server in clock ticks; only these tell the two apart.
    ticked: [Duration; 2],
}

fn played(
    server: &Server,
    plan: ycsb::Plan,
    workload: &mut Workload,
) -> Result<(Measured, Details)> {
    let before = user_and_system_time(server.pid)?;
    let (mut measured, by_kind) = play(server, plan, workload, None);
    measured.failure.take().map_or(Ok(()), Err).with_context(|| server.label.clone())?;
    let after = user_and_system_time(server.pid)?;
    Ok((measured, Details { by_kind, ticked: [after.0 - before.0, after.1 - before.1] }))
}

/// Returns a quantile of the latencies of some kinds, in microseconds; NaN if there were none.
fn latency_us(details: &Details, kinds: &[Kind], quantile: f64) -> f64 {
    let mut all = Outcome::default().latencies;
    for outcome in kinds.iter().filter_map(|kind| details.by_kind.get(kind)) {
        // All have the same bounds.
        let _ = all.add(&outcome.latencies);
    }
    if all.is_empty() { f64::NAN } else { quantile_us(&all, quantile) }
}

const LOADERS: usize = 32;
/// Varve, in the protocol of Memcached.
const VARVE_MEMCACHED: &str = "varve, memcached";
const READS: &[Kind] = &[Kind::Read, Kind::Scan];
const WRITES: &[Kind] = &[Kind::Update, Kind::Insert, Kind::ReadModifyWrite, Kind::Delete];
/// Least CPU time for a split into user and system time; clock ticks are ten milliseconds.
const TICKED_MIN: Duration = Duration::from_millis(500);
const COLUMNS: &str = "workload | server | op/s .0 | mean us .0 | p99 us .0 | read p50 us .0 | \
    read p99 us .0 | write p50 us .0 | write p99 us .0 | CPU us/op .2 | of that system .2 | \
    client us/op .2 | too slow";

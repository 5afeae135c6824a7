//! Throughput and latency by number of clients, and latency by load.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Settings, loaded, null, play, programs};
use crate::null::Shape;
use crate::process;
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scale, Scenario, milliseconds, pin_client};
use crate::servers::{Kind, Server};
use crate::ycsb::client::{self, Measured, Phase};
use crate::ycsb::workload::Kind as OperationKind;

/// What is run, over how much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Property files of the workloads.
    pub workloads: Vec<PathBuf>,
    /// Records that are stored before.
    pub records: u64,
    /// Operations of one measurement, at most.
    pub operations: u64,
    /// Length of one measurement, at most, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub longest: Duration,
    /// Numbers of clients, each with one operation on its way.
    pub clients: Vec<usize>,
    /// Parts of what each server can do, at the highest number of clients.
    #[serde(default)]
    pub loads: Vec<f64>,
    /// Workloads that a server is not asked for, by the name of the server.
    #[serde(default)]
    pub not_on_memcached: Vec<PathBuf>,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
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
             to a scan. CPU time of the server; how much of it is system time only where the clock \
             ticked often enough to tell, and in the figures from all numbers of clients.",
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
        let servers = programs.map(|it| loaded(it, &settings)).collect::<Result<Vec<_>>>()?;
        let mut plot =
            Plot::lines(format!("{name}: throughput"), "clients", "operations per second");
        let mut most: Vec<Option<Cost>> = servers.iter().map(|_| None).collect();
        for &clients in &self.clients {
            for (server, most) in servers.iter().zip(&mut most) {
                let cost = self.measure(server, &settings, clients, 0.0)?;
                let throughput = cost.measured.throughput();
                section.row(cost.cells(&format!("{name}, {clients} clients"), &server.label));
                plot.point(&server.label, clients as f64, throughput);
                // The clock ticks too rarely for the last one alone.
                *most = Some(cost.and(most.take()));
            }
        }
        section.plot(plot);
        figures(section, &name, &servers, &most);
        if !self.loads.is_empty() {
            let most = most.iter().flatten().map(|cost| cost.measured.throughput());
            self.latency_by_load(section, &name, &settings, servers.iter().zip(most))?;
        }
        Ok(())
    }

    fn latency_by_load<'a>(
        &self,
        section: &mut Section,
        name: &str,
        settings: &Settings,
        servers: impl Iterator<Item = (&'a Server, f64)>,
    ) -> Result<()> {
        let clients = self.clients.iter().copied().max().context("no clients")?;
        let mut plot = Plot::lines(
            format!("{name}: latency by load, {clients} clients"),
            "operations per second",
            "p99 in microseconds",
        )
        .log_y();
        for (server, most) in servers {
            for load in &self.loads {
                let cost = self.measure(server, settings, clients, most * load)?;
                let what = format!("{name}, {:.0} % of its most", load * 100.0);
                section.row(cost.cells(&what, &server.label));
                plot.point(&server.label, cost.measured.throughput(), cost.latency_us(0.99));
            }
        }
        section.plot(plot);
        Ok(())
    }

    fn measure(
        &self,
        server: &Server,
        settings: &Settings,
        clients: usize,
        target: f64,
    ) -> Result<Cost> {
        let plan = client::Plan {
            clients,
            phase: Phase::Run(self.operations),
            target,
            longest: self.longest,
        };
        let usage = || -> Result<_> {
            Ok((server.cpu_time()?, process::user_and_system_time(server.pid)?))
        };
        let before = usage()?;
        let measured = play(server, plan, &settings.workload)?;
        let after = usage()?;
        ensure!(
            measured.error.is_none(),
            "{} answered {}",
            server.label,
            measured.error.as_deref().unwrap_or_default()
        );
        Ok(Cost {
            measured,
            cpu: after.0.saturating_sub(before.0),
            user: after.1.0.saturating_sub(before.1.0),
            system: after.1.1.saturating_sub(before.1.1),
        })
    }
}

/// What a measurement brought, and what it cost the server.
struct Cost {
    measured: Measured,
    /// As the scheduler counts, to the nanosecond.
    cpu: Duration,
    /// What the clock found whenever it ticked; only that tells user from system time.
    user: Duration,
    system: Duration,
}

impl Cost {
    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.measured.operations.max(1) as f64
    }

    /// Part of the CPU time that was spent in the kernel, if the clock ticked often enough.
    fn system_share(&self) -> Option<f64> {
        let ticked = self.user + self.system;
        (ticked >= TICKED_MIN).then(|| self.system.as_secs_f64() / ticked.as_secs_f64())
    }

    fn system_us(&self) -> Option<f64> {
        self.system_share().map(|share| share * self.cpu_us())
    }

    /// With what another measurement on the same server cost.
    fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self { user: self.user + other.user, system: self.system + other.system, ..self }
    }

    /// Of the most frequent operation.
    fn latency_us(&self, quantile: f64) -> f64 {
        let tallies = self.measured.tallies.iter();
        let whole = tallies.filter(|(kind, _)| {
            // Parts of others count among their own kind.
            **kind != OperationKind::ReadModifyWrite
        });
        let most = whole.max_by_key(|(_, tally)| tally.latencies.len());
        most.map_or(0.0, |(_, tally)| tally.latencies.value_at_quantile(quantile) as f64 / 1e3)
    }

    fn cells(&self, what: &str, label: &str) -> Vec<String> {
        let quantiles = [0.5, 0.99].map(|quantile| format!("{:.0}", self.latency_us(quantile)));
        let mut cells = vec![what.to_owned(), label.to_owned()];
        cells.push(format!("{:.0}", self.measured.throughput()));
        cells.extend(quantiles);
        cells.push(format!("{:.2}", self.cpu_us()));
        cells.push(self.system_us().map_or("-".to_owned(), |us| format!("{us:.2}")));
        cells
    }
}

/// Varve, the first, beside each of the others, at the highest number of clients.
fn figures(section: &mut Section, name: &str, servers: &[Server], most: &[Option<Cost>]) {
    let mut all = servers.iter().zip(most).filter_map(|(it, cost)| Some((it, cost.as_ref()?)));
    let Some((_, varve)) = all.next() else { return };
    for (server, cost) in all {
        let what = format!("{name}: CPU per operation / {}", server.label);
        section.finding(what, Some(varve.cpu_us() / cost.cpu_us()), "");
        let what = format!("{name}: system time per operation / {}", server.label);
        let ratio = varve.system_us().zip(cost.system_us()).map(|(ours, theirs)| ours / theirs);
        section.finding(what, ratio, "");
    }
}

const COLUMNS: [&str; 7] =
    ["workload", "server", "op/s", "p50 us", "p99 us", "CPU us/op", "of that system"];
const RECORDS_MIN: u64 = 1000;
/// Clock ticks are ten milliseconds.
const TICKED_MIN: Duration = Duration::from_millis(500);
const LONGEST_MIN: Duration = Duration::from_millis(300);
const OPERATIONS_MIN: u64 = 10_000;

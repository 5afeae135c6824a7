//! Results of operations, and their cost for the server.

use std::time::Duration;

use anyhow::Result;

use super::Stored;
use crate::generator::Lag;
use crate::process;
use crate::scenario::measure::settled_cpu_time;
use crate::statistics::median;
use crate::ycsb::client::Plan;
use crate::ycsb::measured::Measured;
use crate::ycsb::workload::Kind;

/// Result of one measurement, and its cost for the server.
pub struct Cost {
    measured: Measured,
    /// CPU time as the scheduler counts it, in nanoseconds.
    cpu: Duration,
    /// User time as sampled at clock ticks; only that separates user from system time.
    user: Duration,
    system: Duration,
}

impl Cost {
    /// Measures.
    ///
    /// # Errors
    /// If an operation was not done.
    pub fn of(stored: &Stored, plan: Plan) -> Result<Self> {
        let server = &stored.server;
        let usage = || -> Result<_> {
            Ok((settled_cpu_time(server)?, process::user_and_system_time(server.pid)?))
        };
        let before = usage()?;
        let measured = stored.play(plan)?;
        let after = usage()?;
        Ok(Self {
            measured,
            cpu: after.0.saturating_sub(before.0),
            user: after.1.0.saturating_sub(before.1.0),
            system: after.1.1.saturating_sub(before.1.1),
        })
    }

    /// Returns the fraction of the CPU time that was spent in the kernel, over some measurements;
    /// absent if there were too few clock ticks to tell.
    pub fn system_share_of(costs: &[Self]) -> Option<f64> {
        let system: Duration = costs.iter().map(|cost| cost.system).sum();
        let ticked = system + costs.iter().map(|cost| cost.user).sum::<Duration>();
        (ticked >= TICKED_MIN).then(|| system.as_secs_f64() / ticked.as_secs_f64())
    }

    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.measured.operations.max(1) as f64
    }
}

/// Medians over the rounds of one server, and the rounds that ratios are made of.
pub struct Median {
    /// Operations per second.
    pub throughput: f64,
    /// Operations per second in each round.
    pub throughput_rounds: Vec<f64>,
    /// User and system time of the server per operation, in microseconds.
    pub cpu_us: f64,
    /// CPU time per operation in each round.
    pub cpu_rounds: Vec<f64>,
    /// 99th percentile of all operations that are no part of others, in microseconds.
    pub p99_us: f64,
    /// 99th percentile in each round.
    pub p99_rounds: Vec<f64>,
    /// Delay of the worst round behind its target, if it was too long.
    pub complaint: Option<String>,
    /// p50 and p99 of reads, and of writes.
    latencies_us: [Option<f64>; 4],
    system_us: Option<f64>,
    client_us: f64,
}

impl Median {
    /// Returns the medians of these rounds.
    pub fn of(rounds: &[Cost]) -> Self {
        let all = |value: &dyn Fn(&Cost) -> f64| rounds.iter().map(value).collect::<Vec<_>>();
        let throughput_rounds = all(&|cost| cost.measured.throughput());
        let cpu_rounds = all(&Cost::cpu_us);
        let p99_rounds = all(&|cost| cost.measured.latency_us(0.99));
        let latency = |kinds: fn(&Measured) -> &'static [Kind], quantile| {
            let of = |cost: &Cost| cost.measured.latency_of_us(kinds(&cost.measured), quantile);
            rounds.iter().map(of).collect::<Option<Vec<_>>>().map(median)
        };
        let cpu_us = median(cpu_rounds.clone());
        let lags = rounds.iter().filter_map(|cost| cost.measured.lag);
        Self {
            throughput: median(throughput_rounds.clone()),
            throughput_rounds,
            cpu_us,
            cpu_rounds,
            p99_us: median(p99_rounds.clone()),
            p99_rounds,
            complaint: lags.max_by_key(|lag| lag.at_end).as_ref().and_then(Lag::complaint),
            latencies_us: [
                latency(|_| &READS, 0.5),
                latency(|_| &READS, 0.99),
                latency(writes, 0.5),
                latency(writes, 0.99),
            ],
            system_us: Cost::system_share_of(rounds).map(|share| share * cpu_us),
            client_us: median(all(&|cost| cost.measured.client_us())),
        }
    }

    /// Returns a row of [`COLUMNS`]; a server that was too slow for its target is marked.
    pub fn cells(&self, what: &str, label: &str) -> Vec<String> {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let mark = if self.complaint.is_some() { " (too slow)" } else { "" };
        let mut cells = vec![what.to_owned(), label.to_owned()];
        cells.push(format!("{:.0}{mark}", self.throughput));
        cells.extend(self.latencies_us.map(|us| number(us, 0)));
        cells.extend([self.cpu_us].map(|us| number(Some(us), 2)));
        cells.push(number(self.system_us, 2));
        cells.push(number(Some(self.client_us), 2));
        cells
    }
}

/// Columns of the table.
pub const COLUMNS: [&str; 10] = [
    "workload",
    "server",
    "op/s",
    "read p50 us",
    "p99 us",
    "write p50 us",
    "p99 us",
    "CPU us/op",
    "of that system",
    "client us/op",
];

/// Returns the kinds that count as writes. Where records are read to be modified, updates are only
/// parts of that.
fn writes(measured: &Measured) -> &'static [Kind] {
    match measured.tallies.contains_key(&Kind::ReadModifyWrite) {
        true => &[Kind::ReadModifyWrite, Kind::Insert],
        false => &[Kind::Update, Kind::Insert],
    }
}

const READS: [Kind; 2] = [Kind::Read, Kind::Scan];
/// Least CPU time for a split into user and system time; clock ticks are ten milliseconds.
const TICKED_MIN: Duration = Duration::from_millis(500);

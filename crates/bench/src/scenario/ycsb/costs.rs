//! Costs of one workload for one server.

use std::time::Duration;

use crate::generator::{Lag, Outcome};
use crate::scenario::rounds::cell;
use crate::statistics::median;
use crate::ycsb::{Kind, Played};

/// Results of one server by round; times are in microseconds.
#[derive(Debug)]
pub struct Costs {
    pub label: String,
    pub per_second: Vec<f64>,
    /// User and system time of the server per operation.
    pub cpu: Vec<f64>,
    /// Part of it that was spent in the kernel, over all rounds; NaN if too few clock ticks tell.
    pub system: f64,
    pub mean: Vec<f64>,
    pub p99: Vec<f64>,
    /// p50 and p99 of reads and scans, and of all that writes.
    latencies: [Vec<f64>; 4],
    client: Vec<f64>,
    /// Delay of the worst round behind its target, if it was too long.
    pub complaint: Option<String>,
}

impl Costs {
    pub fn of(label: &str, rounds: &[Played]) -> Self {
        let all = |of: &dyn Fn(&Played) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
        let of = |of: fn(&Outcome) -> f64| all(&|it| of(&it.measured.outcome));
        let latency = |kinds: fn(&Played) -> &'static [Kind], quantile| {
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
            per_second: of(Outcome::per_second),
            system: if is_known { share * median(cpu.clone()) } else { f64::NAN },
            cpu,
            mean: of(|it| it.latencies.mean() / 1e3),
            p99: of(|it| it.latency_us(0.99)),
            latencies: [
                latency(|_| &[Kind::Read, Kind::Scan], 0.5),
                latency(|_| &[Kind::Read, Kind::Scan], 0.99),
                latency(writes, 0.5),
                latency(writes, 0.99),
            ],
            client: of(Outcome::client_us),
            complaint: lags.max_by_key(|lag| lag.at_end).as_ref().and_then(Lag::complaint),
        }
    }

    /// Returns a row of [`COLUMNS`]; a server that was too slow for its target is marked.
    pub fn cells(&self, what: String) -> Vec<String> {
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
fn writes(played: &Played) -> &'static [Kind] {
    match played.tallies.contains_key(&Kind::ReadModifyWrite) {
        true => &[Kind::ReadModifyWrite, Kind::Insert],
        false => &[Kind::Update, Kind::Insert, Kind::Delete],
    }
}

/// Least CPU time for a split into user and system time; clock ticks are ten milliseconds.
const TICKED_MIN: Duration = Duration::from_millis(500);
/// Columns of [`Costs::cells`].
pub const COLUMNS: [&str; 11] = [
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

//! Costs of one workload for one server.

use std::time::Duration;

use super::Details;
use crate::generator::{Lag, Outcome, quantile_us};
use crate::measure::Measured;
use crate::scenario::rounds::{self, cell};
use crate::statistics::median;
use crate::ycsb::Kind;

/// Results of one server; times are in microseconds.
pub struct Costs {
    /// Costs by round.
    pub all: rounds::Costs,
    /// Time of the server in the kernel per operation, over all rounds; NaN if too few clock ticks
    /// tell.
    pub system: f64,
    /// Cells of [`COLUMNS`] from the server on; one that was too slow for its target is marked.
    pub cells: Vec<String>,
    /// Delay of the worst round behind its target, if it was too long.
    pub complaint: Option<String>,
}

impl Costs {
    pub fn of(label: &str, rounds: Vec<(Measured, Details)>) -> Self {
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
/// Columns of a sweep.
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

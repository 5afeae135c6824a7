//! Rounds in turns (A B C A B C ...), so that a slow minute of the machine falls on all servers;
//! the median of the rounds counts.

use anyhow::Result;

use super::measure::{Load, Measured, measure};
use crate::report::Figure;
use crate::servers::Server;
use crate::statistics::median;

/// Medians over the rounds, for one server and load.
pub struct Median {
    /// Name of the server.
    pub label: String,
    /// User and system time of the server per operation, in microseconds.
    pub server_us: f64,
    /// CPU time per operation in each round.
    pub rounds: Vec<f64>,
    /// Operations answered per second.
    pub operations_per_second: f64,
    /// Operations per second in each round.
    throughput_rounds: Vec<f64>,
    /// Median round-trip time of a batch, in microseconds.
    pub p50_us: f64,
    /// Median round-trip time in each round.
    p50_rounds: Vec<f64>,
    /// 99th percentile of the round-trip times, in microseconds.
    pub p99_us: f64,
    /// CPU time of the generator per operation, in microseconds.
    pub generator_us: f64,
}

impl Median {
    fn of(server: &Server, rounds: &[Measured]) -> Self {
        let all = |value: fn(&Measured) -> f64| rounds.iter().map(value).collect::<Vec<_>>();
        let of = |value: fn(&Measured) -> f64| median(all(value));
        Self {
            label: server.label.clone(),
            server_us: of(|round| round.server_us),
            rounds: all(|round| round.server_us),
            operations_per_second: of(|round| round.outcome.operations_per_second()),
            throughput_rounds: all(|round| round.outcome.operations_per_second()),
            p50_us: of(|round| round.outcome.round_trip_us(0.5)),
            p50_rounds: all(|round| round.outcome.round_trip_us(0.5)),
            p99_us: of(|round| round.outcome.round_trip_us(0.99)),
            generator_us: of(|round| round.outcome.generator_us_per_operation()),
        }
    }

    /// Returns the cells for operations per second, p50, p99, and CPU time of the generator.
    pub fn speed_cells(&self) -> [String; 4] {
        [
            format!("{:.0}", self.operations_per_second),
            format!("{:.0}", self.p50_us),
            format!("{:.0}", self.p99_us),
            format!("{:.3}", self.generator_us),
        ]
    }

    /// Returns the ratio of this server's CPU time to that of another, with its spread over the
    /// rounds.
    pub fn cpu_ratio(&self, what: String, other: &Self) -> Figure {
        Figure::ratio(what, &self.rounds, &other.rounds)
    }

    /// Returns the ratio of this server's median round-trip time to that of another, with its
    /// spread.
    pub fn p50_ratio(&self, what: String, other: &Self) -> Figure {
        Figure::ratio(what, &self.p50_rounds, &other.p50_rounds)
    }

    /// Returns the ratio of this server's operations per second to those of another, with its
    /// spread.
    pub fn throughput_ratio(&self, what: String, other: &Self) -> Figure {
        Figure::ratio(what, &self.throughput_rounds, &other.throughput_rounds).more_is_better()
    }
}

/// Measures all servers in turns. `load_of` returns the load for the server of a number.
///
/// # Errors
/// If a server fails.
pub fn interleaved(
    servers: &[Server],
    load_of: impl Fn(usize) -> Load,
    rounds: usize,
) -> Result<Vec<Median>> {
    let mut measured: Vec<Vec<Measured>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for (number, (server, measured)) in servers.iter().zip(&mut measured).enumerate() {
            measured.push(measure(server, &load_of(number).with_seed(round))?);
        }
    }
    Ok(servers.iter().zip(measured).map(|(server, rounds)| Median::of(server, &rounds)).collect())
}

impl Load {
    fn with_seed(&self, round: usize) -> Self {
        Self { seed: round as u64 + 1, ..self.clone() }
    }
}

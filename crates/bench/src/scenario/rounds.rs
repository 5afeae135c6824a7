//! Rounds in turns (A B C A B C ...), so that a slow minute of the machine falls on all servers;
//! the median of the rounds counts.

use anyhow::Result;

use crate::measure::Measured;
use crate::report::Section;

/// Measures all servers in turns; one that fails in one round is left out of the others. `measure`
/// gets a server and the number of the round, from one.
pub fn in_turns<S, T>(
    servers: &mut [S],
    rounds: usize,
    mut measure: impl FnMut(&mut S, u64) -> Result<T>,
) -> Vec<Result<Vec<T>>> {
    let mut all: Vec<Result<Vec<T>>> = servers.iter().map(|_| Ok(Vec::new())).collect();
    for round in 1..=rounds as u64 {
        for (server, measured) in servers.iter_mut().zip(&mut all) {
            let Ok(so_far) = measured else { continue };
            match measure(server, round) {
                Ok(one) => so_far.push(one),
                Err(error) => *measured = Err(error),
            }
        }
    }
    all
}

/// Returns what a load cost in one round: microseconds of the server per operation, operations per
/// second, median and 99th percentile of the latencies of batches in microseconds, and microseconds
/// of the generator per operation.
pub fn costs(measured: &Measured) -> [f64; 5] {
    let outcome = &measured.outcome;
    let [p50, p99] = [0.5, 0.99].map(|at| outcome.latency_us(at));
    [measured.server_us(), outcome.per_second(), p50, p99, outcome.client_us()]
}

/// Returns the rounds of each of several values that were measured together.
pub fn by_value<const N: usize>(rounds: &[[f64; N]]) -> [Vec<f64>; N] {
    std::array::from_fn(|at| rounds.iter().map(|values| values[at]).collect())
}

/// Adds a row of what was measured in rounds, or of the reason why nothing was.
pub fn show<const N: usize>(
    section: &mut Section,
    row: &str,
    server: &str,
    rounds: &Result<Vec<[f64; N]>>,
) {
    match rounds {
        Ok(rounds) => section.measured(row, server, &by_value(rounds)),
        Err(error) => section.absent(row, server, error),
    }
}

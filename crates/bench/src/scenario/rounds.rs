//! Rounds in turns (A B C A B C ...), so that a slow minute of the machine falls on all servers;
//! the median of the rounds counts.

use anyhow::{Error, Result};

use crate::measure::Measured;
use crate::report::{Figure, Section};
use crate::servers::Server;
use crate::statistics::median;

/// Measures all servers in turns; one that fails in one round is left out of the others. `measure`
/// gets a server and the number of the round, from one.
pub fn in_turns<S, T>(
    servers: &[S],
    rounds: usize,
    mut measure: impl FnMut(&S, u64) -> Result<T>,
) -> Vec<Result<Vec<T>>> {
    let mut all: Vec<Result<Vec<T>>> = servers.iter().map(|_| Ok(Vec::new())).collect();
    for round in 1..=rounds as u64 {
        for (server, measured) in servers.iter().zip(&mut all) {
            let Ok(so_far) = measured else { continue };
            match measure(server, round) {
                Ok(one) => so_far.push(one),
                Err(error) => *measured = Err(error),
            }
        }
    }
    all
}

/// Measures all servers in turns as [`in_turns`] does.
pub fn costs_in_turns(
    servers: &[Server],
    rounds: usize,
    mut measure: impl FnMut(&Server, u64) -> Result<Measured>,
) -> Result<Vec<Costs>> {
    let all = in_turns(servers, rounds, |server, round| measure(server, round));
    let costs = servers.iter().zip(all).map(|(server, all)| Ok(Costs::of(&server.label, &all?)));
    costs.collect()
}

/// Costs of one load for one server, by round.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// Name of the server.
    pub label: String,
    /// User and system time of the server per operation, in microseconds.
    pub server_us: Vec<f64>,
    /// Operations answered per second.
    pub per_second: Vec<f64>,
    /// Median latency of a batch, in microseconds.
    pub p50_us: Vec<f64>,
    /// 99th percentile of the latencies.
    pub p99_us: Vec<f64>,
    /// CPU time of the generator per operation, in microseconds.
    pub client_us: Vec<f64>,
}

impl Costs {
    /// Creates the costs of these rounds.
    #[must_use]
    pub fn of(label: &str, rounds: &[Measured]) -> Self {
        let all = |of: &dyn Fn(&Measured) -> f64| rounds.iter().map(of).collect();
        Self {
            label: label.to_owned(),
            server_us: all(&Measured::server_us),
            per_second: all(&|it| it.outcome.per_second()),
            p50_us: all(&|it| it.outcome.latency_us(0.5)),
            p99_us: all(&|it| it.outcome.latency_us(0.99)),
            client_us: all(&|it| it.outcome.client_us()),
        }
    }
}

/// Returns the median of some rounds with so many digits; a dash without rounds.
#[must_use]
pub fn cell(rounds: &[f64], digits: usize) -> String {
    match median(rounds.to_vec()) {
        value if value.is_nan() => "-".to_owned(),
        value => format!("{value:.digits$}"),
    }
}

/// Returns the rounds of each of several values that were measured together.
#[must_use]
pub fn by_value<const N: usize>(rounds: &[[f64; N]]) -> [Vec<f64>; N] {
    std::array::from_fn(|at| rounds.iter().map(|values| values[at]).collect())
}

/// Adds a figure of several rounds, of which less is better, and returns it for more.
pub fn figure<'s>(
    section: &'s mut Section,
    what: impl Into<String>,
    rounds: &[f64],
    unit: &'static str,
) -> &'s mut Figure {
    section.figures.push(Figure::of_rounds(what, rounds.to_vec(), unit));
    section.figures.last_mut().expect("the figure was just added")
}

/// Adds a row of the medians of rounds, by column, with so many digits; figures of the file are
/// drawn from the rounds.
pub fn measured(
    section: &mut Section,
    row: &str,
    server: &str,
    rounds: &[Vec<f64>],
    digits: &[usize],
) {
    let names = if section.table.columns[0] == "server" { &[server][..] } else { &[row, server] };
    let names = names.iter().map(|&name| name.to_owned());
    let cells = rounds.iter().zip(digits).map(|(rounds, digits)| cell(rounds, *digits));
    for (column, rounds) in section.table.columns[names.len()..].iter().zip(rounds) {
        if !rounds.is_empty() {
            let place = [row, server, column].map(str::to_owned);
            section.rounds.push((place, rounds.clone()));
        }
    }
    section.row(names.chain(cells));
}

/// Adds a row: what was measured on which server, and its cells or the reason why there are none.
pub fn row(section: &mut Section, what: &str, server: &str, cells: Result<Vec<String>, &Error>) {
    let cells = cells.unwrap_or_else(|error| vec![absent(section, what, error)]);
    section.row([what.to_owned(), server.to_owned()].into_iter().chain(cells));
}

/// Returns the table cell of a missing measurement. A server may lack a command; any other error
/// marks the section as failed, and the other rows are still measured.
pub fn absent(section: &mut Section, what: &str, error: &Error) -> String {
    let reason = format!("{error:#}");
    if reason.contains("unknown command") {
        return "not there".to_owned();
    }
    section.fail(format!("{what}: {reason}"));
    "failed".to_owned()
}

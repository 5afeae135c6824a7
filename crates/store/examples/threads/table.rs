//! The table: one row for each workload, choice of keys, way and number of threads.

use crate::numbers::Choice;
use crate::process::{Measured, name_of};
use crate::work::Operation;
use std::fmt::Write;

/// What threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A store.
    OneStore,
    /// Nothing: each is a process with a store of its own.
    Apart,
}

/// Row with the measurements of all rounds.
pub struct Row {
    pub operation: Operation,
    pub choice: Choice,
    pub way: Way,
    pub threads: usize,
    rounds: Vec<Measured>,
}

impl Row {
    pub fn new(operation: Operation, choice: Choice, way: Way, threads: usize) -> Row {
        Row { operation, choice, way, threads, rounds: Vec::new() }
    }

    pub fn add(&mut self, measured: Measured) {
        self.rounds.push(measured);
    }

    fn is_beside(&self, other: &Row) -> bool {
        (self.operation, self.choice) == (other.operation, other.choice)
    }

    fn median(&self, figure: impl Fn(&Measured) -> f64) -> f64 {
        median(self.rounds.iter().map(figure).collect())
    }

    /// Median over the rounds of the ratio of a figure to that of another row in the same round.
    fn over(&self, other: &Row, figure: impl Fn(&Measured) -> f64) -> f64 {
        let pairs = self.rounds.iter().zip(&other.rounds);
        median(pairs.map(|(own, other)| figure(own) / figure(other)).collect())
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints how long a line took from the first core to the last one.
pub fn print_transfers(last: usize, mut nanos: Vec<f64>) -> String {
    nanos.sort_unstable_by(f64::total_cmp);
    let (Some(least), Some(most)) = (nanos.first(), nanos.last()) else { return String::new() };
    let median = nanos[nanos.len() / 2];
    format!(
        "A cache line takes {median:.0} ns ({least:.0} to {most:.0}) from core 0 to {last}.\n\n"
    )
}

/// Prints all rows; columns that say nothing hold a dash. The last ratio compares processor time,
/// not operations per second, so that it means something on a machine that has other work too.
pub fn print(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<10} {:<8} {:<10} {:>7} {:>12} {:>10} {:>9} {:>9} {:>9} {:>12} {:>10} {:>13} {:>11}\n",
        "workload",
        "keys",
        "way",
        "threads",
        "operations/s",
        "cpu-ns/op",
        "over-one",
        "of-limit",
        "cpu-limit",
        "lock-waits/M",
        "lock-ns/op",
        "mutex-waits/M",
        "mutex-ns/op",
    );
    rows.iter().for_each(|row| print_row(&mut text, row, rows));
    text
}

fn print_row(text: &mut String, row: &Row, rows: &[Row]) {
    let find = |way, threads| {
        let mut beside = rows.iter().filter(|other| other.is_beside(row));
        beside.find(|other| (other.way, other.threads) == (way, threads))
    };
    let over_one = find(Way::OneStore, 1).map(|one| row.over(one, |it| it.per_second));
    let apart = find(Way::Apart, row.threads).filter(|_| row.way == Way::OneStore);
    let way = if row.way == Way::OneStore { "one-store" } else { "processes" };
    let waits = |figure: fn(&Measured) -> u64, per: f64| {
        let of_one = |it: &Measured| figure(it) as f64 * per / it.operations as f64;
        base::contention::IS_COUNTED.then(|| row.median(of_one))
    };
    let _ = writeln!(
        text,
        "{:<10} {:<8} {:<10} {:>7} {:>12.0} {:>10.1} {:>9} {:>9} {:>9} {:>12} {:>10} {:>13} {:>11}",
        name_of(row.operation),
        name_of(row.choice),
        way,
        row.threads,
        row.median(|it| it.per_second),
        row.median(Measured::cpu_nanos),
        cell(over_one, 2),
        cell(apart.map(|limit| row.over(limit, |it| it.per_second)), 3),
        cell(apart.map(|limit| limit.over(row, Measured::cpu_nanos)), 3),
        cell(waits(|it| it.waits.locks, 1e6), 1),
        cell(waits(|it| it.waits.lock_nanos, 1.0), 2),
        cell(waits(|it| it.waits.mutexes, 1e6), 1),
        cell(waits(|it| it.waits.mutex_nanos, 1.0), 2),
    );
}

fn cell(figure: Option<f64>, digits: usize) -> String {
    figure.map_or("-".to_owned(), |it| format!("{it:.digits$}"))
}

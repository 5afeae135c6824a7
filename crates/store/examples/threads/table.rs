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

    /// Median over the rounds of the ratio to another row in the same round.
    fn over(&self, other: &Row) -> f64 {
        let pairs = self.rounds.iter().zip(&other.rounds);
        median(pairs.map(|(own, other)| own.per_second / other.per_second).collect())
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints all rows; columns that say nothing hold a dash.
pub fn print(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<10} {:<8} {:<10} {:>7} {:>12} {:>10} {:>9} {:>9} {:>12} {:>12} {:>13} {:>13}\n",
        "workload",
        "keys",
        "way",
        "threads",
        "operations/s",
        "cpu-ns/op",
        "over-one",
        "of-limit",
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
    let over_one = find(Way::OneStore, 1).map(|one| row.over(one));
    let apart = find(Way::Apart, row.threads).filter(|_| row.way == Way::OneStore);
    let way = if row.way == Way::OneStore { "one-store" } else { "processes" };
    let waits = |figure: fn(&Measured) -> u64, per: f64| {
        let of_one = |it: &Measured| figure(it) as f64 * per / it.operations as f64;
        base::contention::IS_COUNTED.then(|| row.median(of_one))
    };
    let _ = writeln!(
        text,
        "{:<10} {:<8} {:<10} {:>7} {:>12.0} {:>10.1} {:>9} {:>9} {:>12} {:>12} {:>13} {:>13}",
        name_of(row.operation),
        name_of(row.choice),
        way,
        row.threads,
        row.median(|it| it.per_second),
        row.median(|it| it.cpu_seconds * 1e9 / it.operations as f64),
        cell(over_one, 2),
        cell(apart.map(|limit| row.over(limit)), 3),
        cell(waits(|it| it.waits.locks, 1e6), 1),
        cell(waits(|it| it.waits.lock_nanos, 1.0), 2),
        cell(waits(|it| it.waits.mutexes, 1e6), 1),
        cell(waits(|it| it.waits.mutex_nanos, 1.0), 2),
    );
}

fn cell(figure: Option<f64>, digits: usize) -> String {
    figure.map_or("-".to_owned(), |it| format!("{it:.digits$}"))
}

//! How the store scales: operations per second of 1, 2, 4 ... threads that call it as the server's
//! workers do, beside as many processes that share nothing but the machine.
//!
//! `cargo run --release -p store --example threads`; `--help` lists the options. With `--features
//! contention` the waits for locks are counted too.
//!
//! ```text
//! main ─┬─ process 0   one store    1, 2, 4 ... threads      what it reaches
//!       ├─ process 1   a store      1 thread, on core 0  ┐
//!       ├─ process 2   a store      1 thread, on core 1  ├   what the machine reaches
//!       └─ ...                                           ┘
//! ```
//! First it prints how long a cache line takes from one core to another: what threads lose beside
//! processes is about that, times the lines that they take from each other for a command.
//! Every process holds all keys, so that each runs what one thread of the store runs alone. Rounds
//! alternate over all rows, and a row shows its median round.

mod background;
mod child;
mod cores;
mod numbers;
mod process;
mod table;
mod transfer;
mod work;

use clap::Parser;
use cores::Cores;
use process::{Load, Process};
use std::error::Error;
use table::{Row, Way};
use work::Operation;

#[derive(Parser)]
struct Options {
    /// Keys of each workload.
    #[arg(long, default_value_t = 1_000_000)]
    keys: u32,
    /// Numbers of threads; without them 1, 2, 4 ... up to the number of cores.
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Workloads: get, set, set-anew, zadd, incr; without them all.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<Operation>,
    /// Milliseconds of each measurement.
    #[arg(long, default_value_t = 500)]
    millis: u64,
    /// Measurements of each row.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Runs so many batches of two workers of every workload in one thread, one worker after the
    /// other, and ends: for tools that count instructions or look at accesses to memory.
    #[arg(long)]
    batches: Option<u64>,
    /// Makes this process one of those that are measured; it reads its loads from its input.
    #[arg(long, hide = true)]
    child: bool,
}

impl Options {
    fn workloads(&self) -> &[Operation] {
        if self.workloads.is_empty() { &Operation::ALL } else { &self.workloads }
    }

    fn threads(&self) -> Vec<usize> {
        let cores = base::process::processors();
        let doubled = std::iter::successors(Some(1), |it| Some(it * 2).filter(|it| *it < cores));
        let mut threads = self.threads.clone();
        if threads.is_empty() {
            threads.extend(doubled.chain([cores]));
        }
        threads.push(1);
        threads.sort_unstable();
        threads.dedup();
        threads
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    if let Some(batches) = options.batches {
        return child::run_batches(options.keys, options.workloads(), batches);
    }
    if options.child {
        return child::serve(options.keys, options.workloads());
    }
    let mut rows = rows(&options);
    let most = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let start = |_| Process::start(options.keys, options.workloads());
    let mut store = start(0)?;
    let mut apart = (0..most).map(start).collect::<Result<Vec<_>, _>>()?;
    let cores = Cores::allowed()?;
    let mut transfers = Vec::new();
    for _ in 0..options.rounds {
        if most > 1 {
            transfers.push(transfer::measure(&cores, 0, most - 1));
        }
        for row in &mut rows {
            let load = Load {
                operation: row.operation,
                choice: row.choice,
                threads: row.threads,
                core: 0,
                millis: options.millis,
            };
            let measured = match row.way {
                Way::OneStore => process::measure(std::slice::from_mut(&mut store), &load),
                Way::Apart => process::measure(&mut apart[..row.threads], &load),
            };
            row.add(measured?);
        }
    }
    print!("{}{}", table::print_transfers(most - 1, transfers), table::print(&rows));
    Ok(())
}

/// All rows, in the order in which a round measures them.
fn rows(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in options.workloads() {
        for choice in operation.choices() {
            for threads in options.threads() {
                rows.push(Row::new(*operation, *choice, Way::OneStore, threads));
                if threads > 1 {
                    rows.push(Row::new(*operation, *choice, Way::Apart, threads));
                }
            }
        }
    }
    rows
}

//! `load` and `run`: one load on one server.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::generator::{KeyChoice, Operation, Stop, ValueSize};
use crate::scenario::measure::{Load, Measured, measure};
use crate::scenario::pin_client;
use crate::servers::{Launch, Program, Server};

#[derive(Args)]
pub struct LoadArguments {
    /// A server that runs already; without it one is started.
    #[arg(long)]
    port: Option<u16>,
    #[arg(long, value_enum, default_value_t = Operations::Set)]
    operation: Operations,
    #[arg(long, value_enum, default_value_t = Choice::Uniform)]
    choice: Choice,
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Bytes per value: a number, or two with a hyphen between them.
    #[arg(long, default_value = "16")]
    value: String,
    #[arg(long, default_value_t = 50)]
    connections: usize,
    #[arg(long, default_value_t = 16)]
    pipeline: usize,
    #[arg(long, default_value_t = 1000)]
    ms: u64,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Keys are not stored before a `run`.
    #[arg(long)]
    empty: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Operations {
    Get,
    Set,
    Mix,
    /// SET with an expiry of one hour.
    SetEx,
    Del,
}

#[derive(Clone, Copy, ValueEnum)]
enum Choice {
    Uniform,
    Zipf,
    Sequential,
    HotCold,
}

/// Stores the keys in order, in a server that runs already.
pub fn load(arguments: &LoadArguments) -> Result<()> {
    pin_client(1);
    let port = arguments.port.context("load: which server? (--port)")?;
    let wanted = load_of(arguments)?;
    print_measured("load", &measure(&Server::running(port)?, &fill_for(&wanted))?);
    Ok(())
}

/// Runs the load on a server that runs already, or on one that is started and filled for it.
pub fn run(server: &str, arguments: &LoadArguments) -> Result<()> {
    pin_client(arguments.threads);
    let wanted = load_of(arguments)?;
    let server = match arguments.port {
        Some(port) => Server::running(port)?,
        None => start(server, arguments.threads)?,
    };
    if !arguments.empty && arguments.port.is_none() {
        print_measured("load", &measure(&server, &fill_for(&wanted))?);
    }
    print_measured("run", &measure(&server, &wanted)?);
    Ok(())
}

fn start(server: &str, threads: usize) -> Result<Server> {
    Program::parse(server)?.start(&Launch::default().with_threads(threads).on_cores(threads))
}

/// All keys, with values and expiry of the load.
fn fill_for(load: &Load) -> Load {
    let mut fill = Load::fill(load.key_count, load.shape.value.clone());
    if let Operation::SetFor(_) = load.shape.operation {
        fill.shape.operation = load.shape.operation;
    }
    fill
}

fn print_measured(what: &str, measured: &Measured) {
    let outcome = &measured.outcome;
    println!(
        "{what}: {} operations, {:.0} op/s, p50 {:.0} us, p99 {:.0} us, \
         server CPU {:.3} us/op ({:.0} %), client {:.3} us/op, {} misses",
        outcome.operations,
        outcome.operations_per_second(),
        outcome.round_trip_us(0.5),
        outcome.round_trip_us(0.99),
        measured.server_us,
        100.0 * measured.server_share,
        outcome.generator_us_per_operation(),
        outcome.replies.nil,
    );
}

fn load_of(arguments: &LoadArguments) -> Result<Load> {
    let operation = match arguments.operation {
        Operations::Get => Operation::Get,
        Operations::Set => Operation::Set,
        Operations::Mix => Operation::Mixed,
        Operations::SetEx => Operation::SetFor(3600),
        Operations::Del => Operation::Delete,
    };
    let time = Duration::from_millis(arguments.ms);
    let mut load = Load::new(operation, arguments.pipeline, arguments.keys);
    load.connections = arguments.connections;
    load.shape.value = value_size(&arguments.value)?;
    load.stop = Stop::After(time);
    load.warm_up = time / 5;
    load.keys = match arguments.choice {
        Choice::Uniform => KeyChoice::Uniform,
        Choice::Zipf => KeyChoice::Zipf { exponent: 0.99 },
        Choice::Sequential => KeyChoice::Sequential,
        Choice::HotCold => KeyChoice::HotCold { hot: 0.1, share: 0.9 },
    };
    Ok(load)
}

fn value_size(text: &str) -> Result<ValueSize> {
    let number = |text: &str| text.parse::<usize>().with_context(|| format!("value size {text:?}"));
    match text.split_once('-') {
        Some((least, most)) => Ok(ValueSize::Uniform(number(least)?..=number(most)?)),
        None => Ok(ValueSize::Fixed(number(text)?)),
    }
}

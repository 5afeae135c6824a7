//! `load` and `run`: one load on one server.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::results;
use super::say::say;
use crate::generator::{Arrival, KeyChoice, Operation, Pace, Protocol, Spacing, Stop, ValueSize};
use crate::sampler::Sample;
use crate::scenario::measure::Load;
use crate::scenario::pin_client;
use crate::servers::{Kind, Launch, Program, Server, ask_pid};
use crate::trial::{Trial, Tried};

/// Keys to store, and their server.
#[derive(Args)]
pub struct StoreArguments {
    /// Port of a server that is running; without it `run` starts one.
    #[arg(long)]
    port: Option<u16>,
    /// Process that serves that port, if the server does not report it.
    #[arg(long)]
    pid: Option<u32>,
    #[arg(long, value_enum, default_value_t = Protocols::Resp)]
    protocol: Protocols,
    #[arg(long, value_enum, default_value_t = Operations::Set)]
    operation: Operations,
    /// Percentage of GETs in `mix`.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    reads: u8,
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Bytes per value: 16, 16-64, exp:MEAN, or sizes with weights as 16*90,1024*9,65536*1.
    #[arg(long, default_value = "16")]
    value: ValueSize,
    /// Threads that make the load.
    #[arg(long, default_value_t = 1)]
    client_threads: usize,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub struct RunArguments {
    #[command(flatten)]
    store: StoreArguments,
    #[arg(long, value_enum, default_value_t = Choice::Uniform)]
    choice: Choice,
    /// Exponent of `zipf` and `latest`.
    #[arg(long, default_value_t = 0.99)]
    exponent: f64,
    /// Share of the keys that are hot in `hot-cold`.
    #[arg(long, default_value_t = 0.2)]
    hot: f64,
    /// Share of the operations that go to the hot keys.
    #[arg(long, default_value_t = 0.8)]
    hot_share: f64,
    /// Connections of all threads together.
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// Requests that a connection sends at once.
    #[arg(long, default_value_t = 16)]
    pipeline: usize,
    /// Milliseconds of the run.
    #[arg(long, default_value_t = 1000, conflicts_with = "operations")]
    ms: u64,
    /// Number of operations, instead of a time.
    #[arg(long)]
    operations: Option<u64>,
    /// Milliseconds of the same load beforehand; a fifth of `--ms` by default.
    #[arg(long)]
    warm_up_ms: Option<u64>,
    /// Highest rate in operations per second; with `--open` the exact rate.
    #[arg(long)]
    rate: Option<f64>,
    /// Open loop: operations are due at times of their own, whether or not the server has answered.
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "poisson", requires = "rate")]
    open: Option<Open>,
    /// Threads of the server that is started.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    threads: usize,
    /// Do not store the keys before the run.
    #[arg(long)]
    empty: bool,
    /// Milliseconds between samples of the server's memory and CPU time.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    sample_ms: u64,
    /// Writes all results to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Writes the samples to this file.
    #[arg(long)]
    csv: Option<PathBuf>,
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
    /// Zipf, with the keys that were stored last as the most popular.
    Latest,
    Sequential,
    HotCold,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocols {
    Resp,
    Memcached,
}

#[derive(Clone, Copy, ValueEnum)]
enum Open {
    /// Random distances, as from many independent clients.
    Poisson,
    /// Equal distances.
    Even,
}

/// Stores the keys in order, in a running server.
pub fn load(arguments: &StoreArguments) -> Result<()> {
    pin_client(1);
    let port = arguments.port.context("load: which server? (--port)")?;
    let trial = arguments.fill(port, arguments.pid_of(port), 1);
    let tried = watched(&trial)?;
    say(results::text("load", &tried));
    results::verdict(&tried)
}

/// Runs the load on a running server, or on one that is started and filled for it.
pub fn run(server: &str, arguments: &RunArguments) -> Result<()> {
    pin_client(arguments.threads);
    let tried = match try_run(server, arguments) {
        Ok(tried) => tried,
        Err(error) => Tried::failed(error)?,
    };
    say(results::text("run", &tried));
    if let Some(path) = &arguments.json {
        let text = format!("{:#}\n", results::as_json(&arguments.settings(server), &tried));
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &arguments.csv {
        fs::write(path, results::csv(&tried.samples))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    results::verdict(&tried)
}

fn try_run(server: &str, arguments: &RunArguments) -> Result<Tried> {
    let (started, port, pid) = match arguments.store.port {
        Some(port) => (None, port, arguments.store.pid_of(port)),
        None => {
            let server = start(server, arguments)?;
            let (port, pid) = (server.port, server.pid);
            (Some(server), port, Some(pid))
        }
    };
    let trial = arguments.trial(port, pid)?;
    if !arguments.empty && started.is_some() {
        let tried = watched(&arguments.store.fill(port, pid, arguments.threads))?;
        say(results::text("load", &tried));
        results::verdict(&tried).context("storing the keys")?;
    }
    watched(&trial)
}

fn start(server: &str, arguments: &RunArguments) -> Result<Server> {
    let program = Program::parse(server)?;
    let is_memcached = matches!(arguments.store.protocol, Protocols::Memcached);
    ensure!(
        is_memcached == (program.kind == Kind::Memcached),
        "{} does not speak the protocol of --protocol: name another --server, or its --port",
        program.label
    );
    let threads = arguments.threads;
    program.start(&Launch::default().with_threads(threads).on_cores(threads))
}

/// Runs a trial with a progress bar.
fn watched(trial: &Trial) -> Result<Tried> {
    let length = match trial.load.stop {
        Stop::Operations(count) => count,
        Stop::After(time) => time.as_millis() as u64,
    };
    let stop = trial.load.stop;
    let bar = if stderr().is_terminal() { ProgressBar::new(length) } else { ProgressBar::hidden() };
    bar.set_style(ProgressStyle::with_template("{bar:40} {percent:>3} % {msg}")?);
    let shown = bar.clone();
    let tried = trial.run(move |sample: &Sample| {
        shown.set_position(match stop {
            Stop::Operations(_) => sample.operations,
            Stop::After(_) => (sample.at.as_millis() as u64).min(length),
        });
        shown.set_message(format!("{} operations", sample.operations));
    })?;
    bar.finish_and_clear();
    Ok(tried)
}

impl StoreArguments {
    fn pid_of(&self, port: u16) -> Option<u32> {
        self.pid.or_else(|| ask_pid(port, self.protocol.into()).ok().flatten())
    }

    fn operation(&self) -> Operation {
        match self.operation {
            Operations::Get => Operation::Get,
            Operations::Set => Operation::Set,
            Operations::Mix => Operation::Mixed(self.reads),
            Operations::SetEx => Operation::SetFor(3600),
            Operations::Del => Operation::Delete,
        }
    }

    /// Returns the trial that stores all keys, with values and expiry of the load.
    fn fill(&self, port: u16, pid: Option<u32>, server_cores: usize) -> Trial {
        let mut load = Load::fill(self.keys, self.value.clone());
        if let Operation::SetFor(_) = self.operation() {
            load.shape.operation = self.operation();
        }
        load.protocol = self.protocol.into();
        load.seed = self.seed;
        load.connections = load.connections.max(self.client_threads);
        Trial {
            port,
            pid,
            load,
            arrival: Arrival::Closed,
            threads: self.client_threads,
            server_cores,
            sample_every: SAMPLE_EVERY,
        }
    }
}

impl RunArguments {
    fn trial(&self, port: u16, pid: Option<u32>) -> Result<Trial> {
        let store = &self.store;
        let mut load = Load::new(store.operation(), self.pipeline, store.keys);
        load.protocol = store.protocol.into();
        load.connections = self.connections;
        load.shape.value = store.value.clone();
        load.seed = store.seed;
        load.stop = self.stop();
        load.warm_up = self.warm_up();
        load.keys = self.keys();
        ensure!(self.rate.is_none_or(|rate| rate.is_finite() && rate > 0.0), "--rate: above zero");
        Ok(Trial {
            port,
            pid,
            load,
            arrival: self.arrival(),
            threads: store.client_threads,
            server_cores: self.threads,
            sample_every: Duration::from_millis(self.sample_ms),
        })
    }

    fn stop(&self) -> Stop {
        self.operations.map_or(Stop::After(Duration::from_millis(self.ms)), Stop::Operations)
    }

    fn warm_up(&self) -> Duration {
        let default = if self.operations.is_some() { 0 } else { self.ms / 5 };
        Duration::from_millis(self.warm_up_ms.unwrap_or(default))
    }

    fn keys(&self) -> KeyChoice {
        let exponent = self.exponent;
        match self.choice {
            Choice::Uniform => KeyChoice::Uniform,
            Choice::Zipf => KeyChoice::Zipf { exponent },
            Choice::Latest => KeyChoice::Latest { exponent },
            Choice::Sequential => KeyChoice::Sequential,
            Choice::HotCold => KeyChoice::HotCold { hot: self.hot, share: self.hot_share },
        }
    }

    fn arrival(&self) -> Arrival {
        let pace = |spacing| {
            let per_second = self.rate.unwrap_or(0.0);
            Pace { per_second, spacing, seed: self.store.seed }
        };
        match (self.rate, self.open) {
            (None, _) => Arrival::Closed,
            (Some(_), None) => Arrival::Limited(pace(Spacing::Even)),
            (Some(_), Some(Open::Poisson)) => Arrival::Open(pace(Spacing::Random)),
            (Some(_), Some(Open::Even)) => Arrival::Open(pace(Spacing::Even)),
        }
    }

    fn settings(&self, server: &str) -> Value {
        let store = &self.store;
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map(|value| value.get_name().to_owned())
        };
        json!({
            "server": store.port.map_or(server.to_owned(), |port| format!("port {port}")),
            "server_threads": self.threads,
            "protocol": name(store.protocol.to_possible_value()),
            "operation": name(store.operation.to_possible_value()),
            "reads": store.reads,
            "choice": name(self.choice.to_possible_value()),
            "exponent": self.exponent,
            "hot": self.hot,
            "hot_share": self.hot_share,
            "keys": store.keys,
            "value": store.value.to_string(),
            "connections": self.connections,
            "pipeline": self.pipeline,
            "client_threads": store.client_threads,
            "ms": self.operations.is_none().then_some(self.ms),
            "operations": self.operations,
            "warm_up_ms": self.warm_up().as_millis() as u64,
            "rate": self.rate,
            "open": self.open.and_then(|open| name(open.to_possible_value())),
            "sample_ms": self.sample_ms,
            "seed": store.seed,
        })
    }
}

impl From<Protocols> for Protocol {
    fn from(protocol: Protocols) -> Self {
        match protocol {
            Protocols::Resp => Self::Resp,
            Protocols::Memcached => Self::Memcached,
        }
    }
}

const SAMPLE_EVERY: Duration = Duration::from_millis(100);

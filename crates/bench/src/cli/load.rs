//! `load` and `run`: one load on one server.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use super::results;
use super::say::say;
use crate::generator::{Arrival, KeyChoice, Load, Pace, Protocol, Sizes, Spacing, Stop};
use crate::measure::{Measured, Target, Watch, try_measure};
use crate::scenario::pin_client;
use crate::servers::{Kind, Launch, Program, Server, ask_pid};
use crate::ycsb::ByKind;

/// Keys to store, and their server.
#[derive(Args, Serialize)]
pub struct StoreArguments {
    /// Port of a server that is running; without it `run` starts one.
    #[arg(long)]
    #[serde(skip)]
    port: Option<u16>,
    /// Process that serves that port, if the server does not report it.
    #[arg(long)]
    #[serde(skip)]
    pid: Option<u32>,
    #[arg(long, value_enum, default_value_t = Protocol::Resp)]
    protocol: Protocol,
    #[arg(long, value_enum, default_value_t = Operations::Set)]
    operation: Operations,
    /// Percentage of GETs in `mix`.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    reads: u8,
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Bytes per value: 16, 16-64, exp:MEAN, or sizes with weights as 16*90,1024*9,65536*1.
    #[arg(long, default_value = "16")]
    value: Sizes,
    /// Threads that make the load.
    #[arg(long, default_value_t = 1)]
    client_threads: usize,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args, Serialize)]
pub struct RunArguments {
    #[command(flatten)]
    #[serde(flatten)]
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
    #[serde(rename = "server_threads")]
    threads: usize,
    /// Do not store the keys before the run.
    #[arg(long)]
    #[serde(skip)]
    empty: bool,
    /// Milliseconds between samples of the server's memory and CPU time.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    sample_ms: u64,
    /// Writes all results to this file.
    #[arg(long)]
    #[serde(skip)]
    json: Option<PathBuf>,
    /// Writes the samples to this file.
    #[arg(long)]
    #[serde(skip)]
    csv: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Operations {
    Get,
    Set,
    Mix,
    /// SET with an expiry of one hour.
    SetEx,
    Del,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    Uniform,
    Zipf,
    /// Zipf, with the keys that were stored last as the most popular.
    Latest,
    Sequential,
    HotCold,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
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
    let target = target_of(port, arguments.pid, arguments.protocol);
    store(&target, &arguments.fill())
}

/// Runs the load on a running server, or on one that is started and filled for it.
pub fn run(server: &str, arguments: &RunArguments) -> Result<()> {
    pin_client(arguments.threads);
    let measured = try_run(server, arguments).unwrap_or_else(Measured::failed);
    let kinds = ByKind::new();
    say(results::text("run", &measured, &kinds));
    if let Some(path) = &arguments.json {
        let value = results::as_json(&arguments.settings(server)?, &measured, &kinds);
        write(path, &format!("{value:#}\n"))?;
    }
    if let Some(path) = &arguments.csv {
        write(path, &results::csv(&measured.samples))?;
    }
    results::verdict(&measured)
}

fn try_run(server: &str, arguments: &RunArguments) -> Result<Measured> {
    let load = arguments.load()?;
    let (protocol, threads) = (arguments.store.protocol, arguments.threads);
    let (_server, target) = match arguments.store.port {
        Some(port) => {
            let target = target_of(port, arguments.store.pid, protocol);
            (None, Target { cores: threads, ..target })
        }
        None => {
            let server = start(server, protocol, threads)?;
            let target = Target::from(&server);
            if !arguments.empty {
                store(&target, &arguments.store.fill())?;
            }
            (Some(server), target)
        }
    };
    let every = Duration::from_millis(arguments.sample_ms);
    Ok(try_measure(&target, &load, &Arc::default(), Some(progress(load.stop, every)?)))
}

fn store(target: &Target, load: &Load) -> Result<()> {
    let watch = progress(load.stop, SAMPLE_EVERY)?;
    let measured = try_measure(target, load, &Arc::default(), Some(watch));
    say(results::text("load", &measured, &ByKind::new()));
    results::verdict(&measured).context("storing the keys")
}

/// Returns a running server; its process is asked for, unless it is known.
pub fn target_of(port: u16, pid: Option<u32>, protocol: Protocol) -> Target {
    let pid = pid.or_else(|| ask_pid(port, protocol).ok().flatten());
    Target { label: format!("port {port}"), port, pid, protocol, cores: 1 }
}

/// Starts a server of a protocol on cores of its own.
pub fn start(server: &str, protocol: Protocol, threads: usize) -> Result<Server> {
    let program = Program::parse(server)?;
    ensure!(
        (protocol == Protocol::Memcached) == (program.kind == Kind::Memcached),
        "{} does not speak the chosen protocol: name another --server, or its --port",
        program.label
    );
    program.start(&Launch::default().with_threads(threads).on_cores(threads))
}

/// Writes results to a file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns what shows the progress of a load up to its end.
pub fn progress(stop: Stop, every: Duration) -> Result<Watch> {
    let length = match stop {
        Stop::Operations(count) => count,
        Stop::After(time) => time.as_millis() as u64,
    };
    let bar = if stderr().is_terminal() { ProgressBar::new(length) } else { ProgressBar::hidden() };
    bar.set_style(ProgressStyle::with_template("{bar:40} {percent:>3} % {msg}")?);
    let watch = move |sample: &crate::sampler::Sample| {
        bar.set_position(match stop {
            Stop::Operations(_) => sample.operations,
            Stop::After(_) => (sample.at.as_millis() as u64).min(length),
        });
        bar.set_message(format!("{} operations", sample.operations));
    };
    Ok(Watch { every, watch: Box::new(watch) })
}

impl StoreArguments {
    /// Returns the load that stores all keys, with values and expiry of the load itself.
    fn fill(&self) -> Load {
        let fill = Load::fill(self.keys, &self.value).seeded(self.seed);
        let connections = fill.connections.max(self.client_threads);
        let requests = match self.operation {
            Operations::SetEx => self.requests(),
            _ => fill.requests,
        };
        Load { requests, connections, threads: self.client_threads, ..fill }
    }

    fn requests(&self) -> Vec<(u32, String)> {
        let load = match self.operation {
            Operations::Get => Load::get(self.keys),
            Operations::Set => Load::set(self.keys, &self.value),
            Operations::Mix => Load::mixed(self.reads.into(), self.keys, &self.value),
            Operations::SetEx => Load::of(format!("SET k{{n:15}} {{?{}}} EX 3600", self.value), 1),
            Operations::Del => Load::of("DEL k{n:15}", self.keys),
        };
        load.requests
    }
}

impl RunArguments {
    fn load(&self) -> Result<Load> {
        let store = &self.store;
        ensure!(self.rate.is_none_or(|rate| rate.is_finite() && rate > 0.0), "--rate: above zero");
        let time = Duration::from_millis(self.ms);
        Ok(Load {
            requests: store.requests(),
            keys: self.keys(),
            key_count: store.keys,
            pipeline: self.pipeline,
            connections: self.connections,
            threads: store.client_threads,
            arrival: self.arrival(),
            stop: self.operations.map_or(Stop::After(time), Stop::Operations),
            warm_up: self.warm_up(),
            misses: true,
            seed: store.seed,
        })
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
        let Some(per_second) = self.rate else { return Arrival::Closed };
        let pace = |spacing| Pace { per_second, spacing, seed: self.store.seed };
        match self.open {
            None => Arrival::Limited(pace(Spacing::Even)),
            Some(Open::Poisson) => Arrival::Open(pace(Spacing::Random)),
            Some(Open::Even) => Arrival::Open(pace(Spacing::Even)),
        }
    }

    fn settings(&self, server: &str) -> Result<Value> {
        let mut settings = serde_json::to_value(self)?;
        let named = self.store.port.map_or(server.to_owned(), |port| format!("port {port}"));
        settings["server"] = named.into();
        settings["warm_up_ms"] = (self.warm_up().as_millis() as u64).into();
        if self.operations.is_some() {
            settings["ms"] = Value::Null;
        }
        Ok(settings)
    }
}

/// Distance of samples while keys are stored, and in `ycsb`.
pub const SAMPLE_EVERY: Duration = Duration::from_millis(100);

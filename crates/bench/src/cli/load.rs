//! `run`: one load on one server.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Error, Result, ensure};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use super::print::print;
use super::results;
use crate::generator::{Arrival, KeyChoice, Load, Stop};
use crate::measure::{Measured, try_measure};
use crate::process;
use crate::protocol::Protocol;
use crate::sampler::{Sample, Watch};
use crate::servers::{Launch, Program, Server};
use crate::ycsb::ByKind;

#[derive(Args, Serialize)]
pub struct RunArguments {
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
    /// A request as in the scenarios; of several, each with its share before a colon.
    #[arg(long, default_value = "GET k{n:15}", value_parser = request)]
    request: Vec<(u32, String)>,
    /// Request that stores each key in a server that is started; empty for none.
    #[arg(long, default_value = "SET k{n:15} {?16}")]
    fill: String,
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// `uniform`, `sequential`, `zipf:EXPONENT` or `hot-cold:PART:SHARE`.
    #[arg(long, default_value = "uniform")]
    choice: KeyChoice,
    /// Connections of all threads together.
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// Requests that a connection sends at once.
    #[arg(long, default_value_t = 16)]
    pipeline: usize,
    /// Threads that make the load.
    #[arg(long, default_value_t = 1)]
    client_threads: usize,
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
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
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

/// Server that gets the load: one that is running, or one that is started.
#[derive(Args, Serialize)]
pub struct Target {
    /// Port of a server that is running; without it one is started.
    #[arg(long)]
    #[serde(skip)]
    port: Option<u16>,
    /// Process that serves that port, if the server does not report it.
    #[arg(long)]
    #[serde(skip)]
    pid: Option<u32>,
    #[arg(long, value_enum, default_value_t = Protocol::Resp)]
    protocol: Protocol,
    /// Threads of the server that is started.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    #[serde(rename = "server_threads")]
    threads: usize,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Open {
    /// Random distances, as from many independent clients.
    Poisson,
    /// Equal distances.
    Even,
}

/// Runs the load on a running server, or on one that is started and filled for it.
pub fn run(server: &str, arguments: &RunArguments) -> Result<()> {
    let measured = try_run(server, arguments).unwrap_or_else(Measured::failed);
    let kinds = ByKind::new();
    print(results::text("run", &measured, &kinds));
    if let Some(path) = &arguments.json {
        let value = results::as_json(&arguments.settings(server)?, &measured, &kinds);
        write(path, &format!("{value:#}\n"))?;
    }
    if let Some(path) = &arguments.csv {
        write(path, &results::csv(&measured.samples)?)?;
    }
    results::verdict(&measured)
}

fn try_run(server: &str, arguments: &RunArguments) -> Result<Measured> {
    let load = arguments.load()?;
    let server = arguments.target.serve(server)?;
    if arguments.target.port.is_none() && !arguments.fill.is_empty() {
        let fill = Load::each(&arguments.fill, arguments.keys);
        let fill = Load { seed: arguments.seed, ..fill };
        let measured = watched(&server, &fill, SAMPLE_EVERY)?;
        print(results::text("load", &measured, &ByKind::new()));
        results::verdict(&measured).context("storing the keys")?;
    }
    watched(&server, &load, Duration::from_millis(arguments.sample_ms))
}

fn watched(server: &Server, load: &Load, every: Duration) -> Result<Measured> {
    Ok(try_measure(server, load, &Arc::default(), Some(progress(load.stop, every)?)))
}

impl Target {
    /// Returns the server at the port, or starts one of this protocol on cores of its own. Binds
    /// the calling thread to the core behind them.
    pub fn serve(&self, server: &str) -> Result<Server> {
        process::pin_this_thread(self.threads);
        if let Some(port) = self.port {
            let mut server = Server::running(port, self.pid, self.protocol);
            server.cores = self.threads;
            return Ok(server);
        }
        let program = Program::parse(server)?;
        ensure!(
            program.kind.protocol() == self.protocol,
            "{} does not speak the chosen protocol: name another --server, or its --port",
            program.label
        );
        program.start(&Launch::on(self.threads, self.threads))
    }
}

/// Writes results to a file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns what shows the progress of a load up to its end.
pub fn progress(stop: Stop, every: Duration) -> Result<Watch> {
    let length = match stop {
        Stop::Operations(count) | Stop::Within(count, _) => count,
        Stop::After(time) => time.as_millis() as u64,
    };
    // Shown on a terminal only.
    let bar = ProgressBar::new(length);
    bar.set_style(ProgressStyle::with_template("{bar:40} {percent:>3} % {msg}")?);
    let watch = move |sample: &Sample| {
        bar.set_position(match stop {
            Stop::Operations(_) | Stop::Within(..) => sample.operations,
            Stop::After(_) => (sample.at.as_millis() as u64).min(length),
        });
        bar.set_message(format!("{} operations", sample.operations));
    };
    Ok(Watch { every, watch: Box::new(watch) })
}

/// Reads a request with its share, which is 1 if it is not given.
fn request(text: &str) -> Result<(u32, String), Error> {
    let (share, request) = text.split_once(':').unwrap_or_default();
    let is_share = !share.is_empty() && share.bytes().all(|byte| byte.is_ascii_digit());
    Ok(if is_share { (share.parse()?, request.to_owned()) } else { (1, text.to_owned()) })
}

impl RunArguments {
    fn load(&self) -> Result<Load> {
        ensure!(self.rate.is_none_or(|rate| rate.is_finite() && rate > 0.0), "--rate: above zero");
        let arrival = match (self.rate, self.open) {
            (None, _) => Arrival::Closed,
            (Some(rate), None) => Arrival::Limited(rate),
            (Some(rate), Some(Open::Poisson)) => Arrival::Poisson(rate),
            (Some(rate), Some(Open::Even)) => Arrival::Even(rate),
        };
        Ok(Load {
            requests: self.request.clone(),
            fills: Vec::new(),
            protocol: None,
            keys: self.choice.clone(),
            key_count: self.keys,
            pipeline: self.pipeline,
            connections: self.connections,
            threads: self.client_threads,
            arrival,
            stop: self.operations.map_or(Stop::After(self.time()), Stop::Operations),
            warm_up: self.warm_up(),
            misses: true,
            refusals: true,
            seed: self.seed,
            opens: Vec::new(),
            tls: false,
        })
    }

    fn time(&self) -> Duration {
        Duration::from_millis(self.ms)
    }

    fn warm_up(&self) -> Duration {
        let default = if self.operations.is_some() { Duration::ZERO } else { self.time() / 5 };
        self.warm_up_ms.map_or(default, Duration::from_millis)
    }

    fn settings(&self, server: &str) -> Result<Value> {
        let mut settings = serde_json::to_value(self)?;
        let port = self.target.port;
        settings["server"] = port.map_or(server.into(), |port| format!("port {port}")).into();
        settings["warm_up_ms"] = (self.warm_up().as_millis() as u64).into();
        if self.operations.is_some() {
            settings["ms"] = Value::Null;
        }
        Ok(settings)
    }
}

/// Distance of samples while keys are stored, and in `ycsb`.
pub const SAMPLE_EVERY: Duration = Duration::from_millis(100);

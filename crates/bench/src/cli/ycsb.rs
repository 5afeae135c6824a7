//! `ycsb`: phases of a workload, named as on YCSB's own command line.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::results;
use super::say::say;
use crate::generator::{Monitor, Protocol};
use crate::sampler::{Sample, Sampler};
use crate::scenario::pin_client;
use crate::servers::{Launch, Program, Server, ask_pid};
use crate::ycsb::client::{Clients, Phase, Plan};
use crate::ycsb::connector::Connector;
use crate::ycsb::measured::Measured;
use crate::ycsb::memcached::Memcached;
use crate::ycsb::properties::Properties;
use crate::ycsb::redis::Redis;
use crate::ycsb::summary;
use crate::ycsb::workload::{Load, Workload};

#[derive(Args)]
pub struct YcsbArguments {
    /// Phases to run; without any, both, one after the other.
    #[arg(value_enum)]
    phase: Option<PhaseName>,
    /// A property file; of several, later ones win.
    #[arg(short = 'P', long = "properties")]
    files: Vec<PathBuf>,
    /// One property, as name=value; wins over files.
    #[arg(short = 'p', long = "property")]
    properties: Vec<String>,
    #[arg(long, value_enum, default_value_t = ConnectorName::Redis)]
    connector: ConnectorName,
    /// Port of a server that is running; without it one is started.
    #[arg(long)]
    port: Option<u16>,
    /// Process that serves that port, if the server does not report it.
    #[arg(long)]
    pid: Option<u32>,
    /// Worker threads of a server that is started.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    server_threads: usize,
    /// Writes the results of all phases to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PhaseName {
    Load,
    Run,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConnectorName {
    Redis,
    Memcached,
}

/// Runs the phases and prints what YCSB prints.
///
/// # Errors
/// If a property is wrong or a server does not start; and if a phase did not do all that it was
/// to do, when what it did is printed and written.
pub fn ycsb(server: &str, arguments: &YcsbArguments) -> Result<()> {
    pin_client(arguments.server_threads);
    let properties = arguments.properties()?;
    let workload = Workload::new(&properties)?;
    let started: Option<Server> = match arguments.port {
        Some(_) => None,
        None => Some(start(server, arguments)?),
    };
    let port = started.as_ref().map(|server| server.port).or(arguments.port);
    let port = port.context("a server has a port")?;
    let pid = started.as_ref().map(|server| server.pid).or_else(|| arguments.pid_of(port));
    let mut written = Vec::new();
    for (name, phase) in arguments.phases(&properties)? {
        let plan = plan(&properties, phase)?;
        let (measured, samples) = match arguments.connector {
            ConnectorName::Redis => play::<Redis>(port, pid, plan, &workload),
            ConnectorName::Memcached => play::<Memcached>(port, pid, plan, &workload),
        }?;
        say(format_args!("[PHASE], Name, {name}\n"));
        say(format_args!("{}{}", summary::text(&measured), server_text(&measured, &samples)));
        written.push(phase_json(name, &measured, &samples));
        if let Some(path) = &arguments.json {
            let all = json!({ "version": results::VERSION, "phases": &written });
            fs::write(path, format!("{all:#}\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        ensure!(measured.operations > 0, "the phase {name} has no operations");
        if let Some(complaint) = measured.complaint() {
            bail!("the phase {name} is partial: {complaint}");
        }
    }
    Ok(())
}

/// Formats the resources that the server used, in lines like YCSB's; empty if its process is not
/// known.
fn server_text(measured: &Measured, samples: &[Sample]) -> String {
    let seen = |of: fn(&Sample) -> Option<u64>| samples.iter().rev().find_map(of);
    let cpu = seen(|sample| Some(sample.cpu?.as_nanos() as u64));
    let cpu = cpu.map(|nanos| nanos as f64 / 1e3 / measured.operations.max(1) as f64);
    let lines = [
        cpu.map(|us| format!("[SERVER], CPU(us/operation), {us}\n")),
        seen(|sample| sample.resident_bytes)
            .map(|bytes| format!("[SERVER], ResidentMemory(bytes), {bytes}\n")),
    ];
    lines.into_iter().flatten().collect()
}

fn phase_json(name: &str, measured: &Measured, samples: &[Sample]) -> Value {
    let mut value = summary::as_json(measured);
    value["phase"] = name.into();
    value["samples"] = results::samples_json(samples);
    value
}

fn play<C: Connector + Default>(
    port: u16,
    pid: Option<u32>,
    plan: Plan,
    workload: &Workload,
) -> Result<(Measured, Vec<Sample>)> {
    let clients = Clients::<C>::connect(port, plan, workload)?;
    let monitor = Arc::new(Monitor::default());
    let sampler = Sampler::start(pid, SAMPLE_EVERY, Arc::clone(&monitor), |_| ());
    let bar =
        if stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let measured = clients.run(|done| {
        monitor.add(done - monitor.operations());
        bar.set_message(format!("{done} operations"));
        bar.tick();
    });
    bar.finish_and_clear();
    monitor.add(measured.operations - monitor.operations());
    Ok((measured, sampler.stop()))
}

impl YcsbArguments {
    fn properties(&self) -> Result<Properties> {
        let mut properties = Properties::default();
        for file in &self.files {
            properties.read(file)?;
        }
        for property in &self.properties {
            let (name, value) = property
                .split_once('=')
                .with_context(|| format!("{property:?} is no name=value"))?;
            properties.set(name, value)?;
        }
        let idle: Vec<_> = properties.without_effect().collect();
        if !idle.is_empty() {
            eprintln!("varve-bench: without effect here: {}", idle.join(", "));
        }
        Ok(properties)
    }

    fn phases(&self, properties: &Properties) -> Result<Vec<(&'static str, Phase)>> {
        let load = Phase::Load(Load::new(properties)?);
        let run = Phase::Run(properties.operations()?);
        Ok(match self.phase {
            Some(PhaseName::Load) => vec![("load", load)],
            Some(PhaseName::Run) => vec![("run", run)],
            None => vec![("load", load), ("run", run)],
        })
    }

    fn pid_of(&self, port: u16) -> Option<u32> {
        let protocol = match self.connector {
            ConnectorName::Redis => Protocol::Resp,
            ConnectorName::Memcached => Protocol::Memcached,
        };
        self.pid.or_else(|| ask_pid(port, protocol).ok().flatten())
    }
}

fn plan(properties: &Properties, phase: Phase) -> Result<Plan> {
    Ok(Plan {
        clients: properties.get("threadcount")?,
        phase,
        target: properties.get("target")?,
        longest: Duration::from_secs(properties.get("maxexecutiontime")?),
    })
}

fn start(server: &str, arguments: &YcsbArguments) -> Result<Server> {
    let threads = arguments.server_threads;
    Program::parse(server)?.start(&Launch::default().with_threads(threads).on_cores(threads))
}

const SAMPLE_EVERY: Duration = Duration::from_millis(250);

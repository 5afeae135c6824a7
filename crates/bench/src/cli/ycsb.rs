//! `ycsb`: phases of a workload, named as on YCSB's own command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::load::{SAMPLE_EVERY, progress, start, target_of, write};
use super::results;
use super::say::say;
use crate::generator::{Protocol, Stop};
use crate::measure::Target;
use crate::scenario::pin_client;
use crate::ycsb::{Phase, Plan, Properties, Workload, play};

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

/// Runs the phases and prints their results.
///
/// # Errors
/// If a property is wrong or a server does not start; and if a phase did not do all that it was to
/// do, when what it did is printed and written.
pub fn ycsb(server: &str, arguments: &YcsbArguments) -> Result<()> {
    pin_client(arguments.server_threads);
    let properties = arguments.properties()?;
    let mut workload = Workload::new(&properties)?;
    let protocol = match arguments.connector {
        ConnectorName::Redis => Protocol::Resp,
        ConnectorName::Memcached => Protocol::Memcached,
    };
    let (_server, target) = match arguments.port {
        Some(port) => (None, target_of(port, arguments.pid, protocol)),
        None => {
            let server = start(server, protocol, arguments.server_threads)?;
            let target = Target::from(&server);
            (Some(server), target)
        }
    };
    let mut written: Vec<Value> = Vec::new();
    for plan in arguments.plans(&properties, &workload)? {
        let name = if plan.phase == Phase::Load { "load" } else { "run" };
        let stop = match plan.operations {
            u64::MAX => Stop::After(plan.longest),
            operations => Stop::Operations(operations),
        };
        let watch = progress(stop, SAMPLE_EVERY)?;
        let played = play(&target, &plan, &mut workload, Some(watch));
        say(results::text(name, &played.measured, &played.tallies));
        let settings = json!({ "phase": name, "clients": plan.clients, "target": plan.target });
        written.push(results::as_json(&settings, &played.measured, &played.tallies));
        if let Some(path) = &arguments.json {
            let all = json!({ "version": results::VERSION, "phases": &written });
            write(path, &format!("{all:#}\n"))?;
        }
        results::verdict(&played.measured).with_context(|| format!("the phase {name}"))?;
        ensure!(played.measured.outcome.operations > 0, "the phase {name} has no operations");
    }
    Ok(())
}

impl YcsbArguments {
    fn properties(&self) -> Result<Properties> {
        let mut properties = Properties::default();
        for file in &self.files {
            properties.read(file)?;
        }
        for property in &self.properties {
            let pair = property.split_once('=');
            let (name, value) = pair.with_context(|| format!("{property:?} is no name=value"))?;
            properties.set(name, value)?;
        }
        let idle: Vec<_> = properties.without_effect().collect();
        if !idle.is_empty() {
            eprintln!("varve-bench: without effect here: {}", idle.join(", "));
        }
        Ok(properties)
    }

    fn plans(&self, properties: &Properties, workload: &Workload) -> Result<Vec<Plan>> {
        let clients = properties.get("threadcount")?;
        let target = properties.get("target")?;
        let longest = Duration::from_secs(properties.get("maxexecutiontime")?);
        let plans = [Plan::load(workload, clients), Plan::run(properties.operations()?, clients)];
        let is_chosen = |plan: &Plan| match self.phase {
            Some(phase) => (phase == PhaseName::Load) == (plan.phase == Phase::Load),
            None => true,
        };
        let plans = plans.into_iter().filter(is_chosen);
        Ok(plans.map(|plan| Plan { target, longest, ..plan }).collect())
    }
}

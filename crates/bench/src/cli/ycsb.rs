//! `ycsb`: the phases of a workload, as YCSB's own command line has them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::scenario::pin_client;
use crate::servers::{Launch, Program, Server};
use crate::ycsb::client::{Clients, Measured, Phase, Plan};
use crate::ycsb::memcached::Memcached;
use crate::ycsb::properties::Properties;
use crate::ycsb::redis::Redis;
use crate::ycsb::summary;
use crate::ycsb::workload::{Load, Workload};

#[derive(Args)]
pub struct YcsbArguments {
    /// Both of them, one after the other, if none is named.
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
    /// A server that runs already; without it one is started.
    #[arg(long)]
    port: Option<u16>,
    /// Worker threads of a server that is started.
    #[arg(long, default_value_t = 1)]
    server_threads: usize,
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
pub fn ycsb(server: &str, arguments: &YcsbArguments) -> Result<()> {
    pin_client(arguments.server_threads);
    let mut properties = Properties::default();
    for file in &arguments.files {
        properties.read(file)?;
    }
    for property in &arguments.properties {
        let (name, value) =
            property.split_once('=').with_context(|| format!("{property:?} is no name=value"))?;
        properties.set(name, value)?;
    }
    let workload = Workload::new(&properties)?;
    let load = Phase::Load(Load::new(&properties)?);
    let run = Phase::Run(properties.get("operationcount")?);
    let phases = match arguments.phase {
        Some(PhaseName::Load) => vec![("load", load)],
        Some(PhaseName::Run) => vec![("run", run)],
        None => vec![("load", load), ("run", run)],
    };
    let started: Option<Server> = match arguments.port {
        Some(_) => None,
        None => Some(start(server, arguments.server_threads)?),
    };
    let port = started.as_ref().map(|server| server.port).or(arguments.port);
    let port = port.context("a server has a port")?;
    for (name, phase) in phases {
        let plan = plan(&properties, phase)?;
        let measured = match arguments.connector {
            ConnectorName::Redis => play::<Redis>(port, plan, &workload),
            ConnectorName::Memcached => play::<Memcached>(port, plan, &workload),
        }?;
        println!("[PHASE], Name, {name}");
        print!("{}", summary::text(&measured));
        if let Some(error) = &measured.error {
            eprintln!("varve-bench: the server answered {error}");
        }
        ensure!(measured.operations > 0, "the phase {name} has no operations");
        ensure!(
            measured.failures() < measured.operations,
            "nothing was done in the phase {name}: are the records there?"
        );
    }
    Ok(())
}

fn play<C: crate::ycsb::connector::Connector + Default>(
    port: u16,
    plan: Plan,
    workload: &Workload,
) -> Result<Measured> {
    Clients::<C>::connect(port, plan, workload)?.run(|done| eprint!("\r{done} operations "))
}

fn plan(properties: &Properties, phase: Phase) -> Result<Plan> {
    Ok(Plan {
        clients: properties.get("threadcount")?,
        phase,
        target: properties.get("target")?,
        longest: Duration::from_secs(properties.get("maxexecutiontime")?),
    })
}

fn start(server: &str, threads: usize) -> Result<Server> {
    Program::parse(server)?.start(&Launch::default().with_threads(threads).on_cores(threads))
}

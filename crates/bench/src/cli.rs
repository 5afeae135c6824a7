//! The command line of `varve-bench`.

use std::env;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::report::Section;
use crate::scenario::collections::{self, commands, elements, forms, removal};
use crate::scenario::{
    Bench, churn, cpu, expiry, growth, idle, long_strings, maxmemory, overhead, reclaim, stall,
};
use crate::servers::{Peers, Program};

mod all;
mod load;
mod results;
mod target;
mod ycsb;

use all::AllArguments;
use load::{RunArguments, StoreArguments};
use ycsb::YcsbArguments;

/// Measures Varve beside its peers: CPU per operation, memory per key, pauses.
///
/// Without a command everything is measured and recorded, as with `all`.
#[derive(Parser)]
#[command(name = "varve-bench")]
pub struct Arguments {
    /// Server under test: `valkey`, `redis`, `null`, or the path of a program and its arguments;
    /// by default what the environment variable VARVE_SERVER names.
    #[arg(long, global = true)]
    server: Option<String>,
    /// Smaller and shorter: tells whether things work, not how well.
    #[arg(long, global = true)]
    quick: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Stores keys in order, in a server that runs already.
    Load(StoreArguments),
    /// One measurement.
    Run(RunArguments),
    /// Everything; writes the results to a folder.
    All(AllArguments),
    /// The phases of a workload of YCSB.
    Ycsb(YcsbArguments),
    #[command(flatten)]
    Scenario(Scenario),
}

#[derive(Subcommand)]
enum Scenario {
    /// CPU per operation beside the peers and the null server.
    Compare {
        /// Interleaved rounds.
        #[arg(long)]
        rounds: Option<usize>,
        /// Milliseconds per measurement.
        #[arg(long)]
        ms: Option<u64>,
        /// Pipeline depths.
        #[arg(long, value_delimiter = ',')]
        pipelines: Option<Vec<usize>>,
    },
    /// CPU per operation with two threads against one.
    Threads,
    /// CPU per operation over many keys against few.
    ManyKeys,
    /// Memory per key and the longest pause while keys grow.
    Growth {
        /// Keys at the end.
        #[arg(long)]
        keys: Option<u64>,
        /// With an expiry on each.
        #[arg(long)]
        expire: bool,
    },
    /// Memory per key beside key and value, by size of the value.
    Overhead,
    /// Live payload over resident memory under churn.
    Table5 {
        /// Live payload.
        #[arg(long)]
        megabytes: Option<u64>,
    },
    /// A full cache.
    Maxmemory,
    /// Keys that expire over a minute.
    Expiry,
    /// Memory of an idle, empty server.
    Idle,
    /// CPU per command on a string of half a gigabyte.
    LongStrings,
    /// Bytes moved by the cleaner, by reclaim policy.
    Reclaim,
    /// What an open and a closed loop see of a server that stands still.
    Stall,
    /// Resident bytes per element of a collection.
    Elements,
    /// Large forms of collections beside packed ones.
    Forms,
    /// CPU per command on collections beside Valkey.
    Collections {
        /// Interleaved rounds.
        #[arg(long)]
        rounds: Option<usize>,
        /// Milliseconds per measurement.
        #[arg(long)]
        ms: Option<u64>,
    },
    /// Live records over resident memory while collections change.
    CollectionChurn,
    /// What others notice when a set of ten million members is removed.
    Removal {
        /// How often each removal is seen.
        #[arg(long)]
        rounds: Option<usize>,
    },
}

/// Runs what the command line asks for and prints it.
///
/// # Errors
/// If a server cannot be started or fails.
pub fn run(arguments: Arguments) -> Result<()> {
    let quick = arguments.quick;
    let from_environment = || env::var("VARVE_SERVER").unwrap_or_else(|_| SERVER.to_owned());
    let server = arguments.server.unwrap_or_else(from_environment);
    match arguments.command.unwrap_or_else(|| Command::All(AllArguments::default())) {
        Command::Load(arguments) => load::load(&arguments),
        Command::Run(arguments) => load::run(&server, &arguments),
        Command::Ycsb(arguments) => ycsb::ycsb(&server, &arguments),
        Command::All(arguments) => all::all(&bench(&server)?, quick, &arguments),
        Command::Scenario(scenario) => {
            print!("{}", section(scenario, &bench(&server)?, quick)?.text());
            Ok(())
        }
    }
}

fn section(scenario: Scenario, bench: &Bench, quick: bool) -> Result<Section> {
    match scenario {
        Scenario::Compare { rounds, ms, pipelines } => {
            let mut plan = cpu::Plan::new(quick);
            plan.rounds = rounds.unwrap_or(plan.rounds);
            plan.time = ms.map_or(plan.time, Duration::from_millis);
            plan.pipelines = pipelines.unwrap_or(plan.pipelines);
            cpu::compare(bench, &plan)
        }
        Scenario::Threads => cpu::threads(bench, &cpu::Plan::new(quick)),
        Scenario::ManyKeys => cpu::many_keys(bench, &cpu::Plan::new(quick)),
        Scenario::Growth { keys, expire } => {
            let mut plan = growth::Plan::new(quick, expire);
            plan.keys = keys.unwrap_or(plan.keys);
            growth::run(bench, &plan)
        }
        Scenario::Overhead => overhead::run(bench, &overhead::Plan::new(quick)),
        Scenario::Table5 { megabytes } => {
            let mut plan = churn::Plan::new(quick);
            plan.payload = megabytes.map_or(plan.payload, |megabytes| megabytes << 20);
            churn::run(bench, &plan)
        }
        Scenario::Maxmemory => maxmemory::run(bench, &maxmemory::Plan::new(quick)),
        Scenario::Expiry => expiry::run(bench, &expiry::Plan::new(quick)),
        Scenario::Idle => idle::run(bench),
        Scenario::LongStrings => long_strings::run(bench, &long_strings::Plan::new(quick)),
        Scenario::Reclaim => reclaim::run(bench, &reclaim::Plan::new(quick)),
        Scenario::Stall => stall::run(bench, &stall::Plan::new(quick)),
        Scenario::Elements => elements::run(bench, &elements::Plan::new(quick)),
        Scenario::Forms => forms::run(bench, &forms::Plan::new(quick)),
        Scenario::Collections { rounds, ms } => {
            let mut plan = commands::Plan::new(quick);
            plan.rounds = rounds.unwrap_or(plan.rounds);
            plan.time = ms.map_or(plan.time, Duration::from_millis);
            commands::run(bench, &plan)
        }
        Scenario::CollectionChurn => {
            collections::churn::run(bench, &collections::churn::Plan::new(quick))
        }
        Scenario::Removal { rounds } => {
            let mut plan = removal::Plan::new(quick);
            plan.rounds = rounds.unwrap_or(plan.rounds);
            removal::run(bench, &plan)
        }
    }
}

fn bench(server: &str) -> Result<Bench> {
    let varve = Program::parse(server)?;
    let peers = Peers::find().and_then(|peers| {
        peers.versions()?;
        Ok([peers.program("valkey")?, peers.program("redis")?])
    });
    let (valkey, others) = match peers {
        Ok([valkey, redis]) => (Some(valkey), vec![redis]),
        Err(error) => {
            eprintln!("SKIPPED: everything beside Valkey and Redis: {error:#}");
            (None, Vec::new())
        }
    };
    Ok(Bench { varve, valkey, others, null: Program::null()? })
}

const SERVER: &str = "target/release/varve-server";

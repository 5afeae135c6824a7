//! The command line of `varve-bench`.

use std::env;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::scenario::Bench;
use crate::servers::{Peers, Program};

mod load;
mod page;
mod report;
mod results;
mod target;
mod ycsb;

use load::{RunArguments, StoreArguments};
use page::PageArguments;
use report::{Choice, ReportArguments};
use ycsb::YcsbArguments;

/// Measures Varve beside its peers: CPU per operation, memory per key, pauses.
#[derive(Parser)]
#[command(name = "varve-bench")]
pub struct Arguments {
    /// Server under test: `valkey`, `redis`, `null`, or the path of a program and its arguments;
    /// by default what the environment variable VARVE_SERVER names.
    #[arg(long, global = true)]
    server: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs scenarios and records them in a folder.
    Report(ReportArguments),
    /// Runs scenarios and prints them.
    Scenario(Choice),
    /// Names the scenarios.
    List(Choice),
    /// A recorded result as a page of HTML, beside an older one if there is one.
    Page(PageArguments),
    /// The phases of a workload of YCSB.
    Ycsb(YcsbArguments),
    /// Stores keys in order, in a server that runs already.
    Load(StoreArguments),
    /// One measurement.
    Run(RunArguments),
}

/// Runs what the command line asks for and prints it.
///
/// # Errors
/// If a server cannot be started or fails.
pub fn run(arguments: Arguments) -> Result<()> {
    let from_environment = || env::var("VARVE_SERVER").unwrap_or_else(|_| SERVER.to_owned());
    let server = arguments.server.unwrap_or_else(from_environment);
    match arguments.command {
        Command::Report(arguments) => report::report(&bench(&server)?, &arguments),
        Command::Scenario(choice) => report::scenario(&bench(&server)?, &choice),
        Command::List(choice) => report::list(&choice),
        Command::Page(arguments) => page::page(&arguments),
        Command::Ycsb(arguments) => ycsb::ycsb(&server, &arguments),
        Command::Load(arguments) => load::load(&arguments),
        Command::Run(arguments) => load::run(&server, &arguments),
    }
}

fn bench(server: &str) -> Result<Bench> {
    let varve = Program::parse(server)?;
    varve.must_be_there()?;
    let mut bench = Bench {
        varve,
        valkey: None,
        redis: None,
        memcached: None,
        null: Program::null()?,
        valkey_benchmark: None,
    };
    let peers = Peers::find().and_then(|peers| peers.versions().map(|_| peers));
    match peers {
        Ok(peers) => {
            bench.valkey = Some(peers.program("valkey")?);
            bench.redis = Some(peers.program("redis")?);
            bench.memcached = Some(peers.program("memcached")?);
            bench.valkey_benchmark = Some(peers.valkey_benchmark());
        }
        Err(error) => eprintln!("SKIPPED: everything beside the peers: {error:#}"),
    }
    Ok(bench)
}

const SERVER: &str = "target/release/varve-server";

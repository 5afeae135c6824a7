//! The command line of `varve-bench`.

use std::env;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::process;
use crate::scenario::Bench;
use crate::servers::{Peers, Program};

mod load;
mod print;
mod report;
mod results;
mod ycsb;

use load::RunArguments;
use report::{Choice, PageArguments, ReportArguments};
use ycsb::YcsbArguments;

/// Measures Varve beside its peers: CPU per operation, memory per key, pauses.
#[derive(Parser)]
#[command(name = "varve-bench")]
pub struct Arguments {
    /// Server under test: `valkey`, `redis`, `null`, or the path of a program and its arguments; by
    /// default the value of the environment variable VARVE_SERVER.
    #[arg(long, global = true)]
    server: Option<String>,
    #[command(flatten)]
    peers: PeerArguments,
    #[command(subcommand)]
    command: Command,
}

/// Paths of peers; a peer without one is run by the script in the environment variable PEERS.
#[derive(Args)]
struct PeerArguments {
    /// Path of a Valkey server, and its arguments.
    #[arg(long, global = true)]
    valkey: Option<String>,
    /// Path of a Redis server, and its arguments.
    #[arg(long, global = true)]
    redis: Option<String>,
    /// Path of Memcached, and its arguments.
    #[arg(long, global = true)]
    memcached: Option<String>,
    /// Path of another build of the server under test, to compare with, and its arguments.
    #[arg(long, global = true)]
    before: Option<String>,
    /// Path of valkey-benchmark.
    #[arg(long, global = true)]
    valkey_benchmark: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Runs scenarios and records them in a folder.
    Report(ReportArguments),
    /// Runs scenarios and prints them.
    Scenario(Choice),
    /// Lists the scenarios.
    List(Choice),
    /// Writes a recorded result as a page of HTML, beside an older one if there is one.
    Page(PageArguments),
    /// Runs one load, on a running server or on one that is started for it.
    Run(RunArguments),
    /// Runs the phases of a workload of YCSB.
    Ycsb(YcsbArguments),
}

/// Runs the command of the command line and prints its results.
///
/// # Errors
/// If a server cannot be started or fails.
pub fn run(arguments: Arguments) -> Result<()> {
    process::raise_descriptor_limit();
    let from_environment = || env::var("VARVE_SERVER").unwrap_or_else(|_| SERVER.to_owned());
    let server = arguments.server.unwrap_or_else(from_environment);
    let peers = arguments.peers;
    match arguments.command {
        Command::Report(arguments) => report::report(&bench(&server, &peers)?, &arguments),
        Command::Scenario(choice) => report::scenario(&bench(&server, &peers)?, &choice),
        Command::List(choice) => report::list(&choice),
        Command::Page(arguments) => report::page(&arguments),
        Command::Run(arguments) => load::run(&server, &arguments),
        Command::Ycsb(arguments) => ycsb::ycsb(&server, &arguments),
    }
}

fn bench(server: &str, given: &PeerArguments) -> Result<Bench> {
    let varve = Program::parse(server)?;
    varve.must_be_there()?;
    let peers = Peers::find();
    if let Err(error) = &peers {
        eprintln!("SKIPPED: everything beside peers whose paths were not given: {error:#}");
    }
    let program = |name: &str, path: &Option<String>| match (path, &peers) {
        (Some(path), _) => Program::peer(name, path).map(Some),
        (None, Ok(peers)) => Ok(Some(peers.program(name))),
        (None, Err(_)) => Ok(None),
    };
    let of_script = || peers.as_ref().ok().map(|peers| peers.run("valkey-benchmark"));
    let path = given.valkey_benchmark.as_ref();
    Ok(Bench {
        varve,
        before: given.before.as_deref().map(before).transpose()?,
        valkey: program("valkey", &given.valkey)?,
        redis: program("redis", &given.redis)?,
        memcached: program("memcached", &given.memcached)?,
        null: Program::null()?,
        valkey_benchmark: path.map(|path| vec![path.clone()]).or_else(of_script),
    })
}

/// Returns another build of the server under test.
fn before(path: &str) -> Result<Program> {
    let mut program = Program::parse(path)?;
    program.must_be_there()?;
    program.label = "before".to_owned();
    Ok(program)
}

const SERVER: &str = "target/release/varve-server";

//! YCSB's workloads on all servers: Varve, Valkey and Redis with its connector for Redis, Memcached
//! with that for Memcached.
//!
//! | file | question |
//! |---|---|
//! | `sweep` | throughput, latency, user and system time by clients, and latency by load |
//! | `memory` | resident memory by number of records |

mod costs;
pub mod memory;
pub mod sweep;

use std::path::Path;

use anyhow::Result;

use super::Bench;
use crate::measure::Target;
use crate::servers::{Kind, Launch, Program, Server};
use crate::ycsb::{Plan, Played, Properties, Workload, play};

/// Reads a property file, with other numbers of records and operations.
fn workload(file: &Path, records: u64, operations: u64) -> Result<Workload> {
    let mut properties = Properties::default();
    properties.read(file)?;
    properties.set("recordcount", &records.to_string())?;
    properties.set("operationcount", &operations.to_string())?;
    Workload::new(&properties)
}

/// Returns the name of a workload.
fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// Returns all servers, the null server with records as large as those of a workload.
fn programs(bench: &Bench, workload: &Workload) -> Vec<Program> {
    let (fields, bytes) = (workload.fields.to_string(), workload.field_bytes.to_string());
    let words = ["--fields", &fields, "--field-bytes", &bytes].map(str::to_owned);
    let null = bench.null.clone().with_arguments(&words);
    bench.varve_and_all_peers().cloned().chain([null]).collect()
}

/// Starts a server and stores the records, unless the server stores nothing.
fn start(program: &Program, workload: &Workload) -> Result<Server> {
    let server = program.start(&Launch::default())?;
    if server.kind != Kind::Null {
        played(&server, &Plan::load(workload, LOADERS), &mut workload.clone())?;
    }
    Ok(server)
}

/// Runs a phase.
fn played(server: &Server, plan: &Plan, workload: &mut Workload) -> Result<Played> {
    let mut played = play(&Target::from(server), plan, workload, None);
    match played.measured.failure.take() {
        Some(error) => Err(error.context(server.label.clone())),
        None => Ok(played),
    }
}

const LOADERS: usize = 32;

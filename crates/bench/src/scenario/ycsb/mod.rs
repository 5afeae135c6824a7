//! YCSB's workloads on all servers: Varve, Valkey and Redis with its connector for Redis, Memcached
//! with that for Memcached.
//!
//! | file | question |
//! |---|---|
//! | `sweep` | throughput, latency, user and system time by clients, and latency by load |
//! | `memory` | resident memory by number of records |

pub mod memory;
pub mod sweep;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::measure::Measured;
use crate::process::user_and_system_time;
use crate::servers::{Kind, Launch, Program, Server};
use crate::ycsb::{ByKind, Plan, Properties, Workload, play};

/// Reads a property file, with other numbers of records and operations.
fn workload(file: &Path, records: u64, operations: u64) -> Result<Workload> {
    let mut properties = Properties::default();
    properties.read(file)?;
    properties.set(&format!("recordcount={records}"))?;
    properties.set(&format!("operationcount={operations}"))?;
    Workload::new(&properties)
}

/// Starts a server and stores the records, unless the server stores nothing.
fn start(program: &Program, workload: &Workload) -> Result<Server> {
    let server = program.start(&Launch::default())?;
    let operations = workload.record_count;
    let plan = Plan { clients: LOADERS, operations, longest: Duration::MAX, target: None };
    if server.kind != Kind::Null {
        played(&server, plan, &mut workload.loading())?;
    }
    Ok(server)
}

/// Details of a phase.
struct Details {
    by_kind: ByKind,
    /// User and system time of the server in clock ticks; only these tell the two apart.
    ticked: [Duration; 2],
}

/// Runs a phase.
fn played(server: &Server, plan: Plan, workload: &mut Workload) -> Result<(Measured, Details)> {
    let before = user_and_system_time(server.pid)?;
    let (mut measured, by_kind) = play(server, plan, workload, None);
    measured.failure.take().map_or(Ok(()), Err).with_context(|| server.label.clone())?;
    let after = user_and_system_time(server.pid)?;
    Ok((measured, Details { by_kind, ticked: [after.0 - before.0, after.1 - before.1] }))
}

const LOADERS: usize = 32;

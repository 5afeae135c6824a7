//! YCSB's workloads on all servers: Varve, Valkey and Redis with its connector for Redis, Memcached
//! with that for Memcached.
//!
//! | file | question |
//! |---|---|
//! | `sweep` | throughput, latency, user and system time by clients, and latency by load |
//! | `memory` | resident memory by number of records |

mod cost;
pub mod memory;
pub mod sweep;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::Bench;
use crate::servers::{Kind, Launch, Program, Server};
use crate::ycsb::client::{Clients, Phase, Plan};
use crate::ycsb::measured::Measured;
use crate::ycsb::memcached::Memcached;
use crate::ycsb::properties::Properties;
use crate::ycsb::redis::Redis;
use crate::ycsb::workload::{Load, Workload};

/// Property file with other numbers of records and operations.
struct Settings {
    workload: Workload,
    load: Load,
    fields: u64,
    field_bytes: u64,
}

impl Settings {
    fn read(file: &Path, records: u64, operations: u64) -> Result<Self> {
        let mut properties = Properties::default();
        properties.read(file)?;
        properties.set("recordcount", &records.to_string())?;
        properties.set("operationcount", &operations.to_string())?;
        Ok(Self {
            workload: Workload::new(&properties)?,
            load: Load::new(&properties)?,
            fields: properties.get("fieldcount")?,
            field_bytes: properties.get("fieldlength")?,
        })
    }
}

/// Returns the null server, with records as large as those of a workload.
fn null(bench: &Bench, settings: &Settings) -> Program {
    let (fields, bytes) = (settings.fields.to_string(), settings.field_bytes.to_string());
    let words = ["--fields", &fields, "--field-bytes", &bytes].map(str::to_owned);
    bench.null.clone().with_arguments(&words)
}

/// Returns Varve and every available peer.
fn programs(bench: &Bench) -> impl Iterator<Item = &Program> {
    bench.varve_and_peers().chain(&bench.memcached)
}

/// Server and the records that it holds.
struct Stored {
    server: Server,
    workload: Workload,
}

impl Stored {
    /// Starts a server and stores the records, unless the server stores nothing.
    fn start(program: &Program, settings: &Settings) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let stored = Self { server, workload: settings.workload.for_server() };
        if stored.server.kind != Kind::Null {
            let (phase, target) = (Phase::Load(settings.load), 0.0);
            stored.play(Plan { clients: LOADERS, phase, target, longest: Duration::ZERO })?;
        }
        Ok(stored)
    }

    /// Runs a plan with its clients.
    ///
    /// # Errors
    /// If any operation failed: a missing record, a broken connection.
    fn play(&self, plan: Plan) -> Result<Measured> {
        let (port, workload) = (self.server.port, &self.workload);
        let measured = match self.server.kind {
            Kind::Memcached => Clients::<Memcached>::connect(port, plan, workload)?.run(|_| ()),
            _ => Clients::<Redis>::connect(port, plan, workload)?.run(|_| ()),
        };
        let is_done = measured.failure.is_none() && measured.failures == 0;
        let why = || measured.complaint().unwrap_or_default();
        ensure!(is_done, "{}: {}", self.server.label, why());
        Ok(measured)
    }
}

const LOADERS: usize = 32;

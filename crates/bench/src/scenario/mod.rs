//! The measurements: one kind of scenario per file. Files under `bench/scenarios` give each kind
//! its parameters, aims and figures of the source; see [`mod@file`].
//!
//! | file | question |
//! |---|---|
//! | [`example`] | tables that examples of other packages print, without a server |
//! | [`profiled`] | instructions per command, beside another build; cache misses by function |
//! | [`script`] | cost of loads, and of all else that steps in the file measure |
//! | [`ycsb`] | YCSB's workloads: throughput and latency by clients and by load |
//!
//! Servers have no files but where a scenario gives them a folder: there each has one of its own on
//! one disk, and peers run among the files of this process, not in the root of their own.

mod bare;
mod callgrind;
mod claims;
mod disk;
mod example;
mod figures;
pub mod file;
mod kinds;
mod place;
mod profiled;
mod rounds;
mod scale;
mod script;
mod ycsb;

pub use scale::Scale;

use anyhow::{Result, bail};

use crate::report::Section;
use crate::servers::Program;

/// Parameters of a scenario, as a file has them, and their measurement.
pub trait Scenario {
    /// Measures. The content of the section still counts when it fails.
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()>;
}

/// Servers and tools of a benchmark.
pub struct Bench {
    pub varve: Program,
    /// Another build of it, if one was named.
    pub before: Option<Program>,
    /// Peers, if they are installed.
    pub valkey: Option<Program>,
    pub redis: Option<Program>,
    pub memcached: Option<Program>,
    pub null: Program,
    /// Other load generator, if the peers are installed.
    pub valkey_benchmark: Option<Vec<String>>,
}

impl Bench {
    /// Returns the server under test and all available peers that speak RESP.
    pub fn varve_and_peers(&self) -> impl Iterator<Item = &Program> {
        [&self.varve].into_iter().chain(&self.valkey).chain(&self.redis)
    }

    /// Returns the server under test and all available peers, Memcached included.
    pub fn varve_and_all_peers(&self) -> impl Iterator<Item = &Program> {
        self.varve_and_peers().chain(&self.memcached)
    }

    /// Returns all servers, the null server included.
    pub fn all_programs(&self) -> impl Iterator<Item = &Program> {
        self.varve_and_all_peers().chain([&self.null])
    }

    /// Returns the server of a name in files; `None` if it is not installed.
    pub fn program(&self, name: &str) -> Result<Option<&Program>> {
        Ok(match name {
            "varve" => Some(&self.varve),
            "before" => self.before.as_ref(),
            "valkey" => self.valkey.as_ref(),
            "redis" => self.redis.as_ref(),
            "memcached" => self.memcached.as_ref(),
            "null" => Some(&self.null),
            _ => bail!("there is no server {name:?}"),
        })
    }
}

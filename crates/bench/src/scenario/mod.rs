//! The measurements: one kind of scenario per file. Files under `bench/scenarios` give each kind
//! its parameters, aims and figures of the source; see [`mod@file`].
//!
//! | file | question |
//! |---|---|
//! | [`attack`] | server memory under clients that ask for too much |
//! | `cpu` | server CPU per operation: beside the peers, with two threads, over many keys |
//! | `cache_misses` | cache lines that a lookup misses, as cachegrind simulates them (Table 2) |
//! | `instructions` | instructions per command, as callgrind counts them, beside another build |
//! | `growth` | resident bytes per key and the longest pause while the keys grow |
//! | `overhead` | resident bytes per key beside key and value, by size of the value |
//! | `churn` | live payload over resident memory after sizes changed (Table 5) |
//! | `loads` | latency and throughput of GETs and SETs beside all peers (Figs. 7 and 8) |
//! | `maxmemory` | a full cache: memory bound, data kept, cost of a SET |
//! | `expiry` | delay between the deadline of keys and their removal, and its cost |
//! | `reclaim` | bytes moved per byte written, by reclaim policy (Fig. 6) |
//! | `long_strings` | a string of half a gigabyte: CPU of small changes and reads, memory |
//! | `idle` | memory of an empty server |
//! | [`ycsb`] | YCSB: throughput and latency by clients and by load, memory, system time |
//! | `generators` | speed of the generator, and agreement with valkey-benchmark |
//! | `gate` | waiting time of all clients when an action on all shards meets a long command |
//! | `stall` | a stalled server as seen by an open and a closed loop |
//! | `waiters` | server CPU where pairs of clients wait for each other |
//! | [`durable`] | log, snapshots and the start from files: seven questions of their own |
//! | [`collections`] | lists, hashes, sets, sorted sets and streams: five questions of their own |

pub mod attack;
pub mod bare;
pub mod cache_misses;
pub mod churn;
pub mod collections;
pub mod cpu;
pub mod durable;
pub mod expiry;
pub mod file;
pub mod gate;
pub mod generators;
pub mod growth;
pub mod idle;
pub mod instructions;
mod kinds;
pub mod loads;
pub mod long_strings;
pub mod maxmemory;
pub mod measure;
mod needs;
pub mod overhead;
pub mod reclaim;
mod rounds;
mod scale;
pub mod stall;
pub mod waiters;
pub mod ycsb;

pub use scale::Scale;
use scale::{milliseconds, seconds};

use anyhow::Result;
use serde::de::DeserializeOwned;

use crate::process;
use crate::report::Section;
use crate::servers::Program;
use crate::valkey_benchmark::ValkeyBenchmark;

/// Kind of scenario: its parameters, as a file has them, and its measurement.
pub trait Scenario: DeserializeOwned {
    /// Returns the parameters for a fraction of the full size.
    fn scaled(self, scale: Scale) -> Self;

    /// Measures. The content of the section still counts when it fails.
    ///
    /// # Errors
    /// If a server does not start, or fails.
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()>;
}

/// Servers and tools of a benchmark.
pub struct Bench {
    /// The server under test.
    pub varve: Program,
    /// Valkey, if the peers are installed.
    pub valkey: Option<Program>,
    /// Redis, if the peers are installed.
    pub redis: Option<Program>,
    /// Memcached, if the peers are installed.
    pub memcached: Option<Program>,
    /// The null server.
    pub null: Program,
    /// Other load generator, if the peers are installed.
    pub valkey_benchmark: Option<ValkeyBenchmark>,
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

    /// Returns the null server with one reply to all commands, given in wire format.
    pub fn null_answering(&self, reply: &str) -> Program {
        self.null.clone().with_arguments(&["--always".to_owned(), reply.to_owned()])
    }

    /// Returns the server under test, and Valkey if it is available.
    pub fn varve_and_valkey(&self) -> Vec<&Program> {
        std::iter::once(&self.varve).chain(&self.valkey).collect()
    }
}

/// Binds the calling thread, which makes the load, to the core behind those of the server, or to
/// the last core.
pub fn pin_client(server_cores: usize) {
    process::pin_this_thread(server_cores.min(process::cores() - 1));
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}

/// Peers that have all features of Varve: their labels, and their names in figures.
const PEERS: [(&str, &str); 2] = [("valkey", "Valkey"), ("redis", "Redis")];

/// Those peers and the null server.
const PEERS_AND_NULL: [(&str, &str); 3] = [PEERS[0], PEERS[1], ("null", "null")];

fn peers_missing(section: &mut Section, bench: &Bench) {
    if bench.valkey.is_none() {
        section.note("Valkey is not there: ratios to it were not measured.");
    }
}

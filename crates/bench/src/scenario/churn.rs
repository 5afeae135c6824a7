//! Live payload over resident memory under a memory limit while the sizes of values change: Tables
//! 1 and 5 of Redis++, and a test of all eviction policies.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Deserialize;

use super::{Bench, Scenario, pin_client};
use crate::generator::{
    Batch, Client, EventLoop, Heard, KeyChoice, Load, ReplyReader, Sender, Sizes, Turn, Value,
};
use crate::measure::{Measured, measure, measure_watched};
use crate::report::{Plot, Section};
use crate::sampler::{Watch, most_memory};
use crate::servers::{Kind, Launch, Program, Server};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `maxmemory` in bytes.
    limit: u64,
    /// Bytes of keys and values that each step writes, as a multiple of the limit.
    written: f64,
    /// Bytes of a key.
    key: usize,
    /// Settings of Valkey and Redis.
    #[serde(default)]
    peers: BTreeMap<String, String>,
    /// True if Memcached is measured beside them.
    #[serde(default)]
    memcached: bool,
    /// Changes, each on fresh servers.
    workloads: Vec<Workload>,
}

/// Change of the stored data: new keys are written with values of each of the sizes in turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    name: String,
    /// Policy of eviction. Keys have an expiry where it begins with `volatile`; Memcached has a
    /// policy of its own.
    #[serde(default = "random")]
    policy: String,
    values: Vec<Sizes>,
    /// Part of the keys that is deleted at random between two steps.
    #[serde(default)]
    deleted: f64,
}

fn random() -> String {
    "allkeys-random".to_owned()
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        for workload in &self.workloads {
            let title = workload.words();
            let mut plot = Plot::lines(&title, "written / limit", "payload / resident");
            for program in workload.programs(bench, self.memcached) {
                let mut running = Running::start(self, workload, program, section)?;
                section.values(&title, &program.label, &running.run()?);
                running.shares.iter().for_each(|(x, y)| plot.point(&program.label, *x, *y));
            }
            section.plots.push(plot);
        }
        Ok(())
    }
}

impl Workload {
    fn words(&self) -> String {
        let sizes: Vec<_> = self.values.iter().map(Sizes::to_string).collect();
        let deleted = match self.deleted {
            0.0 => String::new(),
            deleted => format!(", {:.0} % deleted", 100.0 * deleted),
        };
        format!("{}: {}{deleted}", self.name, sizes.join(" -> "))
    }

    /// Returns the servers that have the policy.
    fn programs<'b>(&self, bench: &'b Bench, memcached: bool) -> Vec<&'b Program> {
        match self.policy.as_str() {
            "its own" => bench.memcached.iter().collect(),
            _ if memcached => bench.varve_and_all_peers().collect(),
            _ => bench.varve_and_peers().collect(),
        }
    }
}

/// A server during the change.
struct Running<'p> {
    plan: &'p Plan,
    workload: &'p Workload,
    server: Server,
    /// Number of keys ever stored; the next new key.
    named: u64,
    /// Bytes of keys and values written so far.
    written: f64,
    /// Most resident memory over the limit.
    most: f64,
    /// Payload over resident memory, by bytes written over the limit.
    shares: Vec<(f64, f64)>,
}

impl<'p> Running<'p> {
    fn start(
        plan: &'p Plan,
        workload: &'p Workload,
        program: &Program,
        section: &mut Section,
    ) -> Result<Self> {
        let launch = Launch::default().with("maxmemory", plan.limit);
        let server = program.start(&launch.with("maxmemory-policy", &workload.policy))?;
        for (name, value) in plan.peers.iter().filter(|_| program.kind == Kind::Peer) {
            if let Value::Error(error) = server.control()?.ask(&["CONFIG", "SET", name, value])? {
                let note = format!("{} refuses {name} {value}: {error}.", program.label);
                if !section.notes.contains(&note) {
                    section.note(note);
                }
            }
        }
        let (written, most, shares) = (0.0, 0.0, Vec::new());
        Ok(Self { plan, workload, server, named: 0, written, most, shares })
    }

    /// Runs the change; returns the numbers of [`COLUMNS`], the least and the mean over the last
    /// step after its first quarter.
    fn run(&mut self) -> Result<[f64; 6]> {
        for (step, sizes) in self.workload.values.iter().enumerate() {
            if step > 0 && self.workload.deleted > 0.0 {
                self.delete()?;
            }
            self.write(sizes)?;
        }
        let late = &self.shares[self.shares.len().saturating_sub(PARTS as usize * 3 / 4)..];
        let late: Vec<_> = late.iter().map(|(_, share)| *share).collect();
        let least = late.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        let (_, at_end) = self.share(ASKED_AT_END)?;
        thread::sleep(REST);
        let (live, rested) = self.share(ASKED_AT_END)?;
        Ok([live / f64::from(1 << 20), self.most, least, mean, at_end, rested])
    }

    /// Returns the key of a number, which is drawn for a request, plus `first`.
    fn key(&self, first: u64) -> String {
        format!("{}{{n+{first}:{DIGITS}}}", "k".repeat(self.plan.key - DIGITS))
    }

    /// Writes new keys in equal parts, and looks at the memory after each.
    fn write(&mut self, sizes: &Sizes) -> Result<()> {
        let record = self.plan.key as f64 + sizes.mean();
        let count = (self.plan.written * self.plan.limit as f64 / record) as u64 / PARTS;
        let expiry = match self.workload.policy.starts_with("volatile") {
            true => " EX {n%80000+10000}",
            false => "",
        };
        for _ in 0..PARTS {
            let request = format!("SET {} {{?{sizes}}}{expiry}", self.key(self.named));
            let load = Load::each(request, count).seeded(self.named);
            let most = most_memory(&push(&self.server, load)?.samples);
            self.most = self.most.max(most / self.plan.limit as f64);
            self.named += count;
            self.written += count as f64 * record;
            let (_, share) = self.share(ASKED_RUNNING)?;
            self.shares.push((self.written / self.plan.limit as f64, share));
        }
        Ok(())
    }

    /// Deletes a part of all keys ever stored, and so the same part of those that are there.
    fn delete(&self) -> Result<()> {
        let deleted = (self.named as f64 * self.workload.deleted) as u64;
        let load = Load::each(format!("DEL {}", self.key(0)), self.named).count(deleted);
        measure(&self.server, &load.choosing(KeyChoice::Shuffled)).map(|_| ())
    }

    /// Returns the live payload in bytes, and its part of the resident memory.
    fn share(&self, asked: u64) -> Result<(f64, f64)> {
        let (port, protocol) = (self.server.port, self.server.protocol());
        let load = Load::of(format!("GET {}", self.key(0)), self.named);
        let sender = Sender::new(protocol, &load.count(asked), 0)?;
        let mut lengths = Lengths { sender, found: 0, bytes: 0 };
        let mut event_loop = EventLoop::new()?;
        event_loop.connect_with(port, 8, &[], || ReplyReader::keeping(protocol))?;
        event_loop.run(&mut [&mut lengths])?;
        let mean = lengths.bytes as f64 / lengths.found.max(1) as f64;
        let live = self.server.control()?.key_count()? as f64 * (self.plan.key as f64 + mean);
        Ok((live, live / self.server.resident_bytes()? as f64))
    }
}

/// Client that GETs keys and adds up the bytes of those that are there.
struct Lengths {
    sender: Sender,
    found: u64,
    bytes: usize,
}

impl Client for Lengths {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Turn> {
        self.sender.next(connection, now, batch)
    }

    fn heard(&mut self, connection: usize, heard: &Heard<'_>) -> Result<bool> {
        for value in &heard.values {
            if let Value::Text(text) = value {
                self.found += 1;
                self.bytes += text.len();
            }
        }
        self.sender.heard(connection, heard)
    }
}

/// Sends a load and samples memory. Memcached makes room in the background and refuses SETs until
/// there is some.
fn push(server: &Server, load: Load) -> Result<Measured> {
    let load = Load { refusals: server.kind == Kind::Memcached, ..load };
    measure_watched(server, &load, Watch::every(SAMPLE_EVERY))
}

const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const COLUMNS: &str = "workload | server | live MiB .1 | most resident / limit .3 | least .3 | \
    mean .3 | at the end .3 | 5 s later .3";
const REST: Duration = Duration::from_secs(5);
/// Parts of a step, between which the live payload is looked at.
const PARTS: u64 = 8;
const ASKED_RUNNING: u64 = 5_000;
const ASKED_AT_END: u64 = 100_000;
const DIGITS: usize = 15;

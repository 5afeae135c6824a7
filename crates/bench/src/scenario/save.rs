//! Snapshots: their speed, what clients beside them wait, and the memory that they take.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::data::{Fill, check};
use super::folder::{folder, programs};
use super::rounds::by_value;
use super::{Bench, Scenario, milliseconds, pin_client};
use crate::generator::{EventLoop, Load, Outcome, Probe, Protocol, Sender, Stop};
use crate::report::Section;
use crate::sampler::peak_during;
use crate::servers::{Launch, Program, Server};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Time for which the clients are watched before each snapshot, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    before: Duration,
    /// Snapshots of all data.
    rounds: usize,
    data: Vec<Data>,
}

/// What is saved, and the clients beside that.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    name: String,
    fill: Fill,
    /// Number of keys or elements.
    keys: u64,
    /// Commands that count them, with their answers.
    counts: Vec<String>,
    /// Size that is told per second of a snapshot: of a key or element, in the unit of the file.
    size: f64,
    /// Requests of the clients, as many of each; none for a snapshot without clients.
    #[serde(default)]
    requests: Vec<String>,
    #[serde(default)]
    connections: usize,
    /// Requests per second of all clients together, which wait from their due times on; as many as
    /// are answered by default.
    per_second: Option<f64>,
    cores: usize,
    #[serde(default)]
    options: BTreeMap<String, String>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(COLUMNS);
        let programs = programs(bench, &["varve", "valkey"], section)?;
        for data in &self.data {
            pin_client(data.cores);
            for program in &programs {
                let mut rounds = by_value(&self.measure(program, data)?);
                // Without clients only the snapshot itself is known.
                let known = if data.requests.is_empty() { 2 } else { rounds.len() };
                rounds[known..].iter_mut().for_each(Vec::clear);
                section.measured(&data.name, &program.label, &rounds);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn measure(&self, program: &Program, data: &Data) -> Result<Vec<[f64; 13]>> {
        let folder = folder()?;
        let mut launch = Launch::on(data.cores, 1);
        for (name, value) in &data.options {
            launch = launch.with(name, value);
        }
        let server = program.start(&launch.in_folder(&folder))?;
        data.fill.send(&server, data.keys, 1)?;
        thread::sleep(REST);
        let requests = data.requests.iter().map(|request| (1, request.clone())).collect();
        let load = Load { requests, ..Load::of("", data.keys) };
        let mut load = load.pipelined(1).on(data.connections);
        if let Some(per_second) = data.per_second {
            load = load.paced(per_second);
        }
        let mut clients = Clients::connect(&server, &load)?;
        let file = folder.path().join("dump.rdb");
        let rounds = (0..self.rounds).map(|_| self.save(data, &file, &mut clients));
        let rounds = rounds.collect();
        check(&server, &data.counts, data.keys)?;
        rounds
    }

    /// Makes one snapshot; returns the values of [`COLUMNS`].
    fn save(&self, data: &Data, file: &Path, clients: &mut Clients<'_>) -> Result<[f64; 13]> {
        let server = clients.server;
        let is_alone = data.requests.is_empty();
        let before = if is_alone { Duration::ZERO } else { self.before };
        let (memory, (before, calm)) = peak_during(server.pid, || {
            Ok((clients.watch_saves(before, 0)?, clients.watch_saves(CUT, 0)?))
        })?;
        if file.exists() {
            fs::remove_file(file)?;
        }
        let asked = Instant::now();
        let (most, (cut_ms, beside, seconds)) = peak_during(server.pid, || {
            let mut all = clients.watch_saves(CUT, 1)?;
            let cut_ms = all.longest_ms();
            let seconds = saved(server, file, asked, || {
                if is_alone {
                    thread::sleep(FILE_EVERY);
                    return Ok(());
                }
                all.merge(clients.watch_saves(WATCHED, 0)?)
            })?;
            Ok((cut_ms, Outcome { elapsed: Duration::from_secs_f64(seconds), ..all }, seconds))
        })?;
        let own_us = server.control()?.info_number("latest_fork_usec")?.unwrap_or(f64::NAN);
        let time = if is_alone { Duration::ZERO } else { beside.elapsed };
        let without = clients.watch_saves(time, 0)?;
        Ok([
            seconds,
            data.size * data.keys as f64 / seconds,
            cut_ms,
            calm.longest_ms(),
            own_us / 1e3,
            beside.longest_ms(),
            without.longest_ms(),
            beside.latency_us(0.99),
            before.latency_us(0.99),
            beside.per_second(),
            without.per_second(),
            memory / f64::from(1 << 20),
            most / memory,
        ])
    }
}

/// Returns the seconds until the file of a snapshot is there, and waits until the server is ready
/// for the next. The file has its name at that moment: the servers tell the end up to a tenth of a
/// second later.
fn saved(
    server: &Server,
    file: &Path,
    asked: Instant,
    mut meanwhile: impl FnMut() -> Result<()>,
) -> Result<f64> {
    let (mut control, mut checked) = (server.control()?, asked);
    while !file.exists() {
        meanwhile()?;
        if checked.elapsed() > CHECK_EVERY {
            checked = Instant::now();
            let state = control.info("rdb_last_bgsave_status")?;
            ensure!(state.is_none_or(|state| state == "ok"), "the snapshot failed");
            ensure!(asked.elapsed() < SAVE_MAX, "no snapshot after {SAVE_MAX:?}");
        }
    }
    let seconds = asked.elapsed().as_secs_f64();
    while control.info_number("rdb_bgsave_in_progress")?.context("INFO")? > 0.0 {
        ensure!(asked.elapsed() < SAVE_MAX, "a snapshot that does not end");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(seconds)
}

/// Clients of a load on the core behind the server's, and one that sends single requests.
pub struct Clients<'run> {
    server: &'run Server,
    event_loop: EventLoop,
    sender: Sender,
}

impl<'run> Clients<'run> {
    pub fn connect(server: &'run Server, load: &Load) -> Result<Self> {
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(server.port, Protocol::Resp, load.connections)?;
        event_loop.connect(server.port, Protocol::Resp, 1)?;
        Ok(Self { server, event_loop, sender: Sender::new(Protocol::Resp, load, 0)? })
    }

    /// Lets the clients send for so long, and another these requests.
    pub fn watch(&mut self, time: Duration, requests: Load) -> Result<(Outcome, Probe)> {
        let mut single = Probe::new(requests, self.server.pid)?;
        if time.is_zero() {
            return Ok((Outcome::empty(), single));
        }
        self.sender.restart(Stop::After(time), Arc::default())?;
        self.event_loop.run(&mut [&mut self.sender, &mut single])?;
        single.finish()?;
        Ok((self.sender.finish().sound()?, single))
    }

    /// Lets the clients send for so long, and another so many BGSAVEs.
    fn watch_saves(&mut self, time: Duration, saves: u64) -> Result<Outcome> {
        Ok(self.watch(time, Load::of("BGSAVE", 1).count(saves))?.0)
    }
}

const COLUMNS: &str = "data | server | saved in s .2 | saved/s .2 | cut ms .2 | calm ms .2 | \
    pause ms .3 | longest ms .2 | without ms .2 | p99 us .0 | before us .0 | op/s .0 | \
    without op/s .0 | MiB before .1 | memory/before .3";
const CUT: Duration = Duration::from_millis(20);
const FILE_EVERY: Duration = Duration::from_millis(1);
const CHECK_EVERY: Duration = Duration::from_millis(200);
const SAVE_MAX: Duration = Duration::from_secs(600);
const WATCHED: Duration = Duration::from_millis(50);
/// Time in which the cleaner is through with what loading left.
const REST: Duration = Duration::from_secs(2);

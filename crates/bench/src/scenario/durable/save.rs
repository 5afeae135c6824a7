//! A snapshot of many keys while other clients read and write, and its speed without them.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Deserialize;

use super::watch::{Snapshot, peak_during};
use crate::generator::{Commands, EventLoop, Load, Protocol, Sender, Sizes, Stop};
use crate::measure::fill;
use crate::report::{Figure, Section};
use crate::scenario::folder::{Folder, programs};
use crate::scenario::rounds::{by_value, cell, figure};
use crate::scenario::{Bench, Scenario, milliseconds, pin_client};
use crate::servers::{Launch, Program, Server};

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of keys.
    keys: u64,
    /// Bytes in a value.
    value: usize,
    /// Number of keys with large values.
    large_keys: u64,
    /// Bytes in a large value.
    large_value: usize,
    /// GETs and SETs per second of all clients together.
    per_second: f64,
    /// Time for which the clients are watched before each snapshot, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    before: Duration,
    /// Snapshots of each kind.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["what", "server", "measured"]);
        let programs = programs(bench, &["varve", "valkey"], section)?;
        let (mut beside, mut alone) = (Vec::new(), Vec::new());
        for program in &programs {
            beside.push(self.beside(program)?);
            rows(section, &program.label, &BESIDE, &beside[beside.len() - 1]);
        }
        for program in &programs {
            alone.push(self.alone(program)?);
            rows(section, &program.label, &ALONE, &alone[alone.len() - 1]);
        }
        let [cut, _, own, _, memory, p99_before, p99_while, ..] = &beside[0];
        figure(section, "longest wait of a client at the cut", cut, "ms");
        figure(section, "pause at the cut, as the server tells it", own, "ms");
        figure(section, "most memory while saving / before", memory, "");
        let what = "p99 of others while saving / before, one core";
        section.figures.push(Figure::ratio(what, p99_while, p99_before));
        let [plain, compressed, large] = &alone[0];
        let mut gain = |figure: Figure| section.figures.push(figure.more_is_better());
        gain(Figure::of_rounds("saved alone", plain.clone(), "M keys/s"));
        gain(Figure::of_rounds("saved alone, large values", large.clone(), "MB/s"));
        if let Some([theirs, theirs_compressed, _]) = alone.get(1) {
            gain(Figure::ratio("saved alone / Valkey", plain, theirs));
            let what = "saved alone, compressed / Valkey";
            gain(Figure::ratio(what, compressed, theirs_compressed));
        }
        Ok(())
    }
}

fn rows(section: &mut Section, label: &str, whats: &[(&str, usize)], all: &[Vec<f64>]) {
    for ((what, digits), rounds) in whats.iter().zip(all) {
        section.row([(*what).to_owned(), label.to_owned(), cell(rounds, *digits)]);
    }
}

/// Clients that send requests at a steady rate on the core behind the server's.
struct Clients<'run> {
    server: &'run Server,
    event_loop: EventLoop,
    sender: Sender,
}

impl<'run> Clients<'run> {
    fn connect(server: &'run Server, plan: &Plan) -> Result<Self> {
        let load = Load::mixed(50, plan.keys, &Sizes::fixed(plan.value)).pipelined(1);
        let sender = Sender::new(Protocol::Resp, &load.on(CLIENTS).paced(plan.per_second), 0)?;
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(server.port, Protocol::Resp, CLIENTS)?;
        event_loop.connect(server.port, Protocol::Resp, 1)?;
        Ok(Self { server, event_loop, sender })
    }

    /// Lets the clients send for so long, and another the commands; returns the latencies of the
    /// clients in nanoseconds.
    fn watch(&mut self, time: Duration, commands: &[String]) -> Result<Histogram<u64>> {
        let mut commands = Commands::over(time, commands, self.server.pid)?;
        self.sender.restart(Stop::After(time), Arc::default())?;
        self.event_loop.run(&mut [&mut self.sender, &mut commands])?;
        Ok(self.sender.finish()?.sound()?.latencies)
    }
}

impl Plan {
    /// Saves on the core on which clients are served; returns the rounds of each of [`BESIDE`].
    fn beside(&self, program: &Program) -> Result<[Vec<f64>; 9]> {
        let folder = Folder::new()?;
        let server = folder.start(program, &Launch::default())?;
        fill(&server, self.keys, &Sizes::fixed(self.value))?;
        let mut clients = Clients::connect(&server, self)?;
        clients.watch(REST, &[])?;
        let rounds = (0..self.rounds).map(|_| self.save_beside(&folder, &mut clients));
        Ok(by_value(&rounds.collect::<Result<Vec<_>>>()?))
    }

    fn save_beside(&self, folder: &Folder, clients: &mut Clients<'_>) -> Result<[f64; 9]> {
        let server = clients.server;
        let mut snapshot = Snapshot::expected(server, folder)?;
        let (memory, (before, calm)) = peak_during(server, || {
            Ok((clients.watch(self.before, &[])?, clients.watch(CUT, &[])?))
        })?;
        let (most, (cut, all, seconds)) = peak_during(server, || {
            snapshot.asked = Instant::now();
            let cut = clients.watch(CUT, &["BGSAVE".to_owned()])?;
            let mut all = cut.clone();
            while !snapshot.is_there()? {
                all.add(&clients.watch(WATCHED, &[])?)?;
            }
            Ok((cut, all, snapshot.wait()?))
        })?;
        let own_us = server.control()?.info_number("latest_fork_usec")?.unwrap_or(f64::NAN);
        let p99_us = |of: &Histogram<u64>| of.value_at_quantile(0.99) as f64 / 1e3;
        let longest_ms = |of: &Histogram<u64>| of.max() as f64 / 1e6;
        Ok([
            longest_ms(&cut),
            longest_ms(&calm),
            own_us / 1e3,
            memory / f64::from(1 << 20),
            most / memory,
            p99_us(&before),
            p99_us(&all),
            longest_ms(&all),
            seconds,
        ])
    }

    /// Returns the rounds of each of [`ALONE`].
    fn alone(&self, program: &Program) -> Result<[Vec<f64>; 3]> {
        let millions = self.keys as f64 / 1e6;
        let megabytes = (self.large_keys * self.large_value as u64) as f64 / 1e6;
        let [plain, compressed] = self.save_alone(program, self.keys, self.value, ["no", "yes"])?;
        let [large] = self.save_alone(program, self.large_keys, self.large_value, ["no"])?;
        let rate = |of: f64, rounds: Vec<f64>| rounds.iter().map(|seconds| of / seconds).collect();
        Ok([rate(millions, plain), rate(millions, compressed), rate(megabytes, large)])
    }

    /// Returns the seconds of snapshots without clients, with each setting of compression.
    fn save_alone<const N: usize>(
        &self,
        program: &Program,
        keys: u64,
        value: usize,
        compressions: [&str; N],
    ) -> Result<[Vec<f64>; N]> {
        let folder = Folder::new()?;
        let server = folder.start(program, &Launch::default().on_cores(2))?;
        fill(&server, keys, &Sizes::fixed(value))?;
        thread::sleep(REST);
        let mut all = [const { Vec::new() }; N];
        for (setting, seconds) in compressions.iter().zip(&mut all) {
            server.control()?.tell(&["CONFIG", "SET", "rdbcompression", setting])?;
            for _ in 0..self.rounds {
                seconds.push(Snapshot::make(&server, &folder)?);
            }
        }
        Ok(all)
    }
}

/// Rows of a snapshot beside clients, with their digits.
const BESIDE: [(&str, usize); 9] = [
    ("longest wait at the cut, ms", 2),
    ("longest wait in as long before, ms", 2),
    ("pause as the server tells it, ms", 3),
    ("most memory before, MiB", 1),
    ("most memory while saving / before", 3),
    ("p99 before, us", 0),
    ("p99 while saving, us", 0),
    ("longest wait while saving, ms", 2),
    ("snapshot, s", 2),
];
/// Rows of snapshots without clients.
const ALONE: [(&str, usize); 3] = [
    ("alone, million keys/s", 2),
    ("alone, compressed, million keys/s", 2),
    ("alone, large values, MB/s", 0),
];
const CLIENTS: usize = 20;
const CUT: Duration = Duration::from_millis(20);
const WATCHED: Duration = Duration::from_millis(50);
/// Time in which the cleaner is through with what loading left.
const REST: Duration = Duration::from_secs(2);

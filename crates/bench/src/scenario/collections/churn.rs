//! Live records over resident memory after values, fields and whole hashes were replaced.

use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde::Deserialize;

use super::expect;
use crate::generator::{KeyChoice, Load, shuffled};
use crate::measure::{measure, send_each};
use crate::report::{Plot, Section};
use crate::scenario::rounds::{absent, cell};
use crate::scenario::{Bench, Scenario, mebibytes, pin_client};
use crate::servers::{Kind, Launch, Program, Server};

/// Stored data and their changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    workloads: Vec<Workload>,
}

/// Stored data, and its changes, one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    name: String,
    /// Keys, or fields of one key.
    keys: u64,
    fill: String,
    /// Command that counts the keys before and after each change.
    count: String,
    changes: Vec<Change>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: String,
    steps: Vec<Step>,
    /// Bytes of key, fields and values afterwards, per key.
    bytes: f64,
}

/// Request for many numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    request: String,
    numbers: Numbers,
    /// Numbers per key.
    #[serde(default = "one")]
    times: u32,
}

/// Numbers of a step.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Numbers {
    /// All, in random order.
    All,
    /// A random half, another one in each change.
    Half,
    /// Half as many behind all of them.
    New,
}

fn one() -> u32 {
    1
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        for workload in &self.workloads {
            section.note(format!("{}: {} keys or fields.", workload.name, workload.keys));
            let title = format!("Payload / resident memory 5 s after a change: {}", workload.name);
            let mut plot = Plot::bars(title, Vec::new(), "ratio, more is better");
            workload.run(section, &mut plot, &bench.varve_and_valkey())?;
            section.plot(plot);
        }
        Ok(())
    }
}

impl Workload {
    /// Runs it on all servers, which rest at the same time.
    fn run(&self, section: &mut Section, plot: &mut Plot, programs: &[&Program]) -> Result<()> {
        let launch = Launch::default();
        let servers: Vec<_> = programs.iter().map(|it| it.start(&launch)).collect::<Result<_>>()?;
        let store = |server: &Server| {
            send_each(server, &self.fill, self.keys)?;
            expect(server, &self.count, self.keys)
        };
        let stored: Vec<_> = servers.iter().map(store).collect();
        for (change, seed) in self.changes.iter().zip(1..) {
            let apply = |(server, stored): (&Server, &Result<()>)| {
                stored.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                self.apply(server, change, seed)
            };
            let at_end: Vec<_> = servers.iter().zip(&stored).map(apply).collect();
            thread::sleep(REST);
            for (server, at_end) in servers.iter().zip(at_end) {
                let both = at_end.and_then(|at_end| Ok((at_end, self.shares(server, change)?)));
                self.show(section, plot, server, change, &both);
            }
        }
        Ok(())
    }

    /// Applies a change; returns the shares right after it.
    fn apply(&self, server: &Server, change: &Change, seed: u64) -> Result<Shares> {
        for Step { request, numbers, times } in &change.steps {
            let count = u32::try_from(self.keys)? * times;
            let list = match numbers {
                Numbers::All => shuffled(count, seed),
                Numbers::Half => shuffled(count, seed).split_off(count.div_ceil(2) as usize),
                Numbers::New => (count..count + count / 2).collect(),
            };
            let (sent, all) = (list.len() as u64, u64::from(count) * 2);
            let listed = Load::each(request, all).choosing(KeyChoice::Listed(list.into()));
            measure(server, &listed.on(1).count(sent))?;
        }
        let at_end = self.shares(server, change)?;
        expect(server, &self.count, self.keys)?;
        Ok(at_end)
    }

    fn shares(&self, server: &Server, change: &Change) -> Result<Shares> {
        let mut control = server.control()?;
        let live = control.info_number("segments_live_bytes")?;
        let touched = control.info_number("segments_touched_bytes")?;
        Ok(Shares {
            payload: change.bytes * self.keys as f64 / server.resident_bytes()? as f64,
            records: live.zip(touched).map(|(live, touched)| live / touched),
        })
    }

    fn show(
        &self,
        section: &mut Section,
        plot: &mut Plot,
        server: &Server,
        change: &Change,
        shares: &Result<(Shares, Shares)>,
    ) {
        let name = format!("{}: {}", self.name, change.name);
        let cells = match shares {
            Err(error) => vec![absent(section, &name, error)],
            Ok((at_end, rested)) => {
                plot.bar(&server.label, &change.name, rested.payload);
                let payload = [at_end, rested].map(|shares| cell(&[shares.payload], 3));
                let records = [at_end, rested].map(|it| cell(it.records.as_slice(), 3));
                let bytes = mebibytes(change.bytes * self.keys as f64);
                [bytes].into_iter().chain(payload).chain(records).collect()
            }
        };
        section.row([name.clone(), server.label.clone()].into_iter().chain(cells));
        if server.kind == Kind::Varve {
            let share = shares.as_ref().ok().and_then(|(_, rested)| rested.records);
            section.gain(format!("{name}: live records / resident 5 s later"), share, "");
        }
    }
}

/// Live data over resident memory.
struct Shares {
    /// Payload over all memory of the server.
    payload: f64,
    /// Live records over the memory of segments, where the server reports both.
    records: Option<f64>,
}

const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 7] = [
    "change",
    "server",
    "payload MiB",
    "payload/resident",
    "5 s later",
    "records/resident",
    "5 s later",
];

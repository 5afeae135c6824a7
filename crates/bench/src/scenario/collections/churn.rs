//! Live records over resident memory after values, fields and whole hashes were replaced.

use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde::Deserialize;

use super::expect;
use crate::generator::{KeyChoice, Load, shuffled};
use crate::measure::{measure, send_each};
use crate::report::{Plot, Section};
use crate::scenario::rounds::{cell, row};
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
            section.plot(Plot::bars(title, Vec::new(), "ratio, more is better"));
            workload.run(section, &bench.varve_and_valkey())?;
        }
        Ok(())
    }
}

impl Workload {
    /// Runs it on all servers, which rest at the same time.
    fn run(&self, section: &mut Section, programs: &[&Program]) -> Result<()> {
        let start = |program: &&Program| -> Result<_> {
            let server = program.start(&Launch::default())?;
            let stored = send_each(&server, &self.fill, self.keys);
            let stored = stored.and_then(|()| expect(&server, &self.count, self.keys));
            Ok((server, stored))
        };
        let servers = programs.iter().map(start).collect::<Result<Vec<_>>>()?;
        for (change, seed) in self.changes.iter().zip(1..) {
            let apply = |(server, stored): &(Server, Result<()>)| {
                stored.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                self.apply(server, change, seed)
            };
            let at_end: Vec<_> = servers.iter().map(apply).collect();
            thread::sleep(REST);
            for ((server, _), at_end) in servers.iter().zip(at_end) {
                let both = at_end.and_then(|at_end| Ok([at_end, self.shares(server, change)?]));
                self.show(section, server, change, &both);
            }
        }
        Ok(())
    }

    /// Applies a change; returns the shares right after it.
    fn apply(&self, server: &Server, change: &Change, seed: u64) -> Result<[Option<f64>; 2]> {
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

    /// Returns the shares of resident memory: the payload's of all of it, and that of live records
    /// in the memory of segments, where the server reports both.
    fn shares(&self, server: &Server, change: &Change) -> Result<[Option<f64>; 2]> {
        let mut control = server.control()?;
        let live = control.info_number("segments_live_bytes")?;
        let touched = control.info_number("segments_touched_bytes")?;
        let payload = change.bytes * self.keys as f64 / server.resident_bytes()? as f64;
        Ok([Some(payload), live.zip(touched).map(|(live, touched)| live / touched)])
    }

    fn show(
        &self,
        section: &mut Section,
        server: &Server,
        change: &Change,
        shares: &Result<[[Option<f64>; 2]; 2]>,
    ) {
        let name = format!("{}: {}", self.name, change.name);
        let cells = shares.as_ref().map(|[at_end, rested]| {
            let shares = [at_end[0], rested[0], at_end[1], rested[1]];
            let shares = shares.iter().map(|share| cell(share.as_slice(), 3));
            [mebibytes(change.bytes * self.keys as f64)].into_iter().chain(shares).collect()
        });
        row(section, &name, &server.label, cells);
        let rested = shares.as_ref().map_or([None; 2], |[_, rested]| *rested);
        if let Some((plot, payload)) = section.plots.last_mut().zip(rested[0]) {
            plot.bar(&server.label, &change.name, payload);
        }
        if server.kind == Kind::Varve {
            section.gain(format!("{name}: live records / resident 5 s later"), rested[1], "");
        }
    }
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

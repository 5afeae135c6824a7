//! Resident memory of servers for the same data: while it is stored, at its end, after a rest, and
//! after changes. All servers of one data rest at the same time.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use super::data::{Fill, check, one, with_keys};
use super::{Bench, Scenario, milliseconds, pin_client, ycsb};
use crate::report::Section;
use crate::sampler::Sample;
use crate::servers::{Launch, Program, Server};

/// Data, and which of its [`COLUMNS`] are shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    servers: Vec<String>,
    columns: Vec<String>,
    /// Rest until background work is done.
    #[serde(rename = "rest_ms", deserialize_with = "milliseconds")]
    rest: Duration,
    data: Vec<Data>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    /// Name in the table; `KEYS` stands for the number of keys.
    name: String,
    keys: u64,
    /// Elements of a key.
    #[serde(default = "one")]
    each: u64,
    /// Bytes of keys, members and values, per key.
    #[serde(default)]
    bytes: f64,
    #[serde(default)]
    fill: Vec<Fill>,
    /// Property file of YCSB whose records are stored, instead of requests.
    workload: Option<PathBuf>,
    /// Commands that count what is there before and after each change, with their answers.
    #[serde(default)]
    counts: Vec<String>,
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: String,
    steps: Vec<Fill>,
    /// Bytes of keys, members and values afterwards, per key.
    bytes: f64,
}

/// A server with the data.
struct Held {
    server: Server,
    /// Resident bytes of the empty server.
    empty: u64,
    /// Samples while it was stored or changed, and what was found then, or why it was not.
    stored: Result<(Vec<Sample>, Found)>,
}

/// Resident bytes, and the part of live records in the memory of segments, where the server tells
/// that.
type Found = (u64, f64);

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let shown = self.columns.iter().map(|name| {
            let at = COLUMNS.iter().position(|(column, _)| column == name);
            at.with_context(|| format!("there is no column {name:?}"))
        });
        let shown = shown.collect::<Result<Vec<_>>>()?;
        let columns = shown.iter().map(|at| format!(" | {} .{}", COLUMNS[*at].0, COLUMNS[*at].1));
        section.columns(&format!("data | server{}", columns.collect::<String>()));
        let mut programs = Vec::new();
        for name in &self.servers {
            programs.extend(bench.program(name)?);
        }
        for data in &self.data {
            // The first one, whose memory changes most, is filled last.
            let start = |program: &&Program| Held::start(program, data);
            let mut all = programs.iter().rev().map(start).collect::<Result<Vec<_>>>()?;
            all.reverse();
            let name = with_keys(&data.name, data.keys);
            self.show(section, &shown, &name, data, data.bytes, &all);
            for (change, seed) in data.changes.iter().zip(1..) {
                all.iter_mut().for_each(|held| held.change(data, &change.steps, seed));
                let name = format!("{name}: {}", change.name);
                self.show(section, &shown, &name, data, change.bytes, &all);
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Lets all servers rest, and shows what they held before and what they hold then.
    fn show(
        &self,
        section: &mut Section,
        shown: &[usize],
        name: &str,
        data: &Data,
        bytes: f64,
        all: &[Held],
    ) {
        thread::sleep(self.rest);
        for held in all {
            match held.values(data, bytes * data.keys as f64) {
                Ok(values) => {
                    let values: Vec<_> = shown.iter().map(|at| values[*at]).collect();
                    section.values(name, &held.server.label, &values);
                }
                Err(error) => section.absent(name, &held.server.label, &error),
            }
        }
    }
}

impl Held {
    fn start(program: &Program, data: &Data) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let empty = server.resident_bytes()?;
        let mut held = Self { server, empty, stored: Ok((Vec::new(), (empty, f64::NAN))) };
        if let Some(file) = &data.workload {
            ycsb::store(&held.server, &ycsb::workload(file, data.keys, 1)?)?;
        }
        held.change(data, &data.fill, 1);
        Ok(held)
    }

    /// Stores or changes the data, unless that went wrong before.
    fn change(&mut self, data: &Data, steps: &[Fill], seed: u64) {
        let Self { server, stored, .. } = self;
        let change = || {
            let mut samples = Vec::new();
            for step in steps {
                samples = step.send(server, data.keys, seed)?;
            }
            let found = found(server)?;
            check(server, &data.counts, data.keys)?;
            Ok((samples, found))
        };
        if stored.is_ok() {
            *stored = change();
        }
    }

    /// Returns the values of [`COLUMNS`], with what is held now as that at rest.
    fn values(&self, data: &Data, payload: f64) -> Result<[f64; 17]> {
        let stored = self.stored.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let ((samples, (end, records)), (rested, records_rested)) = (stored, found(&self.server)?);
        let used = |bytes: u64| bytes.saturating_sub(self.empty) as f64;
        let (keys, elements) = (data.keys as f64, (data.keys * data.each) as f64);
        let all = samples.last().map_or(0, |last| last.operations);
        let each = |sample: &Sample| {
            let part = sample.operations as f64 / all as f64;
            sample.resident_bytes.map(|bytes| used(bytes) / (elements * part))
        };
        let behind = |quarter| samples.iter().filter(move |it| it.operations >= all * quarter / 4);
        let quarter = |quarter| behind(quarter).next().and_then(each).unwrap_or(f64::NAN);
        let (end_each, rested_each) = (used(*end) / elements, used(rested) / elements);
        let most = behind(1).filter_map(each).fold(end_each.max(rested_each), f64::max);
        Ok([
            payload / MIB,
            used(*end) / MIB,
            payload / used(*end),
            used(rested) / MIB,
            payload / used(rested),
            rested as f64 / 1e6,
            payload / *end as f64,
            payload / rested as f64,
            *records,
            records_rested,
            quarter(1),
            quarter(2),
            quarter(3),
            end_each,
            rested_each,
            most,
            (used(*end) - payload) / keys,
        ])
    }
}

fn found(server: &Server) -> Result<Found> {
    let resident = server.resident_bytes()?;
    let mut control = server.control()?;
    let live = control.info_number("segments_live_bytes")?;
    let touched = control.info_number("segments_touched_bytes")?;
    Ok((resident, live.zip(touched).map_or(f64::NAN, |(live, touched)| live / touched)))
}

const MIB: f64 = (1 << 20) as f64;
/// Columns and their digits: bytes less those of the empty server, but for the whole process; and
/// bytes of an element.
const COLUMNS: [(&str, usize); 17] = [
    ("payload MiB", 1),
    ("resident MiB", 1),
    ("payload / resident", 2),
    ("at rest MiB", 1),
    ("payload / at rest", 2),
    ("process MB at rest", 1),
    ("payload / process", 3),
    ("payload / process at rest", 3),
    ("records / segments", 3),
    ("records / segments at rest", 3),
    ("1/4", 1),
    ("1/2", 1),
    ("3/4", 1),
    ("end", 1),
    ("at rest", 1),
    ("most", 1),
    ("overhead B", 1),
];

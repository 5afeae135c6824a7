//! Large collections that are written and read at full speed while they are saved: the longest wait
//! of a client, beside the same load without a snapshot.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::watch::{Snapshot, peak_during};
use crate::generator::Load;
use crate::measure::{measure, measure_during, send_each};
use crate::report::Section;
use crate::scenario::folder::{Folder, programs};
use crate::scenario::rounds::{by_value, cell, figure};
use crate::scenario::{Bench, Scenario};
use crate::servers::{Launch, Program, Server};

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Elements of a collection.
    elements: u64,
    /// Connections, without a pipeline.
    connections: usize,
    /// Cores of the server.
    cores: usize,
    /// Snapshots.
    rounds: usize,
    /// The collections.
    collections: Vec<Collection>,
}

/// One collection: requests that fill, write and read an element, and the command that counts them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    name: String,
    fill: String,
    count: String,
    write: String,
    read: String,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(&COLUMNS.map(|(name, _)| name));
        let programs = programs(bench, &["varve", "valkey"], section)?;
        for collection in &self.collections {
            let name = &collection.name;
            for (number, program) in programs.iter().enumerate() {
                let all = by_value(&self.measure(program, collection)?);
                let cells =
                    all.iter().zip(&COLUMNS[2..]).map(|(it, (_, digits))| cell(it, *digits));
                section.row([name.clone(), program.label.clone()].into_iter().chain(cells));
                if number > 0 {
                    continue;
                }
                let [_, with, without, .., memory] = all;
                let beyond: Vec<_> = with.iter().zip(without).map(|(it, calm)| it - calm).collect();
                let what = format!("{name}: longest wait beyond that without a snapshot");
                figure(section, what, &beyond, "ms");
                figure(section, format!("{name}: most memory while saving / before"), &memory, "");
            }
        }
        Ok(())
    }
}

impl Plan {
    fn measure(&self, program: &Program, collection: &Collection) -> Result<Vec<[f64; 6]>> {
        let folder = Folder::new()?;
        let server = folder.start(program, &Launch::default().on_cores(self.cores))?;
        send_each(&server, &collection.fill, self.elements)?;
        let rounds = 1..=self.rounds as u64;
        let rounds = rounds.map(|seed| self.round(&server, &folder, collection, seed)).collect();
        let elements = server.control()?.integer(&collection.count)?;
        ensure!(elements == self.elements, "{}: {elements} elements", collection.name);
        rounds
    }

    fn round(
        &self,
        server: &Server,
        folder: &Folder,
        collection: &Collection,
        seed: u64,
    ) -> Result<[f64; 6]> {
        let requests = vec![(1, collection.write.clone()), (1, collection.read.clone())];
        let load = Load { requests, ..Load::of("", self.elements) };
        let load = load.pipelined(1).on(self.connections).seeded(seed);
        let (before, _) = peak_during(server, || measure(server, &load.clone().lasting(WARM_UP)))?;
        let (most, (with, seconds)) = peak_during(server, || {
            measure_during(server, &load, |_| {
                thread::sleep(LEAD);
                Snapshot::make(server, folder)
            })
        })?;
        let with = with.outcome;
        let without = measure(server, &load.lasting(with.elapsed))?.outcome;
        Ok([
            seconds,
            with.longest_ms(),
            without.longest_ms(),
            with.per_second(),
            without.per_second(),
            most / before,
        ])
    }
}

const WARM_UP: Duration = Duration::from_millis(500);
/// Time of the load before the snapshot is asked for.
const LEAD: Duration = Duration::from_millis(50);
/// Columns, with their digits.
const COLUMNS: [(&str, usize); 8] = [
    ("collection", 0),
    ("server", 0),
    ("saved in s", 2),
    ("longest ms", 2),
    ("without ms", 2),
    ("op/s", 0),
    ("without", 0),
    ("memory/before", 3),
];

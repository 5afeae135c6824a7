//! The start from files: snapshots and logs of different data.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::generator::{KeyChoice, Load};
use crate::measure::measure;
use crate::report::Section;
use crate::scenario::folder::{Folder, programs};
use crate::scenario::rounds::{by_value, measured};
use crate::scenario::{Bench, Scenario};
use crate::servers::{Launch, Program};

/// Data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Cores and threads of the server that loads a snapshot.
    cores: usize,
    /// Starts from each snapshot or log.
    rounds: usize,
    /// The data, each alone in a snapshot or a log.
    data: Vec<Data>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    /// Name in the table.
    from: String,
    /// What is stored, in words; `KEYS` stands for the keys.
    note: String,
    /// Request that stores.
    request: String,
    /// Number of requests.
    requests: u64,
    /// Number of keys or members that are there afterwards.
    keys: u64,
    /// Command that counts them.
    count: String,
    /// True for a log without a base, false for a snapshot.
    #[serde(default)]
    is_log: bool,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(&["from", "server", "start s", "of which empty s", "M requests/s"]);
        for data in &self.data {
            let note = data.note.replace("KEYS", &data.keys.to_string());
            section.note(format!("{}: {} {note}.", data.from, data.requests));
        }
        for program in &programs(bench, &["varve", "valkey"], section)? {
            for data in &self.data {
                let starts = by_value(&self.starts(program, data)?);
                measured(section, &data.from, &program.label, &starts, &[2, 2, 2]);
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the seconds of each start with the data and of one without, and millions of requests
    /// per second of the time between.
    fn starts(&self, program: &Program, data: &Data) -> Result<Vec<[f64; 3]>> {
        let folder = Folder::new()?;
        let mut launch = match data.is_log {
            false => Launch::on(self.cores, self.cores),
            true => Launch::default()
                .with("appendonly", "yes")
                .with("appendfsync", "no")
                .with("auto-aof-rewrite-percentage", 0),
        };
        launch.ready_within = LOADED_MAX;
        let server = folder.start(program, &launch)?;
        let load = Load::of(&data.request, data.keys).choosing(KeyChoice::Sequential);
        measure(&server, &load.pipelined(100).count(data.requests))?;
        if !data.is_log {
            server.control()?.tell(&["SAVE"])?;
        }
        server.end()?;
        let start = |_| {
            let empty = Folder::new()?.start(program, &launch)?.ready_after.as_secs_f64();
            let server = folder.start(program, &launch)?;
            let loaded = server.ready_after.as_secs_f64();
            let keys = server.control()?.integer(&data.count)?;
            ensure!(keys == data.keys, "{}: {keys} are there", data.from);
            server.end()?;
            Ok([loaded, empty, data.requests as f64 / 1e6 / (loaded - empty)])
        };
        (0..self.rounds).map(start).collect()
    }
}

const LOADED_MAX: Duration = Duration::from_secs(300);

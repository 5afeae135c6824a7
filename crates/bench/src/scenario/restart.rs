//! The start from files: snapshots and logs of different data.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::data::{Fill, check};
use super::folder::{folder, programs};
use super::rounds::show;
use super::{Bench, Scenario};
use crate::report::Section;
use crate::servers::{Launch, Program};

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
    name: String,
    keys: u64,
    fill: Fill,
    /// Commands that count what is there afterwards, with their answers.
    counts: Vec<String>,
    /// True for a log without a base, false for a snapshot.
    #[serde(default)]
    is_log: bool,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns("from | server | start s .2 | of which empty s .2 | M requests/s .2");
        for program in &programs(bench, &["varve", "valkey"], section)? {
            for data in &self.data {
                show(section, &data.name, &program.label, &self.starts(program, data));
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the seconds of each start with the data and of one without, and millions of requests
    /// per second of the time between.
    fn starts(&self, program: &Program, data: &Data) -> Result<Vec<[f64; 3]>> {
        let held = folder()?;
        let mut launch = match data.is_log {
            false => Launch::on(self.cores, self.cores),
            true => Launch::default()
                .with("appendonly", "yes")
                .with("appendfsync", "no")
                .with("auto-aof-rewrite-percentage", 0),
        };
        launch.ready_within = LOADED_MAX;
        let full = launch.clone().in_folder(&held);
        let server = program.start(&full)?;
        data.fill.send(&server, data.keys, 1)?;
        if !data.is_log {
            server.control()?.tell(&["SAVE"])?;
        }
        server.end()?;
        let start = |_| {
            let nothing = folder()?;
            let empty = program.start(&launch.clone().in_folder(&nothing))?.ready_after;
            let server = program.start(&full)?;
            let [loaded, empty] = [server.ready_after, empty].map(|it| it.as_secs_f64());
            check(&server, &data.counts, data.keys)?;
            server.end()?;
            let requests = (data.keys * data.fill.times) as f64;
            Ok([loaded, empty, requests / 1e6 / (loaded - empty)])
        };
        (0..self.rounds).map(start).collect()
    }
}

const LOADED_MAX: Duration = Duration::from_secs(300);

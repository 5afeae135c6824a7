//! Server CPU of SETs with a log that is synced once a second, beside the same server without.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::folder::{Folder, programs};
use crate::generator::{Operation, Stop, ValueSize};
use crate::report::Section;
use crate::scenario::measure::{Load, fill};
use crate::scenario::rounds::interleaved;
use crate::scenario::{Bench, Scale, Scenario, milliseconds, pin_client};
use crate::servers::{Launch, Program, Server};

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of keys, with values of 16 bytes.
    pub keys: u64,
    /// Requests in flight on each of 50 connections.
    pub pipeline: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
    /// Interleaved rounds.
    pub rounds: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            keys: scale.of(self.keys),
            time: scale.time(self.time),
            rounds: scale.rounds(self.rounds),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["server", "CPU us/op", "op/s", "p50 us", "p99 us", "client us/op"]);
        section.note(format!(
            "SET of {} keys, values of 16 bytes, 50 connections, pipeline {}. CPU is that of all \
             threads of the server, the writing of the log included. The log is not rotated.",
            self.keys, self.pipeline
        ));
        let mut folders = Vec::new();
        let mut servers = Vec::new();
        for program in &programs(bench, section) {
            for log in ["no", "yes"] {
                let folder = Folder::new()?;
                servers.push(self.start(program, &folder, log)?);
                folders.push(folder);
            }
        }
        let medians = interleaved(&servers, |_| self.load(), self.rounds)?;
        for median in &medians {
            let cells = [median.label.clone(), format!("{:.3}", median.server_us)];
            section.row(cells.into_iter().chain(median.speed_cells()));
        }
        for (pair, program) in medians.chunks(2).zip(["", ", Valkey"]) {
            let what = format!("SET with everysec / without a log, CPU{program}");
            section.figures.push(pair[1].cpu_ratio(what, &pair[0]));
        }
        if let [_, varve, _, valkey] = &medians[..] {
            let what = "SET with everysec, CPU / Valkey";
            section.figures.push(varve.cpu_ratio(what.to_owned(), valkey));
        }
        Ok(())
    }
}

impl Plan {
    fn start(&self, program: &Program, folder: &Folder, log: &str) -> Result<Server> {
        let launch = Launch::default()
            .with("appendonly", log)
            .with("appendfsync", "everysec")
            .with("auto-aof-rewrite-percentage", 0);
        let mut server = folder.start(program, &launch)?;
        fill(&server, self.keys, ValueSize::Fixed(16))?;
        if log == "yes" {
            server.label += ", everysec";
        }
        Ok(server)
    }

    fn load(&self) -> Load {
        let mut load = Load::new(Operation::Set, self.pipeline, self.keys);
        load.stop = Stop::After(self.time);
        load.warm_up = self.time / 5;
        load
    }
}

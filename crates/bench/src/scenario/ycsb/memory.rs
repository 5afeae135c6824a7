//! Resident memory of each server for the same records.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::{Settings, Stored, programs};
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scale, Scenario, mebibytes, pin_client};
use crate::servers::{Launch, Program, Server};

/// Workload, and numbers of records.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Property file of the workload that is loaded.
    pub workload: PathBuf,
    /// Numbers of records, each on fresh servers.
    pub records: Vec<u64>,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { records: self.records.iter().map(|count| scale.of(*count)).collect(), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(
            "Payload: the fields' values. Resident memory less that of the empty server: when the \
             last record was stored, and after a rest: five seconds for Varve, which is loaded \
             last, and more for the others.",
        );
        let mut plot = Plot::lines("Resident memory by number of records", "records", "MiB");
        for records in &self.records {
            let settings = Settings::read(&self.workload, *records, 1)?;
            let payload = (records * settings.fields * settings.field_bytes) as f64;
            let programs: Vec<_> = programs(bench).collect();
            // All rest at the same time; Varve comes last, since its memory may still change.
            let loaded = programs.into_iter().rev().map(|it| Loaded::start(it, &settings));
            let loaded = loaded.collect::<Result<Vec<_>>>()?;
            thread::sleep(REST);
            let mut used = Vec::new();
            for server in loaded.into_iter().rev() {
                let (label, resident) = server.rested()?;
                plot.point(&label, *records as f64, resident.loaded / f64::from(1 << 20));
                used.push((label, resident));
            }
            for (label, resident) in &used {
                let cells = [records.to_string(), label.clone(), mebibytes(payload)];
                section.row(cells.into_iter().chain(resident.cells(payload, used[0].1)));
            }
            for (label, resident) in &used[1..] {
                let what = format!("resident memory of {records} records / {label}");
                section.finding(&what, Some(used[0].1.loaded / resident.loaded), "");
                let what = format!("{what}, at rest");
                section.finding(what, Some(used[0].1.at_rest / resident.at_rest), "");
            }
        }
        section.plot(plot);
        Ok(())
    }
}

/// Resident bytes of a server with records, less those of the empty server.
#[derive(Clone, Copy)]
struct Resident {
    loaded: f64,
    at_rest: f64,
}

/// Server with records.
struct Loaded {
    server: Server,
    /// Resident bytes without records.
    empty: u64,
    /// Resident bytes of the records right after the last one was stored.
    used: f64,
}

impl Loaded {
    fn start(program: &Program, settings: &Settings) -> Result<Self> {
        let empty = program.start(&Launch::default())?.resident_bytes()?;
        let Stored { server, .. } = Stored::start(program, settings)?;
        let used = server.resident_bytes()?.saturating_sub(empty) as f64;
        Ok(Self { server, empty, used })
    }

    fn rested(&self) -> Result<(String, Resident)> {
        let at_rest = self.server.resident_bytes()?.saturating_sub(self.empty) as f64;
        Ok((self.server.label.clone(), Resident { loaded: self.used, at_rest }))
    }
}

impl Resident {
    /// Returns the columns behind the payload, with ratios to Varve.
    fn cells(self, payload: f64, varve: Self) -> [String; 6] {
        let ratio = |bytes: f64, of: f64| format!("{:.2}", bytes / of);
        [
            mebibytes(self.loaded),
            ratio(payload, self.loaded),
            ratio(self.loaded, varve.loaded),
            mebibytes(self.at_rest),
            ratio(payload, self.at_rest),
            ratio(self.at_rest, varve.at_rest),
        ]
    }
}

/// Time after which background work is done.
const REST: Duration = Duration::from_secs(5);

const COLUMNS: [&str; 9] = [
    "records",
    "server",
    "payload MiB",
    "resident MiB",
    "payload / resident",
    "of varve",
    "at rest MiB",
    "payload / at rest",
    "of varve",
];

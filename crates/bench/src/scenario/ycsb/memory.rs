//! Resident memory of each server for the same records.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::{start, workload};
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scenario, mebibytes, pin_client};
use crate::servers::{Launch, Program, Server};
use crate::ycsb::Workload;

/// Workload, and numbers of records.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Property file of the workload that is loaded.
    workload: PathBuf,
    /// Numbers of records, each on fresh servers.
    records: Vec<u64>,
}

/// Server with records, and its resident bytes less those of the empty server.
struct Loaded {
    server: Server,
    empty: u64,
    loaded: f64,
    at_rest: f64,
}

impl Loaded {
    fn start(program: &Program, workload: &Workload) -> Result<Self> {
        let empty = program.start(&Launch::default())?.resident_bytes()?;
        let server = start(program, workload)?;
        let mut loaded = Self { server, empty, loaded: 0.0, at_rest: 0.0 };
        loaded.loaded = loaded.used()?;
        Ok(loaded)
    }

    fn used(&self) -> Result<f64> {
        Ok(self.server.resident_bytes()?.saturating_sub(self.empty) as f64)
    }
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(
            "Payload: the fields' values. Resident memory less that of the empty server: when the \
             last record was stored, and after a rest: five seconds for Varve, which is loaded \
             last, and more for the others.",
        );
        let mut plot = Plot::lines("Resident memory by number of records", "records", "MiB");
        let most = self.records.iter().max();
        for records in &self.records {
            let workload = workload(&self.workload, *records, 1)?;
            let payload = *records as f64 * (workload.fields * workload.field_bytes) as f64;
            let programs: Vec<_> = bench.varve_and_all_peers().collect();
            // All rest at the same time; Varve comes last, since its memory may still change.
            let servers = programs.into_iter().rev().map(|it| Loaded::start(it, &workload));
            let mut servers = servers.collect::<Result<Vec<_>>>()?;
            servers.reverse();
            thread::sleep(REST);
            for loaded in &mut servers {
                loaded.at_rest = loaded.used()?;
                plot.point(&loaded.server.label, *records as f64, loaded.loaded / MIB);
            }
            rows(section, *records, payload, &servers);
            if Some(records) == most {
                for it in &servers {
                    let what = format!("memory over data: {}", it.server.label);
                    section.finding(what, Some(it.loaded / payload), "");
                }
            }
        }
        section.plot(plot);
        Ok(())
    }
}

/// Adds the rows of one number of records, and the ratios of Varve, the first, to the others.
fn rows(section: &mut Section, records: u64, payload: f64, servers: &[Loaded]) {
    let varve = &servers[0];
    for it in servers {
        let label = &it.server.label;
        let mut cells = vec![records.to_string(), label.clone(), mebibytes(payload)];
        for (used, of_varve) in [(it.loaded, varve.loaded), (it.at_rest, varve.at_rest)] {
            let ratios = [payload / used, used / of_varve].map(|ratio| format!("{ratio:.2}"));
            cells.extend([mebibytes(used)].into_iter().chain(ratios));
        }
        section.row(cells);
    }
    for other in &servers[1..] {
        let what = format!("resident memory of {records} records / {}", other.server.label);
        section.finding(&what, Some(varve.loaded / other.loaded), "");
        section.finding(format!("{what}, at rest"), Some(varve.at_rest / other.at_rest), "");
    }
}

/// Time after which background work is done.
const REST: Duration = Duration::from_secs(5);
const MIB: f64 = (1 << 20) as f64;
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

//! Resident memory of each server for the same records.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::{start, workload};
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scenario, mebibytes, pin_client};
use crate::servers::Launch;
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
        for &records in &self.records {
            let workload = workload(&self.workload, records, 1)?;
            let payload = records as f64 * (workload.fields.len() * workload.field_bytes) as f64;
            let all = used(bench, &workload)?;
            for (label, [loaded, _]) in &all {
                plot.point(label, records as f64, loaded / MIB);
                if Some(&records) == self.records.iter().max() {
                    let what = format!("memory over data: {label}");
                    section.finding(what, Some(loaded / payload), "");
                }
            }
            rows(section, records, payload, &all);
        }
        section.plot(plot);
        Ok(())
    }
}

/// Returns the resident bytes of each server, less those of the empty one, when it is loaded and
/// after a rest.
fn used(bench: &Bench, workload: &Workload) -> Result<Vec<(String, [f64; 2])>> {
    let programs: Vec<_> = bench.varve_and_all_peers().collect();
    // All rest at the same time; Varve comes last, since its memory may still change.
    let loaded = programs.into_iter().rev().map(|program| {
        let empty = program.start(&Launch::default())?.resident_bytes()?;
        let server = start(program, workload)?;
        Ok((empty, server.resident_bytes()?, server))
    });
    let loaded = loaded.collect::<Result<Vec<_>>>()?;
    thread::sleep(REST);
    let all = loaded.iter().rev().map(|(empty, loaded, server)| {
        let both = [*loaded, server.resident_bytes()?];
        Ok((server.label.clone(), both.map(|bytes| bytes.saturating_sub(*empty) as f64)))
    });
    all.collect()
}

/// Adds the rows of one number of records, and the ratios of Varve, the first, to the others.
fn rows(section: &mut Section, records: u64, payload: f64, all: &[(String, [f64; 2])]) {
    for (label, used) in all {
        let mut cells = vec![records.to_string(), label.clone(), mebibytes(payload)];
        for (used, varve) in used.iter().zip(all[0].1) {
            let ratios = [payload / used, used / varve].map(|ratio| format!("{ratio:.2}"));
            cells.extend([mebibytes(*used)].into_iter().chain(ratios));
        }
        section.row(cells);
    }
    for (label, used) in &all[1..] {
        let [loaded, at_rest] = [0, 1].map(|at| Some(all[0].1[at] / used[at]));
        let what = format!("resident memory of {records} records / {label}");
        section.finding(&what, loaded, "");
        section.finding(format!("{what}, at rest"), at_rest, "");
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

//! Resident memory of each server for the same records.

use std::path::PathBuf;

use anyhow::Result;
use serde::Deserialize;

use super::{Settings, loaded, programs};
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scale, Scenario, mebibytes, pin_client};
use crate::servers::Launch;

/// Which records, and how many.
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
            "Payload: the fields' values. Resident memory less that of the empty server, when the \
             last record was stored.",
        );
        let mut plot = Plot::lines("Resident memory by number of records", "records", "MiB");
        for records in &self.records {
            let settings = Settings::read(&self.workload, *records, 1)?;
            let payload = (records * settings.fields * settings.field_bytes) as f64;
            let mut used = Vec::new();
            for program in programs(bench) {
                let empty = program.start(&Launch::default())?.resident_bytes()?;
                let server = loaded(program, &settings)?;
                let bytes = server.resident_bytes()?.saturating_sub(empty) as f64;
                plot.point(&program.label, *records as f64, bytes / f64::from(1 << 20));
                used.push((program.label.clone(), bytes));
            }
            for (label, bytes) in &used {
                let ratio = bytes / used[0].1;
                let share = format!("{:.2}", payload / bytes);
                let cells =
                    [records.to_string(), label.clone(), mebibytes(payload), mebibytes(*bytes)];
                section.row(cells.into_iter().chain([share, format!("{ratio:.2}")]));
            }
            for (label, bytes) in &used[1..] {
                let what = format!("resident memory of {records} records / {label}");
                section.finding(what, Some(used[0].1 / bytes), "");
            }
        }
        section.plot(plot);
        Ok(())
    }
}

const COLUMNS: [&str; 6] =
    ["records", "server", "payload MiB", "resident MiB", "payload / resident", "of varve"];

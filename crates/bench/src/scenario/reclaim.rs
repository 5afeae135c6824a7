//! The paper's Fig. 6: cost of the cleaner by reclaim policy, under uniform and hot-cold overwrites
//! at high utilisation.
//!
//! ReclaimCost, the paper's formula (2), is the mean utilisation of the segments that were
//! reclaimed. Segments are equally large, so it is what was moved out of them over all they held.

use anyhow::Result;
use serde::Deserialize;

use super::{Bench, Scenario, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::{fill, measure};
use crate::report::Section;
use crate::servers::Launch;

/// Amount of data that is stored and overwritten.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys and values together, in bytes.
    payload: u64,
    values: Sizes,
    /// Bytes written over it, as a multiple of the payload.
    turns: u64,
    /// Payload over the memory that is left for segments.
    utilisation: f64,
    /// Choices of the keys that are overwritten, with their names; the last is hot-cold.
    workloads: Vec<(String, KeyChoice)>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        section.note(format!(
            "{} MiB of values of {} bytes, overwritten {} times at utilisation {:.2}, maxmemory \
             {} MiB, noeviction.",
            self.payload >> 20,
            self.values,
            self.turns,
            self.utilisation,
            self.limit() >> 20
        ));
        let server = bench.varve.start(&Launch::default())?;
        let setting = server.control()?.text(&["CONFIG", "GET", "reclaim-policy"])?;
        let default = setting.unwrap_or_default();
        section.note(format!("Default policy: {default}."));
        let mut last = Vec::new();
        for (workload, choice) in &self.workloads {
            last.clear();
            for policy in POLICIES {
                last.push((self.run_one(bench, section, workload, policy, choice)?, policy));
            }
            last.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
            let words: Vec<_> = last.iter().map(|it| format!("{} {:.3}", it.1, it.0[0])).collect();
            section.note(format!("{workload}, the cheapest first: {}.", words.join(", ")));
        }
        let of_default = last.iter().find(|(_, policy)| *policy == default);
        for (at, what) in FIGURES.into_iter().enumerate() {
            let least = last.iter().map(|(costs, _)| costs[at]).fold(f64::INFINITY, f64::min);
            let excess = of_default.map(|(costs, _)| costs[at] / least.max(0.01));
            section.finding(format!("reclaim: {what}"), excess, "");
        }
        Ok(())
    }
}

impl Plan {
    fn record(&self) -> f64 {
        KEY_BYTES as f64 + self.values.mean()
    }

    fn keys(&self) -> u64 {
        (self.payload as f64 / self.record()) as u64
    }

    /// Returns the `maxmemory` at which the segments have the wanted utilisation, as far as it can
    /// be computed from outside.
    fn limit(&self) -> u64 {
        let keys = self.keys() as f64;
        let records = keys * (self.record() + RECORD_HEADER);
        (records / self.utilisation + keys * INDEX_BYTES + FIXED_BYTES) as u64
    }

    /// Overwrites the data under a policy, and adds a row; returns ReclaimCost, and bytes moved per
    /// byte written.
    fn run_one(
        &self,
        bench: &Bench,
        section: &mut Section,
        workload: &str,
        policy: &str,
        choice: &KeyChoice,
    ) -> Result<[f64; 2]> {
        let launch = Launch::default()
            .with("maxmemory", self.limit())
            .with("maxmemory-policy", "noeviction")
            .with("reclaim-policy", policy);
        let server = bench.varve.start(&launch)?;
        fill(&server, self.keys(), &self.values)?;
        let mut control = server.control()?;
        control.tell(&["CONFIG", "RESETSTAT"])?;
        let load = Load::set(self.keys(), &self.values).choosing(choice.clone());
        let load = load.count(self.keys() * self.turns);
        let measured = measure(&server, &Load { refusals: true, ..load })?;
        let (replies, server_us) = (measured.outcome.replies, measured.server_us());
        let mut bytes = |name: &str| -> Result<f64> {
            let bytes = control.info_number(&format!("cleaner_bytes_{name}"))?;
            Ok(bytes.unwrap_or(f64::NAN))
        };
        let (moved, won, appended) = (bytes("moved")?, bytes("won")?, bytes("appended")?);
        let [cost, share] = [moved / (moved + won), moved / appended];
        section.values(
            workload,
            policy,
            &[
                replies.status as f64 * self.record() / 1e6,
                moved / 1e6,
                cost,
                share,
                server_us,
                self.payload as f64 / server.resident_bytes()? as f64,
                replies.error as f64,
            ],
        );
        Ok([cost, share])
    }
}

const POLICIES: [&str; 3] = ["original", "greedy", "modified"];
const FIGURES: [&str; 2] = [
    "cost of the default policy on hot-cold / of the best",
    "bytes moved by the default policy on hot-cold / by the best",
];
const RECORD_HEADER: f64 = 6.0;
const INDEX_BYTES: f64 = 12.6;
const FIXED_BYTES: f64 = 10e6;
const COLUMNS: &str = "workload | policy | written MB .0 | moved MB .0 | ReclaimCost .3 | \
    moved/written .3 | CPU us/SET .3 | payload/resident .3 | errors .0";

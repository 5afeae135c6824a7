//! The paper's Fig. 6: cost of the cleaner by reclaim policy, under uniform and hot-cold overwrites
//! at high utilisation.
//!
//! ReclaimCost, the paper's formula (2), is the mean utilisation of the segments that were
//! reclaimed. Segments are equally large, so it is what was moved out of them over all they held.

use std::sync::Arc;

use anyhow::Result;
use serde::Deserialize;

use super::{Bench, Scenario, pin_client};
use crate::control::Control;
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::{Target, fill, try_measure};
use crate::report::{Plot, Section};
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
        section.columns(&COLUMNS);
        section.note(format!(
            "{} MiB of values of {} bytes, overwritten {} times at utilisation {:.2}, maxmemory \
             {} MiB, noeviction. ReclaimCost is the paper's formula (2): the mean utilisation of \
             the segments that were reclaimed.",
            self.payload >> 20,
            self.values,
            self.turns,
            self.utilisation,
            self.limit() >> 20
        ));
        let default = bench.varve.start(&Launch::default())?;
        let default = default.control()?.setting("reclaim-policy")?.unwrap_or_default();
        section.note(format!("Default policy: {default}."));
        let mut costs = Plot::bars("ReclaimCost, by policy", Vec::new(), "mean utilisation");
        let mut moves = Plot::bars("Bytes moved per byte written, by policy", Vec::new(), "ratio");
        let mut last = Vec::new();
        for (workload, choice) in &self.workloads {
            last.clear();
            for policy in POLICIES {
                let cleaned = self.run_one(bench, section, workload, policy, choice)?;
                costs.bar(policy, workload, cleaned.cost);
                moves.bar(policy, workload, cleaned.moved);
                last.push((policy, cleaned));
            }
            ranking(section, workload, &last);
        }
        section.plot(costs);
        section.plot(moves);
        // Within five percent counts as equal.
        let mut excess = |what, of: fn(&Cleaned) -> f64| {
            let least = last.iter().map(|(_, it)| of(it)).fold(f64::INFINITY, f64::min).max(0.01);
            let of_default = last.iter().find(|(policy, _)| *policy == default);
            section.finding(what, of_default.map(|(_, it)| of(it) / least), "");
        };
        excess("reclaim: cost of the default policy on hot-cold / of the best", |it| it.cost);
        let what = "reclaim: bytes moved by the default policy on hot-cold / by the best";
        excess(what, |it| it.moved);
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

    /// Overwrites the data under a policy, and adds a row.
    fn run_one(
        &self,
        bench: &Bench,
        section: &mut Section,
        workload: &str,
        policy: &str,
        choice: &KeyChoice,
    ) -> Result<Cleaned> {
        let launch = Launch::default()
            .with("maxmemory", self.limit())
            .with("maxmemory-policy", "noeviction")
            .with("reclaim-policy", policy);
        let server = bench.varve.start(&launch)?;
        fill(&server, self.keys(), &self.values)?;
        let mut control = server.control()?;
        let before = counters(&mut control)?;
        let count = self.keys() * self.turns;
        let load = Load::set(self.keys(), &self.values).choosing(choice.clone()).count(count);
        let measured = try_measure(&Target::from(&server), &load, &Arc::default(), None);
        let errors = measured.outcome.replies.error;
        let server_us = measured.server_us();
        measured.failure.map_or(Ok(()), Err)?;
        let after = counters(&mut control)?;
        let [moved, won, appended] = std::array::from_fn(|at| after[at] - before[at]);
        let cleaned = Cleaned { cost: moved / (moved + won), moved: moved / appended };
        section.row([
            format!("{workload}, {policy}"),
            format!("{:.0}", (count - errors) as f64 * self.record() / 1e6),
            format!("{:.0}", moved / 1e6),
            format!("{:.3}", cleaned.cost),
            format!("{:.3}", cleaned.moved),
            format!("{:.3}", server_us),
            format!("{:.3}", self.payload as f64 / server.resident_bytes()? as f64),
            errors.to_string(),
        ]);
        Ok(cleaned)
    }
}

/// Cost of the cleaner.
struct Cleaned {
    /// ReclaimCost.
    cost: f64,
    /// Bytes moved per byte written.
    moved: f64,
}

/// Returns the cleaner's bytes since the start: moved, won, and appended by commands.
fn counters(control: &mut Control) -> Result<[f64; 3]> {
    let mut counters = [f64::NAN; 3];
    for (counter, name) in counters.iter_mut().zip(["moved", "won", "appended"]) {
        *counter = control.info_number(&format!("cleaner_bytes_{name}"))?.unwrap_or(f64::NAN);
    }
    Ok(counters)
}

/// Notes the policies from the cheapest to the dearest.
fn ranking(section: &mut Section, workload: &str, cleaned: &[(&str, Cleaned)]) {
    let mut by_cost: Vec<_> = cleaned.iter().map(|(policy, it)| (it.cost, policy)).collect();
    by_cost.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names: Vec<_> = by_cost.iter().map(|(cost, name)| format!("{name} {cost:.3}")).collect();
    section.note(format!("{workload}, the cheapest first: {}.", names.join(", ")));
}

const POLICIES: [&str; 3] = ["original", "greedy", "modified"];
const RECORD_HEADER: f64 = 6.0;
const INDEX_BYTES: f64 = 12.6;
const FIXED_BYTES: f64 = 10e6;
const COLUMNS: [&str; 8] = [
    "workload, policy",
    "written MB",
    "moved MB",
    "ReclaimCost",
    "moved/written",
    "CPU us/SET",
    "payload/resident",
    "errors",
];

//! Bound of memory, and the part of it that is data, by policy of eviction.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::workload;
use crate::measure::Target;
use crate::report::Section;
use crate::scenario::{Bench, Scenario, mebibytes, pin_client};
use crate::servers::{Kind, Launch, Program};
use crate::ycsb::{self, play};

/// Limit, policies and records.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Property file of the records, whose fields are of all lengths up to the longest.
    workload: PathBuf,
    /// Limit of memory in bytes.
    maxmemory: u64,
    /// Data that is inserted, as a multiple of the limit.
    times: f64,
    /// Policies; Memcached has only its own.
    policies: Vec<String>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&[
            "policy",
            "server",
            "records",
            "refused",
            "resident MiB",
            "resident / limit",
            "payload / resident",
        ]);
        for policy in &self.policies {
            for program in bench.varve_and_peers() {
                self.measure(section, program, policy)?;
            }
        }
        bench.memcached.iter().try_for_each(|it| self.measure(section, it, "its own"))
    }
}

impl Plan {
    fn measure(&self, section: &mut Section, program: &Program, policy: &str) -> Result<()> {
        let mut launch = Launch::default().with("maxmemory", self.maxmemory);
        if program.kind != Kind::Memcached {
            launch = launch.with("maxmemory-policy", policy);
        }
        let server = program.start(&launch)?;
        let of_one = workload(&self.workload, 1, 1)?;
        let record_bytes = (of_one.fields * (1 + of_one.field_bytes)) as f64 / 2.0;
        let inserted = (self.maxmemory as f64 * self.times / record_bytes) as u64;
        let mut records = workload(&self.workload, inserted, 1)?;
        let plan = ycsb::Plan::load(&records, CLIENTS);
        let played = play(&Target::from(&server), &plan, &mut records, None);
        let outcome = &played.measured.outcome;
        let done = outcome.operations;
        ensure!(done == inserted, "{}: {:?}", server.label, played.measured.failure);
        let kept = server.key_counter()?()?;
        let (label, resident) = (&server.label, server.resident_bytes()? as f64);
        let over_limit = resident / self.maxmemory as f64;
        let payload = kept as f64 * record_bytes / resident;
        section.row([
            policy.to_owned(),
            label.clone(),
            kept.to_string(),
            (done - outcome.latencies.len()).to_string(),
            mebibytes(resident),
            format!("{over_limit:.2}"),
            format!("{payload:.2}"),
        ]);
        section.finding(format!("{policy}: resident / limit, {label}"), Some(over_limit), "");
        section.gain(format!("{policy}: payload / resident, {label}"), Some(payload), "");
        Ok(())
    }
}

const CLIENTS: usize = 32;

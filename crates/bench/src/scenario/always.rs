//! SETs that wait until the disk has them, and GETs of other clients beside them.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;
use tempfile::TempDir;

use super::disk::append;
use super::folder::{folder, programs};
use super::rounds::by_value;
use super::{Bench, Scenario, milliseconds, pin_client};
use crate::generator::{Arrival, Load, Sizes};
use crate::measure::{fill, measure, measure_during};
use crate::report::Section;
use crate::servers::{Launch, Program, Server};
use crate::statistics::median;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of keys, with values of 16 bytes.
    keys: u64,
    /// Connections that SET, without a pipeline.
    connections: usize,
    /// Requests in flight on each of 50 connections that GET.
    pipeline: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    time: Duration,
    /// Interleaved rounds.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns("what | server | SET/s .0 | GET/s .0");
        let mut pairs = Vec::new();
        for program in &programs(bench, &["varve", "valkey"], section)? {
            pairs.push([self.start(program, "yes")?, self.start(program, "no")?]);
        }
        let (mut syncs, mut rounds) = (Vec::new(), vec![Vec::new(); pairs.len()]);
        for _ in 0..self.rounds {
            let synced = append(&folder()?, APPENDED, None, |_, time| time < self.time)?;
            syncs.push(synced.per_second);
            for ([always, without], rounds) in pairs.iter().zip(&mut rounds) {
                rounds.push(self.round(&always.0, &without.0)?);
            }
        }
        let sync_ms = 1e3 / median(syncs.clone());
        // Where the disk is slow, it alone decides.
        let factor = if sync_ms < SHORT_SYNC_MS { 1.3 } else { 1.0 };
        section.note(format!(
            "A sync takes {sync_ms:.2} ms here, so SETs must be {factor} times Valkey's: 1.3 \
             where it takes less than {SHORT_SYNC_MS} ms, else 1."
        ));
        let mut show = |what, server: &str, sets: &[f64], gets: &[f64]| {
            section.measured(what, server, &[sets.to_vec(), gets.to_vec()]);
        };
        show("syncs", "disk", &syncs, &[]);
        for ([(server, _), _], rounds) in pairs.iter().zip(&rounds) {
            let [sets, beside, gets, without] = by_value(rounds);
            show("SET alone", &server.label, &sets, &[]);
            show("GET beside", &server.label, &beside, &gets);
            show("GET beside, no log", &server.label, &beside, &without);
            if server.label == "valkey" {
                let must: Vec<_> = sets.iter().map(|sets| sets * factor).collect();
                show("SET that must be", &server.label, &must, &[]);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn start(&self, program: &Program, log: &str) -> Result<(Server, TempDir)> {
        let folder = folder()?;
        let launch = Launch::default()
            .with("appendonly", log)
            .with("appendfsync", "always")
            .with("auto-aof-rewrite-percentage", 0);
        let server = program.start(&launch.in_folder(&folder))?;
        fill(&server, self.keys, &Sizes::fixed(16))?;
        Ok((server, folder))
    }

    /// Returns SETs per second, the same beside GETs, GETs per second, and those of the server
    /// without a log that gets as many SETs.
    fn round(&self, always: &Server, without: &Server) -> Result<[f64; 4]> {
        let sets = Load::set(self.keys, &Sizes::fixed(16)).pipelined(1).on(self.connections);
        let gets = Load::get(self.keys).pipelined(self.pipeline);
        let short =
            |load: &Load| Load { warm_up: self.time / 10, ..load.clone().lasting(self.time) };
        let beside = |server, sets: &Load| {
            let (sets, gets) = measure_during(server, sets, |_| measure(server, &short(&gets)))?;
            anyhow::Ok((sets.outcome.per_second(), gets.outcome.per_second()))
        };
        let alone = measure(always, &short(&sets))?.outcome.per_second();
        let (per_second, gets_beside) = beside(always, &sets)?;
        let paced = Load { arrival: Arrival::Limited(per_second), ..sets };
        Ok([alone, per_second, gets_beside, beside(without, &paced)?.1])
    }
}

/// Bytes of about as many SETs as there are connections.
const APPENDED: usize = 4096;
const SHORT_SYNC_MS: f64 = 0.7;

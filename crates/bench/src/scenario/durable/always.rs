//! SETs that wait until the disk has them, and GETs of other clients beside them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::disk::syncs_per_second;
use super::folder::{Folder, programs};
use crate::generator::{
    Arrival, Drawn, Monitor, Operation, Outcome, Pace, Spacing, Stop, ValueSize,
};
use crate::report::{Figure, Section};
use crate::scenario::measure::{Load, fill, measure};
use crate::scenario::{Bench, Scale, Scenario, milliseconds, pin_client};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of keys, with values of 16 bytes.
    pub keys: u64,
    /// Connections that SET, without a pipeline.
    pub connections: usize,
    /// Requests in flight on each of 50 connections that GET.
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
            time: scale.time(self.time).max(TIME_MIN),
            rounds: scale.rounds(self.rounds),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["what", "server", "SET/s", "GET/s"]);
        section.note(format!(
            "appendfsync always, no rotation, {} keys, values of 16 bytes; {} connections SET \
             without a pipeline. Beside them 50 others GET with pipeline {}, also from a server \
             without a log that gets as many SETs per second. Disk: one program that appends {} \
             bytes and syncs them, again and again.",
            self.keys, self.connections, self.pipeline, APPENDED
        ));
        let (mut started, mut folders) = (Vec::new(), Vec::new());
        for program in &programs(bench, section) {
            for log in ["yes", "no"] {
                let folder = Folder::new()?;
                started.push(self.start(program, &folder, log)?);
                folders.push(folder);
            }
        }
        let mut rounds: Vec<_> = started.chunks(2).map(|_| Rounds::default()).collect();
        let mut syncs = Vec::new();
        for _ in 0..self.rounds {
            syncs.push(syncs_per_second(&Folder::new()?, APPENDED, self.time)?);
            for (pair, rounds) in started.chunks(2).zip(&mut rounds) {
                self.round(&pair[0], &pair[1], rounds)?;
            }
        }
        let per_second = format!("{:.0}", median(syncs.clone()));
        section.row(["syncs".to_owned(), "disk".to_owned(), per_second, "-".to_owned()]);
        for (pair, rounds) in started.chunks(2).zip(&rounds) {
            rounds.rows(section, &pair[0].label);
        }
        let of = |kind| started.chunks(2).position(|pair| pair[0].kind == kind);
        let varve = &rounds[of(Kind::Varve).context("Varve was not measured")?];
        figures(section, varve, of(Kind::Peer).map(|at| &rounds[at]), &syncs);
        Ok(())
    }
}

/// Operations per second by round.
#[derive(Default)]
struct Rounds {
    sets: Vec<f64>,
    sets_beside: Vec<f64>,
    gets: Vec<f64>,
    gets_without: Vec<f64>,
}

impl Rounds {
    fn rows(&self, section: &mut Section, label: &str) {
        let of = |rounds: &[f64]| format!("{:.0}", median(rounds.to_vec()));
        let mut row = |what: &str, sets: String, gets: String| {
            section.row([what.to_owned(), label.to_owned(), sets, gets]);
        };
        row("SET alone", of(&self.sets), "-".to_owned());
        row("GET beside", of(&self.sets_beside), of(&self.gets));
        row("GET beside, no log", of(&self.sets_beside), of(&self.gets_without));
    }
}

fn figures(section: &mut Section, varve: &Rounds, valkey: Option<&Rounds>, syncs: &[f64]) {
    let what = "GET beside SETs with always / beside as many without a log";
    let beside = Figure::ratio(what, &varve.gets, &varve.gets_without);
    section.figures.push(beside.more_is_better());
    let per_sync = Figure::ratio("SETs with always / syncs of the disk", &varve.sets, syncs);
    section.figures.push(per_sync.more_is_better());
    let Some(valkey) = valkey else { return };
    let ratio = Figure::ratio("SETs with always / Valkey", &varve.sets, &valkey.sets);
    section.figures.push(ratio.more_is_better());
    let sync_ms = 1e3 / median(syncs.to_vec());
    let factor = factor(sync_ms);
    let must: Vec<_> = valkey.sets.iter().map(|sets| sets * factor).collect();
    let what = "SETs with always / what they must be";
    section.figures.push(Figure::ratio(what, &varve.sets, &must).more_is_better());
    section.note(format!(
        "A sync takes {sync_ms:.2} ms here, so they must be {factor} times Valkey's: 1.3 where it \
         takes less than {SHORT_SYNC_MS} ms, else 1."
    ));
}

/// Returns the times of Valkey's SETs per second that must be reached: where the disk is slow, it
/// alone decides.
fn factor(sync_ms: f64) -> f64 {
    if sync_ms < SHORT_SYNC_MS { 1.3 } else { 1.0 }
}

impl Plan {
    fn start(&self, program: &Program, folder: &Folder, log: &str) -> Result<Server> {
        let launch = Launch::default()
            .with("appendonly", log)
            .with("appendfsync", "always")
            .with("auto-aof-rewrite-percentage", 0);
        let server = folder.start(program, &launch)?;
        fill(&server, self.keys, ValueSize::Fixed(16))?;
        Ok(server)
    }

    fn sets(&self) -> Load {
        let mut load = Load::new(Operation::Set, 1, self.keys);
        load.connections = self.connections;
        load.stop = Stop::After(self.time);
        load.warm_up = self.time / 10;
        load
    }

    fn round(&self, always: &Server, without: &Server, rounds: &mut Rounds) -> Result<()> {
        let alone = measure(always, &self.sets())?.outcome;
        rounds.sets.push(alone.operations_per_second());
        let (sets, gets) = self.beside(always, Arrival::Closed)?;
        let per_second = sets.operations_per_second();
        rounds.sets_beside.push(per_second);
        rounds.gets.push(gets.operations_per_second());
        let pace = Pace { per_second, spacing: Spacing::Even, seed: 1 };
        let (_, gets) = self.beside(without, Arrival::Limited(pace))?;
        rounds.gets_without.push(gets.operations_per_second());
        Ok(())
    }

    /// Returns what came of the SETs, and of the GETs beside them.
    fn beside(&self, server: &Server, arrival: Arrival) -> Result<(Outcome, Outcome)> {
        let monitor = Arc::new(Monitor::default());
        let set = || {
            pin_client(1);
            let (mut generator, mut requests, mut keys) = self.sets().prepare(server)?;
            let mut source = Drawn { requests: &mut requests, keys: &mut keys };
            let stop = Stop::After(LOAD_MAX);
            let ended = generator.drive_to_end(&mut source, arrival, stop, &monitor)?;
            ended.failure.map_or(Ok(()), Err)?;
            let outcome = ended.outcome;
            ensure!(outcome.replies.error == 0, "SET failed: {:?}", outcome.first_error);
            anyhow::Ok(outcome)
        };
        thread::scope(|scope| {
            let sets = scope.spawn(set);
            let mut load = Load::new(Operation::Get, self.pipeline, self.keys);
            (load.stop, load.warm_up) = (Stop::After(self.time), self.time / 10);
            let gets = measure(server, &load);
            monitor.halt();
            let sets = sets.join().ok().context("the client that SETs failed")??;
            Ok((sets, gets?.outcome))
        })
    }
}

/// Bytes of about as many SETs as there are connections.
const APPENDED: usize = 4096;
const SHORT_SYNC_MS: f64 = 0.7;
const TIME_MIN: Duration = Duration::from_millis(500);
const LOAD_MAX: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn a_slow_disk_asks_for_no_more_than_the_peer() {
        assert!((factor(0.1) - 1.3).abs() < 1e-9);
        assert!((factor(0.7) - 1.0).abs() < 1e-9);
    }
}

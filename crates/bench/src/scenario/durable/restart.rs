//! The start from files: keys and one large set from a snapshot, and commands from a log.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::folder::{Folder, programs};
use super::watch::Saving;
use crate::generator::{KeyChoice, Operation, Stop, ValueSize};
use crate::report::{Figure, Section};
use crate::scenario::collections::store::{Stored, expect};
use crate::scenario::measure::{Load, fill, measure};
use crate::scenario::{Bench, Scale, Scenario, pin_client};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys of the snapshot.
    pub keys: u64,
    /// Bytes in a value.
    pub value: usize,
    /// Members of the set, which is alone in another snapshot.
    pub members: u64,
    /// SETs in the log.
    pub logged: u64,
    /// Keys that these SETs are for; values have 16 bytes.
    pub logged_keys: u64,
    /// Cores and threads of the server that loads a snapshot.
    pub cores: usize,
    /// Starts from each snapshot or log.
    pub rounds: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            keys: scale.of(self.keys),
            members: scale.of(self.members / 10) * 10,
            logged: scale.of(self.logged),
            logged_keys: scale.of(self.logged_keys),
            rounds: scale.rounds(self.rounds),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["from", "server", "start s", "of which empty s"]);
        section.note(format!(
            "From the start of the process to the first answer that is not LOADING, asked for each \
             10 ms. Snapshots: {} cores and threads, {} keys of 16 bytes with values of {} bytes, \
             and a set of {} members of 16 letters. Log: one core, {} SETs of {} keys with values \
             of 16 bytes and no base; of its time the start of an empty server is taken off.",
            self.cores, self.keys, self.value, self.members, self.logged, self.logged_keys
        ));
        for program in &programs(bench, section) {
            let on = Launch::default().with_threads(self.cores).on_cores(self.cores);
            let keys = self.snapshot(program, &on, "DBSIZE", self.keys, |server| {
                fill(server, self.keys, ValueSize::Fixed(self.value))
            })?;
            let set = self.snapshot(program, &on, "SCARD set", self.members, |server| {
                let members: String = (0..10).map(|at| format!(" {{n*10+{at}~16}}")).collect();
                Stored::new(format!("SADD set{members}"), self.members / 10).send(server)
            })?;
            let log = self.log(program)?;
            let starts = [("keys", &keys), ("one set", &set), ("log", &log)];
            for (from, starts) in starts {
                section.row(starts.cells(from, &program.label));
            }
            if program.kind == Kind::Varve {
                self.figures(section, &keys, &set, &log);
            }
        }
        Ok(())
    }
}

/// Seconds of all starts with the data, and of as many without.
struct Starts {
    loaded: Vec<f64>,
    empty: Vec<f64>,
}

impl Starts {
    fn cells(&self, from: &str, label: &str) -> [String; 4] {
        let of = |seconds: &[f64]| format!("{:.2}", median(seconds.to_vec()));
        [from.to_owned(), label.to_owned(), of(&self.loaded), of(&self.empty)]
    }
}

impl Plan {
    fn figures(&self, section: &mut Section, keys: &Starts, set: &Starts, log: &Starts) {
        let seconds =
            |what: &str, starts: &Starts| Figure::of_rounds(what, starts.loaded.clone(), "s");
        section.figures.push(seconds("start with all keys from a snapshot", keys));
        section.figures.push(seconds("start with one set from a snapshot", set));
        let pairs = log.loaded.iter().zip(&log.empty);
        let rates = pairs.map(|(loaded, empty)| self.logged as f64 / (loaded - empty) / 1e6);
        let what = "commands of a log per second and core";
        let figure = Figure::of_rounds(what, rates.collect(), "M/s");
        section.figures.push(figure.more_is_better());
    }

    /// Starts from a snapshot of what `store` stores.
    fn snapshot(
        &self,
        program: &Program,
        launch: &Launch,
        counted: &str,
        count: u64,
        store: impl Fn(&Server) -> Result<()>,
    ) -> Result<Starts> {
        let folder = Folder::new()?;
        let server = folder.start(program, launch)?;
        store(&server)?;
        Saving::ask(server.control()?, &folder)?.wait()?;
        server.end()?;
        self.starts(program, launch, &folder, counted, count)
    }

    /// Starts from a log without a base.
    fn log(&self, program: &Program) -> Result<Starts> {
        let folder = Folder::new()?;
        let launch = Launch::default()
            .with("appendonly", "yes")
            .with("appendfsync", "no")
            .with("auto-aof-rewrite-percentage", 0);
        let server = folder.start(program, &launch)?;
        let mut load = Load::new(Operation::Set, 100, self.logged_keys);
        load.keys = KeyChoice::Sequential;
        load.stop = Stop::Operations(self.logged);
        measure(&server, &load)?;
        server.end()?;
        self.starts(program, &launch, &folder, "DBSIZE", self.logged_keys.min(self.logged))
    }

    fn starts(
        &self,
        program: &Program,
        launch: &Launch,
        folder: &Folder,
        counted: &str,
        count: u64,
    ) -> Result<Starts> {
        let patient = launch.clone().ready_within(LOADED_MAX);
        let mut starts = Starts { loaded: Vec::new(), empty: Vec::new() };
        for _ in 0..self.rounds {
            let empty = Folder::new()?.start(program, launch)?.ready_after;
            starts.empty.push(empty.as_secs_f64());
            let server = folder.start(program, &patient)?;
            starts.loaded.push(server.ready_after.as_secs_f64());
            expect(&server, counted, count)?;
            server.end()?;
        }
        let all = starts.loaded.iter().chain(&starts.empty);
        ensure!(all.into_iter().all(|seconds| *seconds > 0.0), "a start that took no time");
        Ok(starts)
    }
}

const LOADED_MAX: Duration = Duration::from_secs(300);

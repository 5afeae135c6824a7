//! Instructions per command, as callgrind counts them: GET and SET, and the commands of
//! [`commands`](super::collections::commands) on less data. If another build is named, both are
//! counted in turns.
//!
//! On one connection each batch is sent in one write, and all its replies are waited for, so that
//! the server finds the same work in each loop iteration however slow it is.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::collections::commands::workloads::{Data, Replies, Workload, all};
use super::collections::store::Stored;
use super::valgrind::{Profiled, sum};
use super::{Bench, Scale, Scenario, pin_client};
use crate::generator::{Generator, Script, Stop};
use crate::report::{Figure, Section};
use crate::servers::Program;
use crate::statistics::{median, spread};

/// Data and requests, and another build to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Another build of the server: its path and arguments; empty for none.
    pub before: String,
    /// Keys of GET and SET.
    pub keys: u64,
    /// Collections, as a fraction of those of `commands`.
    pub collections: f64,
    /// Requests in one count.
    pub requests: u64,
    /// Runs with fresh servers, whose median counts.
    pub runs: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        let requests = scale.of(self.requests).max(REQUESTS_MIN);
        Self { requests, runs: scale.rounds(self.runs), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(
            "One connection, one worker, whose instructions count: parsing, lookup, reply and its \
             loop; neither the kernel nor the threads that work by the clock are in it. Medians of \
             runs with fresh servers; the spread is half the distance between their quartiles.",
        );
        let mut programs = vec![bench.varve.clone()];
        if !self.before.is_empty() {
            let before = Program::parse(&self.before)?;
            before.must_be_there()?;
            programs.insert(0, before);
        }
        let collections = all(Scale::new(self.collections)?);
        let collections = collections.into_iter().map(|data| (data, &[16][..]));
        let mut most: Option<f64> = None;
        for (data, pipelines) in
            [(strings(self.keys), &[1, 16, 100][..])].into_iter().chain(collections)
        {
            let ratio = self.count(section, &programs, &data, pipelines)?;
            most = most.into_iter().chain(ratio).reduce(f64::max);
        }
        if programs.len() > 1 {
            section.finding("the most instructions / before", most, "");
        }
        Ok(())
    }
}

impl Plan {
    /// Counts and shows the instructions of each program, by command and pipeline; returns the
    /// largest ratio to those of the other build.
    fn count(
        &self,
        section: &mut Section,
        programs: &[Program],
        data: &Data,
        pipelines: &[usize],
    ) -> Result<Option<f64>> {
        let measured =
            pipelines.iter().flat_map(|at| data.workloads.iter().map(move |it| (*at, it)));
        // Of each measurement, each program and each run.
        let mut measured: Vec<_> =
            measured.map(|it| (it, vec![Vec::new(); programs.len()])).collect();
        for run in 0..self.runs {
            for (number, program) in programs.iter().enumerate() {
                let Some(mut profiled) = Profiled::start(program, &[])? else { continue };
                data.stored.iter().try_for_each(|stored| stored.send(&profiled.server))?;
                profiled.count()?;
                for ((pipeline, workload), counts) in &mut measured {
                    let seed = run as u64 + 1;
                    counts[number].push(self.count_once(
                        &mut profiled,
                        workload,
                        *pipeline,
                        seed,
                    )?);
                }
            }
        }
        let ratios = measured.iter().filter_map(|((pipeline, workload), counts)| {
            let what = format!("{}, {}, at pipeline {pipeline}", workload.name, data.name);
            show(section, &what, counts)
        });
        Ok(ratios.reduce(f64::max))
    }

    fn count_once(
        &self,
        profiled: &mut Profiled,
        workload: &Workload,
        pipeline: usize,
        seed: u64,
    ) -> Result<f64> {
        let mut generator = Generator::connect(profiled.server.port, 1)?;
        let script = |request: &str| Script::new(&workload.shape(request, pipeline), seed);
        let drive = |generator: &mut Generator, script: &mut Script, requests| -> Result<()> {
            let outcome = generator.drive(script, Stop::Operations(requests))?;
            ensure!(outcome.replies.error == 0, "{}", outcome.first_error.unwrap_or_default());
            Ok(())
        };
        // Whole batches.
        let warm_up = (self.requests / 8).next_multiple_of(pipeline as u64);
        let requests = self.requests.next_multiple_of(pipeline as u64);
        if let Some(before) = &workload.before {
            drive(&mut generator, &mut script(before)?, warm_up + requests)?;
        }
        let mut measured = script(&workload.request)?;
        drive(&mut generator, &mut measured, warm_up)?;
        profiled.counts()?;
        drive(&mut generator, &mut measured, requests)?;
        // The thread that executed most: others do timed work, of which a slow machine sees more.
        let threads = profiled.counts()?;
        let instructions = threads.iter().map(|it| sum(it.values())[0]).max();
        if let Some(after) = &workload.after {
            drive(&mut generator, &mut script(after)?, warm_up + requests)?;
        }
        Ok(instructions.unwrap_or(0) as f64 / requests as f64)
    }
}

/// Keys and values of 16 bytes.
fn strings(keys: u64) -> Data {
    let set = "SET key:{n:12} {?16}";
    Data {
        family: "",
        name: "strings",
        what: format!("{keys} keys with values of 16 bytes"),
        stored: vec![Stored::new(set, keys)],
        counts: vec![("DBSIZE".to_owned(), keys)],
        workloads: vec![
            Workload::new("GET", "GET key:{n:12}", Replies::Values, keys),
            Workload::new("SET", set, Replies::Values, keys),
        ],
    }
}

/// Shows the instructions of one command; returns the ratio to those of the other build.
fn show(section: &mut Section, what: &str, counts: &[Vec<f64>]) -> Option<f64> {
    let (after, before) = counts.split_last()?;
    let medians = [before.first(), Some(after)].map(|runs| Some(median(runs?.clone())));
    let ratio = medians[0].zip(medians[1]).map(|(before, after)| after / before);
    let spread = counts.iter().filter_map(|runs| spread(runs)).reduce(f64::max);
    let numbers = [(medians[0], 1), (medians[1], 1), (ratio, 4), (spread.map(|it| it * 100.0), 2)];
    let cell = |(value, digits): (Option<f64>, usize)| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    section.row([what.to_owned()].into_iter().chain(numbers.map(cell)));
    let name = format!("instructions of {what}");
    section.figures.push(Figure::of_rounds(name, after.clone(), ""));
    ratio
}

const REQUESTS_MIN: u64 = 1600;
const COLUMNS: [&str; 5] = ["command", "before", "after", "after / before", "spread %"];

//! Instructions per command, as callgrind counts them: GET and SET, and the commands of another
//! scenario file on less data. If another build is named, both are counted in turns.
//!
//! On one connection each batch is sent in one write, and all its replies are waited for, so that
//! the server finds the same work in each loop iteration however slow it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::loads::text::{Data, Text, with_keys};
use super::valgrind::{Profiled, sum};
use super::{Bench, Scale, Scenario, loads, pin_client};
use crate::generator::{EventLoop, Load, Protocol, Sender, Stop};
use crate::report::{Figure, Section};
use crate::servers::Program;
use crate::statistics::{median, spread};

/// Data and requests, and another build to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Another build of the server: its path and arguments; empty for none.
    before: String,
    /// Data whose loads are counted at pipelines 1, 16 and 100.
    data: Vec<Data>,
    /// Scenario file of kind `loads`, whose loads are counted at pipeline 16.
    commands: PathBuf,
    /// Its data, as a fraction of what the file has.
    collections: f64,
    /// Requests in one count.
    requests: u64,
    /// Rounds with fresh servers, whose median counts.
    rounds: usize,
}

impl Scenario for Plan {
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
        let commands = self.commands()?;
        let strings = self.data.iter().map(|data| (data, &[1, 16, 100][..]));
        let commands = commands.data.iter().map(|data| (data, &[16][..]));
        let mut most: Option<f64> = None;
        for (data, pipelines) in strings.chain(commands) {
            let ratio = self.count(section, &programs, data, pipelines)?;
            most = most.into_iter().chain(ratio).reduce(f64::max);
        }
        if programs.len() > 1 {
            section.finding("the most instructions / before", most, "");
        }
        Ok(())
    }
}

/// What is read of a scenario file of kind `loads`.
#[derive(Deserialize)]
struct Commands {
    parameters: toml::Table,
    #[serde(default)]
    scaled: BTreeMap<String, f64>,
}

impl Plan {
    fn commands(&self) -> Result<loads::Plan> {
        let text = fs::read_to_string(&self.commands);
        let text = text.with_context(|| self.commands.display().to_string())?;
        let Commands { parameters, scaled } = toml::from_str(&text)?;
        Ok(Scale::new(self.collections)?.apply(&parameters, &scaled).try_into()?)
    }

    /// Counts and shows the instructions of each program, by command and pipeline; returns the
    /// largest ratio to those of the other build.
    fn count(
        &self,
        section: &mut Section,
        programs: &[Program],
        data: &Data,
        pipelines: &[usize],
    ) -> Result<Option<f64>> {
        let measured = pipelines.iter().flat_map(|at| data.loads.iter().map(move |it| (*at, it)));
        // Of each measurement, each program and each round.
        let mut measured: Vec<_> =
            measured.map(|it| (it, vec![Vec::new(); programs.len()])).collect();
        for round in 0..self.rounds {
            for (number, program) in programs.iter().enumerate() {
                let Some(mut profiled) = Profiled::start(program, &[])? else { continue };
                data.fill(&profiled.server, data.keys)?;
                profiled.count()?;
                for ((pipeline, text), counts) in &mut measured {
                    let load = text.load(data.keys)?.pipelined(*pipeline).on(1);
                    let load = load.seeded(round as u64 + 1);
                    counts[number].push(self.count_once(&mut profiled, text, &load, data.keys)?);
                }
            }
        }
        let ratios = measured.iter().filter_map(|((pipeline, text), counts)| {
            let what = format!("{}, {}, at pipeline {pipeline}", text.name, data.name);
            show(section, &what, counts)
        });
        Ok(ratios.reduce(f64::max))
    }

    fn count_once(
        &self,
        profiled: &mut Profiled,
        text: &Text,
        load: &Load,
        keys: u64,
    ) -> Result<f64> {
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(profiled.server.port, Protocol::Resp, 1)?;
        let mut drive = |sender: &mut Sender, requests| -> Result<()> {
            sender.restart(Stop::Operations(requests), Arc::default())?;
            event_loop.run(&mut [&mut *sender])?;
            sender.finish()?.sound().map(|_| ()).with_context(|| text.name.clone())
        };
        let other = |request: &String| {
            let requests = vec![(1, with_keys(request, keys))];
            Sender::new(Protocol::Resp, &Load { requests, ..load.clone() }, 0)
        };
        // Whole batches.
        let pipeline = load.pipeline as u64;
        let warm_up = (self.requests / 8).next_multiple_of(pipeline);
        let requests = self.requests.next_multiple_of(pipeline);
        if let Some(before) = &text.before {
            drive(&mut other(before)?, warm_up + requests)?;
        }
        let mut measured = Sender::new(Protocol::Resp, load, 0)?;
        drive(&mut measured, warm_up)?;
        profiled.counts()?;
        drive(&mut measured, requests)?;
        // The thread that executed most: others do timed work, of which a slow machine sees more.
        let threads = profiled.counts()?;
        let instructions = threads.iter().map(|it| sum(it.values())[0]).max();
        if let Some(after) = &text.after {
            drive(&mut other(after)?, warm_up + requests)?;
        }
        Ok(instructions.unwrap_or(0) as f64 / requests as f64)
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

const COLUMNS: [&str; 5] = ["command", "before", "after", "after / before", "spread %"];

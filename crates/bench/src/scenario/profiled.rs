//! Instructions and cache misses per request, as callgrind counts them. It ignores prefetches, so
//! that misses are lines read and not time spent waiting for them. If another build is named, both
//! are counted in turns.
//!
//! On one connection each batch is sent in one write, and all its replies are waited for, so that
//! the server finds the same work in each loop iteration however slow it is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::{array, fs};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::callgrind::{Profiled, merged, sum};
use super::data::with_keys;
use super::loads::text::{Data, Text};
use super::{Bench, Scale, Scenario, loads, pin_client};
use crate::generator::{EventLoop, Load, Protocol, ReplyReader, Sender, Stop};
use crate::report::Section;
use crate::servers::Program;
use crate::statistics::spread;

/// Data and requests, and another build to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Another build of the server: its path and arguments; empty for none.
    #[serde(default)]
    before: String,
    /// True if Valkey and Redis are counted as well.
    #[serde(default)]
    peers: bool,
    data: Vec<Data>,
    /// Pipelines at which the loads of the data are counted.
    pipelines: Vec<usize>,
    /// Scenario file of kind `loads`, whose loads are counted at pipeline 16.
    commands: Option<PathBuf>,
    /// Its data, as a fraction of what the file has.
    #[serde(default)]
    collections: f64,
    connections: usize,
    /// Requests in one count.
    requests: u64,
    /// Rounds with fresh servers, whose median counts.
    rounds: usize,
    /// Bytes of the simulated last-level cache, a power of two, much smaller than the data; without
    /// it no cache is simulated.
    last_level: Option<u64>,
    /// Beginnings of the names of functions whose share in the misses is told.
    #[serde(default)]
    functions: Vec<String>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        let mut programs = Vec::new();
        if !self.before.is_empty() {
            let mut before = Program::parse(&self.before)?;
            before.must_be_there()?;
            BEFORE.clone_into(&mut before.label);
            programs.push(before);
        }
        let servers = bench.varve_and_peers().take(if self.peers { usize::MAX } else { 1 });
        programs.extend(servers.cloned());
        let commands = self.commands()?;
        let own = self.data.iter().map(|data| (data, &self.pipelines[..]));
        let commands = commands.data.iter().map(|data| (data, &[16][..]));
        for (data, pipelines) in own.chain(commands) {
            self.count(section, &programs, data, pipelines)?;
        }
        Ok(())
    }
}

/// Instructions and misses of the first and last level per request, by function.
type Costs = BTreeMap<String, [f64; 3]>;

/// What is read of a scenario file of kind `loads`.
#[derive(Deserialize)]
struct Commands {
    parameters: toml::Table,
    #[serde(default)]
    scaled: BTreeMap<String, f64>,
}

impl Plan {
    fn commands(&self) -> Result<loads::Plan> {
        let Some(path) = &self.commands else { return Ok(loads::Plan::default()) };
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let Commands { parameters, scaled } = toml::from_str(&text)?;
        Ok(Scale::new(self.collections)?.apply(&parameters, &scaled).try_into()?)
    }

    /// Counts and shows the loads of some data at all pipelines for all programs.
    fn count(
        &self,
        section: &mut Section,
        programs: &[Program],
        data: &Data,
        pipelines: &[usize],
    ) -> Result<()> {
        let loads = pipelines.iter().flat_map(|at| data.loads.iter().map(move |it| (*at, it)));
        // Of each load, each program and each round.
        let mut all: Vec<_> = loads.map(|it| (it, vec![Vec::new(); programs.len()])).collect();
        for round in 1..=self.rounds as u64 {
            for (number, program) in programs.iter().enumerate() {
                let Some(mut profiled) = Profiled::start(program, self.last_level)? else {
                    section.note(format!("The profiler cannot reach {}.", program.label));
                    continue;
                };
                data.fill(&profiled.server, data.keys)?;
                profiled.count()?;
                for ((pipeline, text), counts) in &mut all {
                    let load = text.load(data.keys).pipelined(*pipeline).seeded(round);
                    let load = load.on(self.connections);
                    counts[number].push(self.count_once(&mut profiled, text, &load, data.keys)?);
                }
            }
        }
        for ((pipeline, text), counts) in all {
            let pipeline = match self.pipelines.len() {
                1 => String::new(),
                _ => format!("at pipeline {pipeline}"),
            };
            let words = [text.name.clone(), data.name.clone(), pipeline];
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            for (program, counts) in programs.iter().zip(&counts).filter(|(_, it)| !it.is_empty()) {
                self.show(section, &words.join(", "), program, counts);
            }
        }
        Ok(())
    }

    /// Returns the counts of the thread that executed most, since others do timed work, of which a
    /// slow machine sees more; with caches, which they use as well, those of all threads.
    fn count_once(
        &self,
        profiled: &mut Profiled,
        text: &Text,
        load: &Load,
        keys: u64,
    ) -> Result<Costs> {
        let mut event_loop = EventLoop::new()?;
        let (port, count) = (profiled.server.port, load.connections);
        event_loop.connect(port, count, &[], &ReplyReader::default())?;
        let mut drive = |sender: &mut Sender, requests| -> Result<()> {
            sender.restart(Stop::Operations(requests), Arc::default())?;
            event_loop.run(&mut [&mut *sender])?;
            sender.meter.finish().sound().map(|_| ()).with_context(|| text.name.clone())
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
        let mut sender = Sender::new(Protocol::Resp, load, 0)?;
        drive(&mut sender, warm_up)?;
        profiled.counts()?;
        drive(&mut sender, requests)?;
        let threads = profiled.counts()?.into_iter();
        let counted = match self.last_level {
            None => threads.max_by_key(|counts| sum(counts.values())[0]),
            Some(_) => threads.reduce(merged),
        };
        if let Some(after) = &text.after {
            drive(&mut other(after)?, warm_up + requests)?;
        }
        let per_request = |count: u64| count as f64 / requests as f64;
        Ok(counted
            .unwrap_or_default()
            .into_iter()
            .map(|(name, events)| (name, events.map(per_request)))
            .collect())
    }

    /// Shows a load on one server, and with caches also the functions with most misses.
    fn show(&self, section: &mut Section, row: &str, program: &Program, rounds: &[Costs]) {
        let all: Vec<_> = rounds.iter().map(|costs| total(costs.values())).collect();
        let of = |event: usize| all.iter().map(|events| events[event]).collect::<Vec<_>>();
        let part: Vec<_> = spread(&of(0)).map(|part| part * 100.0).into_iter().collect();
        let mut values = vec![of(0), of(1), of(2), part, Vec::new(), Vec::new()];
        let (Some(first), true) = (rounds.first(), self.last_level.is_some()) else {
            (values[1], values[2]) = (Vec::new(), Vec::new());
            section.measured(row, &program.label, &values);
            return;
        };
        let share = |misses: f64| vec![100.0 * misses / all[0][2]];
        if !self.functions.is_empty() {
            let is_one = |name: &str| self.functions.iter().any(|begin| name.starts_with(begin));
            values[5] =
                share(total(first.iter().filter(|(name, _)| is_one(name)).map(|it| it.1))[2]);
        }
        section.measured(row, &program.label, &values);
        let mut shown: Vec<_> =
            first.iter().filter(|(_, it)| it[2] >= SHOWN_MIN * all[0][2]).collect();
        shown.sort_by(|(_, a), (_, b)| b[2].total_cmp(&a[2]));
        for (name, events) in shown {
            let numbers = events.map(|count| format!("{count:.2}"));
            let cells =
                [format!("{row}: {name}"), program.label.clone()].into_iter().chain(numbers);
            let part = format!("{:.1}", share(events[2])[0]);
            section.row(cells.chain(["-".to_owned(), part, "-".to_owned(), "-".to_owned()]));
        }
    }
}

fn total<'a>(all: impl IntoIterator<Item = &'a [f64; 3]>) -> [f64; 3] {
    all.into_iter().fold([0.0; 3], |sum, it| array::from_fn(|at| sum[at] + it[at]))
}

const BEFORE: &str = "before";
/// Least share of the last-level misses of a function that is shown.
const SHOWN_MIN: f64 = 0.03;
const COLUMNS: &str = "load | server | instructions .1 | D1 misses .2 | last-level misses .2 | \
    spread % .2 | % of misses .1 | % in these functions .1 | of before .4";

//! Instructions and cache misses per request, as callgrind counts them. It ignores prefetches, so
//! that misses are lines read and not time spent waiting for them. If another build is named, both
//! are counted in turns.
//!
//! On one connection each batch is sent in one write, and all its replies are waited for, so that
//! the server finds the same work in each loop iteration however slow it is.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::callgrind::{Counts, Events, Profiled, sum};
use super::script::{Exchange, Pairs, Step, Steps, Values, one};
use super::{Bench, Scale, Scenario};
use crate::generator::{EventLoop, Load, Sender, Stop};
use crate::measure::measure;
use crate::process;
use crate::protocol::Protocol;
use crate::replies::ReplyReader;
use crate::report::Section;
use crate::servers::{Launch, Program, Server};
use crate::statistics::spread;

/// Data and requests, and another build to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// True if Valkey and Redis are counted as well.
    #[serde(default)]
    peers: bool,
    groups: Vec<Group>,
    /// Clients that wait for each other.
    #[serde(default)]
    exchanges: Vec<Exchange>,
    /// Pipelines at which the rows of the groups are counted.
    pipelines: Vec<usize>,
    /// Scenario file of kind `script`, whose rows are counted at pipeline 16.
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

/// Data, and requests for it; what a script measures otherwise is left out.
#[derive(Clone, Debug, Deserialize)]
struct Group {
    keys: u64,
    /// True if it has a port for Memcached's clients, to which its steps may send loads.
    #[serde(default)]
    memcached: bool,
    /// Steps whose loads store the data.
    first: Steps,
    rows: Vec<Row>,
}

/// Request for many numbers; `KEYS` in it stands for the number of keys.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    name: String,
    request: String,
    /// Upper bound of the drawn numbers, per key.
    #[serde(default = "one")]
    times: f64,
    choice: Option<String>,
    /// Request sent beforehand for the same numbers, so that the load finds what it removes.
    before: Option<String>,
    /// Request sent afterwards for the same numbers, to restore the data.
    after: Option<String>,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        process::pin_this_thread(1);
        section.columns(COLUMNS);
        let servers = bench.varve_and_peers().take(if self.peers { usize::MAX } else { 1 });
        let programs: Vec<_> = bench.before.iter().chain(servers).cloned().collect();
        let commands = self.commands()?;
        let own = self.groups.iter().map(|group| (group, &self.pipelines[..]));
        let commands = commands.iter().map(|group| (group, &[16][..]));
        for (group, pipelines) in own.chain(commands) {
            self.count(section, &programs, group, pipelines)?;
        }
        self.exchanges.iter().try_for_each(|it| self.count_exchange(section, &programs, it))
    }
}

/// What is read of a scenario file of kind `script`.
#[derive(Deserialize)]
struct Commands {
    parameters: toml::Table,
    #[serde(default)]
    scaled: BTreeMap<String, f64>,
}

impl Plan {
    fn commands(&self) -> Result<Vec<Group>> {
        let Some(path) = &self.commands else { return Ok(Vec::new()) };
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let Commands { parameters, scaled } = toml::from_str(&text)?;
        let mut parameters = Scale::new(self.collections)?.apply(&parameters, &scaled);
        Ok(parameters.remove("groups").context("a script without groups")?.try_into()?)
    }

    /// Counts and shows the loads of some data at all pipelines for all programs.
    fn count(
        &self,
        section: &mut Section,
        programs: &[Program],
        group: &Group,
        pipelines: &[usize],
    ) -> Result<()> {
        let rows = pipelines.iter().flat_map(|at| group.rows.iter().map(move |it| (*at, it)));
        // Of each load, each program and each round.
        let mut all: Vec<_> = rows.map(|it| (it, vec![Vec::new(); programs.len()])).collect();
        let launch = Launch::on(1, 1);
        let launch = if group.memcached { launch.with("memcached", "yes") } else { launch };
        for round in 1..=self.rounds as u64 {
            for (number, program) in programs.iter().enumerate() {
                let Some(mut profiled) = Profiled::start(program, &launch, self.last_level)? else {
                    section.note(format!("The profiler cannot reach {}.", program.label));
                    continue;
                };
                group.store(&profiled.server)?;
                profiled.count()?;
                for ((pipeline, row), counts) in &mut all {
                    let (pipeline, connections) = (*pipeline, self.connections);
                    let load = Load { pipeline, connections, seed: round, ..group.load(row)? };
                    counts[number].push(self.count_once(&mut profiled, group, row, &load)?);
                }
            }
        }
        for ((pipeline, row), counts) in all {
            let name = match self.pipelines.len() {
                1 => row.name.clone(),
                _ => format!("{}, at pipeline {pipeline}", row.name),
            };
            let requests = self.requests.next_multiple_of(pipeline as u64) as f64;
            for (program, counts) in programs.iter().zip(&counts).filter(|(_, it)| !it.is_empty()) {
                self.show(section, [&name, &program.label], requests, counts);
            }
        }
        Ok(())
    }

    /// Counts and shows exchanges between clients that wait for each other, for all programs.
    fn count_exchange(
        &self,
        section: &mut Section,
        programs: &[Program],
        exchange: &Exchange,
    ) -> Result<()> {
        let (mut all, launch) = (vec![Vec::new(); programs.len()], Launch::on(1, 1));
        for _ in 0..self.rounds {
            for (program, rounds) in programs.iter().zip(&mut all) {
                let Some(mut profiled) = Profiled::start(program, &launch, self.last_level)? else {
                    continue;
                };
                let time = Duration::from_millis(exchange.ms);
                let (mut pairs, mut event_loop) = Pairs::connect(&profiled.server, exchange)?;
                profiled.count()?;
                pairs.play(&profiled.server, &mut event_loop, time / 5)?;
                profiled.counts()?;
                let exchanges = pairs.play(&profiled.server, &mut event_loop, time)?;
                let counts = profiled.counts()?.into_iter();
                let most = counts.max_by_key(|counts| sum(counts.values())[0]).unwrap_or_default();
                rounds.push(sum(most.values()).map(|count| count as f64 / exchanges));
            }
        }
        for (program, rounds) in programs.iter().zip(&all).filter(|(_, it)| !it.is_empty()) {
            self.show_all(section, [&exchange.name, &program.label], rounds, Vec::new());
        }
        Ok(())
    }

    /// Returns the counts of the thread that executed most, of the named functions if there are
    /// some: others do timed work, of which a slow machine sees more, and the profiler most of all.
    fn count_once(
        &self,
        profiled: &mut Profiled,
        group: &Group,
        row: &Row,
        load: &Load,
    ) -> Result<Counts> {
        let mut event_loop = EventLoop::new()?;
        let (port, count) = (profiled.server.port, load.connections);
        event_loop.connect(&port.into(), count, &[], &ReplyReader::default())?;
        let mut drive = |sender: &mut Sender, requests| -> Result<()> {
            sender.restart(Stop::Operations(requests), Arc::default())?;
            event_loop.run(&mut [&mut *sender])?;
            sender.meter.finish().sound().map(|_| ()).with_context(|| row.name.clone())
        };
        let sender = |request: &str| {
            let requests = vec![(1, group.values().filled(request))];
            Sender::new(Protocol::Resp, &Load { requests, ..load.clone() }, 0)
        };
        // Whole batches.
        let pipeline = load.pipeline as u64;
        let warm_up = (self.requests / 8).next_multiple_of(pipeline);
        let requests = self.requests.next_multiple_of(pipeline);
        if let Some(before) = &row.before {
            drive(&mut sender(before)?, warm_up + requests)?;
        }
        let mut counted = sender(&row.request)?;
        drive(&mut counted, warm_up)?;
        profiled.counts()?;
        drive(&mut counted, requests)?;
        let threads = profiled.counts()?.into_iter();
        let counts = threads.max_by_key(|counts| match self.functions[..] {
            [] => sum(counts.values())[0],
            _ => self.of_functions(counts)[0],
        });
        if let Some(after) = &row.after {
            drive(&mut sender(after)?, warm_up + requests)?;
        }
        Ok(counts.unwrap_or_default())
    }

    /// Adds up the events of the named functions.
    fn of_functions(&self, counts: &Counts) -> Events {
        let is_one = |name: &str| self.functions.iter().any(|begin| name.starts_with(begin));
        sum(counts.iter().filter(|(name, _)| is_one(name)).map(|(_, events)| events))
    }

    /// Shows a load on one server, and with caches also the functions with most misses.
    fn show(
        &self,
        section: &mut Section,
        [row, server]: [&str; 2],
        requests: f64,
        rounds: &[Counts],
    ) {
        let per_request = |events: Events| events.map(|count| count as f64 / requests);
        let all: Vec<_> = rounds.iter().map(|counts| per_request(sum(counts.values()))).collect();
        let (Some(first), true) = (rounds.first(), self.last_level.is_some()) else {
            self.show_all(section, [row, server], &all, Vec::new());
            return;
        };
        let misses = sum(first.values())[2] as f64;
        let share = |events: &Events| 100.0 * events[2] as f64 / misses;
        let of_functions = self.of_functions(first);
        let has_functions = !self.functions.is_empty();
        let shares = has_functions.then(|| share(&of_functions)).into_iter().collect();
        self.show_all(section, [row, server], &all, shares);
        let mut shown: Vec<_> =
            first.iter().filter(|(_, events)| share(events) >= SHOWN_MIN).collect();
        shown.sort_by_key(|(_, events)| Reverse(events[2]));
        for (name, events) in shown {
            let [instructions, first_level, last_level] =
                per_request(*events).map(|count| format!("{count:.2}"));
            let (name, part) = (format!("{row}: {name}"), format!("{:.1}", share(events)));
            let cells = [&name, server, &instructions, &first_level, &last_level, "-", &part];
            section.row(cells.into_iter().chain(["-", "-"]).map(str::to_owned));
        }
    }
}

impl Plan {
    /// Shows the events per request of all rounds, and the share of the named functions in misses.
    fn show_all(
        &self,
        section: &mut Section,
        [row, server]: [&str; 2],
        all: &[[f64; 3]],
        shares: Vec<f64>,
    ) {
        let of = |event: usize| all.iter().map(|events| events[event]).collect::<Vec<_>>();
        let part: Vec<_> = spread(&of(0)).map(|part| part * 100.0).into_iter().collect();
        let misses = |event| if self.last_level.is_some() { of(event) } else { Vec::new() };
        let values = [of(0), misses(1), misses(2), part, Vec::new(), shares];
        section.measured(row, server, &values);
    }
}

impl Group {
    fn values(&self) -> Values {
        let mut values = Values::default();
        values.set("keys", self.keys as f64);
        values
    }

    fn store(&self, server: &Server) -> Result<()> {
        for step in &self.first.0 {
            if let Step::Load(load) = Step::read(step, &self.values())? {
                measure(server, &load.load(1)?, None)?;
            }
        }
        Ok(())
    }

    fn load(&self, row: &Row) -> Result<Load> {
        let count = ((self.keys as f64 * row.times) as u64).max(1);
        let keys = row.choice.as_deref().unwrap_or("uniform").parse()?;
        Ok(Load { keys, ..Load::of(&*row.request, count) })
    }
}

/// Least part of the last-level misses of a function that is shown, in percent.
const SHOWN_MIN: f64 = 3.0;
const COLUMNS: &str = "load | server | instructions .1 | D1 misses .2 | last-level misses .2 | \
    spread % .2 | % of misses .1 | % in these functions .1 | of before .4";

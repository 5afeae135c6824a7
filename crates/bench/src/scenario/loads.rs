//! Cost of requests, as files describe them: any data, on any servers, at any pipelines.
//!
//! ```toml
//! [parameters]
//! rounds = 5                            # interleaved; medians count
//! ms = 1000                             # length of one measurement
//! pipelines = [1, 16]
//! servers = ["varve", { program = "varve", label = "2 threads", threads = 2 }, "null"]
//!
//! [[parameters.data]]                   # each with fresh servers
//! name = "many lists"
//! keys = 10_000                         # KEYS in requests and counts
//! fill = [{ request = "RPUSH list:{n%KEYS:5} {?16}", times = 100 }]
//! counts = ["LLEN list:00007 100"]      # checked when filled and after each load
//! loads = [{ name = "LPOP", request = "LPOP list:{n%KEYS:5}", replies = "values",
//!            before = "LPUSH list:{n%KEYS:5} {?16}" }]
//!
//! [[parameters.ratios]]                 # figures: of `base`, over that of each of `to`
//! what = "CPU of {load} at pipeline {pipeline} / {to}"
//! ```

pub(super) mod text;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, ensure};

use super::bare::Bare;
use super::folder::Folder;
use super::rounds::{COST_COLUMNS, Costs, absent, cell, in_turns};
use super::{Bench, Scenario, peers_missing, pin_client};
use crate::generator::{Load, Outcome};
use crate::measure::{Measured, measure};
use crate::null::bulk;
use crate::process;
use crate::report::{Figure, Plot, Section};
use crate::servers::{Kind, Launch, Server};
use crate::statistics::median;
use text::{Data, Entry, PlotText, Quantity, Ratio, Replies, Text, with_keys};

pub use text::Plan;

impl Quantity {
    fn of(self, costs: &Costs) -> &[f64] {
        match self {
            Self::Cpu => &costs.server_us,
            Self::PerSecond => &costs.per_second,
            Self::P50 => &costs.p50_us,
        }
    }

    fn ratio(self, what: String, costs: &Costs, to: &Costs) -> Figure {
        let figure = Figure::ratio(what, self.of(costs), self.of(to));
        if matches!(self, Self::PerSecond) { figure.more_is_better() } else { figure }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Cpu | Self::P50 => "microseconds",
            Self::PerSecond => "operations per second",
        }
    }
}

impl Replies {
    /// Returns a reply in wire format, with strings of 16 bytes.
    fn example(self) -> String {
        let value = bulk(&"v".repeat(16));
        match self {
            Self::Values => value,
            Self::Ones | Self::Integers => ":1\r\n".to_owned(),
            Self::Zeros => ":0\r\n".to_owned(),
            Self::Elements(each) => format!("*{each}\r\n{}", value.repeat(each as usize)),
        }
    }

    /// Checks that the server found what was asked for.
    fn check(self, outcome: &Outcome) -> Result<()> {
        let replies = &outcome.replies;
        let right = match self {
            Self::Values => replies.bulk == replies.total(),
            Self::Ones => replies.zero * 50 <= replies.integer,
            Self::Zeros => replies.zero == replies.integer,
            Self::Integers => replies.integer == replies.total(),
            Self::Elements(each) => replies.elements == each * replies.total(),
        };
        ensure!(right, "not what was expected: {replies:?}");
        Ok(())
    }
}

/// Server with its data, or the reason why it has none.
struct Tested {
    server: Server,
    keys: u64,
    counts: Vec<(String, u64)>,
    stored: Result<()>,
    /// Removed when the server has ended.
    _folder: Option<Folder>,
}

impl Tested {
    fn start(bench: &Bench, entry: &Entry, data: &Data) -> Result<Option<Self>> {
        let Some(program) = bench.program(&entry.program)? else { return Ok(None) };
        let mut launch = Launch::default().with_threads(entry.threads).on_cores(entry.cores);
        for (name, value) in &entry.options {
            launch = launch.with(name, value);
        }
        let (folder, started) = match entry.has_folder {
            false => (None, program.start(&launch)),
            true => {
                let Some(program) = program.among_our_files() else { return Ok(None) };
                let folder = Folder::new()?;
                let started = folder.start(&program, &launch);
                (Some(folder), started)
            }
        };
        let mut server = started?;
        server.label = entry.label.clone().unwrap_or(server.label.clone());
        let keys = entry.keys.unwrap_or(data.keys);
        let is_null = server.kind == Kind::Null;
        let counts = if is_null { Vec::new() } else { data.counts(keys)? };
        let mut tested = Self { server, keys, counts, stored: Ok(()), _folder: folder };
        if !is_null {
            tested.stored = data.fill(&tested.server, keys).and_then(|()| tested.count());
        }
        Ok(Some(tested))
    }

    /// Checks that exactly what was stored is present.
    fn count(&self) -> Result<()> {
        for (command, answer) in &self.counts {
            let counted = self.server.control()?.integer(command)?;
            ensure!(counted == *answer, "{command} is {counted}, not {answer}");
        }
        Ok(())
    }

    /// Measures a load once; numbers are drawn from the seed, so that the requests beforehand and
    /// afterwards are for the same numbers.
    fn measure(&self, plan: &Plan, text: &Text, pipeline: usize, seed: u64) -> Result<Measured> {
        self.stored.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let mut load = text.load(self.keys)?.pipelined(pipeline).on(plan.connections).seeded(seed);
        load.threads = plan.clients_of(&self.server);
        let is_null = self.server.kind == Kind::Null;
        let other = |request: &str| {
            let requests = vec![(1, with_keys(request, self.keys))];
            Load { requests, misses: true, ..load.clone() }
        };
        let undo = |operations| match text.after.as_ref().filter(|_| !is_null) {
            None => Ok(()),
            Some(after) => measure(&self.server, &other(after).count(operations)).map(|_| ()),
        };
        let measured = if let Some(before) = text.before.as_ref().filter(|_| !is_null) {
            let stored = measure(&self.server, &other(before).lasting(plan.time))?;
            measure(&self.server, &load.clone().count(stored.outcome.operations))?
        } else if text.after.is_some() {
            let warm = measure(&self.server, &load.clone().lasting(plan.time / 5))?;
            undo(warm.outcome.operations)?;
            measure(&self.server, &load.clone().lasting(plan.time))?
        } else {
            measure(&self.server, &load.clone().measured_for(plan.time))?
        };
        text.replies.map_or(Ok(()), |replies| replies.check(&measured.outcome))?;
        undo(measured.outcome.operations)?;
        // An interrupted cycle has moved an element or two.
        if !text.in_turn {
            self.count()?;
        }
        Ok(measured)
    }
}

/// Costs of one load at one pipeline for all servers.
struct Cost<'plan> {
    data: &'plan Data,
    load: &'plan Text,
    pipeline: usize,
    servers: Vec<Result<Costs>>,
}

impl Cost<'_> {
    fn of(&self, label: &str) -> Option<&Costs> {
        let known = self.servers.iter().filter_map(|costs| costs.as_ref().ok());
        known.into_iter().find(|costs| costs.label == label)
    }

    fn name(&self, pattern: &str, to: &str) -> String {
        let mut capital = to.to_owned();
        if to != "null" {
            capital[..1].make_ascii_uppercase();
        }
        let (load, data) = (&self.load.name, &self.data.name);
        let pipeline = self.pipeline.to_string();
        let words = [
            ("{load}", load.as_str()),
            ("{data}", data),
            ("{pipeline}", &pipeline),
            ("{to}", to),
            ("{To}", &capital),
        ];
        words.iter().fold(pattern.to_owned(), |name, (word, text)| name.replace(word, text))
    }
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(self.servers.iter().map(|entry| entry.cores).max().unwrap_or(1));
        section.columns(&[
            "load",
            "server",
            COST_COLUMNS[0],
            "of valkey",
            "of redis",
            "of null",
            "op/s",
            "p50 us",
            "p99 us",
            "client us/op",
        ]);
        let (connections, rounds) = (self.connections, self.rounds);
        section.note(format!("{connections} connections; medians of {rounds} interleaved rounds."));
        self.tell_cores(section);
        peers_missing(section, bench);
        let mut all = Vec::new();
        for data in &self.data {
            if let Some(note) = &data.note {
                let name = match data.name.is_empty() {
                    true => String::new(),
                    false => format!("{}: ", data.name),
                };
                section.note(format!("{name}{}.", with_keys(note, data.keys)));
            }
            self.run_on(bench, section, data, &mut all)?;
        }
        self.ratios.iter().for_each(|ratio| ratio.figures(section, &all));
        self.plots.iter().for_each(|plot| plot.draw(section, &all));
        if self.bare {
            let mut counts: Vec<_> = self.servers.iter().filter_map(|entry| entry.keys).collect();
            counts.sort_unstable();
            counts.dedup();
            bare_rows(section, &counts, self.rounds)?;
        }
        Ok(())
    }
}

impl Plan {
    fn tell_cores(&self, section: &mut Section) {
        let cores = process::cores();
        let most = self.servers.iter().map(|entry| entry.cores).max().unwrap_or(1);
        if most > cores {
            section.note(format!(
                "This machine has {cores} cores: servers on up to {most} were left out."
            ));
        }
        if most >= cores {
            section.note("Too few cores: the clients share one with servers on all of them.");
        }
    }

    /// Returns the threads of the load for a server.
    fn clients_of(&self, server: &Server) -> usize {
        match self.clients {
            0 => process::cores().saturating_sub(server.cores).clamp(1, self.connections),
            clients => clients,
        }
    }

    /// Stores the data in fresh servers and measures its loads.
    fn run_on<'plan>(
        &'plan self,
        bench: &Bench,
        section: &mut Section,
        data: &'plan Data,
        all: &mut Vec<Cost<'plan>>,
    ) -> Result<()> {
        let mut servers = Vec::new();
        for entry in self.servers.iter().filter(|entry| entry.cores <= process::cores()) {
            servers.extend(Tested::start(bench, entry, data)?);
        }
        for &pipeline in &self.pipelines {
            for load in &data.loads {
                if let Some(replies) = load.replies {
                    let null = bench.null_answering(&replies.example());
                    for tested in servers.iter_mut().filter(|it| it.server.kind == Kind::Null) {
                        tested.server = null.start(&Launch::default())?;
                    }
                }
                let measured = in_turns(&servers, self.rounds, |tested, round| {
                    tested.measure(self, load, pipeline, round)
                });
                let costs = |(tested, rounds): (&Tested, Result<Vec<Measured>>)| {
                    rounds.map(|rounds| Costs::of(&tested.server.label, &rounds))
                };
                let costs = servers.iter().zip(measured).map(costs).collect();
                let cost = Cost { data, load, pipeline, servers: costs };
                self.rows(section, &cost, &servers);
                all.push(cost);
            }
        }
        Ok(())
    }

    fn rows(&self, section: &mut Section, cost: &Cost<'_>, servers: &[Tested]) {
        let mut name = match &cost.data.name {
            data if data.is_empty() => cost.load.name.clone(),
            data => format!("{}, {data}", cost.load.name),
        };
        if self.pipelines.len() > 1 {
            name = format!("{} {name}", cost.pipeline);
        }
        for (tested, costs) in servers.iter().zip(&cost.servers) {
            let cells = match costs {
                Err(error) => vec![absent(section, &name, error)],
                Ok(costs) => {
                    let [cpu, rest @ ..] = costs.cells();
                    let ratio = |to: &str| {
                        let to = median(cost.of(to)?.server_us.clone());
                        Some(format!("{:.2}", median(costs.server_us.clone()) / to))
                    };
                    let ratios = ["valkey", "redis", "null"];
                    let ratios = ratios.map(|to| ratio(to).unwrap_or_else(|| "-".to_owned()));
                    [cpu].into_iter().chain(ratios).chain(rest).collect()
                }
            };
            section.row([name.clone(), tested.server.label.clone()].into_iter().chain(cells));
        }
    }
}

impl Ratio {
    fn figures(&self, section: &mut Section, all: &[Cost<'_>]) {
        let to = |cost: &Cost<'_>| -> Vec<String> {
            let labels = cost.servers.iter().flatten().map(|costs| costs.label.clone());
            match &self.to[..] {
                [] => labels.filter(|label| *label != self.base).collect(),
                to => to.to_vec(),
            }
        };
        if self.mean {
            let Some(first) = all.first() else { return };
            for to in to(first) {
                let mean = self.geometric_mean(all, &to);
                section.finding(first.name(&self.what, &to), mean, "");
            }
            return;
        }
        for cost in all {
            for to in to(cost) {
                let Some((base, other)) = cost.of(&self.base).zip(cost.of(&to)) else { continue };
                section.figures.push(self.of.ratio(cost.name(&self.what, &to), base, other));
            }
        }
    }

    /// Returns the mean over all loads; `None` if one of them was not measured.
    fn geometric_mean(&self, all: &[Cost<'_>], to: &str) -> Option<f64> {
        let mut logarithms: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for cost in all {
            let (base, other) = cost.of(&self.base).zip(cost.of(to))?;
            let ratio = self.of.ratio(String::new(), base, other).measured?;
            logarithms.entry(&cost.load.name).or_default().push(ratio.ln());
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let by_load: Vec<f64> = logarithms.values().map(|of_load| mean(of_load)).collect();
        Some(mean(&by_load).exp())
    }
}

impl PlotText {
    fn draw(&self, section: &mut Section, all: &[Cost<'_>]) {
        let mut plots: BTreeMap<usize, Plot> = BTreeMap::new();
        let is_shown =
            |cost: &&Cost<'_>| self.data.is_empty() || self.data.contains(&cost.data.name);
        let is_alone = all.iter().all(|cost| cost.pipeline == all[0].pipeline);
        for cost in all.iter().filter(is_shown) {
            let unit = if self.parts { "ratio, less is better" } else { self.of.unit() };
            let plot = plots.entry(cost.pipeline).or_insert_with(|| match is_alone {
                true => Plot::bars(&self.title, Vec::new(), unit),
                false => {
                    let title = format!("{} at pipeline {}", self.title, cost.pipeline);
                    Plot::bars(title, Vec::new(), unit)
                }
            });
            let group = match cost.data.name.is_empty() {
                true => cost.load.name.clone(),
                false => format!("{}, {}", cost.load.name, cost.data.name),
            };
            let Some(varve) = cost.of("varve").filter(|_| self.parts) else {
                for costs in cost.servers.iter().flatten() {
                    plot.bar(&costs.label, &group, median(self.of.of(costs).to_vec()));
                }
                continue;
            };
            for costs in cost.servers.iter().flatten().filter(|costs| costs.label != "varve") {
                let part = self.of.ratio(String::new(), varve, costs).measured;
                plot.bar(&format!("of {}'s", costs.label), &group, part.unwrap_or(f64::NAN));
            }
        }
        plots.into_values().for_each(|plot| section.plot(plot));
    }
}

fn bare_rows(section: &mut Section, counts: &[u64], rounds: usize) -> Result<()> {
    section.note(
        "bare: a read of a random line and of the record that it names, eight at a time, and \
         nothing else; its time is that of a core.",
    );
    let bare: Vec<_> = counts.iter().map(|keys| (*keys, Bare::new(*keys))).collect();
    let all = in_turns(&bare, rounds, |(_, bare), _| bare.nanos_per_lookup());
    for (keys, rounds) in counts.iter().zip(all) {
        let micros: Vec<_> = rounds?.iter().map(|nanos| nanos / 1e3).collect();
        section.row(["bare".to_owned(), format!("{} M keys", keys / 1_000_000), cell(&micros, 3)]);
    }
    Ok(())
}

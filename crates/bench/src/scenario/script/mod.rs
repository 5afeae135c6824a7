//! Scripts: steps that a file lists are taken on each server, and columns are computed from what
//! they measured.
//!
//! ```toml
//! kind = "script"
//!
//! [parameters]
//! rounds = 3                       # median of these
//! keys = 1000                      # any other number: `KEYS` in texts, `= keys / 2` in numbers
//! columns = "what | server | longest ms .1 | of valkey .2"
//! servers = ["varve", { program = "varve", label = "2 threads", threads = 2 }, "valkey"]
//! values = ["get.longest / 1e3"]   # of the columns with numbers, from left to right; of
//!                                  # "most: get.us" or "least: get.us" the worst round counts
//!
//! [[parameters.groups]]
//! fresh = true                     # each round has servers of its own
//! first = [{ load = { request = "SET k{n} v", each = true, keys = "= keys" } }]
//!
//! [[parameters.groups.rows]]       # measured on all servers in turns
//! name = "GET"
//! keys = 10                        # numbers and words of this row alone
//! steps = [{ load = { name = "get", request = "GET k{n}", keys = "= keys" } }]
//! ```
//!
//! | step | what it does |
//! |---|---|
//! | `load` | sends requests: `NAME.us`, `NAME.per_second` and others of [`Values::measured`] |
//! | `on-null`, `on-others` | takes steps on the null server only; on all others |
//! | `do` | takes the steps that `parameters.routines` has by this name |
//! | `other` | takes steps on a second server of the program, which stays until the first ends |
//! | `sinks` | takes steps beside replicas that drop what they read |
//! | `feed` | what the server needs as the replica of a stream that is written beforehand |
//! | `replicating` | seconds until the server's link to its primary is up |
//! | `caught-up` | seconds until the other server, its replica, has what it has now |
//! | `beside` | takes steps beside loads, or beside a busy process on the server's core |
//! | `peak` | takes steps: the most memory meanwhile, in bytes |
//! | `join`, `leave` | connects clients that stay until they leave or the server ends |
//! | `tell`, `check` | a command without an error; some with the answer as their last word |
//! | `peers` | settings of Valkey and Redis, which may refuse them: the report says so |
//! | `config` | settings by name, whose values may have blanks |
//! | `ask` | by name: the answer, `NAME.ms` of the client and `NAME.cpu_ms` of the server |
//! | `info`, `micros` | by name: a field of INFO; microseconds of a command, as INFO tells them |
//! | `memory`, `cpu`, `keys` | resident memory in bytes, CPU time in seconds, number of keys |
//! | `cpu-of-all` | CPU time in seconds, with that of its children that have ended |
//! | `records` | stores those of a workload of YCSB |
//! | `written` | many requests in one write, whose replies are read then, with pauses |
//! | `pairs` | clients that wait for each other: `NAME.us` for an exchange, and others |
//! | `unit` | transactions that were written beforehand: `NAME.longest_ms` of EXEC |
//! | `point` | a point of a plot, in which each server has a line |
//! | `let`, `say`, `clock` | computed numbers; words; the time in seconds |
//! | `append` | what the disk does without a server: `NAME.per_second`, `NAME.longest` |
//! | `bare` | microseconds of a lookup for the machine alone, with so many keys |
//! | `benchmark` | what valkey-benchmark sees of a load of GETs: `NAME.first_p50` and others |
//! | `saved` | waits until a snapshot has its name: the time in seconds |
//! | `wait`, `repeat` | milliseconds; steps again and again, `while` something is above zero |
//! | `start`, `end` | another server with more options; the end of the server, when it is asked |

mod pairs;
mod replicas;
mod replies;
mod run;
mod steps;
mod values;

pub use pairs::{Exchange, Pairs};
pub use steps::{Step, Steps, one};
pub use values::Values;

use std::collections::BTreeMap;
use std::time::Duration;
use std::{mem, thread};

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use super::figures::PIPELINE;
use super::place::{Entry, Place, servers};
use super::rounds::in_turns;
use super::{Bench, Scenario};
use crate::process;
use crate::report::{Plot, Section};
use crate::servers::Kind;
use replies::Replies;
use run::Running;
use steps::Point;
use values::COST;

#[derive(Clone, Debug, Deserialize)]
pub struct Plan {
    #[serde(default = "one")]
    rounds: usize,
    #[serde(default = "cost_columns")]
    columns: String,
    #[serde(deserialize_with = "servers")]
    servers: Vec<Entry>,
    #[serde(default = "cost_values")]
    values: Vec<String>,
    /// If there are some, each row is measured with each of these numbers as its `pipeline`.
    #[serde(default)]
    pipelines: Vec<u32>,
    #[serde(default)]
    routines: BTreeMap<String, Steps>,
    groups: Vec<Group>,
    /// Numbers that steps and values name.
    #[serde(flatten)]
    numbers: toml::Table,
}

/// Servers with the same beginning, and what is measured on them.
#[derive(Clone, Debug, Deserialize)]
struct Group {
    /// Those of the plan by default.
    #[serde(default, deserialize_with = "servers")]
    servers: Vec<Entry>,
    #[serde(default)]
    fresh: bool,
    /// True if a server's process is stopped while others are measured: it may use cores when idle.
    #[serde(default)]
    alone: bool,
    /// True if each row has servers of its own, which wait for `rest_ms` at the same time and are
    /// measured in turns with those of the other rows.
    #[serde(default)]
    apart: bool,
    #[serde(default)]
    first: Steps,
    #[serde(default)]
    rest_ms: u64,
    /// Taken once behind that wait.
    #[serde(default)]
    rested: Steps,
    /// Those of its rows.
    #[serde(default)]
    steps: Steps,
    rows: Vec<Row>,
    /// Those of all rows that are measured apart.
    rounds: Option<usize>,
    remark: Option<String>,
    /// Number and size of what is stored, in words.
    note: Option<String>,
    #[serde(flatten)]
    numbers: toml::Table,
}

#[derive(Clone, Debug, Deserialize)]
struct Row {
    #[serde(default)]
    name: String,
    /// Those of the group by default.
    steps: Option<Steps>,
    /// Those of the plan by default, as the rounds are.
    values: Option<Vec<String>>,
    rounds: Option<usize>,
    /// Words of the last column, or of a note if that one has numbers.
    remark: Option<String>,
    /// Reply of the null server, in wire format, or nothing for those that it has; without this
    /// line and the next it is left out.
    null: Option<String>,
    /// Replies that its load named `cost` must bring; the null server gives such.
    replies: Option<Replies>,
    #[serde(flatten)]
    numbers: toml::Table,
}

/// A group, and the numbers and words of all its rows.
struct At<'p> {
    bench: &'p Bench,
    group: &'p Group,
    numbers: Values,
}

/// A server of a group, or the reason why there is none.
struct Seat<'p> {
    entry: &'p Entry,
    label: String,
    running: Result<Running<'p>>,
}

/// Values of a row in one round, the words beside them, and what is plotted.
type Measured = (Vec<f64>, Option<String>, Vec<Point>);

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        let of_groups = self.groups.iter().flat_map(|group| &group.servers);
        let cores = self.servers.iter().chain(of_groups).map(Entry::cores).max().unwrap_or(1);
        // The clients have the core behind those of the servers, or the last one.
        process::pin_this_thread(cores);
        section.columns(&self.columns);
        if cores > process::cores() {
            section.note(format!(
                "This machine has {} cores: servers on more, up to {cores}, were left out.",
                process::cores()
            ));
        }
        if cores >= process::cores() {
            section.note("The clients share a core with servers on all of them.");
        }
        if bench.valkey.is_none() {
            section.note("Valkey is not there: ratios to it were not measured.");
        }
        let mut numbers = Values::default();
        numbers.add(&self.numbers)?;
        for group in &self.groups {
            let mut numbers = numbers.clone();
            numbers.add(&group.numbers)?;
            self.measure(&At { bench, group, numbers }, section)?;
        }
        Ok(())
    }
}

impl Plan {
    /// Measures the rows of a group: one after the other, or all in turns if they are apart.
    fn measure<'p>(&'p self, at: &At<'p>, section: &mut Section) -> Result<()> {
        let (group, rows) = (at.group, self.rows(at.group));
        section.notes.extend(group.note.as_ref().map(|note| at.numbers.filled(note)));
        if group.apart {
            let mut own = Vec::new();
            for row in &rows {
                for mut seat in self.seats(at)? {
                    seat.running = self.start(at, seat.entry, Some(row));
                    own.push((row, seat));
                }
            }
            thread::sleep(Duration::from_millis(group.rest_ms));
            let mut all: Vec<_> = own.iter_mut().map(|(row, seat)| (*row, seat)).collect();
            self.measure_in_turns(at, section, group.rounds, &mut all);
            return own.iter_mut().try_for_each(|(_, seat)| seat.end());
        }
        let mut seats = self.seats(at)?;
        for seat in seats.iter_mut().filter(|seat| !group.fresh && !seat.entry.is_null()) {
            seat.running = self.start(at, seat.entry, None);
            seat.pause(group.alone);
        }
        for row in &rows {
            let is_for_null = row.null_reply().is_some();
            let asked = seats.iter_mut().filter(|seat| is_for_null || !seat.entry.is_null());
            let mut all: Vec<_> = asked.map(|seat| (row, seat)).collect();
            self.measure_in_turns(at, section, row.rounds, &mut all);
        }
        seats.iter_mut().try_for_each(Seat::end)
    }

    /// Measures rows on servers in turns, and shows them.
    fn measure_in_turns<'p>(
        &'p self,
        at: &At<'p>,
        section: &mut Section,
        rounds: Option<usize>,
        all: &mut [(&Row, &mut Seat<'p>)],
    ) {
        let group = at.group;
        let measured = in_turns(all, rounds.unwrap_or(self.rounds), |(row, seat), round| {
            if group.fresh || round == 1 && seat.entry.is_null() && !group.apart {
                seat.running = self.start(at, seat.entry, Some(row));
            }
            if let (true, 1, Ok(running)) = (group.apart, round, &mut seat.running) {
                running.take_all(&group.rested)?;
            }
            seat.pause(false);
            let measured = self.measure_row(group, row, seat, round);
            seat.pause(group.alone);
            if group.fresh && measured.is_err() {
                // It may end by itself, which is told when it is dropped.
                seat.running = Err(anyhow!("it failed"));
            } else if group.fresh {
                seat.end()?;
            }
            measured
        });
        for ((row, seat), rounds) in all.iter().zip(measured) {
            self.show(section, row, &at.numbers.filled(&row.name), &seat.label, rounds);
        }
    }

    /// Returns the rows of a group, for each pipeline if there are some. Numbers that one row has
    /// for itself are for the others those of the group.
    fn rows(&self, group: &Group) -> Vec<Row> {
        let mut outer = self.numbers.clone();
        outer.extend(group.numbers.clone());
        outer.retain(|name, _| group.rows.iter().any(|row| row.numbers.contains_key(name)));
        let with_outer = |row: &Row| {
            let numbers = outer.clone().into_iter().chain(row.numbers.clone()).collect();
            Row { numbers, ..row.clone() }
        };
        let rows: Vec<_> = group.rows.iter().map(with_outer).collect();
        if self.pipelines.is_empty() {
            return rows;
        }
        let at_pipeline = |pipeline: u32| {
            rows.clone().into_iter().map(move |mut row| {
                row.numbers.insert("pipeline".to_owned(), pipeline.into());
                row.name += &format!("{PIPELINE}{pipeline}");
                row
            })
        };
        self.pipelines.iter().copied().flat_map(at_pipeline).collect()
    }

    /// Returns the servers of a group that are there and have enough cores, before they are
    /// started.
    fn seats<'p>(&'p self, at: &At<'p>) -> Result<Vec<Seat<'p>>> {
        let of_group = &at.group.servers;
        let servers = if of_group.is_empty() { &self.servers } else { of_group };
        let mut seats = Vec::new();
        for entry in servers.iter().filter(|entry| entry.cores() <= process::cores()) {
            let Some(Place { program, .. }) = entry.place(at.bench)? else { continue };
            let mut numbers = at.numbers.clone();
            numbers.add(&entry.numbers)?;
            let label = numbers.filled(&program.label);
            seats.push(Seat { entry, label, running: Err(anyhow!("not started")) });
        }
        Ok(seats)
    }

    /// Starts a server, for one row or for all, and takes the first steps of its group; the null
    /// server has none, and may get a reply of the row's.
    fn start<'p>(&'p self, at: &At<'p>, entry: &Entry, row: Option<&Row>) -> Result<Running<'p>> {
        let mut numbers = at.numbers.clone();
        if let Some(row) = row {
            numbers.add(&row.numbers)?;
            numbers.set_text("row", row.name.clone());
        }
        numbers.add(&entry.numbers)?;
        let mut place = entry.place(at.bench)?.context("it is not there")?;
        let reply = row.and_then(Row::null_reply).unwrap_or_default();
        if entry.is_null() && !reply.is_empty() {
            place.program = place.program.with_arguments(&["--always", &reply]);
        }
        let mut running = Running::start(at.bench, &self.routines, place, numbers)?;
        if !entry.is_null() {
            running.take_all(&at.group.first)?;
        }
        Ok(running)
    }

    fn measure_row(
        &self,
        group: &Group,
        row: &Row,
        seat: &mut Seat<'_>,
        round: u64,
    ) -> Result<Measured> {
        let running = seat.running.as_mut().map_err(|error| anyhow!("{error:#}"))?;
        running.values.add(&row.numbers)?;
        running.values.set_text("row", row.name.clone());
        running.values.set("round", round as f64);
        running.take_all(row.steps.as_ref().unwrap_or(&group.steps))?;
        row.replies.map_or(Ok(()), |it| it.check(&running.values))?;
        let sums = self.sums(row).map(|(_, sum)| running.values.compute(sum));
        let values = sums.collect::<Result<_>>()?;
        let words = row.remark.as_ref().or(group.remark.as_ref());
        let refused = mem::take(&mut running.refusals).join("; ");
        let words = words.map(|it| running.values.filled(it));
        let words = words.or((!refused.is_empty()).then_some(refused));
        Ok((values, words, mem::take(&mut running.points)))
    }

    /// Returns what is computed for a row: which of the rounds counts, if not their median, and the
    /// sum.
    fn sums<'p>(&'p self, row: &'p Row) -> impl Iterator<Item = (Option<&'p str>, &'p str)> {
        let sums = row.values.as_ref().unwrap_or(&self.values).iter();
        sums.map(|it| it.split_once(": ").map_or((None, &**it), |(which, it)| (Some(which), it)))
    }

    fn show(
        &self,
        section: &mut Section,
        row: &Row,
        name: &str,
        server: &str,
        rounds: Result<Vec<Measured>>,
    ) {
        let server = if section.has_servers() { server } else { "" };
        let rounds = match rounds {
            Ok(rounds) => rounds,
            Err(error) => return section.absent(name, server, &error),
        };
        let columns = self.sums(row).enumerate().map(|(at, (which, _))| {
            let of_rounds = rounds.iter().map(|(values, ..)| values[at]);
            match which {
                Some("most") => of_rounds.reduce(f64::max).into_iter().collect(),
                Some(_) => of_rounds.reduce(f64::min).into_iter().collect(),
                None => of_rounds.collect::<Vec<_>>(),
            }
        });
        section.measured(name, server, &columns.collect::<Vec<_>>());
        let Some((_, words, points)) = rounds.last() else { return };
        match words {
            Some(words) if section.digits.last() == Some(&None) => section.remark(words.clone()),
            Some(words) => {
                let note = format!("{server}: {words}.");
                if !section.notes.contains(&note) {
                    section.note(note);
                }
            }
            None => {}
        }
        let is_measured = |point: &&Point| point.at.iter().all(|it| it.is_finite());
        for Point { plot, axes: [x, y], at } in points.iter().filter(is_measured) {
            section.plot(Plot::lines(plot, x, y)).point(server, at[0], at[1]);
        }
    }
}

impl Row {
    /// Returns the reply of the null server; an empty one for those that it has.
    fn null_reply(&self) -> Option<String> {
        self.replies.map(Replies::example).or_else(|| self.null.clone())
    }
}

impl Seat<'_> {
    fn pause(&self, is_paused: bool) {
        let _ = self.running.as_ref().map(|it| it.server.pause(is_paused));
    }

    /// Ends the server; ours by itself: an attack, for one, must leave it able to.
    fn end(&mut self) -> Result<()> {
        self.pause(false);
        match mem::replace(&mut self.running, Err(anyhow!("it has ended"))) {
            Ok(mut running) if running.server.kind == Kind::Varve => running.end(),
            _ => Ok(()),
        }
    }
}

fn cost_columns() -> String {
    "load | server | CPU us/op .3 | op/s .0 | p50 us .0 | p99 us .0 | client us/op .3 | \
     of valkey .2 | of redis .2 | of null .2"
        .to_owned()
}

/// What a load costs the server and the client.
fn cost_values() -> Vec<String> {
    ["us", "per_second", "p50", "p99", "client_us"].map(|it| format!("{COST}.{it}")).into()
}

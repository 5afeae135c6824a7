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
//! servers = ["varve", "valkey"]    # as in kind `loads`
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
//! | `do` | takes the steps that `parameters.routines` has by this name |
//! | `other` | takes steps on a second server of the program, which stays until the first ends |
//! | `beside` | takes steps beside loads, or beside a busy process on the server's core |
//! | `peak` | takes steps: the most memory meanwhile, in bytes |
//! | `join`, `leave` | connects clients that stay until they leave or the server ends |
//! | `tell`, `check` | a command without an error; one with the answer as its last word |
//! | `peers` | settings of Valkey and Redis, which may refuse them: the report says so |
//! | `config` | settings by name, whose values may have blanks |
//! | `ask` | by name: the answer, `NAME.ms` of the client and `NAME.cpu_ms` of the server |
//! | `info`, `micros` | by name: a field of INFO; microseconds of a command, as INFO tells them |
//! | `memory`, `cpu`, `keys` | resident memory in bytes, CPU time in seconds, number of keys |
//! | `records` | stores those of a workload of YCSB |
//! | `written` | many requests in one write, whose replies are read then, with pauses |
//! | `pairs` | clients that wait for each other: `NAME.us` for an exchange, and others |
//! | `unit` | transactions that were written beforehand: `NAME.longest_ms` of EXEC |
//! | `point` | a point of a plot, in which each server has a line |
//! | `let`, `say`, `clock` | computed numbers; words; the time in seconds |
//! | `append` | what the disk does without a server: `NAME.per_second`, `NAME.longest` |
//! | `benchmark` | what valkey-benchmark sees of a load of GETs: `NAME.first_p50` and others |
//! | `saved` | waits until a snapshot has its name: the time in seconds |
//! | `wait`, `repeat` | milliseconds; steps again and again, `while` something is above zero |
//! | `start`, `end` | another server with more options; the end of the server, when it is asked |

mod pairs;
mod run;
mod steps;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, thread};

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use super::place::{Entry, servers};
use super::rounds::in_turns;
use super::{Bench, Scenario, peers_missing, pin_client};
use crate::process;
use crate::report::Section;
use crate::servers::Kind;
use run::Running;
use steps::{Point, Steps};
use values::Values;

#[derive(Clone, Debug, Deserialize)]
pub struct Plan {
    #[serde(default = "super::data::one")]
    rounds: usize,
    columns: String,
    #[serde(deserialize_with = "servers")]
    servers: Vec<Entry>,
    #[serde(default)]
    values: Vec<String>,
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
    /// line it is left out.
    null: Option<String>,
    #[serde(flatten)]
    numbers: toml::Table,
}

/// A server of a group, or the reason why there is none.
struct Seat<'p> {
    entry: &'p Entry,
    label: String,
    running: Result<Running>,
}

/// Values of a row in one round, the words beside them, and what is plotted.
type Measured = (Vec<f64>, Option<String>, Vec<Point>);

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        let of_groups = self.groups.iter().flat_map(|group| &group.servers);
        let cores = self.servers.iter().chain(of_groups).map(Entry::cores).max().unwrap_or(1);
        pin_client(cores);
        section.columns(&self.columns);
        if cores >= process::cores() {
            section.note("The clients share a core with servers on all of them.");
        }
        peers_missing(section, bench);
        let mut numbers = Values::default();
        numbers.add(&self.numbers)?;
        self.groups.iter().try_for_each(|group| self.measure(bench, section, group, &numbers))
    }
}

impl Plan {
    /// Measures the rows of a group, one after the other.
    fn measure(
        &self,
        bench: &Bench,
        section: &mut Section,
        group: &Group,
        numbers: &Values,
    ) -> Result<()> {
        let mut numbers = numbers.clone();
        numbers.add(&group.numbers)?;
        if group.apart {
            return self.measure_apart(bench, section, group, &numbers);
        }
        let mut seats = self.seats(bench, group)?;
        for seat in seats.iter_mut().filter(|seat| !group.fresh && !seat.entry.is_null()) {
            seat.running = self.start(bench, group, seat.entry, None, numbers.clone());
        }
        for row in &group.rows {
            let is_asked = |it: &&mut Seat<'_>| row.null.is_some() || !it.entry.is_null();
            let mut seats: Vec<_> = seats.iter_mut().filter(is_asked).collect();
            let all = in_turns(&mut seats, row.rounds.unwrap_or(self.rounds), |seat, round| {
                let mut own = numbers.clone();
                own.add(&row.numbers)?;
                if group.fresh || seat.entry.is_null() {
                    let reply = row.null.as_deref();
                    seat.running = self.start(bench, group, seat.entry, reply, own);
                }
                let measured = self.measure_row(group, row, seat, round);
                if group.fresh && measured.is_err() {
                    // It may end by itself, which is told when it is dropped.
                    seat.running = Err(anyhow!("it failed"));
                } else if group.fresh {
                    seat.end()?;
                }
                measured
            });
            let labels = seats.iter().map(|seat| &seat.label);
            let name = numbers.filled(&row.name);
            for (label, rounds) in labels.zip(all) {
                self.show(section, row, &name, label, rounds);
            }
        }
        seats.iter_mut().try_for_each(Seat::end)
    }

    /// Measures all rows of a group on all servers in turns.
    fn measure_apart(
        &self,
        bench: &Bench,
        section: &mut Section,
        group: &Group,
        numbers: &Values,
    ) -> Result<()> {
        let mut all = Vec::new();
        for row in &group.rows {
            for mut seat in self.seats(bench, group)? {
                let mut own = numbers.clone();
                own.add(&row.numbers)?;
                own.say("row", row.name.clone());
                seat.running = self.start(bench, group, seat.entry, None, own);
                all.push((row, seat));
            }
        }
        thread::sleep(Duration::from_millis(group.rest_ms));
        let rounds = group.rounds.unwrap_or(self.rounds);
        let measured = in_turns(&mut all, rounds, |(row, seat), round| {
            if let (1, Ok(running)) = (round, &mut seat.running) {
                running.take_all(&group.rested)?;
            }
            self.measure_row(group, row, seat, round)
        });
        for ((row, seat), rounds) in all.iter().zip(measured) {
            self.show(section, row, &numbers.filled(&row.name), &seat.label, rounds);
        }
        all.iter_mut().try_for_each(|(_, seat)| seat.end())
    }

    /// Returns the servers of a group that are there, before they are started.
    fn seats<'p>(&'p self, bench: &Bench, group: &'p Group) -> Result<Vec<Seat<'p>>> {
        let seat = |entry: &'p Entry| {
            let label = entry.place(bench)?.map(|place| place.program.label);
            Ok(label.map(|label| Seat { entry, label, running: Err(anyhow!("not started")) }))
        };
        let servers = if group.servers.is_empty() { &self.servers } else { &group.servers };
        servers.iter().filter_map(|entry| seat(entry).transpose()).collect()
    }

    /// Starts a server and takes the first steps of its group; the null server has none, and may
    /// get a reply of the row's.
    fn start(
        &self,
        bench: &Bench,
        group: &Group,
        entry: &Entry,
        reply: Option<&str>,
        values: Values,
    ) -> Result<Running> {
        let mut place = entry.place(bench)?.context("it is not there")?;
        if let Some(reply) = reply.filter(|it| entry.is_null() && !it.is_empty()) {
            place.program = bench.null_answering(reply);
        }
        let mut running = Running::start(place, values, Arc::new(self.routines.clone()))?;
        if !entry.is_null() {
            running.take_all(&group.first)?;
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
        running.values.say("row", row.name.clone());
        running.values.set("round", round as f64);
        running.take_all(row.steps.as_ref().unwrap_or(&group.steps))?;
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
        for Point { plot, axes: [x, y], at } in points.iter().filter(|it| it.is_measured()) {
            section.plot_of(plot, x, y).point(server, at[0], at[1]);
        }
    }
}

impl Seat<'_> {
    /// Ends the server; ours by itself: an attack, for one, must leave it able to.
    fn end(&mut self) -> Result<()> {
        match mem::replace(&mut self.running, Err(anyhow!("it has ended"))) {
            Ok(mut running) if running.server.kind == Kind::Varve => running.end(),
            _ => Ok(()),
        }
    }
}

//! Cost of packed and large forms of the same integers in hashes and lists, by their size, and of
//! LPUSH and LPOP by the length of the list: all servers in turns.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use super::expect;
use crate::generator::{KeyChoice, Load, Value};
use crate::measure::measure;
use crate::report::{Plot, Section};
use crate::scenario::rounds::{cell, in_turns, row};
use crate::scenario::{Bench, Scenario, pin_client};
use crate::servers::{Launch, Program, Server};
use crate::statistics::median;

/// Forms of collections, and what is measured in turns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Forms by their names.
    forms: BTreeMap<String, Form>,
    groups: Vec<Group>,
}

/// Form of a collection; `SIZE` in requests stands for its number of elements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    /// Name and value of the setting that leads to it.
    setting: Option<[String; 2]>,
    put: String,
    take: String,
    /// Command that counts the elements of the first collection.
    count: String,
    /// True if elements are taken in order until nothing is left; otherwise a quarter is taken, at
    /// random.
    #[serde(default)]
    empties: bool,
}

/// Collections that are measured in turns; all of them rest at the same time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    forms: Vec<String>,
    /// Elements of one collection, as far as there are as many.
    sizes: Vec<u64>,
    /// Elements of all collections of a size together.
    elements: u64,
    /// Number of times that all of them are filled and taken.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        let programs: Vec<_> = bench.varve_and_peers().collect();
        let mut costs = Costs(Vec::new());
        for group in &self.groups {
            for (case, rounds) in self.measure(&programs, group)? {
                let cost = rounds.map(|rounds| (rounds[0].0.clone(), cost(&rounds)));
                let cells = cost.as_ref().map(|(encoding, cost)| {
                    let all = [USAGE, PUT, TAKE].map(|of| cost[of] * case.size as f64 / 1000.0);
                    let numbers = cost.iter().chain(&all).zip([1, 1, 3, 3, 1, 1, 1]);
                    let numbers = numbers.map(|(number, digits)| cell(&[*number], digits));
                    [encoding.clone()].into_iter().chain(numbers).collect()
                });
                row(section, &format!("{} of {}", case.form, case.size), &case.program, cells);
                costs.0.extend(cost.ok().map(|(_, cost)| (case, cost)));
            }
        }
        costs.figures(section);
        costs.plots(section);
        Ok(())
    }
}

/// Collections of one form and size in one server.
struct Case {
    program: String,
    form: String,
    size: u64,
}

/// Encoding and cost of one round.
type Round = (String, Cost);

impl Plan {
    fn measure(
        &self,
        programs: &[&Program],
        group: &Group,
    ) -> Result<Vec<(Case, Result<Vec<Round>>)>> {
        let (mut cases, mut filled) = (Vec::new(), Vec::new());
        for name in &group.forms {
            let form = self.forms.get(name).with_context(|| format!("no form {name:?}"))?;
            for size in group.sizes.iter().copied().filter(|size| *size <= group.elements) {
                for program in programs {
                    let label = program.label.clone();
                    cases.push(Case { program: label, form: name.clone(), size });
                    filled.push(Filled::start(program, form, size, group.elements));
                }
            }
        }
        thread::sleep(REST);
        let rounds = in_turns(&filled, group.rounds, |filled, round| {
            filled.as_ref().map_err(|error| anyhow!("{error:#}"))?.round(round)
        });
        Ok(cases.into_iter().zip(rounds).collect())
    }
}

/// Server that was filled once.
struct Filled<'p> {
    server: Server,
    form: &'p Form,
    size: u64,
    elements: u64,
    /// Resident bytes before loading.
    before: u64,
    put_us: f64,
}

impl<'p> Filled<'p> {
    fn start(program: &Program, form: &'p Form, size: u64, elements: u64) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        if let Some([name, value]) = &form.setting {
            server.control()?.tell(&["CONFIG", "SET", name, value])?;
        }
        // Gives the clients their buffers beforehand.
        measure(&server, &Load::of("EXISTS nothing", 1).count(16_000))?;
        let (before, elements) = (server.resident_bytes()?, elements / size * size);
        let mut filled = Self { server, form, size, elements, before, put_us: 0.0 };
        filled.put_us = filled.put()?;
        Ok(filled)
    }

    fn load(&self, request: &str) -> Load {
        Load::of(request.replace("SIZE", &self.size.to_string()), self.elements)
    }

    /// Puts all elements; returns microseconds for each.
    fn put(&self) -> Result<f64> {
        let put = self.load(&self.form.put).choosing(KeyChoice::Sequential).count(self.elements);
        let put_us = measure(&self.server, &put)?.server_us();
        expect(&self.server, &format!("{} {FIRST}", self.form.count), self.size)?;
        Ok(put_us)
    }

    fn round(&self, round: u64) -> Result<Round> {
        let put_us = if round == 1 { self.put_us } else { self.put()? };
        let mut control = self.server.control()?;
        let usage = match control.ask(&["MEMORY", "USAGE", FIRST, "SAMPLES", "0"])? {
            Value::Integer(bytes) => bytes as f64 / self.size as f64,
            _ => f64::NAN,
        };
        let encoding = control.text(&["OBJECT", "ENCODING", FIRST])?;
        let resident = self.server.resident_bytes()?.saturating_sub(self.before) as f64;
        let take = self.load(&self.form.take);
        let take = match self.form.empties {
            true => take.choosing(KeyChoice::Sequential).count(self.elements),
            false => take.count(self.elements.div_ceil(4)),
        };
        let take_us = measure(&self.server, &take)?.server_us();
        if self.form.empties {
            expect(&self.server, "DBSIZE", 0)?;
        }
        let cost = [usage, resident / self.elements as f64, put_us, take_us];
        Ok((encoding.unwrap_or_else(|| "-".to_owned()), cost))
    }
}

/// Cost of one element: bytes by MEMORY USAGE, resident bytes, and microseconds of the server for
/// putting and for taking it.
type Cost = [f64; 4];
const USAGE: usize = 0;
const RESIDENT: usize = 1;
const PUT: usize = 2;
const TAKE: usize = 3;

/// Returns the cost of some rounds: memory as it was at rest in the first, medians of the times.
fn cost(rounds: &[Round]) -> Cost {
    let all = |of: usize| median(rounds.iter().map(|(_, cost)| cost[of]).collect());
    [rounds[0].1[USAGE], rounds[0].1[RESIDENT], all(PUT), all(TAKE)]
}

struct Costs(Vec<(Case, Cost)>);

impl Costs {
    /// Returns the cost of the collections that the article has too.
    fn of(&self, program: &str, form: &str) -> Option<&Cost> {
        let is_it = |it: &Case| it.program == program && it.form == form && it.size == ARTICLE;
        self.0.iter().find(|(case, _)| is_it(case)).map(|(_, cost)| cost)
    }

    fn ratio(&self, program: &str, [form, to]: [&str; 2], of: usize) -> Option<f64> {
        Some(self.of(program, form)?[of] / self.of(program, to)?[of])
    }

    fn figures(&self, section: &mut Section) {
        for (what, forms, of) in RATIOS {
            section.finding(what, self.ratio("varve", forms, of), "");
        }
        let lists = self.0.iter().filter(|(it, _)| it.program == "varve" && it.form == "list");
        let takes: Vec<f64> = lists.map(|(_, cost)| cost[TAKE]).collect();
        let most = takes.iter().copied().reduce(f64::max);
        let ratio =
            most.zip(takes.iter().copied().reduce(f64::min)).map(|(most, least)| most / least);
        section.finding("CPU of LPOP by length of the list, most / least", ratio, "");
        for form in ["packed hash", "large hash", "packed list", "linked list"] {
            for (what, of, unit) in
                [("memory", USAGE, "KB"), ("put all", PUT, "ms"), ("take all", TAKE, "ms")]
            {
                let all = self.of("varve", form).map(|cost| cost[of] * ARTICLE as f64 / 1000.0);
                section.finding(format!("{form} of 10,000 integers: {what}"), all, unit);
            }
        }
    }

    fn plots(&self, section: &mut Section) {
        let mut memory = Plot::bars("Resident bytes per element", Vec::new(), "bytes");
        // A packed hash is searched from its start.
        let take = Plot::bars("Server CPU of HGET and LPOP", Vec::new(), "microseconds");
        let mut take = take.log_y();
        let [mut puts, mut takes] = ["HSET", "HGET"].map(|command| {
            let title = format!("Server CPU of {command} by size of the hash");
            Plot::lines(title, "fields", "microseconds").log_x().log_y()
        });
        for (Case { program, form, size }, cost) in &self.0 {
            let is_hash = form.ends_with("hash");
            if *size == ARTICLE || !is_hash {
                let group = format!("{form} of {size}");
                memory.bar(program, &group, cost[RESIDENT]);
                take.bar(program, &group, cost[TAKE]);
            }
            if is_hash {
                let line = format!("{program}, {form}");
                puts.point(&line, *size as f64, cost[PUT]);
                takes.point(&line, *size as f64, cost[TAKE]);
            }
        }
        section.plots.extend([memory, take, puts, takes]);
    }
}

/// Elements of the article's collections.
const ARTICLE: u64 = 10_000;
/// Ratios of two forms' costs.
const RATIOS: [(&str, [&str; 2], usize); 6] = [
    ("hash of 10,000 integers: MEMORY USAGE, large / packed", LARGE_TO_PACKED, USAGE),
    ("hash of 10,000 integers: resident memory, large / packed", LARGE_TO_PACKED, RESIDENT),
    ("hash of 10,000 integers: CPU of HSET, packed / large", PACKED_TO_LARGE, PUT),
    ("hash of 10,000 integers: CPU of HGET, packed / large", PACKED_TO_LARGE, TAKE),
    ("list of 10,000 integers: MEMORY USAGE, linked / packed", LINKED_TO_PACKED, USAGE),
    ("list of 10,000 integers: CPU of LPOP, packed / linked", PACKED_TO_LINKED, TAKE),
];
const LARGE_TO_PACKED: [&str; 2] = ["large hash", "packed hash"];
const PACKED_TO_LARGE: [&str; 2] = ["packed hash", "large hash"];
const LINKED_TO_PACKED: [&str; 2] = ["linked list", "packed list"];
const PACKED_TO_LINKED: [&str; 2] = ["packed list", "linked list"];
/// Key of the first collection.
const FIRST: &str = "all:0000000";
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 10] = [
    "form",
    "server",
    "encoding",
    "MEMORY USAGE B/element",
    "resident B/element",
    "put us",
    "take us",
    "KB of one",
    "put all ms",
    "take all ms",
];

//! Cost of packed and large forms of the same integers in hashes and lists, by their size, and of
//! LPUSH and LPOP by the length of the list: all servers in turns.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use super::data::check;
use super::rounds::in_turns;
use super::{Bench, Scenario, pin_client};
use crate::generator::{KeyChoice, Load, Value};
use crate::measure::measure;
use crate::report::Section;
use crate::servers::{Launch, Program, Server};

/// Forms of collections, and what is measured in turns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
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
        section.columns(COLUMNS);
        let programs: Vec<_> = bench.varve_and_peers().collect();
        for group in &self.groups {
            self.measure(section, &programs, group)?;
        }
        Ok(())
    }
}

impl Plan {
    fn measure(&self, section: &mut Section, programs: &[&Program], group: &Group) -> Result<()> {
        let (mut names, mut filled) = (Vec::new(), Vec::new());
        for name in &group.forms {
            let form = self.forms.get(name).with_context(|| format!("no form {name:?}"))?;
            for size in group.sizes.iter().copied().filter(|size| *size <= group.elements) {
                for program in programs {
                    names.push((format!("{name} of {size}"), &program.label, size));
                    filled.push(Filled::start(program, form, size, group.elements));
                }
            }
        }
        thread::sleep(REST);
        let rounds = in_turns(&mut filled, group.rounds, |filled, round| {
            filled.as_ref().map_err(|error| anyhow!("{error:#}"))?.round(round)
        });
        for ((name, label, size), rounds) in names.iter().zip(rounds) {
            match rounds {
                Ok(rounds) => show(section, name, label, *size, &rounds),
                Err(error) => section.absent(name, label, &error),
            }
        }
        Ok(())
    }
}

/// Shows memory as it was at rest, in the first round, and the times of all.
fn show(section: &mut Section, name: &str, server: &str, size: u64, rounds: &[Round]) {
    let first = |at: usize| vec![rounds[0].1[at]];
    let all = |at: usize| rounds.iter().map(|(_, costs)| costs[at]).collect::<Vec<_>>();
    let of_one =
        |costs: &[f64]| costs.iter().map(|it| it * size as f64 / 1000.0).collect::<Vec<_>>();
    let ([usage, resident], [put, take]) = ([0, 1].map(first), [2, 3].map(all));
    let of_ones = [&usage, &put, &take].map(|it| of_one(it));
    section.measured(name, server, &[&[usage, resident, put, take][..], &of_ones].concat());
    section.remark(rounds[0].0.clone());
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
        check(&self.server, &[format!("{} {FIRST} KEYS", self.form.count)], self.size)?;
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
            check(&self.server, &["DBSIZE 0".to_owned()], 0)?;
        }
        let cost = [usage, resident / self.elements as f64, put_us, take_us];
        Ok((encoding.unwrap_or_else(|| "-".to_owned()), cost))
    }
}

/// Encoding, and the cost of one element in one round: bytes by MEMORY USAGE, resident bytes, and
/// microseconds of the server for putting and for taking it.
type Round = (String, [f64; 4]);

/// Key of the first collection.
const FIRST: &str = "all:0000000";
const REST: Duration = Duration::from_secs(5);
const COLUMNS: &str = "form | server | MEMORY USAGE B/element .1 | resident B/element .1 | \
    put us .3 | take us .3 | KB of one .1 | put all ms .1 | take all ms .1 | encoding";

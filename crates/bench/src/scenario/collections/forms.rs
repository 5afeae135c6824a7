//! Cost of a large form of a hash beside a packed one of the same 10,000 integers, and cost of
//! LPUSH and LPOP by the length of the list, all servers and lengths in turns.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::absent;
use super::store::expect;
use crate::control::Reply;
use crate::generator::{Generator, KeyChoice, Script, ScriptShape, Stop};
use crate::report::{Plot, Section};
use crate::scenario::measure::{Measured, measure_source};
use crate::scenario::{Bench, Scale, Scenario, pin_client};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Amount of data that is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Hashes of 10,000 fields.
    pub hashes: u64,
    /// Elements in all lists of one length together.
    pub elements: u64,
    /// Number of times that each list is filled and emptied, in turns with the others.
    pub rounds: usize,
}

impl Plan {
    fn lengths(&self) -> impl Iterator<Item = u64> {
        [1000, 10_000, 100_000, 1_000_000].into_iter().filter(|length| *length <= self.elements)
    }
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { hashes: scale.of(self.hashes), elements: scale.of(self.elements), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} hashes of 10,000 integers with integers as values, packed \
             (hash-max-listpack-entries {PACKED_ENTRIES}) and large ({LARGE_ENTRIES}); {} \
             integers in lists of each length. Put: HSET, LPUSH. Take: HGET, LPOP. CPU of the \
             server.",
            self.hashes, self.elements,
        ));
        let mut plots = Plots::new();
        let mut hashes = self.hashes(bench).into_iter();
        let mut lists = self.lists(bench).into_iter();
        for program in bench.varve_and_peers() {
            let mut forms = Vec::new();
            for ((name, _), hashes) in HASHES.iter().zip(&mut hashes) {
                let form = row(section, name, program, &hashes);
                plots.draw(&program.label, name, form.as_ref());
                forms.push(form);
            }
            let mut takes = Vec::new();
            for (length, list) in self.lengths().zip(&mut lists) {
                let name = format!("list of {length}");
                let form = row(section, &name, program, &list.and_then(Lists::form));
                plots.draw(&program.label, &name, form.as_ref());
                takes.push(form.map(|form| form.take_us));
            }
            if program.kind == Kind::Varve {
                hash_figures(section, &forms);
                list_figure(section, &takes);
            }
        }
        section.plot(plots.memory);
        section.plot(plots.take);
        Ok(())
    }
}

struct Plots {
    memory: Plot,
    take: Plot,
}

impl Plots {
    fn new() -> Self {
        let take = Plot::bars("Server CPU of HGET and LPOP", Vec::new(), "microseconds");
        Self {
            memory: Plot::bars("Resident bytes per element", Vec::new(), "bytes"),
            // A packed hash is searched from its start.
            take: take.log_y(),
        }
    }

    fn draw(&mut self, label: &str, name: &str, form: Option<&Form>) {
        let Some(form) = form else { return };
        self.memory.bar(label, name, form.resident);
        self.take.bar(label, name, form.take_us);
    }
}

/// Adds a row; returns the measurement, if there is one.
fn row(section: &mut Section, name: &str, program: &Program, form: &Result<Form>) -> Option<Form> {
    let cells = match form {
        Ok(form) => form.cells(),
        Err(error) => vec![absent(section, name, error)],
    };
    section.row([name.to_owned(), program.label.clone()].into_iter().chain(cells));
    form.as_ref().ok().cloned()
}

fn hash_figures(section: &mut Section, forms: &[Option<Form>]) {
    let ratio = |of: fn(&Form) -> f64| {
        let [packed, large] = forms else { return None };
        Some(of(large.as_ref()?) / of(packed.as_ref()?))
    };
    let memory = [
        ("MEMORY USAGE", ratio(|form| form.usage)),
        ("resident memory", ratio(|form| form.resident)),
    ];
    for (name, ratio) in memory {
        let what = format!("hash of 10,000 integers: {name}, large / packed");
        section.finding(what, ratio, "");
    }
    let speed = [("HSET", ratio(|form| form.put_us)), ("HGET", ratio(|form| form.take_us))];
    for (name, ratio) in speed {
        let what = format!("hash of 10,000 integers: CPU of {name}, packed / large");
        section.gain(what, ratio.map(|ratio| 1.0 / ratio), "");
    }
}

fn list_figure(section: &mut Section, takes: &[Option<f64>]) {
    let all = takes.iter().copied().collect::<Option<Vec<f64>>>();
    let ratio = all.map(|all| {
        let most = all.iter().copied().fold(0.0, f64::max);
        most / all.iter().copied().fold(f64::INFINITY, f64::min)
    });
    section.finding("CPU of LPOP by length of the list, most / least", ratio, "");
}

/// Cost of elements in one form.
#[derive(Clone)]
struct Form {
    /// Answer of OBJECT ENCODING.
    encoding: String,
    /// Bytes per element, from MEMORY USAGE.
    usage: f64,
    /// Resident bytes per element.
    resident: f64,
    put_us: f64,
    take_us: f64,
}

impl Form {
    fn cells(&self) -> Vec<String> {
        vec![
            self.encoding.clone(),
            format!("{:.1}", self.usage),
            format!("{:.1}", self.resident),
            format!("{:.3}", self.put_us),
            format!("{:.3}", self.take_us),
        ]
    }
}

/// Server with all hashes in one form.
struct Hashes {
    server: Server,
    /// Fields of all hashes.
    fields: u64,
    /// Resident bytes before loading.
    before: u64,
    put_us: f64,
}

impl Hashes {
    fn put(program: &Program, plan: &Plan, packed_entries: u64) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let before = resident_before(&server)?;
        let setting = ["CONFIG", "SET", "hash-max-listpack-entries", &packed_entries.to_string()];
        if let Reply::Error(text) = server.control()?.ask(&setting)? {
            bail!("{text}");
        }
        let fields = plan.hashes * FIELDS;
        let put = ScriptShape::new(format!("HSET {PLACE} {{n%{FIELDS}}}"), fields);
        let put_us = measure(&server, put, fields)?.server_us;
        expect(&server, "HLEN hash:0000", FIELDS)?;
        Ok(Self { server, fields, before, put_us })
    }

    fn take(self) -> Result<Form> {
        let Self { server, fields, before, put_us } = self;
        let (usage, encoding) = look_at(&server, "hash:0000")?;
        let resident = server.resident_bytes()?.saturating_sub(before) as f64 / fields as f64;
        let take = ScriptShape::new(format!("HGET {PLACE}"), fields).of(KeyChoice::Uniform);
        let take_us = all_found(measure(&server, take, fields / 4)?)?;
        Ok(Form { encoding, usage: usage / FIELDS as f64, resident, put_us, take_us })
    }
}

impl Plan {
    /// Measures the hashes of each server in each form; all rest at the same time.
    fn hashes(&self, bench: &Bench) -> Vec<Result<Form>> {
        let of_all_forms =
            |program| HASHES.iter().map(move |(_, entries)| Hashes::put(program, self, *entries));
        let all: Vec<_> = bench.varve_and_peers().flat_map(of_all_forms).collect();
        thread::sleep(REST);
        all.into_iter().map(|hashes| hashes?.take()).collect()
    }

    /// Measures the lists of each server by their lengths.
    fn lists(&self, bench: &Bench) -> Vec<Result<Lists>> {
        let of_all_lengths = |program| self.lengths().map(move |it| Lists::start(program, it));
        let mut all: Vec<_> = bench.varve_and_peers().flat_map(of_all_lengths).collect();
        for round in 0..self.rounds {
            each(&mut all, |lists| lists.fill(self.elements));
            if round == 0 {
                thread::sleep(REST);
                each(&mut all, |lists| lists.look(self.elements));
            }
            each(&mut all, |lists| lists.empty(self.elements));
        }
        all
    }
}

/// Calls `act` for each server; a server that fails is left out from then on.
fn each(all: &mut [Result<Lists>], mut act: impl FnMut(&mut Lists) -> Result<()>) {
    for lists in all {
        if let Err(error) = lists.as_mut().map_or(Ok(()), &mut act) {
            *lists = Err(error);
        }
    }
}

/// Server that has all its elements in lists of one length, or none.
struct Lists {
    server: Server,
    length: u64,
    /// Resident bytes before loading.
    before: u64,
    /// Answers of MEMORY USAGE and OBJECT ENCODING, and resident bytes per element.
    looked: Option<(f64, String, f64)>,
    puts: Vec<f64>,
    takes: Vec<f64>,
}

impl Lists {
    fn start(program: &Program, length: u64) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let before = resident_before(&server)?;
        Ok(Self { server, length, before, looked: None, puts: Vec::new(), takes: Vec::new() })
    }

    fn fill(&mut self, elements: u64) -> Result<()> {
        let put = ScriptShape::new(format!("LPUSH {} {{n}}", self.key()), elements);
        self.puts.push(measure(&self.server, put, elements)?.server_us);
        expect(&self.server, "LLEN list:0000", self.length)
    }

    fn look(&mut self, elements: u64) -> Result<()> {
        let (usage, encoding) = look_at(&self.server, "list:0000")?;
        let used = self.server.resident_bytes()?.saturating_sub(self.before);
        self.looked = Some((usage, encoding, used as f64 / elements as f64));
        Ok(())
    }

    fn empty(&mut self, elements: u64) -> Result<()> {
        let take = ScriptShape::new(format!("LPOP {}", self.key()), elements);
        self.takes.push(all_found(measure(&self.server, take, elements)?)?);
        expect(&self.server, "DBSIZE", 0)
    }

    fn key(&self) -> String {
        format!("list:{{n/{}:4}}", self.length)
    }

    fn form(self) -> Result<Form> {
        let (usage, encoding, resident) = self.looked.context("no round")?;
        let (put_us, take_us) = (median(self.puts), median(self.takes));
        Ok(Form { encoding, usage: usage / self.length as f64, resident, put_us, take_us })
    }
}

/// Returns the resident memory of a server whose clients already have their buffers.
fn resident_before(server: &Server) -> Result<u64> {
    let asked = ScriptShape::new("EXISTS nothing", 1);
    measure(server, asked, (CONNECTIONS * PIPELINE * 20) as u64)?;
    server.resident_bytes()
}

fn measure(server: &Server, shape: ScriptShape, operations: u64) -> Result<Measured> {
    let mut generator = Generator::connect(server.port, CONNECTIONS)?;
    let mut script = Script::new(&shape.pipelined(PIPELINE), 1)?;
    measure_source(server, &mut generator, &mut script, Stop::Operations(operations))
}

/// Returns the server CPU per operation, if each returned a value.
fn all_found(measured: Measured) -> Result<f64> {
    let replies = &measured.outcome.replies;
    ensure!(replies.bulk == replies.total(), "not everything was found: {replies:?}");
    Ok(measured.server_us)
}

/// Returns the answers of MEMORY USAGE and OBJECT ENCODING for a key; NaN and `-` if there are
/// none.
fn look_at(server: &Server, key: &str) -> Result<(f64, String)> {
    let mut control = server.control()?;
    let usage = match control.ask(&["MEMORY", "USAGE", key, "SAMPLES", "0"])? {
        Reply::Integer(bytes) => bytes as f64,
        _ => f64::NAN,
    };
    match control.ask(&["OBJECT", "ENCODING", key])? {
        Reply::Text(encoding) => Ok((usage, encoding)),
        _ => Ok((usage, "-".to_owned())),
    }
}

const FIELDS: u64 = 10_000;
/// Key and field for a number below the number of all fields.
const PLACE: &str = "hash:{n/10000:4} {n%10000}";
/// Forms of hashes, with the most fields of a packed one.
const HASHES: [(&str, u64); 2] = [("packed hash", PACKED_ENTRIES), ("large hash", LARGE_ENTRIES)];
/// Setting at which all fields fit the packed form.
const PACKED_ENTRIES: u64 = 20_000;
/// Setting at which hashes soon become large.
const LARGE_ENTRIES: u64 = 8;
const CONNECTIONS: usize = 50;
const PIPELINE: usize = 16;
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 7] = [
    "form",
    "server",
    "encoding",
    "MEMORY USAGE B/element",
    "resident B/element",
    "put us",
    "take us",
];

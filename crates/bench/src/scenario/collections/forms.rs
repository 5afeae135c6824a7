//! What a large form of a hash costs beside a packed one of the same 10,000 integers, and what
//! LPUSH and LPOP cost by the length of the list.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
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

/// How much is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Hashes of 10,000 fields.
    pub hashes: u64,
    /// Elements of all lists of one length together.
    pub elements: u64,
    /// How often each list is filled and emptied.
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
        for program in bench.varve_and_peers() {
            let forms = [("packed hash", PACKED_ENTRIES), ("large hash", LARGE_ENTRIES)];
            let forms = forms.map(|(name, entries)| {
                let form = row(section, name, program, &hashes(program, self, entries));
                plots.draw(&program.label, name, form.as_ref());
                form
            });
            let mut takes = Vec::new();
            for length in self.lengths() {
                let name = format!("list of {length}");
                let form = row(section, &name, program, &lists(program, self, length));
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
            // A packed hash is searched from its beginning.
            take: take.log_y(),
        }
    }

    fn draw(&mut self, label: &str, name: &str, form: Option<&Form>) {
        let Some(form) = form else { return };
        self.memory.bar(label, name, form.resident);
        self.take.bar(label, name, form.take_us);
    }
}

/// Adds a row; returns what was measured, if it was.
fn row(section: &mut Section, name: &str, program: &Program, form: &Result<Form>) -> Option<Form> {
    let cells = match form {
        Ok(form) => form.cells(),
        Err(error) => vec![absent(section, name, error)],
    };
    section.row([name.to_owned(), program.label.clone()].into_iter().chain(cells));
    form.as_ref().ok().cloned()
}

fn hash_figures(section: &mut Section, forms: &[Option<Form>; 2]) {
    let ratio = |of: fn(&Form) -> f64| {
        let [packed, large] = forms;
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

/// What elements cost in one form.
#[derive(Clone)]
struct Form {
    /// What OBJECT ENCODING says.
    encoding: String,
    /// Bytes per element that MEMORY USAGE reports.
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

fn hashes(program: &Program, plan: &Plan, packed_entries: u64) -> Result<Form> {
    let server = program.start(&Launch::default())?;
    let empty = resident_before(&server)?;
    let setting = ["CONFIG", "SET", "hash-max-listpack-entries", &packed_entries.to_string()];
    if let Reply::Error(text) = server.control()?.ask(&setting)? {
        bail!("{text}");
    }
    let fields = plan.hashes * FIELDS;
    let place = format!("hash:{{n/{FIELDS}:4}} {{n%{FIELDS}}}");
    let put = ScriptShape::new(format!("HSET {place} {{n%{FIELDS}}}"), fields);
    let put_us = measure(&server, put, fields)?.server_us;
    expect(&server, "HLEN hash:0000", FIELDS)?;
    let (usage, encoding) = look_at(&server, "hash:0000")?;
    thread::sleep(REST);
    let resident = server.resident_bytes()?.saturating_sub(empty) as f64 / fields as f64;
    let take = ScriptShape::new(format!("HGET {place}"), fields).of(KeyChoice::Uniform);
    let take_us = all_found(measure(&server, take, fields / 4)?)?;
    Ok(Form { encoding, usage: usage / FIELDS as f64, resident, put_us, take_us })
}

fn lists(program: &Program, plan: &Plan, length: u64) -> Result<Form> {
    let server = program.start(&Launch::default())?;
    let empty = resident_before(&server)?;
    let key = format!("list:{{n/{length}:4}}");
    let (mut puts, mut takes) = (Vec::new(), Vec::new());
    let (mut usage, mut encoding, mut resident) = (0.0, String::new(), 0.0);
    for round in 0..plan.rounds {
        let put = ScriptShape::new(format!("LPUSH {key} {{n}}"), plan.elements);
        puts.push(measure(&server, put, plan.elements)?.server_us);
        if round == 0 {
            expect(&server, "LLEN list:0000", length)?;
            (usage, encoding) = look_at(&server, "list:0000")?;
            thread::sleep(REST);
            let used = server.resident_bytes()?.saturating_sub(empty);
            resident = used as f64 / plan.elements as f64;
        }
        let take = ScriptShape::new(format!("LPOP {key}"), plan.elements);
        takes.push(all_found(measure(&server, take, plan.elements)?)?);
        expect(&server, "DBSIZE", 0)?;
    }
    let (put_us, take_us) = (median(puts), median(takes));
    Ok(Form { encoding, usage: usage / length as f64, resident, put_us, take_us })
}

/// Resident memory of a server whose clients already have their buffers.
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

/// Server CPU per operation, if each brought a value.
fn all_found(measured: Measured) -> Result<f64> {
    let replies = &measured.outcome.replies;
    ensure!(replies.bulk == replies.total(), "not everything was found: {replies:?}");
    Ok(measured.server_us)
}

/// What MEMORY USAGE and OBJECT ENCODING say about a key; not a number and `-` if they do not.
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
/// The packed form holds all fields.
const PACKED_ENTRIES: u64 = 20_000;
/// Hashes become large soon.
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

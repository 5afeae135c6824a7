//! Cost of packed and large forms of the same integers in hashes and lists, by their size, and of
//! LPUSH and LPOP by the length of the list: all servers in turns.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::expect;

use crate::generator::{KeyChoice, Load, Value};
use crate::measure::measure;
use crate::report::{Plot, Section};
use crate::scenario::rounds::{absent, cell};
use crate::scenario::{Bench, Scenario, pin_client};
use crate::servers::{Launch, Program, Server};
use crate::statistics::median;

/// Amount of data that is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Hashes of 10,000 fields.
    hashes: u64,
    /// Fields in all hashes of one other size together.
    fields: u64,
    /// Sizes of the other hashes.
    sizes: Vec<u64>,
    /// Elements in all lists of one length together.
    elements: u64,
    /// Lengths of lists, as far as there are as many elements.
    lengths: Vec<u64>,
    /// Number of times that each list is filled and emptied, in turns with the others.
    rounds: usize,
}

/// Collections of one kind, size and form.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    kind: Kind,
    size: u64,
    form: Option<Form>,
    /// Elements in all of them together.
    elements: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Hash,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// One piece of memory for each collection.
    Packed,
    /// One piece for each element.
    Large,
}

impl Case {
    fn new(kind: Kind, size: u64, form: Option<Form>, elements: u64) -> Self {
        Self { kind, size, form, elements: (elements / size).max(1) * size }
    }

    fn name(&self) -> String {
        let form = match (self.kind, self.form) {
            (_, None) => "",
            (_, Some(Form::Packed)) => "packed ",
            (Kind::Hash, Some(Form::Large)) => "large ",
            (Kind::List, Some(Form::Large)) => "linked ",
        };
        let kind = if self.kind == Kind::Hash { "hash" } else { "list" };
        format!("{form}{kind} of {}", thousands(self.size))
    }

    /// Returns the setting that gives this form.
    fn setting(&self) -> Option<[&str; 4]> {
        let (name, value) = match (self.kind, self.form?) {
            (Kind::Hash, Form::Packed) => ("hash-max-listpack-entries", "20000"),
            (Kind::Hash, Form::Large) => ("hash-max-listpack-entries", "0"),
            // Pieces of at most 64 KB, or of one element.
            (Kind::List, Form::Packed) => ("list-max-listpack-size", "-5"),
            (Kind::List, Form::Large) => ("list-max-listpack-size", "1"),
        };
        Some(["CONFIG", "SET", name, value])
    }

    /// Returns the loads that put all elements, and take them or some of them.
    fn loads(&self) -> [Load; 2] {
        let (size, elements) = (self.size, self.elements);
        let all = |request: String| {
            Load::of(request, elements).choosing(KeyChoice::Sequential).count(elements)
        };
        match self.kind {
            Kind::Hash => [
                all(format!("HSET all:{{n/{size}:7}} {{n%{size}}} {{n%{size}}}")),
                Load::of(format!("HGET all:{{n/{size}:7}} {{n%{size}}}"), elements)
                    .count(elements.div_ceil(4)),
            ],
            Kind::List => [
                all(format!("LPUSH all:{{n/{size}:7}} {{n%{ARTICLE}}}")),
                all(format!("LPOP all:{{n/{size}:7}}")),
            ],
        }
    }
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} hashes of 10,000 integers with integers as values, or {} fields in hashes of \
             other sizes; {} integers in lists of each length. Packed: hash-max-listpack-entries \
             20000, list-max-listpack-size -5 (64 KB); large: 0; linked: 1. Put: HSET, LPUSH. \
             Take: HGET, LPOP. CPU of the server, for one element, and for as many as one \
             collection has; the article has the time of a script.",
            self.hashes, self.fields, self.elements,
        ));
        let programs: Vec<_> = bench.varve_and_peers().collect();
        let mut costs = Vec::new();
        for (cases, rounds) in self.groups() {
            for tested in measure_group(&programs, &cases, rounds) {
                let Tested { program, case, state } = tested;
                let cost = state.and_then(|state| state.cost(&case));
                let cells = match &cost {
                    Ok(cost) => cost.cells(&case),
                    Err(error) => vec![absent(section, &case.name(), error)],
                };
                section.row([case.name(), program.clone()].into_iter().chain(cells));
                costs.extend(cost.ok().map(|cost| (program, case, cost)));
            }
        }
        let costs = Costs(costs);
        costs.figures(section);
        for program in &programs {
            costs.claims(section, &program.label);
        }
        costs.plots(section);
        Ok(())
    }
}

impl Plan {
    /// Returns the cases that are measured in turns, and how often.
    fn groups(&self) -> Vec<(Vec<Case>, usize)> {
        let forms = |kind, size, elements| {
            [Form::Packed, Form::Large].map(|form| Case::new(kind, size, Some(form), elements))
        };
        let hashes = |size: &u64| (forms(Kind::Hash, *size, self.fields).into(), 1);
        let mut groups: Vec<_> = self.sizes.iter().map(hashes).collect();
        groups.push((forms(Kind::Hash, ARTICLE, self.hashes * ARTICLE).into(), 1));
        let lengths = self.lengths.iter().filter(|length| **length <= self.elements);
        let lists = lengths.map(|length| Case::new(Kind::List, *length, None, self.elements));
        let of_forms = forms(Kind::List, ARTICLE, self.elements);
        groups.push((of_forms.into_iter().chain(lists).collect(), self.rounds));
        groups
    }
}

/// Server for one case, and its measurements.
struct Tested {
    program: String,
    case: Case,
    state: Result<State>,
}

struct State {
    server: Server,
    /// Resident bytes before loading.
    before: u64,
    /// Answer of OBJECT ENCODING.
    encoding: String,
    /// Answer of MEMORY USAGE.
    usage: f64,
    /// Resident bytes of all elements.
    resident: f64,
    puts: Vec<f64>,
    takes: Vec<f64>,
}

/// Measures the cases on all servers; all rest at the same time.
fn measure_group(programs: &[&Program], cases: &[Case], rounds: usize) -> Vec<Tested> {
    let each = cases.iter().flat_map(|case| programs.iter().map(move |it| (case, it)));
    let start = |(case, program): (&Case, &&Program)| Tested {
        program: program.label.clone(),
        case: case.clone(),
        state: State::start(program, case),
    };
    let mut all: Vec<_> = each.map(start).collect();
    let mut act = |step: fn(&mut State, &Case) -> Result<()>| {
        for tested in &mut all {
            let done = tested.state.as_mut().map_or(Ok(()), |state| step(state, &tested.case));
            if let Err(error) = done {
                tested.state = Err(error);
            }
        }
    };
    for round in 0..rounds {
        act(State::put);
        if round == 0 {
            thread::sleep(REST);
            act(State::look);
        }
        act(State::take);
    }
    all
}

impl State {
    fn start(program: &Program, case: &Case) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        case.setting().map_or(Ok(()), |setting| server.control()?.tell(&setting))?;
        // Gives the clients their buffers beforehand.
        measure(&server, &Load::of("EXISTS nothing", 1).count(16_000))?;
        let (before, encoding) = (server.resident_bytes()?, String::new());
        let (puts, takes) = (Vec::new(), Vec::new());
        Ok(Self { server, before, encoding, usage: 0.0, resident: 0.0, puts, takes })
    }

    fn put(&mut self, case: &Case) -> Result<()> {
        let [put, _] = case.loads();
        self.puts.push(measure(&self.server, &put)?.server_us());
        let count = if case.kind == Kind::Hash { "HLEN" } else { "LLEN" };
        expect(&self.server, &format!("{count} {FIRST}"), case.size)
    }

    fn look(&mut self, _: &Case) -> Result<()> {
        let mut control = self.server.control()?;
        self.usage = match control.ask(&["MEMORY", "USAGE", FIRST, "SAMPLES", "0"])? {
            Value::Integer(bytes) => bytes as f64,
            _ => f64::NAN,
        };
        let encoding = control.text(&["OBJECT", "ENCODING", FIRST])?;
        self.encoding = encoding.unwrap_or_else(|| "-".to_owned());
        self.resident = self.server.resident_bytes()?.saturating_sub(self.before) as f64;
        Ok(())
    }

    fn take(&mut self, case: &Case) -> Result<()> {
        let [_, take] = case.loads();
        self.takes.push(measure(&self.server, &take)?.server_us());
        if case.kind == Kind::List { expect(&self.server, "DBSIZE", 0) } else { Ok(()) }
    }

    fn cost(self, case: &Case) -> Result<Cost> {
        Ok(Cost {
            encoding: self.encoding,
            usage: self.usage / case.size as f64,
            resident: self.resident / case.elements as f64,
            put: median(self.puts),
            take: median(self.takes),
        })
    }
}

/// Cost of one element: bytes, and microseconds of the server.
struct Cost {
    encoding: String,
    /// As MEMORY USAGE tells.
    usage: f64,
    resident: f64,
    put: f64,
    take: f64,
}

impl Cost {
    fn cells(&self, case: &Case) -> Vec<String> {
        let thousands = case.size as f64 / 1000.0;
        let numbers = [
            (self.usage, 1),
            (self.resident, 1),
            (self.put, 3),
            (self.take, 3),
            (self.usage * thousands, 1),
            (self.put * thousands, 1),
            (self.take * thousands, 1),
        ];
        let cells = numbers.map(|(number, digits)| cell(&[number], digits));
        [self.encoding.clone()].into_iter().chain(cells).collect()
    }
}

/// Costs by server and case.
struct Costs(Vec<(String, Case, Cost)>);

impl Costs {
    /// Returns the cost of the collections that the article has.
    fn of(&self, program: &str, kind: Kind, form: Form) -> Option<&Cost> {
        let is_it = |(label, case, _): &&(String, Case, Cost)| {
            label == program && (case.kind, case.size, case.form) == (kind, ARTICLE, Some(form))
        };
        self.0.iter().find(is_it).map(|(_, _, cost)| cost)
    }

    /// Returns the large form's part of the packed one's.
    fn ratio(&self, program: &str, kind: Kind, of: fn(&Cost) -> f64) -> Option<f64> {
        let [packed, large] = [Form::Packed, Form::Large].map(|form| self.of(program, kind, form));
        Some(of(large?) / of(packed?))
    }

    fn figures(&self, section: &mut Section) {
        let hash = |of| self.ratio("varve", Kind::Hash, of);
        for (name, ratio) in [
            ("MEMORY USAGE", hash(|cost| cost.usage)),
            ("resident memory", hash(|cost| cost.resident)),
        ] {
            let what = format!("hash of 10,000 integers: {name}, large / packed");
            section.finding(what, ratio, "");
        }
        for (name, ratio) in [("HSET", hash(|cost| cost.put)), ("HGET", hash(|cost| cost.take))] {
            let what = format!("hash of 10,000 integers: CPU of {name}, packed / large");
            section.gain(what, ratio.map(|ratio| 1.0 / ratio), "");
        }
        let lists = self.0.iter().filter(|(program, case, _)| {
            program == "varve" && case.kind == Kind::List && case.form.is_none()
        });
        let takes: Vec<f64> = lists.map(|(_, _, cost)| cost.take).collect();
        let most = takes.iter().copied().reduce(f64::max);
        let least = takes.iter().copied().reduce(f64::min);
        let ratio = most.zip(least).map(|(most, least)| most / least);
        section.finding("CPU of LPOP by length of the list, most / least", ratio, "");
        for (kind, name, form) in [
            (Kind::Hash, "packed hash", Form::Packed),
            (Kind::Hash, "large hash", Form::Large),
            (Kind::List, "packed list", Form::Packed),
            (Kind::List, "linked list", Form::Large),
        ] {
            let cost = self.of("varve", kind, form);
            let mut find = |what: &str, of: fn(&Cost) -> f64, unit| {
                let value = cost.map(|cost| of(cost) * ARTICLE as f64 / 1000.0);
                section.finding(format!("{name} of 10,000 integers: {what}"), value, unit);
            };
            find("memory", |cost| cost.usage, "KB");
            find("CPU to put all", |cost| cost.put, "ms");
            find("CPU to take all", |cost| cost.take, "ms");
        }
    }

    /// Says in one line whether the article's claims hold for a server.
    fn claims(&self, section: &mut Section, program: &str) {
        let claims = [
            ("packed hash smaller", 516.0 / 81.0, self.ratio(program, Kind::Hash, |it| it.usage)),
            ("its HSET dearer", 710.0 / 18.9, self.ratio(program, Kind::Hash, |it| 1.0 / it.put)),
            ("its HGET dearer", 705.0 / 7.5, self.ratio(program, Kind::Hash, |it| 1.0 / it.take)),
            ("packed list smaller", 360.0 / 41.0, self.ratio(program, Kind::List, |it| it.usage)),
            ("its LPOP dearer", LPOP, self.ratio(program, Kind::List, |it| 1.0 / it.take)),
        ];
        let words = claims.map(|(claim, paper, measured)| match measured {
            None => format!("{claim}: not measured"),
            Some(it) => {
                let verdict = if it >= paper / 2.0 { "holds" } else { "does not hold" };
                format!("{claim} by {it:.1} (article {paper:.1}): {verdict}")
            }
        });
        section
            .note(format!("The article's claims at 10,000, for {program}: {}.", words.join("; ")));
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
        for (program, case, cost) in &self.0 {
            if case.kind == Kind::List || case.size == ARTICLE {
                memory.bar(program, &case.name(), cost.resident);
                take.bar(program, &case.name(), cost.take);
            }
            if case.kind == Kind::Hash {
                let form = if case.form == Some(Form::Packed) { "packed" } else { "large" };
                let line = format!("{program}, {form}");
                puts.point(&line, case.size as f64, cost.put);
                takes.point(&line, case.size as f64, cost.take);
            }
        }
        section.plots.extend([memory, take, puts, takes]);
    }
}

/// Returns a number with a comma before each three digits.
fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}

/// Elements of the article's collections.
const ARTICLE: u64 = 10_000;
/// Factor that an LPOP from a packed list must cost, of which the article has only a picture.
const LPOP: f64 = 4.0;
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

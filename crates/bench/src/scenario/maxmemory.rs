//! A full cache: whether the process keeps its memory limit, the amount of data that it keeps, and
//! the cost of a SET while room must be made.

use std::cell::{Cell, RefCell};

use anyhow::{Result, bail};
use serde::Deserialize;

use super::measure::Load;
use super::{Bench, Scale, Scenario, mebibytes, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Operation, Stop, ValueSize};
use crate::report::{Figure, Plot, Section};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Amount of data that is written to the cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `maxmemory` in bytes.
    pub limit: u64,
    /// Bytes written, keys and values together.
    pub written: u64,
    /// Worker threads.
    pub threads: usize,
    /// Rounds, in each of which fresh and full are measured in turn.
    pub rounds: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            written: scale.of(self.written).max(4 * self.limit),
            rounds: scale.rounds(self.rounds),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let note = format!(
            "maxmemory {} MiB, allkeys-lru. {} threads, but Valkey and Redis, whose commands one \
             thread executes.",
            self.limit >> 20,
            self.threads
        );
        section.columns(&COLUMNS);
        section.note(note);
        section.note(format!(
            "{} MiB of SETs with new keys, values of {VALUE_BYTES} bytes, 50 connections, \
             pipeline 16. Live: keys and values, least after the first fill. Fresh: the same SETs \
             without a limit. The null server keeps nothing and has no limit.",
            self.written >> 20
        ));
        let mut memory = Plot::bars("Memory of a full cache", Vec::new(), "part of the limit");
        let mut cost = Plot::bars("Server CPU per SET", Vec::new(), "microseconds");
        let mut measured: Vec<_> = bench.all_programs().map(|it| (it, Vec::new())).collect();
        for _ in 0..self.rounds {
            for (program, rounds) in &mut measured {
                rounds.push(round(program, self)?);
            }
        }
        for (program, rounds) in measured {
            let full = Full::of(&rounds);
            section.row(full.cells(&program.label, self));
            full.draw(&program.label, self, &mut memory, &mut cost);
            if full.refused > 0 {
                let (label, refused) = (&program.label, full.refused);
                let of = self.written / PAIR;
                section.note(format!("{label} refused {refused} of {of} SETs in one round."));
            }
            if program.kind == Kind::Varve {
                figures(section, &full, &rounds, self);
            }
        }
        section.plot(memory);
        section.plot(cost);
        Ok(())
    }
}

fn figures(section: &mut Section, full: &Full, rounds: &[Full], plan: &Plan) {
    let resident = full.resident / f64::from(1 << 20);
    let live = full.live / plan.limit as f64;
    section.finding("maxmemory: most resident memory", Some(resident), "MiB");
    section.gain("maxmemory: least live payload / limit", Some(live), "");
    let [full_us, fresh_us] = [|round: &Full| round.full_us, |round: &Full| round.fresh_us]
        .map(|of: fn(&Full) -> f64| rounds.iter().map(of).collect::<Vec<_>>());
    let what = "maxmemory: SET while full / fresh SET";
    section.figures.push(Figure::ratio(what, &full_us, &fresh_us));
}

/// Results of all rounds.
struct Full {
    resident: f64,
    live: f64,
    fresh_us: f64,
    full_us: f64,
    /// Refused SETs in the round that had most of them.
    refused: u64,
}

impl Full {
    fn of(rounds: &[Self]) -> Self {
        let all = |value: fn(&Self) -> f64| rounds.iter().map(value).collect::<Vec<_>>();
        Self {
            resident: all(|round| round.resident).into_iter().fold(0.0, f64::max),
            live: all(|round| round.live).into_iter().fold(f64::INFINITY, f64::min),
            fresh_us: median(all(|round| round.fresh_us)),
            full_us: median(all(|round| round.full_us)),
            refused: rounds.iter().map(|round| round.refused).max().unwrap_or(0),
        }
    }

    fn draw(&self, label: &str, plan: &Plan, memory: &mut Plot, cost: &mut Plot) {
        if self.live > 0.0 {
            memory.bar(label, "most resident", self.resident / plan.limit as f64);
            memory.bar(label, "least keys and values", self.live / plan.limit as f64);
        }
        cost.bar(label, "fresh", self.fresh_us);
        cost.bar(label, "while full", self.full_us);
    }

    fn cells(&self, label: &str, plan: &Plan) -> [String; 7] {
        let kept = |text| if self.live > 0.0 { text } else { "-".to_owned() };
        [
            label.to_owned(),
            mebibytes(self.resident),
            kept(mebibytes(self.live)),
            kept(format!("{:.2}", self.live / plan.limit as f64)),
            format!("{:.3}", self.fresh_us),
            format!("{:.3}", self.full_us),
            format!("{:.2}", self.full_us / self.fresh_us),
        ]
    }
}

fn round(program: &Program, plan: &Plan) -> Result<Full> {
    let launch = Launch::default().with_threads(plan.threads);
    let fresh = push(&program.start(&launch)?, plan, 0)?;
    let limited = launch.with("maxmemory", plan.limit).with("maxmemory-policy", "allkeys-lru");
    let full = push(&program.start(&limited)?, plan, 2 * plan.limit)?;
    Ok(Full {
        resident: full.resident,
        live: full.live,
        fresh_us: fresh.us,
        full_us: full.us,
        refused: full.refused,
    })
}

/// Measurements while SETs are sent to one server.
struct Pushed {
    resident: f64,
    live: f64,
    us: f64,
    refused: u64,
}

/// Sends the SETs. Cost and live payload are measured from the operation on at which `from` bytes
/// were written.
fn push(server: &Server, plan: &Plan, from: u64) -> Result<Pushed> {
    let (operations, from) = (plan.written / PAIR, from / PAIR);
    let mut load = Load::new(Operation::Set, 16, operations);
    load.shape.value = ValueSize::Fixed(VALUE_BYTES);
    load.keys = KeyChoice::Sequential;
    let (mut generator, mut requests, mut keys) = load.prepare(server)?;
    let count_keys = RefCell::new(server.key_counter()?);
    let pushed = RefCell::new(Pushed { resident: 0.0, live: f64::INFINITY, us: 0.0, refused: 0 });
    let filled = Cell::new(false);
    let watch = |_| {
        let mut pushed = pushed.borrow_mut();
        pushed.resident = pushed.resident.max(server.resident_bytes()? as f64);
        if filled.get() {
            let live = count_keys.borrow_mut()()? * PAIR;
            pushed.live = pushed.live.min(live as f64);
        }
        Ok(())
    };
    let mut go = |count| {
        let stop = Stop::Operations(count);
        let outcome = generator.run_watched(&mut requests, &mut keys, stop, SAMPLE_EVERY, watch)?;
        let errors = outcome.replies.error;
        // Memcached makes room in the background and refuses SETs until there is some.
        if errors > 0 && server.kind != Kind::Memcached {
            bail!("{errors} SETs failed: {:?}", outcome.first_error);
        }
        pushed.borrow_mut().refused += errors;
        Ok(())
    };
    go(from)?;
    filled.set(true);
    let before = server.cpu_time()?;
    go(operations - from)?;
    let used = server.cpu_time()?.saturating_sub(before);
    pushed.borrow_mut().us = used.as_secs_f64() * 1e6 / (operations - from) as f64;
    Ok(pushed.into_inner())
}

const VALUE_BYTES: usize = 1000;
const PAIR: u64 = (KEY_BYTES + VALUE_BYTES) as u64;
const SAMPLE_EVERY: u64 = 1000;
const COLUMNS: [&str; 7] =
    ["server", "resident MiB", "live MiB", "live/limit", "fresh us/SET", "full us/SET", "ratio"];

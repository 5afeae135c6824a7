//! Cost of a string of half a gigabyte: small changes and reads anywhere in it, a read of all of
//! it, and its memory; all servers in turns.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::measure::{measure_source, settled_cpu_time};
use super::pin_client;
use super::{Bench, PEERS_AND_NULL, Scale, Scenario, peers_missing};
use crate::control::Reply;
use crate::generator::{Generator, KeyChoice, Script, ScriptShape, Stop};
use crate::null::bulk;
use crate::report::{Figure, Section};
use crate::servers::{Launch, Program, Server};
use crate::statistics::median;

/// Size of the string.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Bytes of the string; APPEND needs some room below 512 MiB.
    pub bytes: u64,
    /// Requests in one measurement.
    pub requests: u64,
    /// Interleaved rounds.
    pub rounds: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            bytes: scale.of(self.bytes),
            requests: scale.of(self.requests),
            rounds: scale.rounds(self.rounds),
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        ensure!(self.bytes >= 10 * PIECE, "a string is of {} bytes or more", 10 * PIECE);
        pin_client(1);
        let note = format!("A string of {} MB.", self.bytes / 1_000_000);
        section.columns(&COLUMNS);
        section.note(note);
        section.note(
            "Server CPU in microseconds per command: one connection, pipeline 16, places drawn \
             from the whole string. BITCOUNT of all of it in milliseconds of server CPU, DEL in \
             milliseconds until the answer, resident MiB.",
        );
        peers_missing(section, bench);
        let holders: Vec<_> = bench
            .varve_and_peers()
            .map(|program| Holder::start(program, self))
            .collect::<Result<_>>()?;
        let servers: Vec<_> = holders.iter().map(|holder| &holder.server).collect();
        for small in self.small_requests() {
            let null = bench.null_answering(&small.reply).start(&Launch::default())?;
            let all: Vec<_> = servers.iter().copied().chain([&null]).collect();
            let costs = self.in_turns(&all, |server, round| self.cost(server, &small, round))?;
            row(section, small.what, &costs);
        }
        let costs = self.in_turns(&servers, |server, _| whole(server, "BITCOUNT long"))?;
        row(section, "BITCOUNT of all", &costs);
        let once = |of: fn(&Holder) -> Result<f64>| {
            let cost = |holder: &Holder| Ok(Cost::of(&holder.server, vec![of(holder)?]));
            holders.iter().map(cost).collect::<Result<Vec<_>>>()
        };
        row(section, "resident", &once(|holder| Ok(holder.resident / f64::from(1 << 20)))?);
        row(section, "DEL, waited", &once(|holder| delete(&holder.server))?);
        Ok(())
    }
}

impl Plan {
    fn small_requests(&self) -> [Small; 6] {
        let fifth = self.bytes / 5 - PIECE;
        let bits = self.bytes * 8;
        let integer = || ":100\r\n".to_owned();
        let small = |what, request: String, below, reply| Small { what, request, below, reply };
        [
            small("APPEND of 100 bytes", "APPEND long {?100}".to_owned(), 1, integer()),
            small(
                "SETRANGE of 100 bytes",
                "SETRANGE long {n*5} {?100}".to_owned(),
                fifth,
                integer(),
            ),
            small(
                "GETRANGE of 100 bytes",
                "GETRANGE long {n*5} {n*5+99}".to_owned(),
                fifth,
                bulk(&"v".repeat(100)),
            ),
            small("SETBIT", format!("SETBIT long {{#{bits}}} 1"), 1, integer()),
            small("GETBIT", format!("GETBIT long {{#{bits}}}"), 1, integer()),
            small("STRLEN", "STRLEN long".to_owned(), 1, integer()),
        ]
    }

    /// Measures all servers in turns.
    fn in_turns(
        &self,
        servers: &[&Server],
        mut measure: impl FnMut(&Server, usize) -> Result<f64>,
    ) -> Result<Vec<Cost>> {
        let mut costs: Vec<_> = servers.iter().map(|server| Cost::of(server, Vec::new())).collect();
        for round in 0..self.rounds {
            for (server, cost) in servers.iter().zip(&mut costs) {
                cost.rounds.push(measure(server, round)?);
            }
        }
        Ok(costs)
    }

    /// Returns microseconds of server CPU per command.
    fn cost(&self, server: &Server, small: &Small, round: usize) -> Result<f64> {
        let shape = ScriptShape::new(&small.request, small.below);
        let shape = shape.of(KeyChoice::Uniform).pipelined(16);
        let mut script = Script::new(&shape, round as u64)?;
        let mut generator = Generator::connect(server.port, 1)?;
        let stop = Stop::Operations(self.requests);
        Ok(measure_source(server, &mut generator, &mut script, stop)?.server_us)
    }
}

/// Request that reads or changes a small part of the string.
struct Small {
    what: &'static str,
    request: String,
    /// Upper bound, exclusive, of the numbers in it.
    below: u64,
    /// Reply of the null server.
    reply: String,
}

/// Server that holds the string.
struct Holder {
    server: Server,
    /// Growth of its resident memory by the string, in bytes.
    resident: f64,
}

impl Holder {
    fn start(program: &Program, plan: &Plan) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let empty = server.resident_bytes()?;
        fill(&server, plan)?;
        let resident = server.resident_bytes()?.saturating_sub(empty) as f64;
        Ok(Self { server, resident })
    }
}

/// Cost for one server, in each round.
struct Cost {
    label: String,
    rounds: Vec<f64>,
}

impl Cost {
    fn of(server: &Server, rounds: Vec<f64>) -> Self {
        Self { label: server.label.clone(), rounds }
    }

    fn cell(&self) -> String {
        format!("{:.2}", median(self.rounds.clone()))
    }
}

/// Adds a row; the first cost is that of the server under test.
fn row(section: &mut Section, what: &str, costs: &[Cost]) {
    let Some((varve, others)) = costs.split_first() else { return };
    let mut cells = vec![what.to_owned(), varve.cell()];
    for (label, name) in PEERS_AND_NULL {
        let Some(other) = others.iter().find(|other| other.label == label) else {
            cells.extend(["-".to_owned(), "-".to_owned()]);
            continue;
        };
        let figure = Figure::ratio(format!("{what} / {name}"), &varve.rounds, &other.rounds);
        cells.extend([other.cell(), figure.measured_text()]);
        section.figures.push(figure);
    }
    section.row(cells);
}

fn fill(server: &Server, plan: &Plan) -> Result<()> {
    let request = format!("APPEND long {{?{PIECE}}}");
    let mut script = Script::new(&ScriptShape::new(request, 1).pipelined(16), 1)?;
    let mut generator = Generator::connect(server.port, 1)?;
    let outcome = generator.drive(&mut script, Stop::Operations(plan.bytes / PIECE))?;
    ensure!(outcome.replies.error == 0, "{}", outcome.first_error.unwrap_or_default());
    Ok(())
}

/// Returns milliseconds of server CPU for one command.
fn whole(server: &Server, request: &str) -> Result<f64> {
    let mut control = server.control()?;
    let before = settled_cpu_time(server)?;
    control.integer(request)?;
    Ok(settled_cpu_time(server)?.saturating_sub(before).as_secs_f64() * 1e3)
}

/// Returns the milliseconds that the caller of DEL waits.
fn delete(server: &Server) -> Result<f64> {
    let mut control = server.control()?;
    let begin = Instant::now();
    match control.ask(&["DEL", "long"])? {
        Reply::Integer(1) => Ok(begin.elapsed().as_secs_f64() * 1e3),
        other => bail!("DEL answered {other:?}"),
    }
}

/// Bytes of one APPEND while the string is built.
const PIECE: u64 = 10_000;
const COLUMNS: [&str; 8] =
    ["what", "varve", "valkey", "/ Valkey", "redis", "/ Redis", "null", "/ null"];

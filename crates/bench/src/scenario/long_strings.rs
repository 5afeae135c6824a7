//! What a string of half a gigabyte costs: small changes and looks anywhere in it, a look at all
//! of it, and its memory.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use super::measure::{measure_source, settled_cpu_time};
use super::pin_client;
use super::{Bench, PEERS, Scale, Scenario, peers_missing};
use crate::control::Reply;
use crate::generator::{Generator, KeyChoice, Script, ScriptShape, Stop};
use crate::report::{Figure, Section};
use crate::servers::{Launch, Program, Server};
use crate::statistics::median;

/// How large the string is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its bytes; APPEND needs some room below 512 MiB.
    pub bytes: u64,
    /// Requests in one measurement.
    pub requests: u64,
    /// Measurements of each kind.
    pub rounds: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { bytes: scale.of(self.bytes), requests: scale.of(self.requests), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        ensure!(self.bytes >= 10 * PIECE, "a string is of {} bytes or more", 10 * PIECE);
        pin_client(1);
        let note = format!("A string of {} MB.", self.bytes / 1_000_000);
        section.columns(&["what", "varve", "valkey", "/ Valkey", "redis", "/ Redis"]);
        section.note(note);
        section.note(
            "Server CPU in microseconds per command: one connection, pipeline 16, places drawn \
             from the whole string. BITCOUNT of all of it in milliseconds of server CPU, DEL in \
             milliseconds until the answer, resident MiB.",
        );
        peers_missing(section, bench);
        let mut costs = Vec::new();
        for program in bench.varve_and_peers() {
            costs.push((program.label.as_str(), Costs::of(program, self)?));
        }
        let Some(((_, varve), peers)) = costs.split_first() else { return Ok(()) };
        for (at, (what, rounds)) in varve.0.iter().enumerate() {
            let text = |rounds: Option<&Vec<f64>>| {
                rounds.map_or("-".to_owned(), |it| format!("{:.2}", median(it.clone())))
            };
            let mut cells = vec![(*what).to_owned(), text(Some(rounds))];
            for (label, name) in PEERS {
                let costs = peers.iter().find(|(peer, _)| *peer == label);
                let peer = costs.map(|(_, costs)| &costs.0[at].1);
                let theirs = peer.map_or(&[][..], Vec::as_slice);
                let figure = Figure::ratio(format!("{what} / {name}"), rounds, theirs);
                cells.extend([text(peer), figure.measured_text()]);
                section.figures.push(figure);
            }
            section.row(cells);
        }
        Ok(())
    }
}

/// What was measured of one server, in the order of the rows, in each round.
struct Costs(Vec<(&'static str, Vec<f64>)>);

impl Costs {
    fn of(program: &Program, plan: &Plan) -> Result<Costs> {
        let server = program.start(&Launch::default())?;
        let empty = server.resident_bytes()?;
        fill(&server, plan)?;
        let resident = server.resident_bytes()?.saturating_sub(empty) as f64;
        let mut costs = Vec::new();
        let fifth = plan.bytes / 5 - PIECE;
        for (what, request, below) in [
            ("APPEND of 100 bytes", "APPEND long {?100}".to_owned(), 1),
            ("SETRANGE of 100 bytes", "SETRANGE long {n*5} {?100}".to_owned(), fifth),
            ("GETRANGE of 100 bytes", "GETRANGE long {n*5} {n*5+99}".to_owned(), fifth),
            ("SETBIT", format!("SETBIT long {{#{}}} 1", plan.bytes * 8), 1),
            ("GETBIT", format!("GETBIT long {{#{}}}", plan.bytes * 8), 1),
        ] {
            costs.push((what, small(&server, plan, &request, below)?));
        }
        costs.push(("BITCOUNT of all", whole(&server, plan, "BITCOUNT long")?));
        costs.push(("STRLEN", small(&server, plan, "STRLEN long", 1)?));
        costs.push(("resident", vec![resident / f64::from(1 << 20)]));
        costs.push(("DEL, waited", vec![delete(&server)?]));
        Ok(Costs(costs))
    }
}

fn fill(server: &Server, plan: &Plan) -> Result<()> {
    let request = format!("APPEND long {{?{PIECE}}}");
    let mut script = Script::new(&ScriptShape::new(request, 1).pipelined(16), 1)?;
    let mut generator = Generator::connect(server.port, 1)?;
    let outcome = generator.drive(&mut script, Stop::Operations(plan.bytes / PIECE))?;
    ensure!(outcome.replies.error == 0, "{}", outcome.first_error.unwrap_or_default());
    Ok(())
}

/// Microseconds of server CPU per command.
fn small(server: &Server, plan: &Plan, request: &str, below: u64) -> Result<Vec<f64>> {
    let mut rounds = Vec::new();
    for round in 0..plan.rounds {
        let shape = ScriptShape::new(request, below).of(KeyChoice::Uniform).pipelined(16);
        let mut script = Script::new(&shape, round as u64)?;
        let mut generator = Generator::connect(server.port, 1)?;
        let stop = Stop::Operations(plan.requests);
        rounds.push(measure_source(server, &mut generator, &mut script, stop)?.server_us);
    }
    Ok(rounds)
}

/// Milliseconds of server CPU for one command.
fn whole(server: &Server, plan: &Plan, request: &str) -> Result<Vec<f64>> {
    let mut control = server.control()?;
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let before = settled_cpu_time(server)?;
        control.integer(request)?;
        rounds.push(settled_cpu_time(server)?.saturating_sub(before).as_secs_f64() * 1e3);
    }
    Ok(rounds)
}

/// Milliseconds that the caller of DEL waits.
fn delete(server: &Server) -> Result<f64> {
    let mut control = server.control()?;
    let begin = Instant::now();
    match control.ask(&["DEL", "long"])? {
        Reply::Integer(1) => Ok(begin.elapsed().as_secs_f64() * 1e3),
        other => bail!("DEL answered {other:?}"),
    }
}

/// Bytes that are appended at a time while the string is made.
const PIECE: u64 = 10_000;

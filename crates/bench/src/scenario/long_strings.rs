//! Cost of a string of half a gigabyte: small changes and reads anywhere in it, a read of all of
//! it, and its memory; all servers in turns.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::rounds::{Costs, cell, costs_in_turns, in_turns};
use super::{Bench, PEERS, Scenario, peers_missing, pin_client};
use crate::generator::Load;
use crate::measure::{measure, send_each, settled_cpu_time};
use crate::null::bulk;
use crate::report::{Figure, Section};
use crate::servers::{Launch, Server};

/// Size of the string.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Bytes of the string; APPEND needs some room below 512 MiB.
    bytes: u64,
    /// Requests in one measurement.
    requests: u64,
    /// Interleaved rounds.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        ensure!(self.bytes >= 10 * PIECE, "a string is of {} bytes or more", 10 * PIECE);
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!("A string of {} MB.", self.bytes / 1_000_000));
        section.note(
            "Server CPU in microseconds per command: one connection, pipeline 16, places drawn \
             from the whole string. BITCOUNT of all of it in milliseconds of server CPU, DEL in \
             milliseconds until the answer, resident MiB.",
        );
        peers_missing(section, bench);
        let (mut servers, mut resident) = (Vec::new(), Vec::new());
        for program in bench.varve_and_peers() {
            let server = program.start(&Launch::default())?;
            let empty = server.resident_bytes()?;
            send_each(&server, &format!("APPEND long {{?{PIECE}}}"), self.bytes / PIECE)?;
            let used = server.resident_bytes()?.saturating_sub(empty);
            resident.push(once(&server, used as f64 / f64::from(1 << 20)));
            servers.push(server);
        }
        for (what, request, reply) in self.small_requests() {
            let places = self.bytes / 5 - PIECE;
            let load = Load::of(request, places).on(1).count(self.requests);
            servers.push(bench.null_answering(&reply).start(&Launch::default())?);
            let costs = costs_in_turns(&servers, self.rounds, |server, round| {
                measure(server, &load.clone().seeded(round))
            })?;
            servers.pop();
            row(section, what, &costs);
        }
        let counted = in_turns(&servers, self.rounds, |server, _| count_bits(server));
        let costs = servers
            .iter()
            .zip(counted)
            .map(|(server, rounds)| Ok(Costs { server_us: rounds?, ..once(server, 0.0) }));
        row(section, "BITCOUNT of all", &costs.collect::<Result<Vec<_>>>()?);
        row(section, "resident", &resident);
        let deleted = servers.iter().map(|server| Ok(once(server, delete(server)?)));
        row(section, "DEL, waited", &deleted.collect::<Result<Vec<_>>>()?);
        Ok(())
    }
}

impl Plan {
    /// Requests that read or change a small part of the string: their names, and what the null
    /// server replies.
    fn small_requests(&self) -> [(&'static str, String, String); 6] {
        let bit = format!("BIT long {{#{}}}", self.bytes * 8);
        let integer = ":100\r\n".to_owned();
        let requests = [
            ("APPEND of 100 bytes", "APPEND long {?100}".to_owned()),
            ("SETRANGE of 100 bytes", "SETRANGE long {n*5} {?100}".to_owned()),
            ("GETRANGE of 100 bytes", "GETRANGE long {n*5} {n*5+99}".to_owned()),
            ("SETBIT", format!("SET{bit} 1")),
            ("GETBIT", format!("GET{bit}")),
            ("STRLEN", "STRLEN long".to_owned()),
        ];
        requests.map(|(what, request)| match what {
            "GETRANGE of 100 bytes" => (what, request, bulk(&"v".repeat(100))),
            _ => (what, request, integer.clone()),
        })
    }
}

/// Returns milliseconds of server CPU for a BITCOUNT of the whole string.
fn count_bits(server: &Server) -> Result<f64> {
    let mut control = server.control()?;
    let before = settled_cpu_time(server)?;
    control.integer("BITCOUNT long")?;
    Ok(settled_cpu_time(server)?.saturating_sub(before).as_secs_f64() * 1e3)
}

/// Returns the milliseconds that the caller of DEL waits.
fn delete(server: &Server) -> Result<f64> {
    let mut control = server.control()?;
    let begin = Instant::now();
    let deleted = control.integer("DEL long")?;
    ensure!(deleted == 1, "DEL answered {deleted}");
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// Returns a quantity that is measured once, in the place of the CPU time.
fn once(server: &Server, value: f64) -> Costs {
    Costs { label: server.label.clone(), server_us: vec![value], ..Costs::default() }
}

/// Adds a row; the first cost is that of the server under test.
fn row(section: &mut Section, what: &str, costs: &[Costs]) {
    let Some((varve, others)) = costs.split_first() else { return };
    let mut cells = vec![what.to_owned(), cell(&varve.server_us, 2)];
    for (label, name) in PEERS.into_iter().chain([("null", "null")]) {
        let Some(other) = others.iter().find(|other| other.label == label) else {
            cells.extend(["-".to_owned(), "-".to_owned()]);
            continue;
        };
        let what = format!("{what} / {name}");
        let figure = Figure::ratio(what, &varve.server_us, &other.server_us);
        cells.extend([cell(&other.server_us, 2), figure.measured_text()]);
        section.figures.push(figure);
    }
    section.row(cells);
}

/// Bytes of one APPEND while the string is built.
const PIECE: u64 = 10_000;
const COLUMNS: [&str; 8] =
    ["what", "varve", "valkey", "/ Valkey", "redis", "/ Redis", "null", "/ null"];

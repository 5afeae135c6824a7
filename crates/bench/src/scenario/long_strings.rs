//! Cost of a string of half a gigabyte: small changes and reads anywhere in it, a read of all of
//! it, and its memory; all servers in turns.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::rounds::show_in_turns;
use super::{Bench, Scenario, peers_missing, pin_client};
use crate::generator::Load;
use crate::measure::{measure, send_each, settled_cpu_time};
use crate::null::bulk;
use crate::report::Section;
use crate::servers::{Launch, Server};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Bytes of the string; APPEND needs some room below 512 MiB.
    bytes: u64,
    requests: u64,
    /// Interleaved rounds.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        ensure!(self.bytes >= 10 * PIECE, "a string is of {} bytes or more", 10 * PIECE);
        pin_client(1);
        section.columns("what | server | measured .2");
        peers_missing(section, bench);
        let (mut servers, mut resident) = (Vec::new(), Vec::new());
        for program in bench.varve_and_peers() {
            let server = program.start(&Launch::default())?;
            let empty = server.resident_bytes()?;
            send_each(&server, &format!("APPEND long {{?{PIECE}}}"), self.bytes / PIECE)?;
            let used = server.resident_bytes()?.saturating_sub(empty);
            resident.push(used as f64 / f64::from(1 << 20));
            servers.push(server);
        }
        let label = |server: &Server| server.label.clone();
        for (what, request, reply) in self.small_requests() {
            let places = self.bytes / 5 - PIECE;
            let load = Load::of(request, places).on(1).count(self.requests);
            servers.push(bench.null_answering(&reply).start(&Launch::default())?);
            show_in_turns(section, what, &mut servers, label, self.rounds, |server, round| {
                Ok([measure(server, &load.clone().seeded(round))?.server_us()])
            });
            servers.pop();
        }
        show_in_turns(section, "BITCOUNT of all", &mut servers, label, self.rounds, |server, _| {
            Ok([count_bits(server)?])
        });
        for (server, resident) in servers.iter().zip(resident) {
            section.values("resident", &server.label, &[resident]);
        }
        for server in &servers {
            section.values("DEL, waited", &server.label, &[delete(server)?]);
        }
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

/// Bytes of one APPEND while the string is built.
const PIECE: u64 = 10_000;

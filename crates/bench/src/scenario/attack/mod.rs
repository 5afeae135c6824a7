//! Clients that ask for too much: server memory for them, and waiting times of others.
//!
//! | file | what |
//! |---|---|
//! | `attacks` | the clients: what each sends and reads |
//! | `stream` | a plain connection that sends and reads at will |

mod attacks;
mod stream;

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, Scenario, milliseconds, pin_client};
use crate::report::Section;
use crate::servers::{Kind, Launch, Program};

/// Amount of load that clients make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Time in which values of three types are made and removed.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    time: Duration,
    /// Number of times that a value of a megabyte overwrites itself.
    overwrites: u64,
    /// GETs of a megabyte that are sent before the first reply is read.
    gets: usize,
    /// Members requested from a small set.
    picks: u64,
    /// Sets that are built and renamed in each of three parts.
    renames: u64,
    /// Connections that send one command and stay open.
    idle: u64,
    /// Clients that send requests and never read.
    deaf: u64,
    /// Commands in one pipeline.
    pipeline: usize,
    /// Bytes that a heap holds before it shrinks.
    bytes: u64,
    /// Elements of a list that is read whole.
    elements: u64,
}

/// Measured value, with its name and unit.
struct Finding {
    what: &'static str,
    value: f64,
    unit: &'static str,
}

impl Finding {
    fn new(what: &'static str, value: f64, unit: &'static str) -> Self {
        Self { what, value, unit }
    }

    fn megabytes(what: &'static str, bytes: u64) -> Self {
        Self::new(what, bytes as f64 / 1e6, "MB")
    }
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["what", "Varve", "Valkey", "unit"]);
        section.note(
            "Each line has a server of its own, with one thread on one core. Memory is resident \
             memory, the most while it happens where nothing else is said.",
        );
        for attack in attacks::ALL {
            let ours = self.meet(attack, &bench.varve)?;
            let theirs = bench.valkey.as_ref().map(|valkey| self.meet(attack, valkey));
            let theirs = theirs.transpose()?.unwrap_or_default();
            for Finding { what, value, unit } in ours {
                let other = theirs.iter().find(|other| other.what == what);
                let other = other.map_or("-".to_owned(), |other| format!("{:.1}", other.value));
                section.row([what.to_owned(), format!("{value:.1}"), other, unit.to_owned()]);
                section.finding(what, Some(value), unit);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn meet(&self, attack: attacks::Attack, program: &Program) -> Result<Vec<Finding>> {
        let server = program.start(&Launch::default())?;
        let found = attack(self, &server)?;
        server.control()?.ask(&["PING"]).context("the server no longer answers")?;
        if server.kind == Kind::Varve {
            server.end()?;
        }
        Ok(found)
    }
}

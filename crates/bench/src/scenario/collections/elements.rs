//! Resident bytes per element, at points of the growth, at its end and five seconds later.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::expect;
use crate::generator::{EventLoop, KeyChoice, Load, Monitor, Protocol, Sender, Stop, shuffled};
use crate::report::{Plot, Section};
use crate::scenario::rounds::{cell, row};
use crate::scenario::{Bench, Scenario, pin_client};
use crate::servers::{Kind, Launch, Program, Server};

/// Amount and kinds of data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Elements of each kind.
    elements: u64,
    kinds: Vec<Collection>,
}

/// Kind of collection, and its growth.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Collection {
    name: String,
    /// Plot in which it is shown, by its title.
    plot: String,
    /// Request that adds elements.
    request: String,
    /// Elements per request.
    #[serde(default = "one")]
    at_once: u64,
    /// True if the numbers come in random order.
    #[serde(default)]
    shuffled: bool,
    /// Command that counts the elements of one collection.
    count: String,
    /// Elements of one collection; all of them are in one unless this is given.
    each: Option<u64>,
}

fn one() -> u64 {
    1
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!("Resident bytes per element, {} elements.", self.elements));
        section.note(
            "Less the memory of the empty server. Key, members, fields and values included. The \
             aim is for the end, five seconds after the last write; what nodes have spare while \
             they grow is in the columns before it. Most: over all samples from a quarter of the \
             elements on.",
        );
        for kind in &self.kinds {
            // Varve, whose memory changes most, comes last.
            let programs: Vec<_> = bench.varve_and_peers().collect();
            let grow = |program: &&Program| Grown::start(program, kind, self.elements);
            let mut all: Vec<_> = programs.iter().rev().map(grow).collect();
            thread::sleep(REST);
            all.reverse();
            for (program, grown) in programs.iter().zip(all) {
                let bytes = grown.and_then(|mut grown| {
                    grown.look(self.elements)?;
                    Ok(grown.bytes)
                });
                show(section, kind, program, &bytes);
            }
        }
        Ok(())
    }
}

/// Shows bytes per element: while it grew, at the end, and at rest.
fn show(section: &mut Section, kind: &Collection, program: &Program, bytes: &Result<Vec<f64>>) {
    let cells = bytes.as_ref().map(|bytes| {
        let (growing, ends) = bytes.split_at(bytes.len() - 2);
        let last = growing.len().saturating_sub(1);
        let quarters = (0..3).map(|third| growing.get(last * third / 3).copied());
        let most = bytes.iter().copied().fold(0.0, f64::max);
        let all = quarters.chain([ends[0], ends[1], most].map(Some));
        all.map(|bytes| cell(bytes.as_slice(), 1)).collect()
    });
    row(section, &kind.name, &program.label, cells);
    let rested = bytes.as_ref().ok().and_then(|bytes| bytes.last().copied());
    let title = format!("Resident bytes per element at rest: {}", kind.plot);
    if section.plots.last().is_none_or(|plot| plot.title != title) {
        section.plot(Plot::bars(title, Vec::new(), "bytes"));
    }
    if let Some((plot, rested)) = section.plots.last_mut().zip(rested) {
        plot.bar(&program.label, &kind.name, rested);
    }
    if program.kind == Kind::Varve {
        section.finding(format!("resident bytes per element: {}", kind.name), rested, "B");
    }
}

/// Server that holds the elements of a kind.
struct Grown {
    server: Server,
    /// Resident bytes at the start.
    empty: u64,
    /// Resident bytes per element: samples at equal steps, from a quarter of the elements on.
    bytes: Vec<f64>,
}

impl Grown {
    fn start(program: &Program, kind: &Collection, elements: u64) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let mut grown = Self { empty: server.resident_bytes()?, server, bytes: Vec::new() };
        let requests = elements / kind.at_once;
        let mut load = Load::each(&kind.request, requests);
        if kind.shuffled {
            load.keys = KeyChoice::Listed(shuffled(u32::try_from(requests)?, 1).into());
        }
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(grown.server.port, Protocol::Resp, 1)?;
        let mut sender = Sender::new(Protocol::Resp, &load, 0)?;
        let monitor = Arc::new(Monitor::default());
        sender.restart(Stop::Operations(requests), Arc::clone(&monitor))?;
        let mut next = requests / 4;
        event_loop.run_watched(&mut [&mut sender], || {
            let done = monitor.operations();
            if done >= next {
                grown.look(done * kind.at_once)?;
                next = done + requests / SAMPLES;
            }
            Ok(())
        })?;
        sender.finish()?.sound()?;
        grown.look(elements)?;
        let each = kind.each.unwrap_or(elements);
        expect(&grown.server, &kind.count, each)?;
        expect(&grown.server, "DBSIZE", elements / each)?;
        Ok(grown)
    }

    fn look(&mut self, elements: u64) -> Result<()> {
        let bytes = self.server.resident_bytes()?.saturating_sub(self.empty);
        self.bytes.push(bytes as f64 / elements as f64);
        Ok(())
    }
}

const SAMPLES: u64 = 40;
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 8] = ["kind", "server", "1/4", "1/2", "3/4", "end", "5 s later", "most"];

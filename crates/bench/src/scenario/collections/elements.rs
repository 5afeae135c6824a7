//! Resident bytes per element, at points of the growth, at its end and five seconds later.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::expect;
use crate::generator::{EventLoop, KeyChoice, Load, Monitor, Protocol, Sender, Stop, shuffled};
use crate::report::{Plot, Section};
use crate::scenario::rounds::{absent, cell};
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
        let mut plots: Vec<Plot> = Vec::new();
        for kind in &self.kinds {
            let title = format!("Resident bytes per element at rest: {}", kind.plot);
            if plots.last().is_none_or(|plot| plot.title != title) {
                plots.push(Plot::bars(title, Vec::new(), "bytes"));
            }
            let grown = self.grow(bench, kind);
            for (program, grown) in bench.varve_and_peers().zip(grown) {
                show(section, plots.last_mut(), kind, program, grown);
            }
        }
        section.plots.extend(plots);
        Ok(())
    }
}

fn show(
    section: &mut Section,
    plot: Option<&mut Plot>,
    kind: &Collection,
    program: &Program,
    grown: Result<Grown>,
) {
    let cells = match &grown {
        Ok(grown) => grown.cells(),
        Err(error) => vec![absent(section, &kind.name, error)],
    };
    section.row([kind.name.clone(), program.label.clone()].into_iter().chain(cells));
    if let (Some(plot), Ok(grown)) = (plot, &grown) {
        plot.bar(&program.label, &kind.name, grown.rested);
    }
    if program.kind == Kind::Varve {
        let what = format!("resident bytes per element: {}", kind.name);
        section.finding(what, grown.ok().map(|grown| grown.rested), "B");
    }
}

/// Bytes per element.
struct Grown {
    /// Samples at equal steps, from a quarter of the elements on.
    growing: Vec<f64>,
    at_end: f64,
    rested: f64,
}

impl Grown {
    fn cells(&self) -> Vec<String> {
        let last = self.growing.len().saturating_sub(1);
        let quarters = (0..3).map(|third| self.growing.get(last * third / 3).copied());
        let at_rest = [self.at_end, self.rested];
        let most = self.growing.iter().copied().chain(at_rest).fold(0.0, f64::max);
        let all = quarters.chain([at_rest[0], at_rest[1], most].map(Some));
        all.map(|bytes| cell(bytes.as_slice(), 1)).collect()
    }
}

impl Plan {
    /// Grows all servers, which rest at the same time; Varve, whose memory changes most, comes
    /// last.
    fn grow(&self, bench: &Bench, kind: &Collection) -> Vec<Result<Grown>> {
        let mut programs: Vec<_> = bench.varve_and_peers().collect();
        programs.reverse();
        let ended: Vec<_> =
            programs.into_iter().map(|program| Ended::grow(program, kind, self.elements)).collect();
        thread::sleep(REST);
        ended.into_iter().rev().map(|ended| ended?.rest(self.elements)).collect()
    }
}

/// Server that holds all elements.
struct Ended {
    server: Server,
    /// Resident bytes at the start.
    empty: u64,
    growing: Vec<f64>,
    at_end: f64,
}

impl Ended {
    fn grow(program: &Program, kind: &Collection, elements: u64) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let empty = server.resident_bytes()?;
        let requests = elements / kind.at_once;
        let mut load = Load::each(&kind.request, requests);
        if kind.shuffled {
            load.keys = KeyChoice::Listed(shuffled(u32::try_from(requests)?, 1).into());
        }
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(server.port, Protocol::Resp, 1)?;
        let mut sender = Sender::new(Protocol::Resp, &load, 0)?;
        let monitor = Arc::new(Monitor::default());
        sender.restart(Stop::Operations(requests), Arc::clone(&monitor))?;
        let (mut growing, mut next) = (Vec::new(), requests / 4);
        event_loop.run_watched(&mut [&mut sender], || {
            let done = monitor.operations();
            if done >= next {
                growing.push(bytes_each(&server, empty, done * kind.at_once)?);
                next = done + requests / SAMPLES;
            }
            Ok(())
        })?;
        sender.finish()?.sound()?;
        let at_end = bytes_each(&server, empty, elements)?;
        let each = kind.each.unwrap_or(elements);
        expect(&server, &kind.count, each)?;
        expect(&server, "DBSIZE", elements / each)?;
        Ok(Self { server, empty, growing, at_end })
    }

    fn rest(self, elements: u64) -> Result<Grown> {
        let rested = bytes_each(&self.server, self.empty, elements)?;
        Ok(Grown { growing: self.growing, at_end: self.at_end, rested })
    }
}

/// Returns the resident bytes per element of a server that was empty at first.
fn bytes_each(server: &Server, empty: u64, elements: u64) -> Result<f64> {
    Ok(server.resident_bytes()?.saturating_sub(empty) as f64 / elements as f64)
}

const SAMPLES: u64 = 40;
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 8] = ["kind", "server", "1/4", "1/2", "3/4", "end", "5 s later", "most"];

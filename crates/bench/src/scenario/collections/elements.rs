//! Resident bytes per element, at points of the growth, at its end and five seconds later.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::expect;
use crate::generator::{KeyChoice, Load};
use crate::measure::measure_watched;
use crate::report::{Plot, Section};
use crate::sampler::{Sample, Watch};
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
            let grow = |program: &&Program| grow(program, kind, self.elements);
            let mut all: Vec<_> = programs.iter().rev().map(grow).collect();
            thread::sleep(REST);
            all.reverse();
            for (program, grown) in programs.iter().zip(all) {
                let bytes = grown.and_then(|(server, empty, mut bytes)| {
                    let used = server.resident_bytes()?.saturating_sub(empty);
                    bytes.insert(4, used as f64 / self.elements as f64);
                    bytes[5] = bytes[5].max(bytes[4]);
                    Ok(bytes)
                });
                show(section, kind, program, &bytes);
            }
        }
        Ok(())
    }
}

/// Grows a kind on a server; returns it with its resident bytes at the start, and the bytes per
/// element: at each quarter, and the most.
fn grow(program: &Program, kind: &Collection, elements: u64) -> Result<(Server, u64, Vec<f64>)> {
    let server = program.start(&Launch::default())?;
    let empty = server.resident_bytes()?;
    let requests = elements / kind.at_once;
    let mut load = Load::each(&kind.request, requests).on(1);
    if kind.shuffled {
        load.keys = KeyChoice::Shuffled;
    }
    let each = |bytes: u64, requests: u64| {
        bytes.saturating_sub(empty) as f64 / (requests * kind.at_once) as f64
    };
    let mut samples = measure_watched(&server, &load, Watch::every(EVERY))?.samples;
    samples.retain(|sample| sample.operations >= requests / 4);
    let bytes = |sample: &Sample| Some(each(sample.resident_bytes?, sample.operations));
    let at = |quarter| samples.iter().find(|it| it.operations >= requests * quarter / 4);
    let quarters = (1..4).map(|quarter| at(quarter).and_then(bytes).unwrap_or(f64::NAN));
    let end = each(server.resident_bytes()?, requests);
    let most = samples.iter().filter_map(bytes).fold(end, f64::max);
    let count = kind.each.unwrap_or(elements);
    expect(&server, &kind.count, count)?;
    expect(&server, "DBSIZE", elements / count)?;
    Ok((server, empty, quarters.chain([end, most]).collect()))
}

/// Shows the bytes per element, in the order of the columns.
fn show(section: &mut Section, kind: &Collection, program: &Program, bytes: &Result<Vec<f64>>) {
    let cells = bytes.as_ref().map(|bytes| bytes.iter().map(|it| cell(&[*it], 1)).collect());
    row(section, &kind.name, &program.label, cells);
    let rested = bytes.as_ref().ok().map(|bytes| bytes[4]);
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

const EVERY: Duration = Duration::from_millis(2);
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 8] = ["kind", "server", "1/4", "1/2", "3/4", "end", "5 s later", "most"];

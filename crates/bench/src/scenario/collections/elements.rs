//! Resident bytes per element, at points of the growth, at its end and five seconds later.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::absent;
use super::store::{Stored, expect};
use crate::generator::shuffled;
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scale, Scenario, pin_client};
use crate::servers::{Kind, Launch, Program, Server};

/// Amount of data that is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Elements of each kind.
    pub elements: u64,
}

impl Plan {
    /// Returns the collections of each plot.
    fn collections(&self) -> [(&'static str, Vec<Collection>); 2] {
        let (all, hashes) = (self.elements, self.elements / FIELDS);
        let kind = |name, request: &str, count| Collection {
            name,
            stored: Stored::new(request, all),
            counts: vec![(count, all)],
            per_request: 1,
        };
        let small = || vec![("HLEN user:0000007", FIELDS), ("DBSIZE", hashes)];
        let first = vec![
            kind("sorted set, scores rise", "ZADD zset {n} m:{n}", "ZCARD zset"),
            kind("sorted set, any order", "ZADD zset {n} m:{n}", "ZCARD zset").shuffled(),
            kind("hash, 8 and 16", "HSET hash {n~8} {?16}", "HLEN hash").shuffled(),
            kind("set, 16", "SADD set {n~16}", "SCARD set").shuffled(),
        ];
        let others = vec![
            kind("list, 16", "RPUSH list {?16}", "LLEN list"),
            kind("stream, 16", "XADD stream * f {?16}", "XLEN stream"),
            Collection {
                name: "hashes of 10, 8 and 16",
                stored: Stored::new(whole_hash("{?16}"), hashes),
                counts: small(),
                per_request: FIELDS,
            },
            Collection {
                name: "the same, field by field",
                stored: Stored::new("HSET user:{n/10:7} field_{n%10:2} {?16}", all),
                counts: small(),
                per_request: 1,
            },
        ];
        [("sorted sets, hash and set", first), ("list, stream and small hashes", others)]
    }
}

/// Returns the HSET for a hash of ten fields of 8 bytes under a key of 12.
pub(super) fn whole_hash(value: &str) -> String {
    let fields = (0..FIELDS).map(|field| format!(" field_{field:02} {value}"));
    std::iter::once("HSET user:{n:7}".to_owned()).chain(fields).collect()
}

/// Kind of collection, and its growth.
struct Collection {
    name: &'static str,
    stored: Stored,
    /// Commands that count the elements, and the expected answers.
    counts: Vec<(&'static str, u64)>,
    /// Elements per request.
    per_request: u64,
}

impl Collection {
    fn shuffled(mut self) -> Self {
        let order = shuffled(u32::try_from(self.stored.count).unwrap_or(u32::MAX), 1);
        self.stored = self.stored.listed(order);
        self
    }

    /// Returns the resident bytes per element after so many requests.
    fn bytes_each(&self, server: &Server, empty: u64, requests: u64) -> Result<f64> {
        let bytes = server.resident_bytes()?.saturating_sub(empty) as f64;
        Ok(bytes / (requests * self.per_request) as f64)
    }
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        // Small hashes have ten fields each.
        Self { elements: scale.of(self.elements / FIELDS) * FIELDS }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let note = format!("Resident bytes per element, {} elements.", self.elements);
        section.columns(&COLUMNS);
        section.note(note);
        section.note(
            "Less the memory of the empty server. Key, members, fields and values included. The \
             aim is for the end, five seconds after the last write; what nodes have spare while \
             they grow is in the columns before it. Most: over all samples from a quarter of the \
             elements on.",
        );
        for (of, kinds) in self.collections() {
            let title = format!("Resident bytes per element at rest: {of}");
            let mut plot = Plot::bars(title, Vec::new(), "bytes");
            for kind in &kinds {
                let grown = grow(bench, kind);
                for (program, grown) in bench.varve_and_peers().zip(grown) {
                    show(section, &mut plot, kind, program, grown);
                }
            }
            section.plot(plot);
        }
        Ok(())
    }
}

fn show(
    section: &mut Section,
    plot: &mut Plot,
    kind: &Collection,
    program: &Program,
    grown: Result<Grown>,
) {
    let cells = match &grown {
        Ok(grown) => grown.cells(),
        Err(error) => vec![absent(section, kind.name, error)],
    };
    section.row([kind.name.to_owned(), program.label.clone()].into_iter().chain(cells));
    if let Ok(grown) = &grown {
        plot.bar(&program.label, kind.name, grown.rested);
    }
    if program.kind == Kind::Varve {
        let what = format!("resident bytes per element: {}", kind.name);
        let rested = grown.ok().map(|grown| grown.rested);
        section.finding(what, rested, "B");
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
    fn most(&self) -> f64 {
        let at_rest = [self.at_end, self.rested];
        self.growing.iter().copied().chain(at_rest).fold(0.0, f64::max)
    }

    fn cells(&self) -> Vec<String> {
        let last = self.growing.len().saturating_sub(1);
        let quarters = (0..3).map(|third| self.growing.get(last * third / 3).copied());
        let ends = [self.at_end, self.rested, self.most()].map(Some);
        let text = |bytes: Option<f64>| bytes.map_or("-".to_owned(), |bytes| format!("{bytes:.1}"));
        quarters.chain(ends).map(text).collect()
    }
}

/// Grows all servers, which rest at the same time; Varve, whose memory changes most, comes last.
fn grow(bench: &Bench, kind: &Collection) -> Vec<Result<Grown>> {
    let mut programs: Vec<_> = bench.varve_and_peers().collect();
    programs.reverse();
    let ended: Vec<_> = programs.into_iter().map(|program| Ended::grow(program, kind)).collect();
    thread::sleep(REST);
    ended.into_iter().rev().map(|ended| ended?.rest(kind)).collect()
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
    fn grow(program: &Program, kind: &Collection) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let empty = server.resident_bytes()?;
        let mut growing = Vec::new();
        let watch = |done| {
            if done >= kind.stored.count / 4 {
                growing.push(kind.bytes_each(&server, empty, done)?);
            }
            Ok(())
        };
        kind.stored.send_watched(&server, kind.stored.count / SAMPLES, watch)?;
        let at_end = kind.bytes_each(&server, empty, kind.stored.count)?;
        kind.counts
            .iter()
            .try_for_each(|(command, elements)| expect(&server, command, *elements))?;
        Ok(Self { server, empty, growing, at_end })
    }

    fn rest(self, kind: &Collection) -> Result<Grown> {
        let rested = kind.bytes_each(&self.server, self.empty, kind.stored.count)?;
        Ok(Grown { growing: self.growing, at_end: self.at_end, rested })
    }
}

/// Fields of a small hash.
pub(super) const FIELDS: u64 = 10;
const SAMPLES: u64 = 40;
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 8] = ["kind", "server", "1/4", "1/2", "3/4", "end", "5 s later", "most"];

#[cfg(test)]
mod tests {
    use super::Grown;

    #[test]
    fn the_most_may_be_anywhere() {
        let most = |growing: [f64; 2], at_end, rested| {
            Grown { growing: growing.into(), at_end, rested }.most()
        };
        assert!((most([9.0, 1.0], 2.0, 3.0) - 9.0).abs() < 1e-9);
        assert!((most([1.0, 2.0], 9.0, 3.0) - 9.0).abs() < 1e-9);
        assert!((most([1.0, 2.0], 3.0, 9.0) - 9.0).abs() < 1e-9);
    }
}

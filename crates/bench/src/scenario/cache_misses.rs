//! Cache misses per lookup, as cachegrind simulates them: the misses of a server that was filled
//! and queried, less those of one that was only filled. Cachegrind ignores prefetches, so that the
//! figures are lines read and not time spent waiting for them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::measure::{Load, fill, measure};
use super::{Bench, Scale, Scenario, pin_client};
use crate::generator::{Operation, Stop, ValueSize};
use crate::report::{Plot, Section};
use crate::servers::{Launch, Program};

/// Amount of data that is stored and looked up.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of keys; each is looked up once on average.
    pub keys: u64,
    /// Sizes of values in bytes, each with fresh servers.
    pub values: Vec<usize>,
    /// Requests in flight on each connection.
    pub pipeline: usize,
    /// Bytes of the simulated last-level cache; a power of two, much smaller than the data.
    pub last_level: u64,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { keys: scale.of(self.keys).max(KEYS_MIN), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["values", "server", "instructions", "D1 misses", "last-level misses"]);
        section.note(format!(
            "GET of {} keys of 16 bytes, pipeline {}; first level 32 KiB, last level {} KiB. \
             Everything that a request takes is in it: parsing, lookup, reply, and what the \
             server does of itself meanwhile; the kernel is not.",
            self.keys,
            self.pipeline,
            self.last_level >> 10
        ));
        let mut plot = Plot::bars("Last-level misses per lookup", Vec::new(), "cache lines");
        for &value in &self.values {
            let mut all = Vec::new();
            for program in bench.varve_and_peers() {
                let Some(counts) = self.per_lookup(program, value)? else {
                    section.note(format!("The profiler cannot reach {}.", program.label));
                    continue;
                };
                section.row(
                    [value.to_string(), program.label.clone()].into_iter().chain(counts.cells()),
                );
                plot.bar(&program.label, &format!("values of {value} bytes"), counts.last);
                all.push((program.label.clone(), counts));
            }
            figures(section, value, &all);
        }
        section.plot(plot);
        Ok(())
    }
}

/// Adds the figures of Varve, which is the first, and its ratios to the others.
fn figures(section: &mut Section, value: usize, all: &[(String, Counts)]) {
    let Some(((_, varve), others)) = all.split_first() else { return };
    let of = format!("of values of {value} bytes");
    for (label, counts) in others {
        let ratio = varve.last / counts.last;
        section.finding(format!("last-level misses per lookup {of} / {label}"), Some(ratio), "");
        let ratio = varve.instructions / counts.instructions;
        section.finding(format!("instructions per lookup {of} / {label}"), Some(ratio), "");
    }
    section.finding(format!("first-level misses per lookup {of}"), Some(varve.first), "lines");
    section.finding(format!("last-level misses per lookup {of}"), Some(varve.last), "lines");
}

impl Plan {
    /// Returns the counts per lookup; `None` if the profiler cannot reach the program.
    fn per_lookup(&self, program: &Program, value: usize) -> Result<Option<Counts>> {
        let Some(filled) = self.counts(program, value, false)? else { return Ok(None) };
        let Some(asked) = self.counts(program, value, true)? else { return Ok(None) };
        Ok(Some(asked.less(&filled, self.keys)))
    }

    /// Returns cachegrind's counts from start to end.
    fn counts(&self, program: &Program, value: usize, asks: bool) -> Result<Option<Counts>> {
        // Removed in any case.
        let folder = tempfile::Builder::new().prefix("varve-bench-cachegrind-").tempdir()?;
        let cachegrind = self.cachegrind(folder.path());
        let Some(program) = program.profiled(&cachegrind) else { return Ok(None) };
        let server = program.start(&Launch::default())?;
        fill(&server, self.keys, ValueSize::Fixed(value))?;
        if asks {
            let mut load = Load::new(Operation::Get, self.pipeline, self.keys);
            load.stop = Stop::Operations(self.keys);
            measure(&server, &load)?;
        }
        let file = folder.path().join(server.pid.to_string());
        server.end()?;
        let text = fs::read_to_string(&file)
            .with_context(|| format!("cachegrind wrote no {}", file.display()))?;
        Counts::parse(&text).map(Some)
    }

    fn cachegrind(&self, folder: &Path) -> Vec<String> {
        let words = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--trace-children=yes"];
        let sizes = ["--I1=32768,8,64".to_owned(), "--D1=32768,8,64".to_owned()];
        let last = format!("--LL={},16,64", self.last_level);
        let out = format!("--cachegrind-out-file={}/%p", folder.display());
        words.map(str::to_owned).into_iter().chain(sizes).chain([last, out]).collect()
    }
}

/// Instructions, and data misses by cache level.
struct Counts {
    instructions: f64,
    first: f64,
    last: f64,
}

impl Counts {
    /// Reads the lines `events:` and `summary:` of cachegrind's file.
    fn parse(text: &str) -> Result<Self> {
        let line = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.with_context(|| format!("cachegrind's file has no {name}"))
        };
        let names = line("events:")?.split_whitespace();
        let numbers = line("summary:")?.split_whitespace();
        let pairs: Vec<_> = names.zip(numbers).collect();
        let of = |name: &str| -> Result<f64> {
            let pair = pairs.iter().find(|(event, _)| *event == name);
            Ok(pair.with_context(|| format!("cachegrind counted no {name}"))?.1.parse()?)
        };
        Ok(Self {
            instructions: of("Ir")?,
            first: of("D1mr")? + of("D1mw")?,
            last: of("DLmr")? + of("DLmw")?,
        })
    }

    fn cells(&self) -> [String; 3] {
        [self.instructions, self.first, self.last].map(|count| format!("{count:.2}"))
    }

    fn less(&self, other: &Self, operations: u64) -> Self {
        let per = |with: f64, without: f64| (with - without) / operations as f64;
        Self {
            instructions: per(self.instructions, other.instructions),
            first: per(self.first, other.first),
            last: per(self.last, other.last),
        }
    }
}

const KEYS_MIN: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn misses_of_data_are_those_of_reads_and_writes() {
        let text = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nsummary: 90 1 2 3 4 5 6 7 8\n";
        let counts = Counts::parse(text).unwrap();
        assert_eq!((counts.instructions, counts.first, counts.last), (90.0, 11.0, 13.0));
        assert!(Counts::parse("events: Ir\nsummary: 1\n").is_err());
    }
}

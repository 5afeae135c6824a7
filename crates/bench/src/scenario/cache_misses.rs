//! Cache misses per lookup and by function, as callgrind simulates them. It ignores prefetches, so
//! that the figures are lines read and not time spent waiting for them.

use std::cmp::Reverse;

use anyhow::Result;
use serde::Deserialize;

use super::valgrind::{Counts, Events, Profiled, add, sum};
use super::{Bench, Scenario, pin_client};
use crate::generator::{Load, Sizes};
use crate::measure::{fill, measure};
use crate::report::{Plot, Section};
use crate::servers::Program;

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
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "GET of {} keys of 16 bytes, pipeline {}; first level 32 KiB, last level {} KiB. \
             Everything that a request takes is in it: parsing, lookup, reply, and what the \
             server does of itself meanwhile; the kernel is not. Functions with less than {} % of \
             the last-level misses are left out. Inlined functions count as their callers. \
             \"f > library\" is a function without a symbol that f calls.",
            self.keys,
            self.pipeline,
            self.last_level >> 10,
            SHOWN_MIN * 100.0
        ));
        let mut plot = Plot::bars("Last-level misses per lookup", Vec::new(), "cache lines");
        let mut redis = Counts::new();
        for &value in &self.values {
            let mut all = Vec::new();
            for program in bench.varve_and_peers() {
                let label = &program.label;
                let Some(counts) = self.counts(program, value)? else {
                    section.note(format!("The profiler cannot reach {label}."));
                    continue;
                };
                let sum = self.show(section, label, value, &counts);
                plot.bar(label, &format!("values of {value} bytes"), sum[2]);
                all.push((label.clone(), sum));
                if label == "redis" {
                    counts.iter().for_each(|(name, cost)| add(&mut redis, name, cost));
                }
            }
            figures(section, value, &all);
        }
        let of_table = redis.iter().filter(|(name, _)| is_of_hash_table(name));
        let share = share(sum(of_table.map(|(_, cost)| cost)), sum(redis.values()));
        let what = "Redis: share of last-level misses in functions of its hash table";
        section.finding(what, (!redis.is_empty()).then_some(100.0 * share), "%");
        section.plot(plot);
        Ok(())
    }
}

/// Adds the figures of Varve, which is the first, and its ratios to the others.
fn figures(section: &mut Section, value: usize, all: &[(String, [f64; 3])]) {
    let Some(((_, varve), others)) = all.split_first() else { return };
    let of = format!("of values of {value} bytes");
    for (label, counts) in others {
        for (what, at) in [("last-level misses", 2), ("instructions", 0)] {
            let ratio = varve[at] / counts[at];
            section.finding(format!("{what} per lookup {of} / {label}"), Some(ratio), "");
        }
    }
    section.finding(format!("first-level misses per lookup {of}"), Some(varve[1]), "lines");
    section.finding(format!("last-level misses per lookup {of}"), Some(varve[2]), "lines");
}

/// Returns true for the functions of Redis' hash table: those that the paper names, and those that
/// have taken their place. `lookupKey` is none, then as now.
fn is_of_hash_table(name: &str) -> bool {
    HASH_TABLE.iter().any(|begin| name.starts_with(begin))
}

/// Returns the share of one in the last-level misses of all.
fn share(one: Events, all: Events) -> f64 {
    one[2] as f64 / all[2] as f64
}

impl Plan {
    /// Returns the counts of all lookups; `None` if the profiler cannot reach the program.
    fn counts(&self, program: &Program, value: usize) -> Result<Option<Counts>> {
        let last = format!("--LL={},16,64", self.last_level);
        let sizes = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", &last];
        let Some(mut profiled) = Profiled::start(program, &sizes.map(str::to_owned))? else {
            return Ok(None);
        };
        fill(&profiled.server, self.keys, &Sizes::fixed(value))?;
        let load = Load::get(self.keys).pipelined(self.pipeline);
        // The caches begin empty.
        profiled.count()?;
        measure(&profiled.server, &load.clone().count(self.keys / 10))?;
        profiled.counts()?;
        measure(&profiled.server, &load.count(self.keys).seeded(2))?;
        let mut all = Counts::new();
        let threads = profiled.counts()?;
        threads.iter().flatten().for_each(|(name, cost)| add(&mut all, name, cost));
        Ok(Some(all))
    }

    /// Shows all functions together and those with most misses; returns the former per lookup.
    fn show(&self, section: &mut Section, label: &str, value: usize, counts: &Counts) -> [f64; 3] {
        let all = sum(counts.values());
        let mut shown: Vec<_> = counts.iter().map(|(name, cost)| (name.as_str(), *cost)).collect();
        shown.retain(|(_, cost)| share(*cost, all) >= SHOWN_MIN);
        shown.sort_by_key(|(_, cost)| Reverse(cost[2]));
        let per_lookup = |cost: Events| cost.map(|count| count as f64 / self.keys as f64);
        for (name, cost) in [("all", all)].into_iter().chain(shown) {
            let numbers = per_lookup(cost).map(|count| format!("{count:.2}"));
            let share = format!("{:.1}", 100.0 * share(cost, all));
            let cells = [value.to_string(), label.to_owned(), name.to_owned()];
            section.row(cells.into_iter().chain(numbers).chain([share]));
        }
        per_lookup(all)
    }
}

/// Beginnings of the names of functions of Redis' hash table.
const HASH_TABLE: [&str; 6] = ["siphash", "dict", "kvstore", "hashtable", "sdscmp", "memcmp"];
/// Least share of the last-level misses of a function that is shown.
const SHOWN_MIN: f64 = 0.03;
const COLUMNS: [&str; 7] =
    ["values", "server", "function", "instructions", "D1 misses", "last-level misses", "% of them"];

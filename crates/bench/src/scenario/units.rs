//! Waiting time of other clients while a large transaction runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, Scenario};
use crate::generator::{Load, Outcome};
use crate::measure::{measure, send_each};
use crate::report::Section;
use crate::servers::{Launch, Program};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// SETs of one transaction.
    sets: u64,
    /// Number of transactions.
    times: u64,
}

/// Keys of the SETs, by the names of their rows.
const KEYS: [(&str, &str); 2] = [("one shard", "k"), ("all shards", "k{i}")];

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        section.columns(COLUMNS);
        for program in bench.varve_and_valkey() {
            for (row, key) in KEYS {
                section.values(row, &program.label, &self.measure(program, key)?);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn measure(&self, program: &Program, key: &str) -> Result<[f64; 5]> {
        let server = program.start(&Launch::on(2, 2))?;
        send_each(&server, "SET other{n} value", OTHERS)?;
        let others = Load::of("GET other{n}", OTHERS).on(4).pipelined(1);
        let alone = measure(&server, &others.clone().lasting(ALONE))?.outcome;
        let sets = (0..self.sets).map(|i| format!("SET {} v;", key.replace("{i}", &i.to_string())));
        let unit = format!("MULTI; {} EXEC", sets.collect::<Vec<_>>().join(" "));
        let unit = Load::of(unit, 1).on(1).pipelined(1).count(self.times * (self.sets + 2));
        let is_over = Arc::new(AtomicBool::new(false));
        let beside = thread::scope(|scope| {
            let beside = scope.spawn(|| -> Result<Vec<Outcome>> {
                let mut parts = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    parts.push(measure(&server, &others.clone().lasting(PART))?.outcome);
                }
                Ok(parts)
            });
            let done = measure(&server, &unit);
            is_over.store(true, Ordering::Relaxed);
            let beside = beside.join().ok().context("the other clients")??;
            done.map(|_| beside)
        })?;
        let exec = server.micros_per_call("exec")? / 1e3;
        let mut waits = Outcome::empty().latencies;
        beside.iter().try_for_each(|part| waits.add(&part.latencies)).context("waits")?;
        let longest = waits.max() as f64 / 1e6;
        let p99 = |waits: &hdrhistogram::Histogram<u64>| waits.value_at_quantile(0.99) as f64 / 1e3;
        let (during, before) = (p99(&waits), p99(&alone.latencies));
        Ok([exec, longest, longest - exec, during, during / before])
    }
}

const COLUMNS: &str = "keys | server | EXEC ms .1 | longest wait ms .1 | beyond ms .1 | p99 us .0 \
                       | p99 / alone .2";
/// Keys of other clients.
const OTHERS: u64 = 1000;
const ALONE: Duration = Duration::from_secs(2);
const PART: Duration = Duration::from_millis(500);

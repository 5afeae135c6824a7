//! A full cache: whether the process keeps its memory limit, the amount of data that it keeps, and
//! the cost of a SET while room must be made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, Scenario, mebibytes, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::{Measured, Watch, try_measure};
use crate::report::{Figure, Plot, Section};
use crate::sampler::Sample;
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Amount of data that is written to the cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `maxmemory` in bytes.
    limit: u64,
    /// Bytes written, keys and values together.
    written: u64,
    /// Worker threads.
    threads: usize,
    /// Rounds, in each of which fresh and full are measured in turn.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "maxmemory {} MiB, allkeys-lru. {} threads, but Valkey and Redis, whose commands one \
             thread executes.",
            self.limit >> 20,
            self.threads
        ));
        section.note(format!(
            "{} MiB of SETs with new keys, values of {VALUE_BYTES} bytes, 50 connections, \
             pipeline 16. Live: keys and values, least after the first fill. Fresh: the same SETs \
             without a limit. The null server keeps nothing and has no limit.",
            self.written >> 20
        ));
        let mut memory = Plot::bars("Memory of a full cache", Vec::new(), "part of the limit");
        let mut cost = Plot::bars("Server CPU per SET", Vec::new(), "microseconds");
        let new = || Full { live: f64::INFINITY, ..Full::default() };
        let mut measured: Vec<_> = bench.all_programs().map(|it| (it, new())).collect();
        for _ in 0..self.rounds {
            for (program, full) in &mut measured {
                self.round(program, full)?;
            }
        }
        for (program, full) in measured {
            self.show(section, &program.label, &full, [&mut memory, &mut cost]);
            if program.kind == Kind::Varve {
                self.figures(section, &full);
            }
        }
        section.plot(memory);
        section.plot(cost);
        Ok(())
    }
}

impl Plan {
    fn round(&self, program: &Program, full: &mut Full) -> Result<()> {
        let launch = Launch::default().with_threads(self.threads);
        let server = program.start(&launch)?;
        full.fresh_us.push(push(&server, &sets(0, self.written), |_| ())?.server_us());
        drop(server);
        let limited = launch.with("maxmemory", self.limit).with("maxmemory-policy", "allkeys-lru");
        let server = program.start(&limited)?;
        let filled = push(&server, &sets(0, 2 * self.limit), |_| ())?;
        let (mut count_keys, least) = (server.key_counter()?, Arc::new(AtomicU64::new(u64::MAX)));
        let lowest = Arc::clone(&least);
        let pushed = push(&server, &sets(2 * self.limit, self.written), move |_| {
            if let Ok(keys) = count_keys() {
                lowest.fetch_min(keys * PAIR, Ordering::Relaxed);
            }
        })?;
        full.full_us.push(pushed.server_us());
        full.live = full.live.min(least.load(Ordering::Relaxed) as f64);
        full.resident = full.resident.max(most_resident(&filled)).max(most_resident(&pushed));
        full.refused =
            full.refused.max(filled.outcome.replies.error + pushed.outcome.replies.error);
        Ok(())
    }

    fn show(&self, section: &mut Section, label: &str, full: &Full, plots: [&mut Plot; 2]) {
        let [resident, live] = [full.resident, full.live].map(|it| it / self.limit as f64);
        let [fresh, while_full] = [&full.fresh_us, &full.full_us].map(|us| median(us.clone()));
        let [memory, cost] = plots;
        if live > 0.0 {
            memory.bar(label, "most resident", resident);
            memory.bar(label, "least keys and values", live);
        }
        cost.bar(label, "fresh", fresh);
        cost.bar(label, "while full", while_full);
        let kept = |text| if live > 0.0 { text } else { "-".to_owned() };
        section.row([
            label.to_owned(),
            mebibytes(full.resident),
            kept(mebibytes(full.live)),
            kept(format!("{live:.2}")),
            format!("{fresh:.3}"),
            format!("{while_full:.3}"),
            format!("{:.2}", while_full / fresh),
        ]);
        if full.refused > 0 {
            let (refused, of) = (full.refused, self.written / PAIR);
            section.note(format!("{label} refused {refused} of {of} SETs in one round."));
        }
    }

    fn figures(&self, section: &mut Section, full: &Full) {
        let resident = full.resident / f64::from(1 << 20);
        section.finding("maxmemory: most resident memory", Some(resident), "MiB");
        let live = full.live / self.limit as f64;
        section.gain("maxmemory: least live payload / limit", Some(live), "");
        let what = "maxmemory: SET while full / fresh SET";
        section.figures.push(Figure::ratio(what, &full.full_us, &full.fresh_us));
    }
}

/// Results of all rounds.
#[derive(Default)]
struct Full {
    resident: f64,
    live: f64,
    fresh_us: Vec<f64>,
    full_us: Vec<f64>,
    /// Refused SETs in the round that had most of them.
    refused: u64,
}

/// Returns SETs of new keys, those behind the first `from` bytes of `to`.
fn sets(from: u64, to: u64) -> Load {
    let (value, first) = (Sizes::fixed(VALUE_BYTES), from / PAIR);
    let count = to / PAIR - first;
    let load = Load::of(format!("SET k{{n+{first}:15}} {{?{value}}}"), count);
    load.choosing(KeyChoice::Sequential).count(count)
}

/// Sends a load and calls `watch` with samples of the server. Memcached makes room in the
/// background and refuses SETs until there is some; errors of the others are errors.
pub(super) fn push(
    server: &Server,
    load: &Load,
    watch: impl FnMut(&Sample) + Send + 'static,
) -> Result<Measured> {
    let watch = Watch { every: SAMPLE_EVERY, watch: Box::new(watch) };
    let measured = try_measure(&server.into(), load, &Arc::default(), Some(watch));
    let Measured { outcome, server_cpu, samples, failure } = measured;
    failure.map_or(Ok(()), Err).with_context(|| server.label.clone())?;
    let outcome = match server.kind {
        Kind::Memcached => outcome,
        _ => outcome.sound().with_context(|| server.label.clone())?,
    };
    Ok(Measured { outcome, server_cpu, samples, failure: None })
}

/// Returns the highest resident memory of the samples, in bytes.
pub(super) fn most_resident(measured: &Measured) -> f64 {
    measured.samples.iter().filter_map(|it| it.resident_bytes).max().unwrap_or(0) as f64
}

const VALUE_BYTES: usize = 1000;
const PAIR: u64 = (KEY_BYTES + VALUE_BYTES) as u64;
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const COLUMNS: [&str; 7] =
    ["server", "resident MiB", "live MiB", "live/limit", "fresh us/SET", "full us/SET", "ratio"];

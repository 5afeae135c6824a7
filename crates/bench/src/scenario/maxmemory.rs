//! A full cache: whether the process keeps its memory limit, the amount of data that it keeps, and
//! the cost of a SET while room must be made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::rounds::{cell, in_turns};
use super::{Bench, Scenario, mebibytes, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::{Measured, measure_watched};
use crate::report::{Figure, Plot, Section};
use crate::sampler::{Sample, Watch, most_memory};
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
        let memory = Plot::bars("Memory of a full cache", Vec::new(), "part of the limit");
        let cost = Plot::bars("Server CPU per SET", Vec::new(), "microseconds");
        let mut plots = [memory, cost];
        let programs: Vec<_> = bench.all_programs().collect();
        let all = in_turns(&programs, self.rounds, |program, _| self.round(program));
        for (program, rounds) in programs.iter().zip(all) {
            self.show(section, &mut plots, program, &rounds?);
        }
        plots.into_iter().for_each(|plot| section.plot(plot));
        Ok(())
    }
}

/// Measurements of one round.
struct Round {
    /// Most resident memory, and least live payload once the cache was full, in bytes.
    resident: f64,
    live: f64,
    fresh_us: f64,
    full_us: f64,
    /// Number of refused SETs.
    refused: f64,
}

impl Plan {
    fn round(&self, program: &Program) -> Result<Round> {
        let launch = Launch::on(1, self.threads);
        let fresh = push(&program.start(&launch)?, sets(0, self.written), |_| ())?;
        let limited = launch.with("maxmemory", self.limit).with("maxmemory-policy", "allkeys-lru");
        let server = program.start(&limited)?;
        let filled = push(&server, sets(0, 2 * self.limit), |_| ())?;
        let (mut control, least) = (server.control()?, Arc::new(AtomicU64::new(u64::MAX)));
        let live = Arc::clone(&least);
        let full = push(&server, sets(2 * self.limit, self.written), move |_| {
            if let Ok(keys) = control.key_count() {
                least.fetch_min(keys * PAIR, Ordering::Relaxed);
            }
        })?;
        Ok(Round {
            resident: most_memory(&filled.samples).max(most_memory(&full.samples)),
            live: live.load(Ordering::Relaxed) as f64,
            fresh_us: fresh.server_us(),
            full_us: full.server_us(),
            refused: (filled.outcome.replies.error + full.outcome.replies.error) as f64,
        })
    }

    fn show(
        &self,
        section: &mut Section,
        [memory, cost]: &mut [Plot; 2],
        program: &Program,
        rounds: &[Round],
    ) {
        let of = |it: fn(&Round) -> f64| rounds.iter().map(it).collect::<Vec<_>>();
        let most = |it| of(it).into_iter().fold(0.0, f64::max);
        let (resident, refused) = (most(|it| it.resident), most(|it| it.refused));
        let live = of(|it| it.live).into_iter().fold(f64::INFINITY, f64::min);
        let (fresh, full) = (of(|it| it.fresh_us), of(|it| it.full_us));
        let (label, limit) = (&program.label, self.limit as f64);
        let kept = |text| if live > 0.0 { text } else { "-".to_owned() };
        section.row([
            label.clone(),
            mebibytes(resident),
            kept(mebibytes(live)),
            kept(format!("{:.2}", live / limit)),
            cell(&fresh, 3),
            cell(&full, 3),
            format!("{:.2}", median(full.clone()) / median(fresh.clone())),
        ]);
        cost.bar(label, "fresh", median(fresh.clone()));
        cost.bar(label, "while full", median(full.clone()));
        if live > 0.0 {
            memory.bar(label, "most resident", resident / limit);
            memory.bar(label, "least keys and values", live / limit);
        }
        if refused > 0.0 {
            let of = self.written / PAIR;
            section.note(format!("{label} refused {refused} of {of} SETs in one round."));
        }
        if program.kind == Kind::Varve {
            let resident = resident / f64::from(1 << 20);
            section.finding("maxmemory: most resident memory", Some(resident), "MiB");
            section.gain("maxmemory: least live payload / limit", Some(live / limit), "");
            let what = "maxmemory: SET while full / fresh SET";
            section.figures.push(Figure::ratio(what, &full, &fresh));
        }
    }
}

/// Returns SETs of new keys, those behind the first `from` bytes of `to`.
fn sets(from: u64, to: u64) -> Load {
    let (value, first) = (Sizes::fixed(VALUE_BYTES), from / PAIR);
    let count = to / PAIR - first;
    let load = Load::of(format!("SET k{{n+{first}:15}} {{?{value}}}"), count);
    load.choosing(KeyChoice::Sequential).count(count)
}

/// Sends a load and calls `watch` with samples of the server. Memcached makes room in the
/// background and refuses SETs until there is some.
pub(super) fn push(
    server: &Server,
    load: Load,
    watch: impl FnMut(&Sample) + Send + 'static,
) -> Result<Measured> {
    let load = Load { refusals: server.kind == Kind::Memcached, ..load };
    measure_watched(server, &load, Watch { every: SAMPLE_EVERY, watch: Box::new(watch) })
}

const VALUE_BYTES: usize = 1000;
const PAIR: u64 = (KEY_BYTES + VALUE_BYTES) as u64;
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const COLUMNS: [&str; 7] =
    ["server", "resident MiB", "live MiB", "live/limit", "fresh us/SET", "full us/SET", "ratio"];

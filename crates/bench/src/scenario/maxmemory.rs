//! A full cache: whether the process keeps its memory limit, the amount of data that it keeps, and
//! the cost of a SET while room must be made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::rounds::{by_value, in_turns};
use super::{Bench, Scenario, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::{Measured, measure_watched};
use crate::report::Section;
use crate::sampler::{Sample, Watch, most_memory};
use crate::servers::{Kind, Launch, Program, Server};

/// Amount of data that is written to the cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `maxmemory` in bytes.
    limit: u64,
    /// Bytes written, keys and values together.
    written: u64,
    threads: usize,
    /// Rounds, in each of which fresh and full are measured in turn.
    rounds: usize,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        let mut programs: Vec<_> = bench.all_programs().collect();
        let all = in_turns(&mut programs, self.rounds, |program, _| self.round(program));
        for (program, rounds) in programs.iter().zip(all) {
            self.show(section, program, &rounds?);
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the most resident memory, and the least live payload once the cache was full, in
    /// bytes; microseconds of the server for a fresh SET and while the cache is full; refused SETs.
    fn round(&self, program: &Program) -> Result<[f64; 5]> {
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
        Ok([
            most_memory(&filled.samples).max(most_memory(&full.samples)),
            live.load(Ordering::Relaxed) as f64,
            fresh.server_us(),
            full.server_us(),
            (filled.outcome.replies.error + full.outcome.replies.error) as f64,
        ])
    }

    fn show(&self, section: &mut Section, program: &Program, rounds: &[[f64; 5]]) {
        let [resident, live, fresh, full, refused] = by_value(rounds);
        let most = |rounds: Vec<f64>| rounds.into_iter().fold(0.0, f64::max);
        let least = live.into_iter().reduce(f64::min).filter(|live| *live > 0.0);
        let live = |unit: f64| least.map(|live| live / unit).into_iter().collect();
        let ratio = full.iter().zip(&fresh).map(|(full, fresh)| full / fresh).collect();
        let resident = vec![most(resident) / MIB];
        let columns = [resident, live(MIB), live(self.limit as f64), fresh, full, ratio];
        section.measured("", &program.label, &columns);
        let (refused, of) = (most(refused), self.written / PAIR);
        if refused > 0.0 {
            let label = &program.label;
            section.note(format!("{label} refused {refused} of {of} SETs in one round."));
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
const MIB: f64 = (1 << 20) as f64;
const COLUMNS: &str = "server | resident MiB .1 | live MiB .1 | live/limit .2 | fresh us/SET .3 | \
    full us/SET .3 | ratio .2";

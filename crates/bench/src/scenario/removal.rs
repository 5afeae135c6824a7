//! Removal of a set of ten million members: effects on its caller and on other clients.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::data::{check, one};
use super::rounds::show_in_turns;
use super::save::Clients;
use super::{Bench, Scenario, milliseconds, pin_client};
use crate::generator::{Load, Moment, Sizes};
use crate::measure::{fill, send_each};
use crate::report::Section;
use crate::servers::{Launch, Program};

/// Size of the set, and its removals.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Tens of members of the set.
    tens: u64,
    /// Number of times that each removal is measured.
    rounds: usize,
    /// Pause until the cleaner is done with the remains of loading.
    #[serde(rename = "rest_ms", deserialize_with = "milliseconds")]
    rest: Duration,
    cases: Vec<Case>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Command, sent at equal distances over the time that is watched; `{n}` counts.
    command: String,
    #[serde(default = "one")]
    times: u64,
    /// Keys named `set:0` that remain afterwards.
    #[serde(default)]
    left: u64,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        for case in &self.cases {
            let mut programs = bench.varve_and_valkey();
            show_in_turns(
                section,
                &case.name,
                &mut programs,
                |program| program.label.clone(),
                self.rounds,
                |program, _| self.remove(program, case),
            );
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the numbers of [`COLUMNS`].
    fn remove(&self, program: &Program, case: &Case) -> Result<[f64; 7]> {
        let server = program.start(&Launch::default())?;
        let members: String = (0..10).map(|member| format!(" {{n*10+{member}~16}}")).collect();
        send_each(&server, &format!("SADD set:0{members}"), self.tens)?;
        check(&server, &["SCARD set:0 KEYS".to_owned()], self.tens * 10)?;
        fill(&server, KEYS, &Sizes::fixed(16))?;
        thread::sleep(self.rest);
        let others = Load::mixed(50, KEYS, &Sizes::fixed(16)).pipelined(1).paced(PER_SECOND);
        let mut clients = Clients::connect(&server, &others.on(OTHERS))?;
        let per_second = case.times as f64 / WATCHED.as_secs_f64();
        let calls = |times| Load::each(&case.command, 10).paced(per_second).count(times);
        clients.watch(WARM_UP, calls(0))?;
        let first = Moment::now(server.pid)?;
        let (before, _) = clients.watch(WATCHED, calls(0))?;
        let (after, caller) = clients.watch(WATCHED, calls(case.times))?;
        let taken = Moment::now(server.pid)?.taken_since(&first).as_secs_f64() * 1e6;
        check(&server, &["EXISTS set:0 KEYS".to_owned()], case.left)?;
        let longest = caller.longest.first().map_or(0.0, |pause| pause.own().as_secs_f64() * 1e3);
        let [p999, p999_after] = [&before, &after].map(|outcome| outcome.latency_us(0.999));
        let [most, most_after] = [&before, &after].map(|outcome| outcome.longest_ms() * 1e3);
        Ok([longest, p999, p999_after, p999_after / p999, most, most_after, taken])
    }
}

/// Keys of the other clients.
const KEYS: u64 = 100_000;
const OTHERS: usize = 20;
const PER_SECOND: f64 = 20_000.0;
const WARM_UP: Duration = Duration::from_millis(500);
const WATCHED: Duration = Duration::from_secs(3);
const COLUMNS: &str = "command | server | caller ms .3 | p99.9 us before .0 | p99.9 us after .0 | \
    ratio .2 | longest us before .0 | longest us after .0 | taken us .0";

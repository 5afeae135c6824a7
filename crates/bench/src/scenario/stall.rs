//! A stall of the server as seen by an open loop and by a closed one, which sends nothing while it
//! waits and so leaves out what others would have seen.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::{Bench, Scenario, milliseconds, pin_client};
use crate::generator::{Arrival, Load, Outcome, Sizes};
use crate::measure::{fill, measure};
use crate::report::{Plot, Section};
use crate::servers::{Launch, Server};

/// Length of the measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Length of each run.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    time: Duration,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let server = bench.varve.start(&Launch::default())?;
        fill(&server, KEYS, &Sizes::fixed(16))?;
        section.columns(&COLUMNS);
        section.note("GET, 50 connections, no pipeline; the server gets SIGSTOP in the middle.");
        let closed = Load::get(KEYS).pipelined(1).lasting(self.time);
        let most = measure(&server, &closed.clone().lasting(self.time / 4))?.outcome;
        let per_second = most.per_second() / 2.0;
        let open = Load { arrival: Arrival::Poisson(per_second), ..closed.clone() };

        let calm = measure(&server, &open)?.outcome;
        let stalled = [self.stalled(&server, &open)?, self.stalled(&server, &closed)?];
        let mut plot = Plot::bars("Round trips, by quantile", Vec::new(), "microseconds").log_y();
        show(section, &mut plot, "open loop, no stall", &calm);
        show(section, &mut plot, "open loop", &stalled[0]);
        show(section, &mut plot, "closed loop", &stalled[1]);
        section.plot(plot);
        let seen = stalled[0].latency_us(0.999) / 1e6 / STALL.as_secs_f64();
        section.gain("open loop: p99.9 / the stall", Some(seen), "");
        Ok(())
    }
}

impl Plan {
    /// Runs a load while the server is stopped once, in the middle.
    fn stalled(&self, server: &Server, load: &Load) -> Result<Outcome> {
        let pid =
            Pid::from_raw(i32::try_from(server.pid)?).context("a server without a process")?;
        thread::scope(|scope| {
            let stall = scope.spawn(|| -> Result<()> {
                thread::sleep(self.time / 2);
                kill_process(pid, Signal::STOP)?;
                thread::sleep(STALL);
                Ok(kill_process(pid, Signal::CONT)?)
            });
            let measured = measure(server, load);
            stall.join().map_err(|_| anyhow!("the stall ended early"))??;
            Ok(measured?.outcome)
        })
    }
}

fn show(section: &mut Section, plot: &mut Plot, name: &str, outcome: &Outcome) {
    let times = QUANTILES.map(|(what, quantile)| (what, outcome.latency_us(quantile)));
    let cells = times.map(|(_, time)| format!("{time:.0}"));
    section.row([name.to_owned(), format!("{:.0}", outcome.per_second())].into_iter().chain(cells));
    times.iter().for_each(|(what, time)| plot.bar(name, what, *time));
}

const KEYS: u64 = 1_000_000;
const STALL: Duration = Duration::from_millis(100);
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("most", 1.0)];
const COLUMNS: [&str; 7] = ["load", "op/s", "p50 us", "p99 us", "p99.9 us", "p99.99 us", "most us"];

//! A stall of the server as seen by an open loop and by a closed one, which sends nothing while it
//! waits and so leaves out what others would have seen.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::measure::{Load, fill};
use super::{Bench, Scale, Scenario, milliseconds, pin_client};
use crate::generator::{Drawn, Operation, Outcome, Pace, Spacing, Stop, ValueSize};
use crate::report::{Plot, Section};
use crate::servers::{Launch, Server};

/// Length of the measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Length of each run.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { time: self.time.mul_f64(scale.factor()).max(TIME_MIN) }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let server = bench.varve.start(&Launch::default())?;
        fill(&server, KEYS, ValueSize::Fixed(16))?;
        section.columns(&COLUMNS);
        section.note("GET, 50 connections, no pipeline; the server gets SIGSTOP in the middle.");
        let mut load = Load::new(Operation::Get, 1, KEYS);
        load.stop = Stop::After(self.time);
        let (mut generator, mut requests, mut keys) = load.prepare(&server)?;
        let most = generator.run(&mut requests, &mut keys, Stop::After(self.time / 4))?;
        let rate = most.operations_per_second() / 2.0;
        let mut source = Drawn { requests: &mut requests, keys: &mut keys };

        let pace = Pace { per_second: rate, spacing: Spacing::Random, seed: 1 };
        let mut plot = Plot::bars("Round trips, by quantile", Vec::new(), "microseconds").log_y();
        let calm = generator.drive_open(&mut source, pace, self.time)?;
        show(section, &mut plot, "open loop, no stall", &calm);
        let open =
            stalled(&server, self.time, || generator.drive_open(&mut source, pace, self.time))?;
        show(section, &mut plot, "open loop", &open);
        let closed = stalled(&server, self.time, || generator.drive(&mut source, load.stop))?;
        show(section, &mut plot, "closed loop", &closed);
        section.plot(plot);
        let seen = open.round_trip_us(0.999) / 1e6 / STALL.as_secs_f64();
        section.gain("open loop: p99.9 / the stall", Some(seen), "");
        Ok(())
    }
}

/// Runs a load while the server is stopped once, in the middle.
fn stalled(
    server: &Server,
    time: Duration,
    run: impl FnOnce() -> Result<Outcome>,
) -> Result<Outcome> {
    let pid = i32::try_from(server.pid).ok().and_then(Pid::from_raw);
    let stop_and_go = move || -> Result<()> {
        thread::sleep(time / 2);
        if let Some(pid) = pid {
            kill_process(pid, Signal::STOP)?;
            thread::sleep(STALL);
            kill_process(pid, Signal::CONT)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let stall = scope.spawn(stop_and_go);
        let outcome = run();
        stall.join().map_err(|_| anyhow::anyhow!("the stall ended early"))??;
        outcome
    })
}

fn show(section: &mut Section, plot: &mut Plot, name: &str, outcome: &Outcome) {
    let times = QUANTILES.map(|(what, quantile)| (what, outcome.round_trip_us(quantile)));
    let rate = format!("{:.0}", outcome.operations_per_second());
    let cells = times.map(|(_, time)| format!("{time:.0}"));
    section.row([name.to_owned(), rate].into_iter().chain(cells));
    for (what, time) in times {
        plot.bar(name, what, time);
    }
}

/// Least length of a run: the stall must be a small part of it.
const TIME_MIN: Duration = Duration::from_secs(2);
const KEYS: u64 = 1_000_000;
const STALL: Duration = Duration::from_millis(100);
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("most", 1.0)];
const COLUMNS: [&str; 7] = ["load", "op/s", "p50 us", "p99 us", "p99.9 us", "p99.99 us", "most us"];

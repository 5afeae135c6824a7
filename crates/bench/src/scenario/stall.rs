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
use crate::report::Section;
use crate::servers::{Launch, Server};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    time: Duration,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let server = bench.varve.start(&Launch::default())?;
        fill(&server, KEYS, &Sizes::fixed(16))?;
        section.columns(COLUMNS);
        let closed = Load::get(KEYS).pipelined(1).lasting(self.time);
        let most = measure(&server, &closed.clone().lasting(self.time / 4))?.outcome;
        let per_second = most.per_second() / 2.0;
        let open = Load { arrival: Arrival::Poisson(per_second), ..closed.clone() };

        let calm = measure(&server, &open)?.outcome;
        let stalled = [self.stalled(&server, &open)?, self.stalled(&server, &closed)?];
        for (name, outcome) in [
            ("open loop, no stall", &calm),
            ("open loop", &stalled[0]),
            ("closed loop", &stalled[1]),
        ] {
            let times = QUANTILES.map(|quantile| outcome.latency_us(quantile));
            let part = times[2] / 1e6 / STALL.as_secs_f64();
            section.values(name, "", &[&[outcome.per_second()], &times[..], &[part]].concat());
        }
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

const KEYS: u64 = 1_000_000;
const STALL: Duration = Duration::from_millis(100);
const QUANTILES: [f64; 5] = [0.5, 0.99, 0.999, 0.9999, 1.0];
const COLUMNS: &str = "load | op/s .0 | p50 us .0 | p99 us .0 | p99.9 us .0 | p99.99 us .0 | \
    most us .0 | p99.9 / the stall .2";

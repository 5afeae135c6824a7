//! Keys whose deadlines spread over a minute: the delay of their removal, and its cost for the
//! server.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::measure::Load;
use super::{Bench, Scale, Scenario, pin_client, seconds};
use crate::generator::{Deadlines, KeyChoice, Operation, Stop};
use crate::report::{Plot, Section};
use crate::servers::{Kind, Launch, Program, Server};

/// Number of keys, and the time over which they expire.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys.
    pub keys: u64,
    /// Time over which their deadlines spread.
    #[serde(rename = "seconds", deserialize_with = "seconds")]
    pub span: Duration,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        // Keys and time are scaled alike, so that the rate is the same.
        Self { keys: scale.of(self.keys), span: self.span.mul_f64(scale.factor()) }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        ensure!(self.span.as_millis() > 0, "deadlines are spread over no time");
        pin_client(1);
        let note = format!("{} keys that expire over {} s.", self.keys, self.span.as_secs());
        section.columns(&COLUMNS);
        section.note(note);
        section.note("Lag: keys that DBSIZE still counts after their deadline, every 50 ms.");
        let mut lag = Plot::lines("Longest lag of each second", "seconds", "milliseconds");
        let mut cpu = Plot::bars("CPU while keys expire", Vec::new(), "percent of a core");
        for program in bench.varve_and_peers() {
            let expired = run_one(program, self)?;
            section.row(expired.cells(&program.label));
            for (second, lag_ms) in expired.lags_ms.iter().enumerate() {
                lag.point(&program.label, second as f64, *lag_ms);
            }
            cpu.bar(&program.label, "", 100.0 * expired.cpu_share);
            if program.kind == Kind::Varve {
                figures(section, &expired, self);
            }
        }
        section.plot(lag);
        section.plot(cpu);
        Ok(())
    }
}

fn figures(section: &mut Section, expired: &Expired, plan: &Plan) {
    let share = expired.counted.map(|counted| 100.0 * counted / plan.keys as f64);
    let longest = "expiry: longest a key stays behind its deadline";
    section.finding(longest, Some(expired.lag_ms), "ms");
    section.gain("expiry: expired keys that were counted", share, "%");
    section.finding("expiry: share of a core", Some(100.0 * expired.cpu_share), "%");
}

#[derive(Default)]
struct Expired {
    lag_keys: u64,
    lag_ms: f64,
    /// Longest delay in each second, in milliseconds.
    lags_ms: Vec<f64>,
    counted: Option<f64>,
    cpu_share: f64,
}

impl Expired {
    fn lagged(&mut self, lag_ms: f64, after: Duration) {
        let second = after.as_secs() as usize;
        if self.lags_ms.len() <= second {
            self.lags_ms.resize(second + 1, 0.0);
        }
        self.lags_ms[second] = self.lags_ms[second].max(lag_ms);
        self.lag_ms = self.lag_ms.max(lag_ms);
    }

    fn cells(&self, label: &str) -> [String; 5] {
        [
            label.to_owned(),
            self.lag_keys.to_string(),
            format!("{:.0}", self.lag_ms),
            self.counted.map_or_else(|| "-".to_owned(), |counted| format!("{counted:.0}")),
            format!("{:.2} %", 100.0 * self.cpu_share),
        ]
    }
}

fn run_one(program: &Program, plan: &Plan) -> Result<Expired> {
    let server = program.start(&Launch::default())?;
    let deadlines = Deadlines {
        first_ms: unix_ms() + HEAD_START.as_millis() as u64,
        span_ms: plan.span.as_millis() as u64,
        count: plan.keys,
    };
    let loaded = load(&server, deadlines, plan)?;
    if unix_ms() >= deadlines.first_ms {
        bail!("loading took longer than {} s", HEAD_START.as_secs());
    }
    let mut expired = watch(&server, deadlines)?;
    expired.counted = server.control()?.info_number("expired_keys")?;
    if loaded < plan.keys {
        bail!("only {loaded} keys were stored");
    }
    Ok(expired)
}

fn load(server: &Server, deadlines: Deadlines, plan: &Plan) -> Result<u64> {
    let mut load = Load::new(Operation::SetUntil(deadlines), 100, plan.keys);
    load.keys = KeyChoice::Sequential;
    load.stop = Stop::Operations(plan.keys);
    let (mut generator, mut requests, mut keys) = load.prepare(server)?;
    let outcome = generator.run(&mut requests, &mut keys, load.stop)?;
    Ok(outcome.replies.status)
}

fn watch(server: &Server, deadlines: Deadlines) -> Result<Expired> {
    let mut control = server.control()?;
    let mut expired = Expired::default();
    let end_ms = deadlines.first_ms + deadlines.span_ms;
    thread::sleep(Duration::from_millis(deadlines.first_ms.saturating_sub(unix_ms())));
    let (started, cpu_before) = (Instant::now(), server.cpu_time()?);
    loop {
        thread::sleep(SAMPLE_EVERY);
        // Read before the query: a key whose deadline falls between the two is then no delay.
        let now = unix_ms();
        let present = control.key_count()?.context("the server does not count its keys")?;
        let due = alive(deadlines, now);
        let lag = present.saturating_sub(due);
        expired.lag_keys = expired.lag_keys.max(lag);
        expired.lagged(lag_ms(deadlines, present, now), started.elapsed());
        if now <= end_ms {
            let cpu_used = server.cpu_time()?.saturating_sub(cpu_before);
            expired.cpu_share = cpu_used.as_secs_f64() / started.elapsed().as_secs_f64();
        }
        if present == 0 || now > end_ms + PATIENCE_MS {
            return Ok(expired);
        }
    }
}

/// Returns the number of keys whose deadline has not passed.
fn alive(deadlines: Deadlines, now_ms: u64) -> u64 {
    let passed = now_ms.saturating_sub(deadlines.first_ms).min(deadlines.span_ms);
    deadlines.count - deadlines.count * passed / deadlines.span_ms
}

/// Returns the time since the deadline of the oldest key that is still present, if keys are removed
/// in the order of their deadlines.
fn lag_ms(deadlines: Deadlines, present: u64, now_ms: u64) -> f64 {
    let gone = deadlines.count.saturating_sub(present);
    let oldest = deadlines.of(gone);
    if present == 0 { 0.0 } else { now_ms.saturating_sub(oldest) as f64 }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

const COLUMNS: [&str; 5] = ["server", "lag, keys", "lag, ms", "expired_keys", "CPU"];
const HEAD_START: Duration = Duration::from_secs(6);
const SAMPLE_EVERY: Duration = Duration::from_millis(50);
const PATIENCE_MS: u64 = 20_000;

#[cfg(test)]
mod tests {
    use super::{Deadlines, alive, lag_ms};

    #[test]
    fn lag_counts_from_the_oldest_deadline_that_passed() {
        let deadlines = Deadlines { first_ms: 1000, span_ms: 100, count: 200 };
        assert_eq!(alive(deadlines, 900), 200);
        assert_eq!(alive(deadlines, 1050), 100);
        assert_eq!(alive(deadlines, 5000), 0);
        assert!((lag_ms(deadlines, 120, 1050) - 10.0).abs() < 1e-9);
        assert!(lag_ms(deadlines, 100, 1050).abs() < 1e-9);
    }
}

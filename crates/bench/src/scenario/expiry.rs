//! Keys whose deadlines spread over a minute: the delay of their removal, and its cost for the
//! server.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{Bench, Scenario, milliseconds, pin_client};
use crate::measure::send_each;
use crate::report::{Plot, Section};
use crate::servers::{Launch, Program, Server};

/// Number of keys, and the time over which they expire.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    keys: u64,
    /// Time over which their deadlines spread.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    span: Duration,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        ensure!(self.span.as_millis() > 0, "deadlines are spread over no time");
        pin_client(1);
        section.columns("server | lag, keys .0 | lag, ms .0 | counted % .2 | CPU % .2");
        let mut lag = Plot::lines("Longest lag of each second", "seconds", "milliseconds");
        for program in bench.varve_and_peers() {
            let expired = self.run_one(program)?;
            let longest = expired.lags_ms.iter().copied().fold(0.0, f64::max);
            let counted = expired.counted.map_or(f64::NAN, |it| 100.0 * it / self.keys as f64);
            let values = [expired.lag_keys as f64, longest, counted, expired.cpu_percent];
            section.values("", &program.label, &values);
            for (second, lag_ms) in expired.lags_ms.iter().enumerate() {
                lag.point(&program.label, second as f64, *lag_ms);
            }
        }
        section.plots.push(lag);
        Ok(())
    }
}

impl Plan {
    fn run_one(&self, program: &Program) -> Result<Expired> {
        let server = program.start(&Launch::default())?;
        let first_ms = unix_ms() + HEAD_START.as_millis() as u64;
        let span_ms = self.span.as_millis() as u64;
        let deadlines = Deadlines { first_ms, span_ms, count: self.keys };
        let deadline = format!("{{n*{span_ms}/{}+{first_ms}}}", self.keys);
        send_each(&server, &format!("SET k{{n:15}} {{?16}} PXAT {deadline}"), self.keys)?;
        ensure!(unix_ms() < first_ms, "loading took longer than {HEAD_START:?}");
        let mut expired = watch(&server, deadlines)?;
        expired.counted = server.control()?.info_number("expired_keys")?;
        Ok(expired)
    }
}

#[derive(Default)]
struct Expired {
    lag_keys: u64,
    /// Longest delay in each second, in milliseconds.
    lags_ms: Vec<f64>,
    counted: Option<f64>,
    cpu_percent: f64,
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
        let present = control.key_count()?;
        expired.lag_keys = expired.lag_keys.max(present.saturating_sub(deadlines.alive(now)));
        let elapsed = started.elapsed();
        let second = elapsed.as_secs() as usize;
        expired.lags_ms.resize(expired.lags_ms.len().max(second + 1), 0.0);
        expired.lags_ms[second] = expired.lags_ms[second].max(deadlines.lag_ms(present, now));
        if now <= end_ms {
            let cpu_used = server.cpu_time()?.saturating_sub(cpu_before);
            expired.cpu_percent = 100.0 * cpu_used.as_secs_f64() / elapsed.as_secs_f64();
        }
        if present == 0 || now > end_ms + PATIENCE_MS {
            return Ok(expired);
        }
    }
}

/// Deadlines of `count` keys, at equal distances.
#[derive(Clone, Copy)]
struct Deadlines {
    first_ms: u64,
    span_ms: u64,
    count: u64,
}

impl Deadlines {
    /// Returns the number of keys whose deadline has not passed.
    fn alive(self, now_ms: u64) -> u64 {
        let passed = now_ms.saturating_sub(self.first_ms).min(self.span_ms);
        self.count - self.count * passed / self.span_ms
    }

    /// Returns the time since the deadline of the oldest key that is still present, if keys are
    /// removed in the order of their deadlines.
    fn lag_ms(self, present: u64, now_ms: u64) -> f64 {
        let gone = self.count.saturating_sub(present);
        let oldest = self.first_ms + gone * self.span_ms / self.count;
        if present == 0 { 0.0 } else { now_ms.saturating_sub(oldest) as f64 }
    }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

const HEAD_START: Duration = Duration::from_secs(6);
const SAMPLE_EVERY: Duration = Duration::from_millis(50);
const PATIENCE_MS: u64 = 20_000;

#[cfg(test)]
mod tests {
    use super::Deadlines;

    #[test]
    fn lag_counts_from_the_oldest_deadline_that_passed() {
        let deadlines = Deadlines { first_ms: 1000, span_ms: 100, count: 200 };
        assert_eq!([900, 1050, 5000].map(|now| deadlines.alive(now)), [200, 100, 0]);
        assert!((deadlines.lag_ms(120, 1050) - 10.0).abs() < 1e-9);
        assert!(deadlines.lag_ms(100, 1050).abs() < 1e-9);
    }
}

//! LESS's experiment: values of 10 KB are set and then overwritten while the log is rotated.

use std::time::Duration;

use anyhow::Result;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::Deserialize;

use super::disk::append;
use super::folder::{folder, programs};
use super::{Bench, Scenario, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::measure_watched;
use crate::report::{Plot, Section};
use crate::sampler::{Sample, Watch, most_memory};
use crate::servers::{Launch, Program};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys that are set first.
    keys: u32,
    /// SETs of these keys that follow.
    overwrites: u32,
    value: usize,
    /// Connections, without a pipeline.
    connections: usize,
    cores: usize,
    /// True if it is held against the limits of this machine: the same writes without a server, and
    /// the server without a log.
    #[serde(default)]
    limits: bool,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(COLUMNS);
        let mut plots = PLOTS.map(|(what, unit)| {
            Plot::lines(format!("{what} while the log is rotated"), "seconds", unit)
        });
        let mut valkey = f64::INFINITY;
        for program in &programs(bench, &["varve", "valkey", "redis"], section)? {
            let (samples, per_second) = self.measure(section, program, "yes")?;
            for group in samples.windows(GROUP + 1).step_by(GROUP) {
                for (plot, of) in plots.iter_mut().zip([memory, operations]) {
                    plot.point(&program.label, group[0].at.as_secs_f64(), of(group));
                }
            }
            if program.label == "valkey" {
                valkey = per_second;
            }
        }
        if self.limits {
            let mut unlogged = bench.varve.clone();
            unlogged.label += ", no log";
            self.measure(section, &unlogged, "no")?;
            let alone = self.write_alone(section)?;
            let must = (1.3 * valkey).min(alone);
            section.values("", "what it must be", &[must]);
            section.note(
                "What it must be: 1.3 times Valkey's operations per second, or writes alone if \
                 these are fewer.",
            );
        }
        section.plots.extend(plots);
        Ok(())
    }
}

impl Plan {
    /// Shows one run; returns its samples and its operations per second.
    fn measure(
        &self,
        section: &mut Section,
        program: &Program,
        appendonly: &str,
    ) -> Result<(Vec<Sample>, f64)> {
        let folder = folder()?;
        let launch = Launch::on(self.cores, 1).with("appendonly", appendonly);
        let server = program.start(&launch.in_folder(&folder))?;
        let mut random = SmallRng::seed_from_u64(1);
        let overwritten = (0..self.overwrites).map(|_| random.random_range(0..self.keys));
        let keys: Vec<_> = (0..self.keys).chain(overwritten).collect();
        let load = Load::set(self.keys.into(), &Sizes::fixed(self.value)).pipelined(1);
        let load = load.on(self.connections).count(keys.len() as u64);
        let load = load.choosing(KeyChoice::Listed(keys.into()));
        let run = measure_watched(&server, &load, Watch::every(SAMPLE_EVERY))?;
        let (outcome, peak) = (run.outcome, most_memory(&run.samples));
        let live = f64::from(self.keys) * (KEY_BYTES + self.value) as f64;
        section.values(
            "",
            &program.label,
            &[
                outcome.per_second(),
                outcome.latency_us(0.99),
                idle(&run.samples).as_secs_f64(),
                outcome.longest_ms(),
                peak / f64::from(1 << 20),
                peak / live,
                server.control()?.info_number("aof_rewrites")?.unwrap_or(f64::NAN),
            ],
        );
        Ok((run.samples, outcome.per_second()))
    }

    /// Shows the same writes without a server, a command at a time, with a sync once a second;
    /// returns the writes per second.
    fn write_alone(&self, section: &mut Section) -> Result<f64> {
        let bytes = KEY_BYTES + self.value + FRAME_BYTES;
        let count = u64::from(self.keys + self.overwrites);
        let written = append(&folder()?, bytes, Some(SYNC_EVERY), |done, _| done < count)?;
        let longest_ms = written.longest.as_secs_f64() * 1e3;
        let values = [written.per_second, f64::NAN, f64::NAN, longest_ms];
        section.values("", "writes alone", &values);
        Ok(written.per_second)
    }
}

/// Returns the time in which nothing was answered from one sample to the next.
fn idle(samples: &[Sample]) -> Duration {
    let idle = samples.windows(2).filter(|pair| pair[0].operations == pair[1].operations);
    idle.map(|pair| pair[1].at.saturating_sub(pair[0].at)).sum()
}

fn memory(samples: &[Sample]) -> f64 {
    most_memory(samples) / f64::from(1 << 20)
}

fn operations(samples: &[Sample]) -> f64 {
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let operations = last.operations.saturating_sub(first.operations);
    operations as f64 / last.at.saturating_sub(first.at).as_secs_f64()
}

const SAMPLE_EVERY: Duration = Duration::from_millis(50);
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Samples of one point of a plot.
const GROUP: usize = 4;
/// Bytes of a SET beside key and value.
const FRAME_BYTES: usize = 34;
const PLOTS: [(&str, &str); 2] = [("Memory", "MiB"), ("Operations", "operations per second")];
const COLUMNS: &str = "server | op/s .0 | p99 us .0 | idle s .1 | stall ms .1 | peak MiB .1 | \
    peak/live .2 | rotations .0";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Sample, idle};

    #[test]
    fn time_without_an_answer_is_idle() {
        let samples = |operations: &[u64]| -> Vec<_> {
            let at = (0..).map(|number| Duration::from_millis(100 * number));
            let sample =
                |(at, &operations)| Sample { at, resident_bytes: None, cpu: None, operations };
            at.zip(operations).map(sample).collect()
        };
        assert_eq!(idle(&samples(&[0, 10, 10, 10, 25])), Duration::from_millis(200));
        assert_eq!(idle(&samples(&[])), Duration::ZERO);
    }
}

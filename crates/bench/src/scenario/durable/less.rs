//! LESS's experiment: values of 10 KB are set and then overwritten while the log is rotated.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::disk::{Written, write_only};
use crate::generator::{KEY_BYTES, KeyChoice, Load, Sizes};
use crate::measure::measure_watched;
use crate::report::{Plot, Section};
use crate::sampler::Sample;
use crate::scenario::folder::{Folder, programs};
use crate::scenario::{Bench, PEERS, Scenario, mebibytes, pin_client};
use crate::servers::{Launch, Program};

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys that are set first.
    keys: u64,
    /// SETs of these keys that follow.
    overwrites: u64,
    /// Bytes in a value.
    value: usize,
    /// Connections, without a pipeline.
    connections: usize,
    /// Cores of the server.
    cores: usize,
    /// Quantity whose figures are told.
    shows: Shows,
}

/// Quantity whose figures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// Memory over time (Fig. 1).
    Memory,
    /// Operations per second beside peers and beside the disk (Fig. 3).
    Throughput,
    /// Memory and operations over time, and the longest stall (Fig. 4).
    Course,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        let mut courses = Vec::new();
        for program in &programs(bench, &["varve", "valkey", "redis"], section)? {
            courses.push(self.measure(program, "yes")?);
            self.row(section, &courses[courses.len() - 1]);
        }
        if self.shows != Shows::Throughput {
            let memory = |group: &[Sample]| most_memory(group) / f64::from(1 << 20);
            section.plot(plot("Memory", "MiB", &courses, memory));
        }
        if self.shows == Shows::Course {
            section.plot(plot("Operations", "operations per second", &courses, per_second));
            // What the machine alone makes a client wait.
            let mut unlogged = self.measure(&bench.varve, "no")?;
            unlogged.label += ", no log";
            self.row(section, &unlogged);
            courses.push(unlogged);
        }
        self.figures(section, &courses)
    }
}

/// One run over time.
#[derive(Clone, Debug, Default)]
struct Course {
    label: String,
    samples: Vec<Sample>,
    /// Time of all operations.
    elapsed: Duration,
    operations: u64,
    longest_ms: f64,
    p99_us: f64,
    /// Rotations that were finished.
    rotations: Option<f64>,
}

impl Course {
    fn peak(&self) -> f64 {
        most_memory(&self.samples)
    }

    fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the time in which nothing was answered from one sample to the next.
    fn idle(&self) -> Duration {
        let pairs = self.samples.windows(2);
        let idle = pairs.filter(|pair| pair[0].operations == pair[1].operations);
        idle.map(|pair| pair[1].at.saturating_sub(pair[0].at)).sum()
    }
}

fn per_second(samples: &[Sample]) -> f64 {
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let operations = last.operations.saturating_sub(first.operations);
    operations as f64 / last.at.saturating_sub(first.at).as_secs_f64()
}

fn most_memory(samples: &[Sample]) -> f64 {
    samples.iter().filter_map(|sample| sample.resident_bytes).max().unwrap_or(0) as f64
}

impl Plan {
    fn live_bytes(&self) -> f64 {
        (self.keys * (KEY_BYTES + self.value) as u64) as f64
    }

    fn measure(&self, program: &Program, appendonly: &str) -> Result<Course> {
        let folder = Folder::new()?;
        let launch = Launch::default().on_cores(self.cores).with("appendonly", appendonly);
        let server = folder.start(program, &launch)?;
        let sets = Load::set(self.keys, &Sizes::fixed(self.value)).pipelined(1);
        let sets = sets.on(self.connections);
        let first = sets.clone().choosing(KeyChoice::Sequential).count(self.keys);
        let mut course = Course { label: program.label.clone(), ..Course::default() };
        for load in [first, sets.count(self.overwrites)] {
            let measured = measure_watched(&server, &load, SAMPLE_EVERY, |_| ())?;
            let (from, done, outcome) = (course.elapsed, course.operations, measured.outcome);
            course.samples.extend(measured.samples.into_iter().map(|sample| Sample {
                at: from + sample.at,
                operations: done + sample.operations,
                ..sample
            }));
            course.elapsed += outcome.elapsed;
            course.operations += outcome.operations;
            course.longest_ms = course.longest_ms.max(outcome.longest_ms());
            course.p99_us = outcome.latency_us(0.99);
        }
        course.rotations = server.control()?.info_number("aof_rewrites")?;
        Ok(course)
    }

    fn row(&self, section: &mut Section, course: &Course) {
        section.row([
            course.label.clone(),
            format!("{:.0}", course.per_second()),
            format!("{:.0}", course.p99_us),
            format!("{:.1}", course.idle().as_secs_f64()),
            format!("{:.1}", course.longest_ms),
            mebibytes(course.peak()),
            format!("{:.2}", course.peak() / self.live_bytes()),
            course.rotations.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}")),
        ]);
    }

    fn disk(&self, section: &mut Section) -> Result<Written> {
        let count = self.keys + self.overwrites;
        let written = write_only(&Folder::new()?, count, KEY_BYTES + self.value + FRAME_BYTES)?;
        let per_second = format!("{:.0}", count as f64 / written.elapsed.as_secs_f64());
        let longest = format!("{:.1}", written.longest.as_secs_f64() * 1e3);
        let cells = ["writes alone", &per_second, "-", "-", &longest, "-", "-", "-"];
        section.row(cells.map(str::to_owned));
        Ok(written)
    }

    fn figures(&self, section: &mut Section, courses: &[Course]) -> Result<()> {
        let (varve, last) = (&courses[0], &courses[courses.len() - 1]);
        let beside = |of: fn(&Course) -> f64| {
            PEERS.map(|(label, name)| (name, find(courses, label).map(|peer| of(varve) / of(peer))))
        };
        match self.shows {
            Shows::Memory => {
                let ratio = varve.peak() / self.live_bytes();
                section.finding("peak memory / live data", Some(ratio), "");
                for (name, ratio) in beside(Course::peak) {
                    section.finding(format!("peak memory / {name}"), ratio, "");
                }
            }
            Shows::Throughput => {
                for (name, ratio) in beside(Course::per_second) {
                    section.gain(format!("operations per second / {name}"), ratio, "");
                }
                let seconds = self.disk(section)?.elapsed.as_secs_f64();
                let alone = (self.keys + self.overwrites) as f64 / seconds;
                let ratio = |to: f64| varve.per_second() / to;
                section.gain("operations per second / writes alone", Some(ratio(alone)), "");
                let valkey = find(courses, "valkey");
                let must = valkey.map(|valkey| (1.3 * valkey.per_second()).min(alone));
                let what = "operations per second / 1.3 times Valkey's, or writes alone if fewer";
                section.gain(what, must.map(ratio), "");
            }
            Shows::Course => {
                let alone = self.disk(section)?.longest.as_secs_f64() * 1e3;
                let mut add = |what, value, unit| section.finding(what, Some(value), unit);
                let beyond = |ms: f64| varve.longest_ms - ms;
                add("longest stall beyond the longest of writes alone", beyond(alone), "ms");
                add("time in which nothing was answered", varve.idle().as_secs_f64(), "s");
                add("longest stall beyond that without a log", beyond(last.longest_ms), "ms");
            }
        }
        Ok(())
    }
}

fn find<'run>(courses: &'run [Course], label: &str) -> Option<&'run Course> {
    courses.iter().find(|course| course.label == label)
}

fn plot(what: &str, unit: &str, courses: &[Course], of: impl Fn(&[Sample]) -> f64) -> Plot {
    let mut plot = Plot::lines(format!("{what} while the log is rotated"), "seconds", unit);
    for course in courses {
        for group in course.samples.windows(GROUP + 1).step_by(GROUP) {
            plot.point(&course.label, group[0].at.as_secs_f64(), of(group));
        }
    }
    plot
}

const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// Samples of one point of a plot.
const GROUP: usize = 4;
/// Bytes of a SET beside key and value.
const FRAME_BYTES: usize = 34;
const COLUMNS: [&str; 8] =
    ["server", "op/s", "p99 us", "idle s", "stall ms", "peak MiB", "peak/live", "rotations"];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Course, Sample};

    /// Returns a course with these operations answered at each tenth of a second.
    fn course(operations: impl IntoIterator<Item = u64>) -> Course {
        let sample = |(number, operations)| {
            let (at, cpu) = (Duration::from_millis(100 * number as u64), None);
            Sample { at, resident_bytes: None, cpu, operations }
        };
        let samples = operations.into_iter().enumerate().map(sample).collect();
        Course { samples, ..Course::default() }
    }

    #[test]
    fn time_without_an_answer_is_idle() {
        assert_eq!(course([0, 10, 10, 10, 25]).idle(), Duration::from_millis(200));
        assert_eq!(course([]).idle(), Duration::ZERO);
    }
}

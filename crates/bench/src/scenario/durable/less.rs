//! LESS's experiment: values of 10 KB are set and then overwritten while the log is rotated.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::disk::{Written, write_only};
use super::folder::{Folder, programs};
use crate::generator::{Arrival, KEY_BYTES, KeyChoice, Operation, Stop, ValueSize};
use crate::process;
use crate::report::{Plot, Section};
use crate::scenario::measure::Load;
use crate::scenario::{Bench, Scale, Scenario, mebibytes, pin_client};
use crate::servers::{Kind, Launch, Program, Server};
use crate::trial::Trial;

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys that are set first.
    pub keys: u64,
    /// SETs of these keys that follow.
    pub overwrites: u64,
    /// Bytes in a value.
    pub value: usize,
    /// Connections, without a pipeline.
    pub connections: usize,
    /// Cores of the server.
    pub cores: usize,
    /// Quantity whose figures are told.
    pub shows: Shows,
}

/// Quantity whose figures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// Memory over time (Fig. 1).
    Memory,
    /// Operations per second beside Valkey and beside the disk (Fig. 3).
    Throughput,
    /// Memory and operations over time, and the longest stall (Fig. 4).
    Course,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { keys: scale.of(self.keys), overwrites: scale.of(self.overwrites), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(self.words());
        let programs = programs(bench, section);
        let mut courses = Vec::new();
        for program in &programs {
            let course = self.measure(program, "yes")?;
            section.row(self.cells(&program.label, &course));
            courses.push((program, course));
        }
        let unlogged = self.unlogged(&programs, section)?;
        let only = (self.shows != Shows::Memory).then(|| self.disk(section)).transpose()?;
        if self.shows != Shows::Throughput {
            let named = courses.iter().map(|(program, course)| (program.label.as_str(), course));
            section.plot(memory_plot(named));
        }
        if self.shows == Shows::Course {
            let named = courses.iter().map(|(program, course)| (program.label.as_str(), course));
            section.plot(throughput_plot(named));
        }
        let of = |kind| courses.iter().find(|(program, _)| program.kind == kind);
        let varve = &of(Kind::Varve).context("Varve was not measured")?.1;
        let valkey = of(Kind::Peer).map(|(_, course)| course);
        self.figures(section, varve, valkey, only);
        if let Some(unlogged) = unlogged {
            let beyond = varve.longest.as_secs_f64() - unlogged.longest.as_secs_f64();
            let what = "longest stall beyond that without a log";
            section.finding(what, Some(beyond * 1e3), "ms");
        }
        Ok(())
    }
}

/// One run over time.
#[derive(Clone, Debug, Default)]
struct Course {
    points: Vec<Point>,
    /// Time of all operations.
    elapsed: Duration,
    operations: u64,
    longest: Duration,
    p99_us: f64,
    /// Rotations that were finished.
    rotations: Option<f64>,
}

/// Memory of server and children, and operations so far.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: Duration,
    memory: u64,
    operations: u64,
}

impl Course {
    fn peak(&self) -> u64 {
        self.points.iter().map(|point| point.memory).max().unwrap_or(0)
    }

    fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the time in which nothing was answered from one sample to the next.
    fn idle(&self) -> Duration {
        let pairs = self.points.windows(2);
        let idle = pairs.filter(|pair| pair[0].operations == pair[1].operations);
        idle.map(|pair| pair[1].at.saturating_sub(pair[0].at)).sum()
    }

    /// Returns the points in at most [`POINTS`] groups of equal length.
    fn groups(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunks(self.points.len().div_ceil(POINTS).max(2))
    }
}

impl Plan {
    fn words(&self) -> String {
        format!(
            "{} keys of {KEY_BYTES} bytes with values of {} bytes are set, then overwritten {} \
             times; {} connections without a pipeline, appendfsync everysec, rotation as it is by \
             default, the server on {} cores. Peak: resident memory of the server and what a child \
             has for itself. Stall: the longest wait of a client.",
            self.keys, self.value, self.overwrites, self.connections, self.cores
        )
    }

    fn live_bytes(&self) -> u64 {
        self.keys * (KEY_BYTES + self.value) as u64
    }

    /// The same load on Varve without a log: what the machine alone makes a client wait.
    fn unlogged(&self, programs: &[Program], section: &mut Section) -> Result<Option<Course>> {
        let varve = programs.iter().find(|program| program.kind == Kind::Varve);
        let Some(program) = varve.filter(|_| self.shows == Shows::Course) else { return Ok(None) };
        let course = self.measure(program, "no")?;
        section.row(self.cells(&format!("{}, no log", program.label), &course));
        Ok(Some(course))
    }

    fn measure(&self, program: &Program, appendonly: &str) -> Result<Course> {
        let folder = Folder::new()?;
        let launch = Launch::default().on_cores(self.cores);
        let server = folder.start(program, &launch.with("appendonly", appendonly))?;
        let mut course = Course::default();
        self.drive(&server, KeyChoice::Sequential, self.keys, &mut course)?;
        self.drive(&server, KeyChoice::Uniform, self.overwrites, &mut course)?;
        course.rotations = server.control()?.info_number("aof_rewrites")?;
        Ok(course)
    }

    /// Sets keys and adds what was seen to the course.
    fn drive(
        &self,
        server: &Server,
        keys: KeyChoice,
        count: u64,
        course: &mut Course,
    ) -> Result<()> {
        let mut load = Load::new(Operation::Set, 1, self.keys);
        load.connections = self.connections;
        load.shape.value = ValueSize::Fixed(self.value);
        load.keys = keys;
        load.stop = Stop::Operations(count);
        let trial = Trial {
            port: server.port,
            pid: Some(server.pid),
            load,
            arrival: Arrival::Closed,
            threads: 1,
            server_cores: 1,
            sample_every: SAMPLE_EVERY,
        };
        let (points, pid) = (Arc::new(Mutex::new(Vec::new())), server.pid);
        let (from, done) = (course.elapsed, course.operations);
        let seen = Arc::clone(&points);
        let tried = trial.run(move |sample| {
            let memory = process::memory_with_children(pid).unwrap_or(0);
            let (at, operations) = (from + sample.at, done + sample.operations);
            let mut points = seen.lock().unwrap_or_else(PoisonError::into_inner);
            points.push(Point { at, memory, operations });
        })?;
        tried.failure.map_or(Ok(()), Err)?;
        let outcome = tried.outcome;
        anyhow::ensure!(outcome.replies.error == 0, "SET failed: {:?}", outcome.first_error);
        course.points.extend(points.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
        course.elapsed += outcome.elapsed;
        course.operations += outcome.operations;
        course.longest = course.longest.max(Duration::from_nanos(outcome.round_trips.max()));
        course.p99_us = outcome.round_trip_us(0.99);
        Ok(())
    }

    fn disk(&self, section: &mut Section) -> Result<Written> {
        let count = self.keys + self.overwrites;
        let written = write_only(&Folder::new()?, count, KEY_BYTES + self.value + FRAME_BYTES)?;
        section.row([
            "writes alone".to_owned(),
            format!("{:.0}", count as f64 / written.elapsed.as_secs_f64()),
            "-".to_owned(),
            "-".to_owned(),
            format!("{:.1}", written.longest.as_secs_f64() * 1e3),
            "-".to_owned(),
            "-".to_owned(),
            "-".to_owned(),
        ]);
        section.note(
            "Writes alone: a program that writes the bytes of the same commands to the same disk, \
             one command at a time, with a sync once a second; its stall is its longest write.",
        );
        Ok(written)
    }

    fn cells(&self, label: &str, course: &Course) -> [String; 8] {
        let rotations = course.rotations.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
        [
            label.to_owned(),
            format!("{:.0}", course.per_second()),
            format!("{:.0}", course.p99_us),
            format!("{:.1}", course.idle().as_secs_f64()),
            format!("{:.1}", course.longest.as_secs_f64() * 1e3),
            mebibytes(course.peak() as f64),
            format!("{:.2}", course.peak() as f64 / self.live_bytes() as f64),
            rotations,
        ]
    }

    fn figures(
        &self,
        section: &mut Section,
        varve: &Course,
        valkey: Option<&Course>,
        only: Option<Written>,
    ) {
        if self.shows == Shows::Memory {
            let live = self.live_bytes() as f64;
            section.finding("peak memory / live data", Some(varve.peak() as f64 / live), "");
            let beside = valkey.map(|valkey| varve.peak() as f64 / valkey.peak() as f64);
            section.finding("peak memory / Valkey", beside, "");
        }
        let Some(only) = only else { return };
        if self.shows == Shows::Throughput {
            let disk = (self.keys + self.overwrites) as f64 / only.elapsed.as_secs_f64();
            let beside = valkey.map(|valkey| varve.per_second() / valkey.per_second());
            section.gain("operations per second / Valkey", beside, "");
            section.gain(
                "operations per second / writes alone",
                Some(varve.per_second() / disk),
                "",
            );
            let must = valkey.map(|valkey| (1.3 * valkey.per_second()).min(disk));
            let what = "operations per second / 1.3 times Valkey's, or writes alone if fewer";
            section.gain(what, must.map(|must| varve.per_second() / must), "");
        } else {
            let beyond = varve.longest.as_secs_f64() - only.longest.as_secs_f64();
            let what = "longest stall beyond the longest of writes alone";
            section.finding(what, Some(beyond * 1e3), "ms");
            let idle = varve.idle().as_secs_f64();
            section.finding("time in which nothing was answered", Some(idle), "s");
        }
    }
}

fn memory_plot<'run>(courses: impl Iterator<Item = (&'run str, &'run Course)>) -> Plot {
    let mut plot = Plot::lines("Memory while the log is rotated", "seconds", "MiB");
    for (label, course) in courses {
        for group in course.groups() {
            let most = group.iter().map(|point| point.memory).max().unwrap_or(0);
            plot.point(label, group[0].at.as_secs_f64(), most as f64 / f64::from(1 << 20));
        }
    }
    plot
}

fn throughput_plot<'run>(courses: impl Iterator<Item = (&'run str, &'run Course)>) -> Plot {
    let title = "Operations while the log is rotated";
    let mut plot = Plot::lines(title, "seconds", "operations per second");
    for (label, course) in courses {
        let firsts: Vec<_> = course.groups().map(|group| group[0]).collect();
        for pair in firsts.windows(2) {
            let seconds = pair[1].at.saturating_sub(pair[0].at).as_secs_f64();
            let operations = pair[1].operations.saturating_sub(pair[0].operations) as f64;
            if seconds > 0.0 {
                plot.point(label, pair[0].at.as_secs_f64(), operations / seconds);
            }
        }
    }
    plot
}

const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// Points of a plot at most.
const POINTS: usize = 300;
/// Bytes of a SET beside key and value.
const FRAME_BYTES: usize = 34;
const COLUMNS: [&str; 8] =
    ["server", "op/s", "p99 us", "idle s", "stall ms", "peak MiB", "peak/live", "rotations"];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Course, POINTS, Point, throughput_plot};

    /// Returns a course with these operations answered at each tenth of a second.
    fn course(operations: impl IntoIterator<Item = u64>) -> Course {
        let point = |(number, operations)| {
            let at = Duration::from_millis(100 * number as u64);
            Point { at, memory: operations % 7, operations }
        };
        let points = operations.into_iter().enumerate().map(point).collect();
        Course { points, ..Course::default() }
    }

    #[test]
    fn time_without_an_answer_is_idle() {
        assert_eq!(course([0, 10, 10, 10, 25]).idle(), Duration::from_millis(200));
        assert_eq!(course([]).idle(), Duration::ZERO);
    }

    #[test]
    fn a_long_run_has_no_more_points_than_a_plot_takes() {
        let long = course((0..10_000).map(|number| number * 5));
        assert!(long.groups().count() <= POINTS);
        assert_eq!(long.peak(), 6, "the peak is over all");
        let plot = throughput_plot([("varve", &long)].into_iter());
        let rates = plot.lines[0].points.iter().map(|(_, rate)| *rate);
        assert!(rates.into_iter().all(|rate| (rate - 50.0).abs() < 1e-6));
    }
}

//! A large hash and a large sorted set that are written and read at full speed while they are
//! saved: the longest wait of a client, beside the same load without a snapshot.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::folder::{Folder, programs};
use super::watch::{Peak, Saving};
use crate::generator::{
    Arrival, Ended, Expected, Generator, KeyChoice, Monitor, Script, ScriptShape, Source, Stop,
};
use crate::report::{Figure, Section};
use crate::scenario::collections::store::{Stored, expect};
use crate::scenario::{Bench, Scale, Scenario, pin_client};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Elements of the collection.
    pub elements: u64,
    /// Connections, without a pipeline.
    pub connections: usize,
    /// Cores of the server.
    pub cores: usize,
    /// Snapshots.
    pub rounds: usize,
}

/// One collection: how it is filled, counted, written and read.
struct Collection {
    name: &'static str,
    fill: String,
    count: &'static str,
    write: &'static str,
    read: &'static str,
}

fn collections() -> [Collection; 2] {
    let ten = |of: fn(u64) -> String| (0..FILLED).map(of).collect::<String>();
    [
        Collection {
            name: "hash",
            fill: format!("HSET hash{}", ten(|at| format!(" {{n*10+{at}~16}} {{?16}}"))),
            count: "HLEN hash",
            write: "HSET hash {n~16} {?16}",
            read: "HGET hash {n~16}",
        },
        Collection {
            name: "sorted set",
            fill: format!("ZADD zset{}", ten(|at| format!(" {{n*10+{at}}} {{n*10+{at}~16}}"))),
            count: "ZCARD zset",
            write: "ZADD zset {#1000000} {n~16}",
            read: "ZSCORE zset {n~16}",
        },
    ]
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        let elements = scale.of(self.elements / FILLED) * FILLED;
        Self { elements, rounds: scale.rounds(self.rounds), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "One collection of {} elements, {} connections without a pipeline, writes and reads in \
             turns, the server on {} cores. Longest waits of a client while the snapshot is made, \
             and then for the same time without one. Memory: most while saving, over the most \
             under the same load before.",
            self.elements, self.connections, self.cores
        ));
        let programs = programs(bench, section);
        for collection in collections() {
            for program in &programs {
                let saved = self.measure(program, &collection)?;
                section.row(saved.cells(collection.name, &program.label));
                if program.kind == Kind::Varve {
                    saved.figures(section, collection.name);
                }
            }
        }
        Ok(())
    }
}

/// Measurements by round.
#[derive(Default)]
struct Saved {
    seconds: Vec<f64>,
    memory_ratio: Vec<f64>,
    while_ms: Vec<f64>,
    without_ms: Vec<f64>,
    while_per_second: Vec<f64>,
    without_per_second: Vec<f64>,
}

impl Saved {
    fn cells(&self, collection: &str, label: &str) -> Vec<String> {
        let of = |values: &[f64]| median(values.to_vec());
        vec![
            collection.to_owned(),
            label.to_owned(),
            format!("{:.2}", of(&self.seconds)),
            format!("{:.2}", of(&self.while_ms)),
            format!("{:.2}", of(&self.without_ms)),
            format!("{:.0}", of(&self.while_per_second)),
            format!("{:.0}", of(&self.without_per_second)),
            format!("{:.3}", of(&self.memory_ratio)),
        ]
    }

    fn figures(&self, section: &mut Section, collection: &str) {
        let pairs = self.while_ms.iter().zip(&self.without_ms);
        let beyond = pairs.map(|(with, without)| with - without).collect();
        let what = format!("{collection}: longest wait beyond that without a snapshot");
        section.figures.push(Figure::of_rounds(what, beyond, "ms"));
        let what = format!("{collection}: most memory while saving / before");
        section.figures.push(Figure::of_rounds(what, self.memory_ratio.clone(), ""));
    }
}

impl Plan {
    fn measure(&self, program: &Program, collection: &Collection) -> Result<Saved> {
        let folder = Folder::new()?;
        let server = folder.start(program, &Launch::default().on_cores(self.cores))?;
        Stored::new(&collection.fill, self.elements / FILLED).send(&server)?;
        expect(&server, collection.count, self.elements)?;
        let mut load = Load::open(&server, self, collection)?;
        let mut saved = Saved::default();
        for _ in 0..self.rounds {
            Self::round(&server, &folder, &mut load, &mut saved)?;
        }
        expect(&server, collection.count, self.elements)?;
        Ok(saved)
    }

    fn round(server: &Server, folder: &Folder, load: &mut Load, saved: &mut Saved) -> Result<()> {
        let calm = Peak::of(server.pid);
        load.run(Stop::After(WARM_UP), &Arc::default())?;
        let before = calm.stop()?;
        let peak = Peak::of(server.pid);
        let monitor = Arc::new(Monitor::default());
        let save = || {
            let control = server.control()?;
            thread::sleep(LEAD);
            let elapsed = Saving::ask(control, folder).and_then(|mut saving| saving.wait());
            monitor.halt();
            elapsed
        };
        let (elapsed, with) = thread::scope(|scope| {
            let saving = scope.spawn(save);
            let with = load.run(Stop::After(LOAD_MAX), &monitor);
            let elapsed = saving.join().ok().context("the saving client failed")?;
            anyhow::Ok((elapsed?, with?))
        })?;
        let most = peak.stop()?;
        let without = load.run(Stop::After(with.outcome.elapsed), &Arc::default())?;
        let longest = |ended: &Ended| ended.outcome.round_trips.max() as f64 / 1e6;
        saved.seconds.push(elapsed.as_secs_f64());
        saved.memory_ratio.push(most as f64 / before as f64);
        saved.while_ms.push(longest(&with));
        saved.without_ms.push(longest(&without));
        saved.while_per_second.push(with.outcome.operations_per_second());
        saved.without_per_second.push(without.outcome.operations_per_second());
        Ok(())
    }
}

/// Connections that write and read one collection.
struct Load {
    generator: Generator,
    turns: Turns,
}

impl Load {
    fn open(server: &Server, plan: &Plan, collection: &Collection) -> Result<Self> {
        let script = |request: &str, seed| {
            let shape = ScriptShape::new(request, plan.elements).of(KeyChoice::Uniform);
            Script::new(&shape.pipelined(1), seed)
        };
        let scripts = [script(collection.write, 1)?, script(collection.read, 2)?];
        let generator = Generator::connect(server.port, plan.connections)?;
        Ok(Self { generator, turns: Turns { scripts, next: 0 } })
    }

    fn run(&mut self, stop: Stop, monitor: &Arc<Monitor>) -> Result<Ended> {
        let arrival = Arrival::Closed;
        let mut ended = self.generator.drive_to_end(&mut self.turns, arrival, stop, monitor)?;
        ended.failure.take().map_or(Ok(()), Err)?;
        let outcome = &ended.outcome;
        ensure!(outcome.replies.error == 0, "{:?}", outcome.first_error);
        ensure!(outcome.replies.nil == 0, "{} elements were missing", outcome.replies.nil);
        Ok(ended)
    }
}

/// Batches of two scripts in turns.
struct Turns {
    scripts: [Script; 2],
    next: usize,
}

impl Source for Turns {
    fn pipeline(&self) -> usize {
        self.scripts[0].pipeline()
    }

    fn fill(&mut self, count: usize) -> (&[u8], Expected) {
        let script = &mut self.scripts[self.next];
        self.next = 1 - self.next;
        script.fill(count)
    }
}

/// Elements of one request that fills.
const FILLED: u64 = 10;
const WARM_UP: Duration = Duration::from_millis(500);
/// Time of the load before the snapshot is asked for.
const LEAD: Duration = Duration::from_millis(50);
const LOAD_MAX: Duration = Duration::from_secs(600);
const COLUMNS: [&str; 8] = [
    "collection",
    "server",
    "saved in s",
    "longest ms",
    "without ms",
    "op/s",
    "without",
    "memory/before",
];

#[cfg(test)]
mod tests {
    use super::{Script, ScriptShape, Source, Turns, collections};

    #[test]
    fn writes_and_reads_take_turns() {
        for collection in collections() {
            let script =
                |request: &str| Script::new(&ScriptShape::new(request, 7).pipelined(1), 1).unwrap();
            assert_eq!(script(&collection.fill).fill(1).1.total(), 1);
            let scripts = [script(collection.write), script(collection.read)];
            let mut turns = Turns { scripts, next: 0 };
            let mut names = (0..3).map(|_| {
                let text = String::from_utf8_lossy(turns.fill(1).0).into_owned();
                text.lines().nth(2).unwrap().to_owned()
            });
            let [write, read, again] = [(); 3].map(|()| names.next().unwrap());
            assert!(write == again && write != read, "{write} {read} {again}");
        }
    }
}

//! Live payload over resident memory during and after a change of the sizes of values: Table 5 of
//! Redis++, and the workloads of Rumble et al., "Log-structured Memory for DRAM-based Storage"
//! (FAST 2014).

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde::Deserialize;

use super::measure::Load;
use super::{Bench, Scale, Scenario, mebibytes, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Operation, Stop, ValueSize};
use crate::report::{Plot, Section};
use crate::servers::{Launch, Program, Server};

/// Amount of data, and its changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys and values together before the change, in bytes.
    pub payload: u64,
    /// Number of times that the payload is written before the change, and again where new keys
    /// replace others. Keys are deleted at random, so that the payload stays the same.
    #[serde(default = "once")]
    pub turns: f64,
    /// Changes, each on fresh servers.
    pub workloads: Vec<Workload>,
}

/// Change of all stored data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    name: String,
    before: Sizes,
    after: Sizes,
    change: Change,
}

/// Least and most bytes in a value; all sizes between them are equally likely.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Sizes(usize, usize);

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Change {
    /// No change.
    Nothing,
    /// Overwrites every key once, in random order.
    Overwrite,
    /// Deletes this fraction of the keys at random, then adds new keys until the payload is
    /// restored.
    DeleteThenInsert(f64),
    /// Does the same, and then replaces random keys with new ones.
    DeleteThenReplace(f64),
}

fn once() -> f64 {
    1.0
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            payload: scale.of(self.payload).max(self.payload.min(PAYLOAD_MIN)),
            turns: (self.turns * scale.factor()).max(self.turns.min(TURNS_MIN)),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        for workload in &self.workloads {
            let largest = workload.before.record().max(workload.after.record());
            ensure!(
                REPLACED_AT_ONCE * self.payload as f64 >= largest,
                "{}: a payload of {} bytes is too small for records of {largest} bytes",
                workload.name,
                self.payload
            );
        }
        pin_client(1);
        section.columns(&COLUMNS);
        if self.turns > 1.0 {
            section
                .note(format!("New keys come until the payload was written {} times.", self.turns));
        }
        section.note("Least and mean: over the SETs of the change after their first quarter.");
        let mut bars = Plot::bars("Payload / resident memory", Vec::new(), "mean while it runs");
        for workload in &self.workloads {
            let title = format!("{}: {}", workload.name, workload.words());
            let mut plot = Plot::lines(title, "written / payload", "payload / resident");
            let churns = self.churns(bench, workload)?;
            for churn in &churns {
                section.row(churn.cells(workload));
                for (x, y) in &churn.shares {
                    plot.point(&churn.label, *x, *y);
                }
                bars.bar(&churn.label, &workload.name, churn.mean());
            }
            figures(section, &workload.name, &churns);
            section.plot(plot);
        }
        section.plots.insert(0, bars);
        Ok(())
    }
}

/// Adds the figures of Varve, which is the first, and its ratios to the others.
fn figures(section: &mut Section, name: &str, churns: &[Churn]) {
    let Some((varve, others)) = churns.split_first() else { return };
    let (running, rested) = ("payload / resident while it runs", "payload / resident 5 s later");
    section.gain(format!("{name}: {running}"), Some(varve.mean()), "");
    section.gain(format!("{name}: {rested}"), Some(varve.rested), "");
    for other in others {
        let label = &other.label;
        let ratio = varve.mean() / other.mean();
        section.gain(format!("{name}: {running} / that of {label}"), Some(ratio), "");
        let ratio = varve.rested / other.rested;
        section.gain(format!("{name}: {rested} / that of {label}"), Some(ratio), "");
    }
}

impl Plan {
    /// Runs all servers, which rest at the same time; Varve comes last, since its memory may still
    /// change.
    fn churns(&self, bench: &Bench, workload: &Workload) -> Result<Vec<Churn>> {
        let mut programs: Vec<_> = bench.varve_and_peers().collect();
        programs.reverse();
        let mut ended = Vec::new();
        for program in programs {
            let mut running = Running::start(program, self.payload as f64)?;
            running.replace(workload.before, self.turns)?;
            if !matches!(workload.change, Change::Nothing) {
                (running.written, running.shares) = (0.0, Vec::new());
                running.change(workload, self.turns)?;
            }
            let at_end = running.share()?;
            ended.push((running, at_end));
        }
        thread::sleep(REST);
        ended.into_iter().rev().map(|(running, at_end)| Churn::of(running, at_end)).collect()
    }
}

impl Sizes {
    /// Returns the average bytes of a key and its value.
    fn record(self) -> f64 {
        KEY_BYTES as f64 + f64::midpoint(self.0 as f64, self.1 as f64)
    }

    fn value(self) -> ValueSize {
        if self.0 == self.1 {
            ValueSize::Fixed(self.0)
        } else {
            ValueSize::Uniform(self.0..=self.1)
        }
    }

    fn words(self) -> String {
        if self.0 == self.1 { self.0.to_string() } else { format!("{} to {}", self.0, self.1) }
    }
}

impl Workload {
    fn words(&self) -> String {
        let (before, after) = (self.before.words(), self.after.words());
        match self.change {
            Change::Nothing => before,
            Change::Overwrite => format!("{before} -> {after}, overwritten"),
            Change::DeleteThenInsert(deleted) | Change::DeleteThenReplace(deleted) => {
                format!("{before} -> {after}, {:.0} % deleted", 100.0 * deleted)
            }
        }
    }
}

/// A server during the change.
struct Running {
    server: Server,
    random: SmallRng,
    /// Stored keys, with their average bytes.
    stored: Vec<(u32, f64)>,
    /// Number of keys ever stored; the next new key.
    named: u32,
    /// Target payload, in bytes of keys and values.
    wanted: f64,
    /// Bytes of stored keys and values.
    payload: f64,
    /// Bytes of keys and values written by the change.
    written: f64,
    /// Payload over resident memory, by bytes written over target payload.
    shares: Vec<(f64, f64)>,
}

/// Result of a change.
struct Churn {
    label: String,
    payload: f64,
    /// Payload over resident memory, by bytes written over the payload.
    shares: Vec<(f64, f64)>,
    at_end: f64,
    rested: f64,
}

impl Churn {
    fn of(running: Running, at_end: f64) -> Result<Self> {
        let rested = running.share()?;
        let label = running.server.label.clone();
        Ok(Self { label, payload: running.payload, shares: running.shares, at_end, rested })
    }

    /// Returns the samples after the first quarter of the written bytes.
    fn late(&self) -> impl Iterator<Item = f64> + Clone {
        let from = self.shares.last().map_or(0.0, |(written, _)| written / 4.0);
        self.shares.iter().filter(move |(written, _)| *written >= from).map(|(_, share)| *share)
    }

    fn mean(&self) -> f64 {
        self.late().sum::<f64>() / self.late().count() as f64
    }

    fn cells(&self, workload: &Workload) -> Vec<String> {
        let what = format!("{}: {}", workload.name, workload.words());
        let mut cells = vec![what, self.label.clone(), mebibytes(self.payload)];
        let least = self.late().fold(f64::INFINITY, f64::min);
        let shares = [least, self.mean(), self.at_end, self.rested];
        cells.extend(shares.map(|share| format!("{share:.3}")));
        cells
    }
}

impl Running {
    fn start(program: &Program, wanted: f64) -> Result<Self> {
        Ok(Self {
            server: program.start(&Launch::default())?,
            random: SmallRng::seed_from_u64(1),
            stored: Vec::new(),
            named: 0,
            wanted,
            payload: 0.0,
            written: 0.0,
            shares: Vec::new(),
        })
    }

    /// Returns payload over resident memory.
    fn share(&self) -> Result<f64> {
        Ok(self.payload / self.server.resident_bytes()? as f64)
    }

    fn change(&mut self, workload: &Workload, turns: f64) -> Result<()> {
        match workload.change {
            Change::Nothing => Ok(()),
            Change::Overwrite => self.overwrite(workload.after),
            Change::DeleteThenInsert(deleted) => {
                self.delete(deleted * self.wanted)?;
                self.insert(workload.after, self.wanted - self.payload)
            }
            Change::DeleteThenReplace(deleted) => {
                self.delete(deleted * self.wanted)?;
                self.replace(workload.after, turns)
            }
        }
    }

    /// Adds new keys until the payload is restored, then replaces keys until it was written so many
    /// times.
    fn replace(&mut self, sizes: Sizes, turns: f64) -> Result<()> {
        self.insert(sizes, self.wanted - self.payload)?;
        while self.written + REPLACED_AT_ONCE * self.wanted <= turns * self.wanted {
            self.insert(sizes, REPLACED_AT_ONCE * self.wanted)?;
            self.delete(self.payload - self.wanted)?;
        }
        Ok(())
    }

    /// Adds new keys, of so many bytes together.
    fn insert(&mut self, sizes: Sizes, bytes: f64) -> Result<()> {
        let count = (bytes / sizes.record()).max(0.0) as u32;
        if count == 0 {
            return Ok(());
        }
        let keys: Arc<[u32]> = (self.named..self.named + count).collect();
        self.named += count;
        self.stored.extend(keys.iter().map(|key| (*key, sizes.record())));
        self.write(sizes, keys, sizes.record())
    }

    fn overwrite(&mut self, sizes: Sizes) -> Result<()> {
        self.stored.shuffle(&mut self.random);
        let keys = self.stored.iter().map(|(key, _)| *key).collect();
        let before = self.payload / self.stored.len() as f64;
        self.write(sizes, keys, sizes.record() - before)
    }

    /// Deletes random keys, of so many bytes together.
    fn delete(&mut self, bytes: f64) -> Result<()> {
        let (mut keys, mut left) = (Vec::new(), bytes);
        while left > 0.0 && !self.stored.is_empty() {
            let at = self.random.random_range(0..self.stored.len());
            let (key, record) = self.stored.swap_remove(at);
            keys.push(key);
            left -= record;
            self.payload -= record;
        }
        if keys.is_empty() {
            return Ok(());
        }
        let load = self.load(Operation::Delete, ValueSize::Fixed(0), keys.into());
        let (mut generator, mut requests, mut keys) = load.prepare(&self.server)?;
        let outcome = generator.run(&mut requests, &mut keys, load.stop)?;
        if outcome.replies.error > 0 {
            bail!("DEL failed: {:?}", outcome.first_error);
        }
        Ok(())
    }

    /// Sets these keys, each of which adds `gain` bytes to the payload.
    fn write(&mut self, sizes: Sizes, keys: Arc<[u32]>, gain: f64) -> Result<()> {
        let (payload, written) = (self.payload, self.written);
        let (wanted, step) = (self.wanted, self.wanted / SAMPLES_PER_TURN);
        let count = keys.len() as u64;
        let load = self.load(Operation::Set, sizes.value(), keys);
        let (mut generator, mut requests, mut keys) = load.prepare(&self.server)?;
        let mut shares = Vec::new();
        let mut watch = |done: u64| {
            let resident = self.server.resident_bytes()? as f64;
            let share = (payload + done as f64 * gain) / resident;
            shares.push(((written + done as f64 * sizes.record()) / wanted, share));
            Ok(())
        };
        let every = (step / sizes.record()).max(1.0) as u64;
        let outcome =
            generator.run_watched(&mut requests, &mut keys, load.stop, every, &mut watch)?;
        if outcome.replies.error > 0 {
            bail!("SET failed: {:?}", outcome.first_error);
        }
        watch(count)?;
        self.shares.append(&mut shares);
        self.payload = payload + count as f64 * gain;
        self.written = written + count as f64 * sizes.record();
        Ok(())
    }

    fn load(&self, operation: Operation, value: ValueSize, keys: Arc<[u32]>) -> Load {
        let mut load = Load::new(operation, 16, u64::from(self.named));
        load.shape.value = value;
        load.stop = Stop::Operations(keys.len() as u64);
        load.keys = KeyChoice::Listed(keys);
        load
    }
}

const COLUMNS: [&str; 7] =
    ["workload", "server", "payload MiB", "least", "mean", "at the end", "5 s later"];
const REST: Duration = Duration::from_secs(5);
/// Least payload; below it the memory of an empty server dominates.
const PAYLOAD_MIN: u64 = 32 << 20;
const TURNS_MIN: f64 = 2.0;
/// Samples of resident memory while the payload is written once.
const SAMPLES_PER_TURN: f64 = 64.0;
/// Fraction of the payload that is replaced by one batch of deletions and insertions.
const REPLACED_AT_ONCE: f64 = 0.02;

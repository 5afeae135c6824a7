//! A snapshot of many keys while other clients read and write, and its speed without them.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use serde::Deserialize;

use super::folder::{Folder, programs};
use super::watch::{Peak, Saving};
use crate::control::Reply;
use crate::generator::ValueSize;
use crate::report::{Figure, Section};
use crate::scenario::collections::steady::{Others, Steady};
use crate::scenario::measure::fill;
use crate::scenario::{Bench, Scale, Scenario, mebibytes, milliseconds, pin_client};
use crate::servers::{Launch, Program, Server};
use crate::statistics::median;

/// Data and clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of keys.
    pub keys: u64,
    /// Bytes in a value.
    pub value: usize,
    /// Number of keys with large values.
    pub large_keys: u64,
    /// Bytes in a large value.
    pub large_value: usize,
    /// GETs and SETs per second of all clients together.
    pub per_second: u64,
    /// Time for which the clients are watched before each snapshot, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub before: Duration,
    /// Snapshots of each kind.
    pub rounds: usize,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            keys: scale.of(self.keys),
            large_keys: scale.of(self.large_keys),
            before: scale.time(self.before).max(BEFORE_MIN),
            rounds: scale.rounds(self.rounds),
            ..self
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["what", "server", "measured"]);
        section.note(format!(
            "{} keys of 16 bytes, values of {} bytes. 20 clients GET and SET, {} times a second \
             together, without a pipeline; requests wait from their due times on. The server has \
             one core. At the cut: from BGSAVE on, for {} ms. Extra memory: most of the server and \
             of what a child has for itself, over the most before. Compression as by default.",
            self.keys,
            self.value,
            self.per_second,
            CUT.as_millis()
        ));
        section.note(
            "Alone: two cores and no clients, from BGSAVE to the file's own name; synced by then.",
        );
        let programs = programs(bench, section);
        let shared = each(&programs, |program| self.shared(program))?;
        for (program, shared) in programs.iter().zip(&shared) {
            shared.rows(section, &program.label);
        }
        let alone = each(&programs, |program| self.alone(program))?;
        for (program, alone) in programs.iter().zip(&alone) {
            alone.rows(section, &program.label);
        }
        if let Some(varve) = shared.first() {
            varve.figures(section);
        }
        figures_alone(section, &alone);
        Ok(())
    }
}

fn each<T>(programs: &[Program], measure: impl Fn(&Program) -> Result<T>) -> Result<Vec<T>> {
    programs.iter().map(measure).collect()
}

/// Snapshots on the core on which clients are served, by round.
#[derive(Default)]
struct Shared {
    /// Longest wait in as long a time before the cut.
    calm_ms: Vec<f64>,
    cut_ms: Vec<f64>,
    /// Pause at the cut that the server itself tells; of a peer, the time of its fork.
    own_ms: Vec<f64>,
    memory: f64,
    memory_ratio: Vec<f64>,
    p99_before: Vec<f64>,
    p99_while: Vec<f64>,
    longest_while: Vec<f64>,
    seconds: Vec<f64>,
}

impl Shared {
    fn rows(&self, section: &mut Section, label: &str) {
        let of = |values: &[f64]| median(values.to_vec());
        let rows = [
            ("longest wait at the cut, ms", format!("{:.2}", of(&self.cut_ms))),
            ("longest wait in as long before, ms", format!("{:.2}", of(&self.calm_ms))),
            ("pause as the server tells it, ms", format!("{:.3}", of(&self.own_ms))),
            ("most memory before, MiB", mebibytes(self.memory)),
            ("most memory while saving / before", format!("{:.3}", of(&self.memory_ratio))),
            ("p99 before, us", format!("{:.0}", of(&self.p99_before))),
            ("p99 while saving, us", format!("{:.0}", of(&self.p99_while))),
            ("longest wait while saving, ms", format!("{:.2}", of(&self.longest_while))),
            ("snapshot, s", format!("{:.2}", of(&self.seconds))),
        ];
        for (what, value) in rows {
            section.row([what.to_owned(), label.to_owned(), value]);
        }
    }

    fn figures(&self, section: &mut Section) {
        let mut add = |what: &str, rounds: &[f64], unit: &'static str| {
            section.figures.push(Figure::of_rounds(what, rounds.to_vec(), unit));
        };
        add("longest wait of a client at the cut", &self.cut_ms, "ms");
        add("pause at the cut, as the server tells it", &self.own_ms, "ms");
        add("most memory while saving / before", &self.memory_ratio, "");
        let what = "p99 of others while saving / before, one core";
        section.figures.push(Figure::ratio(what, &self.p99_while, &self.p99_before));
    }
}

/// Keys per second without clients, by round.
#[derive(Default)]
struct Alone {
    plain: Vec<f64>,
    compressed: Vec<f64>,
    large_megabytes: Vec<f64>,
}

impl Alone {
    fn rows(&self, section: &mut Section, label: &str) {
        let millions = |rounds: &[f64]| format!("{:.2}", median(rounds.to_vec()) / 1e6);
        let large = format!("{:.0}", median(self.large_megabytes.clone()));
        let rows = [
            ("alone, million keys/s", millions(&self.plain)),
            ("alone, compressed, million keys/s", millions(&self.compressed)),
            ("alone, large values, MB/s", large),
        ];
        for (what, value) in rows {
            section.row([what.to_owned(), label.to_owned(), value]);
        }
    }
}

fn figures_alone(section: &mut Section, all: &[Alone]) {
    let Some((varve, others)) = all.split_first() else { return };
    let figure = |what, rounds: &[f64], unit| {
        Figure::of_rounds(what, rounds.to_vec(), unit).more_is_better()
    };
    let millions: Vec<_> = varve.plain.iter().map(|keys| keys / 1e6).collect();
    section.figures.push(figure("saved alone", &millions, "M keys/s"));
    section.figures.push(figure("saved alone, large values", &varve.large_megabytes, "MB/s"));
    let Some(valkey) = others.first() else { return };
    let ratio =
        |what, ours: &[f64], theirs: &[f64]| Figure::ratio(what, ours, theirs).more_is_better();
    section.figures.push(ratio("saved alone / Valkey", &varve.plain, &valkey.plain));
    let what = "saved alone, compressed / Valkey";
    section.figures.push(ratio(what, &varve.compressed, &valkey.compressed));
}

impl Plan {
    fn shared(&self, program: &Program) -> Result<Shared> {
        let folder = Folder::new()?;
        let server = folder.start(program, &Launch::default())?;
        fill(&server, self.keys, ValueSize::Fixed(self.value))?;
        let every = Duration::from_secs(1) / u32::try_from(self.per_second.max(1))?;
        let others = Others { keys: self.keys, value: self.value, every };
        let mut clients = Steady::connect(&server, &others)?;
        clients.watch(REST, &[])?;
        let mut shared = Shared::default();
        for _ in 0..self.rounds {
            self.save_beside(&server, &folder, &mut clients, &mut shared)?;
        }
        Ok(shared)
    }

    fn save_beside(
        &self,
        server: &Server,
        folder: &Folder,
        clients: &mut Steady,
        shared: &mut Shared,
    ) -> Result<()> {
        Saving::prepare(folder)?;
        let calm_peak = Peak::of(server.pid);
        let before = clients.watch(self.before, &[])?.others;
        let calm = clients.watch(CUT, &[])?.others;
        let memory = calm_peak.stop()?;
        let peak = Peak::of(server.pid);
        let mut saving = Saving::asked_before(server.control()?, folder);
        let cut = clients.watch(CUT, &["BGSAVE".to_owned()])?.others;
        let mut all: Histogram<u64> = cut.clone();
        while !saving.is_over()? {
            all.add(&clients.watch(WATCHED, &[])?.others)?;
        }
        let elapsed = saving.wait()?;
        let most = peak.stop()?;
        let own_us = server.control()?.info_number("latest_fork_usec")?;
        shared.own_ms.extend(own_us.map(|micros| micros / 1e3));
        shared.calm_ms.push(calm.max() as f64 / 1e6);
        shared.cut_ms.push(cut.max() as f64 / 1e6);
        shared.memory = memory as f64;
        shared.memory_ratio.push(most as f64 / memory as f64);
        shared.p99_before.push(before.value_at_quantile(0.99) as f64 / 1e3);
        shared.p99_while.push(all.value_at_quantile(0.99) as f64 / 1e3);
        shared.longest_while.push(all.max() as f64 / 1e6);
        shared.seconds.push(elapsed.as_secs_f64());
        Ok(())
    }

    fn alone(&self, program: &Program) -> Result<Alone> {
        let mut alone = Alone::default();
        let keys = self.keys as f64;
        self.save_alone(program, self.keys, self.value, &mut |is_compressed, seconds| {
            let rounds = if is_compressed { &mut alone.compressed } else { &mut alone.plain };
            rounds.push(keys / seconds);
        })?;
        let megabytes = (self.large_keys * self.large_value as u64) as f64 / 1e6;
        self.save_alone(
            program,
            self.large_keys,
            self.large_value,
            &mut |is_compressed, seconds| {
                if !is_compressed {
                    alone.large_megabytes.push(megabytes / seconds);
                }
            },
        )?;
        Ok(alone)
    }

    /// Saves without clients, and tells of each snapshot whether it was compressed and the seconds
    /// that it took.
    fn save_alone(
        &self,
        program: &Program,
        keys: u64,
        value: usize,
        told: &mut impl FnMut(bool, f64),
    ) -> Result<()> {
        let folder = Folder::new()?;
        let server = folder.start(program, &Launch::default().on_cores(2))?;
        fill(&server, keys, ValueSize::Fixed(value))?;
        thread::sleep(REST);
        for is_compressed in [false, true] {
            let setting = if is_compressed { "yes" } else { "no" };
            let mut control = server.control()?;
            let set = control.ask(&["CONFIG", "SET", "rdbcompression", setting])?;
            ensure!(set == Reply::Text("OK".to_owned()), "CONFIG SET: {set:?}");
            for _ in 0..self.rounds {
                let elapsed = Saving::ask(server.control()?, &folder)?.wait()?;
                told(is_compressed, elapsed.as_secs_f64());
            }
        }
        Ok(())
    }
}

const CUT: Duration = Duration::from_millis(20);
const WATCHED: Duration = Duration::from_millis(50);
/// Time in which the cleaner is through with what loading left.
const REST: Duration = Duration::from_secs(2);
const BEFORE_MIN: Duration = Duration::from_millis(500);

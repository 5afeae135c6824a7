//! Resident memory per key at every point while new keys are set, and the longest pause that
//! another client sees meanwhile.
//!
//! One thread drives both connections, so that the probe is not delayed by a second thread of the
//! client; the scheduler's counters tell what of a pause other processes caused.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Deserialize;

use super::{Bench, Scenario, pin_client};
use crate::generator::{EventLoop, KeyChoice, Load, Monitor, Pause, Probe, Protocol::Resp, Sender};
use crate::process;
use crate::report::{Better, Figure, Plot, Section};
use crate::sampler::{Watch, sampled};
use crate::servers::{Kind, Launch, Server};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub keys: u64,
    /// Expiry of each key, in seconds.
    pub expire_seconds: Option<u32>,
    /// True if Valkey grows as well.
    pub beside_valkey: bool,
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns("keys | server | bytes/key .1 | all bytes/key .1");
        let mut plot = Plot::lines("Resident bytes per key", "million keys", "bytes per key");
        let valkey = bench.valkey.as_ref().filter(|_| self.beside_valkey);
        for program in [&bench.varve].into_iter().chain(valkey).chain([&bench.null]) {
            let server = program.start(&Launch::default())?;
            let growth = self.grow(&server)?;
            growth.notes(section, &server.label);
            if server.kind != Kind::Null {
                growth.rows(section, &server.label, &mut plot);
            }
            if server.kind == Kind::Varve {
                let per_key = growth.samples.iter().map(|sample| growth.bytes_per_key(*sample));
                let worst = per_key.fold(0.0, f64::max);
                section.finding("resident bytes per key, worst of all points", Some(worst), "B");
                let longest = growth.longest.first().map(|it| it.own().as_secs_f64() * 1e3);
                section.finding("longest pause while growing", longest, "ms");
                let load = server.control()?.info_number("index_load_before_growth")?;
                let load = Figure::new("index load before growth", load, "%");
                section.figures.push(Figure { better: Better::Higher, ..load });
            }
        }
        section.plots.push(plot);
        Ok(())
    }
}

impl Plan {
    fn grow(&self, server: &Server) -> Result<Grown> {
        let (empty, stolen) = (server.resident_bytes()?, process::stolen());
        let expiry = self.expire_seconds.map_or_else(String::new, |time| format!(" EX {time}"));
        let sets = Load::of(format!("SET k{{n:15}} {{?16}}{expiry}"), self.keys);
        let sets = sets.choosing(KeyChoice::Sequential).pipelined(PIPELINE).count(self.keys);
        let (monitor, from) = (Arc::new(Monitor::default()), SAMPLE_FROM.min(self.keys));
        let mut probe = Probe::beside(Arc::clone(&monitor), from..self.keys, server.pid)?;
        let mut writer = Sender::new(Resp, &sets, 0)?;
        let mut event_loop = EventLoop::new()?.patient();
        event_loop.connect(server.port, Resp, 1)?;
        event_loop.connect(server.port, Resp, 1)?;
        writer.restart(sets.stop, Arc::clone(&monitor))?;
        let watch = Watch::every(SAMPLE_EVERY);
        let run = || event_loop.run(&mut [&mut writer, &mut probe]);
        let (ran, samples) = sampled(server.pid, watch, &monitor, run);
        ran?;
        let samples = samples.into_iter().filter(|sample| sample.operations >= from);
        let samples =
            samples.filter_map(|sample| Some((sample.operations, sample.resident_bytes?)));
        Ok(Grown {
            empty,
            samples: samples.collect(),
            stolen: process::stolen().saturating_sub(stolen),
            sets_per_second: writer.finish().sound()?.per_second(),
            pauses: probe.finish()?.latencies,
            longest: probe.longest,
        })
    }
}

/// Measurements while the keys grow.
struct Grown {
    /// Resident memory of the empty server, in bytes.
    empty: u64,
    /// Numbers of keys, each with the resident memory in bytes.
    samples: Vec<(u64, u64)>,
    /// Reply times of the probe, in nanoseconds.
    pauses: Histogram<u64>,
    /// Longest pauses of the probe, less the time that other processes took, longest first.
    longest: Vec<Pause>,
    /// CPU time that the hypervisor took from all cores.
    stolen: Duration,
    sets_per_second: f64,
}

impl Grown {
    fn bytes_per_key(&self, (keys, resident): (u64, u64)) -> f64 {
        resident.saturating_sub(self.empty) as f64 / keys as f64
    }

    fn rows(&self, section: &mut Section, label: &str, plot: &mut Plot) {
        let last = self.samples.len().saturating_sub(1);
        let step = (self.samples.len() / ROWS).max(1);
        for (number, (keys, resident)) in self.samples.iter().copied().enumerate() {
            let (millions, per_key) = (keys as f64 / 1e6, self.bytes_per_key((keys, resident)));
            plot.point(label, millions, per_key);
            if (last - number).is_multiple_of(step) {
                let values = [per_key, resident as f64 / keys as f64];
                section.values(&format!("{millions:.2} M"), label, &values);
            }
        }
    }

    fn notes(&self, section: &mut Section, label: &str) {
        section.note(format!(
            "{label}: {:.2} M SET/s. {} probes of another client from 1 M keys on: p99.99 {:.2?}, \
             longest {:.2?}.",
            self.sets_per_second / 1e6,
            self.pauses.len(),
            Duration::from_nanos(self.pauses.value_at_quantile(0.9999)),
            Duration::from_nanos(self.pauses.max()),
        ));
        let longest: Vec<_> = self.longest.iter().map(pause_text).collect();
        section.note(format!(
            "{label}, longest without the time that other processes took: {}. The hypervisor took \
             {:.2?} from all cores, which cannot be taken off.",
            longest.join(", "),
            self.stolen,
        ));
    }
}

fn pause_text(pause: &Pause) -> String {
    let (own, taken, at) = (pause.own(), pause.taken, pause.operations as f64 / 1e6);
    let ran: Vec<_> = pause.ran.iter().map(|(name, time)| format!("{name} {time:.2?}")).collect();
    let ran = ran.join(" and ");
    format!("{own:.2?} at {at:.2} M keys ({taken:.2?} taken off; the server's core had {ran})")
}

/// Rows in the table; the worst value is taken over all samples.
const ROWS: usize = 20;
/// Pipeline of the SETs: small, so that the probe waits behind only some tens of microseconds of
/// work.
const PIPELINE: usize = 64;
const SAMPLE_FROM: u64 = 1_000_000;
const SAMPLE_EVERY: Duration = Duration::from_millis(10);

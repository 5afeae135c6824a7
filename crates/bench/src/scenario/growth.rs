//! Resident memory per key at every point while new keys are set, and the longest pause that
//! another client sees meanwhile.
//!
//! One thread drives both connections, so that the probe is not delayed by a second thread of the
//! client; the scheduler's counters tell what of a pause other processes caused.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::{Bench, Scale, Scenario, pin_client};
use crate::report::{Plot, Section};
use crate::servers::{Kind, Launch};

mod drive;
pub(super) mod pause;

use drive::{Grown, Sample};
use pause::Pause;

/// Extent of the growth.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys at the end.
    pub keys: u64,
    /// Expiry of each key, in seconds.
    pub expire_seconds: Option<u32>,
    /// True if Valkey grows as well.
    pub beside_valkey: bool,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { keys: scale.of(self.keys), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["keys", "server", "bytes/key", "all bytes/key"]);
        section.note(
            "bytes/key: resident memory less that of the empty server; all: with it. The null \
             server stores nothing: its pauses are what the machine itself adds.",
        );
        let mut plot = Plot::lines("Resident bytes per key", "million keys", "bytes per key");
        let valkey = bench.valkey.as_ref().filter(|_| self.beside_valkey);
        for program in [&bench.varve].into_iter().chain(valkey).chain([&bench.null]) {
            let server = program.start(&Launch::default())?;
            let growth = drive::grow(&server, self.keys, self.expire_seconds)?;
            pause_note(section, &server.label, &growth);
            if server.kind != Kind::Null {
                memory_rows(section, &server.label, &growth, &mut plot);
            }
            if server.kind == Kind::Varve {
                let load = server.control()?.info_number("index_load_before_growth")?;
                figures(section, &growth, load);
            }
        }
        section.plot(plot);
        Ok(())
    }
}

fn figures(section: &mut Section, growth: &Grown, index_load: Option<f64>) {
    let of = |sample| growth.bytes_per_key(sample);
    let worst = growth.samples.iter().map(of).fold(0.0, f64::max);
    section.finding("resident bytes per key, worst of all points", Some(worst), "B");
    let longest = growth.longest.first().map(|pause| pause.own().as_secs_f64() * 1e3);
    section.finding("longest pause while growing", longest, "ms");
    section.gain("index load before growth", index_load, "%");
}

fn memory_rows(section: &mut Section, label: &str, growth: &Grown, plot: &mut Plot) {
    for sample in &growth.samples {
        plot.point(label, sample.keys as f64 / 1e6, growth.bytes_per_key(sample));
    }
    let step = (growth.samples.len() / ROWS).max(1);
    for sample in growth.samples.iter().rev().step_by(step).collect::<Vec<_>>().into_iter().rev() {
        let of_all = sample.resident as f64 / sample.keys as f64;
        section.row([
            format!("{:.2} M", sample.keys as f64 / 1e6),
            label.to_owned(),
            format!("{:.1}", growth.bytes_per_key(sample)),
            format!("{of_all:.1}"),
        ]);
    }
}

fn pause_note(section: &mut Section, label: &str, growth: &Grown) {
    let pauses = &growth.pauses;
    section.note(format!(
        "{label}: {:.2} M SET/s. {} probes of another client from 1 M keys on: p99.99 {}, \
         longest {}.",
        growth.sets_per_second / 1e6,
        pauses.len(),
        milliseconds(Duration::from_nanos(pauses.value_at_quantile(0.9999))),
        milliseconds(Duration::from_nanos(pauses.max())),
    ));
    let longest: Vec<_> = growth.longest.iter().map(pause_text).collect();
    section.note(format!(
        "{label}, longest without the time that other processes took: {}. The hypervisor took {} \
         from all cores, which cannot be taken off.",
        longest.join(", "),
        milliseconds(growth.stolen),
    ));
}

fn pause_text(pause: &Pause) -> String {
    let at = pause.keys as f64 / 1e6;
    let taken = milliseconds(pause.client_away + pause.server_away);
    let ran: Vec<_> =
        pause.ran.iter().map(|(name, time)| format!("{name} {}", milliseconds(*time))).collect();
    let (own, ran) = (milliseconds(pause.own()), ran.join(" and "));
    format!("{own} at {at:.2} M keys ({taken} taken off; the server's core had {ran})")
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

impl Grown {
    fn bytes_per_key(&self, sample: &Sample) -> f64 {
        sample.resident.saturating_sub(self.empty) as f64 / sample.keys as f64
    }
}

/// Rows in the table; the worst value is taken over all samples.
const ROWS: usize = 20;

//! Resident memory per key at every point while new keys are set, and the longest pause that
//! another client sees meanwhile.
//!
//! One thread drives both connections, so that the probe is not delayed by a second thread of the
//! client; the scheduler's counters tell what of a pause other processes caused.

use std::time::Duration;

use anyhow::Result;

use super::{Bench, pin_client};
use crate::report::{Aim, Section};
use crate::servers::{Kind, Launch, Program, Server};

mod drive;
pub(super) mod pause;

use drive::{Grown, Sample};
use pause::Pause;

/// How far the keys grow.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Keys at the end.
    pub keys: u64,
    /// An expiry on each, in seconds.
    pub expire_seconds: Option<u32>,
}

impl Plan {
    /// The full plan, or a short one.
    pub fn new(quick: bool, expire: bool) -> Self {
        let keys = if quick { 4_000_000 } else { 20_000_000 };
        Self { keys, expire_seconds: expire.then_some(86_400) }
    }

    fn bytes_per_key_max(&self) -> f64 {
        if self.expire_seconds.is_some() { 58.0 } else { 52.0 }
    }

    fn suffix(&self) -> &'static str {
        if self.expire_seconds.is_some() { ", with an expiry on each" } else { "" }
    }
}

/// Grows Varve.
///
/// # Errors
/// If the server fails.
pub fn run(bench: &Bench, plan: &Plan) -> Result<Section> {
    run_one(&bench.varve, plan)
}

/// Grows a peer, which has no aims.
///
/// # Errors
/// If the server fails.
pub fn run_peer(program: &Program, plan: &Plan) -> Result<Section> {
    let mut section = run_one(program, plan)?;
    section.figures.clear();
    Ok(section)
}

fn run_one(program: &Program, plan: &Plan) -> Result<Section> {
    pin_client(1);
    let server = program.start(&Launch::default())?;
    let growth = drive::grow(&server, plan)?;
    let title =
        format!("Growth to {} M keys of 16 + 16 bytes{}", plan.keys / 1_000_000, plan.suffix());
    let mut section =
        Section::new(format!("{title}: {}", server.label), &["keys", "bytes/key", "all bytes/key"]);
    if server.kind == Kind::Null {
        section.note("It stores nothing: its pauses are what the machine itself adds.");
    } else {
        section.note("bytes/key: resident memory less that of the empty server; all: with it.");
        memory_rows(&mut section, plan, &growth);
    }
    pause_notes(&mut section, plan, &growth);
    if server.kind == Kind::Varve {
        index_load(&mut section, plan, &server)?;
    }
    Ok(section)
}

fn memory_rows(section: &mut Section, plan: &Plan, growth: &Grown) {
    let step = (growth.samples.len() / ROWS).max(1);
    for sample in growth.samples.iter().rev().step_by(step).collect::<Vec<_>>().into_iter().rev() {
        let of_all = sample.resident as f64 / sample.keys as f64;
        section.row([
            format!("{:.2} M", sample.keys as f64 / 1e6),
            format!("{:.1}", growth.bytes_per_key(sample)),
            format!("{of_all:.1}"),
        ]);
    }
    let worst =
        growth.samples.iter().map(|sample| growth.bytes_per_key(sample)).fold(0.0, f64::max);
    let what = format!(
        "resident bytes per key, worst of {} points{}",
        growth.samples.len(),
        plan.suffix()
    );
    section.figure(what, Aim::AtMost(plan.bytes_per_key_max()), Some(worst), "B");
}

fn pause_notes(section: &mut Section, plan: &Plan, growth: &Grown) {
    let pauses = &growth.pauses;
    section.note(format!(
        "{:.2} M SET/s. {} probes of another client from 1 M keys on: p99.99 {}, longest {}.",
        growth.sets_per_second / 1e6,
        pauses.len(),
        milliseconds(Duration::from_nanos(pauses.value_at_quantile(0.9999))),
        milliseconds(Duration::from_nanos(pauses.max())),
    ));
    let longest: Vec<_> = growth.longest.iter().map(pause_text).collect();
    section.note(format!(
        "Longest without the time that other processes took: {}. The hypervisor took {} from all \
         cores, which cannot be taken off.",
        longest.join(", "),
        milliseconds(growth.stolen),
    ));
    let worst = growth.longest.first().map(|pause| pause.own().as_secs_f64() * 1e3);
    let what = format!("longest pause while growing{}", plan.suffix());
    section.figure(what, Aim::AtMost(1.0), worst, "ms");
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

fn index_load(section: &mut Section, plan: &Plan, server: &Server) -> Result<()> {
    if plan.expire_seconds.is_some() {
        return Ok(());
    }
    let load = server.control()?.info_number("index_load_before_growth")?;
    section.figure("index load before growth", Aim::AtLeast(85.0), load, "%");
    Ok(())
}

impl Grown {
    fn bytes_per_key(&self, sample: &Sample) -> f64 {
        sample.resident.saturating_sub(self.empty) as f64 / sample.keys as f64
    }
}

/// Rows in the table; the worst is taken over all samples.
const ROWS: usize = 40;

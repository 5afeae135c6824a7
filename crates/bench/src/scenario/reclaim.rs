//! The paper's Fig. 6: bytes moved by the cleaner per byte written, by reclaim policy, under
//! uniform and hot-cold overwrites at high utilisation.

use anyhow::Result;
use serde::Deserialize;

use super::measure::{Load, fill};
use super::{Bench, Scale, Scenario, pin_client};
use crate::control::Control;
use crate::generator::{KEY_BYTES, KeyChoice, Operation, Stop, ValueSize};
use crate::report::{Plot, Section};
use crate::servers::{Launch, Server};

/// Amount of data that is stored and overwritten.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Keys and values together, in bytes.
    pub payload: u64,
    /// Bytes written over it, as a multiple of the payload.
    pub turns: u64,
    /// Payload over the memory that is left for segments.
    pub utilisation: f64,
}

impl Plan {
    fn keys(&self) -> u64 {
        self.payload / (KEY_BYTES + VALUE_MEAN) as u64
    }

    /// Returns the `maxmemory` at which the segments have the wanted utilisation, as far as it can
    /// be computed from outside.
    fn limit(&self) -> u64 {
        let keys = self.keys() as f64;
        let records = keys * (KEY_BYTES + VALUE_MEAN + RECORD_HEADER) as f64;
        (records / self.utilisation + keys * INDEX_BYTES + FIXED_BYTES) as u64
    }
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { payload: scale.of(self.payload), ..self }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let note = format!(
            "Bytes moved per byte written at utilisation {:.2} (Fig. 6).",
            self.utilisation
        );
        section.columns(&COLUMNS);
        section.note(note);
        section.note(format!(
            "{} MiB of values of {} to {} bytes, overwritten {} times, maxmemory {} MiB, \
             noeviction.",
            self.payload >> 20,
            VALUE_BYTES.0,
            VALUE_BYTES.1,
            self.turns,
            self.limit() >> 20
        ));
        let mut plot = Plot::bars("Bytes moved per byte written, by policy", Vec::new(), "ratio");
        let mut on_hot_cold = Vec::new();
        for (name, choice) in workloads() {
            for policy in POLICIES {
                let overwritten = run_one(bench, self, policy, &choice)?;
                section.row(overwritten.cells(name, policy));
                if let Some(moved) = overwritten.moved_share() {
                    plot.bar(policy, name, moved);
                }
                if name == HOT_COLD {
                    on_hot_cold.push((policy, overwritten.moved_share()));
                }
            }
        }
        section.plot(plot);
        default_figure(section, bench, &on_hot_cold)?;
        Ok(())
    }
}

fn workloads() -> [(&'static str, KeyChoice); 2] {
    [("uniform", KeyChoice::Uniform), (HOT_COLD, KeyChoice::HotCold { hot: 0.1, share: 0.9 })]
}

/// The default must move the fewest bytes on hot-cold; within five percent counts as equal.
fn default_figure(
    section: &mut Section,
    bench: &Bench,
    moved: &[(&str, Option<f64>)],
) -> Result<()> {
    let server = bench.varve.start(&Launch::default())?;
    let default = server.control()?.setting("reclaim-policy")?;
    let least = moved.iter().filter_map(|(_, moved)| *moved).fold(f64::INFINITY, f64::min);
    let of_default = moved.iter().find(|(policy, _)| Some(*policy) == default.as_deref());
    let excess = of_default.and_then(|(_, moved)| *moved).map(|moved| moved / least.max(0.01));
    let name = default.as_deref().unwrap_or("unknown");
    section.note(format!("Default policy: {name}."));
    let what = "reclaim: bytes moved by the default policy on hot-cold / by the best";
    section.finding(what, excess, "");
    Ok(())
}

struct Overwritten {
    /// Bytes moved, from INFO; absent if the server does not report them.
    moved: Option<f64>,
    appended: Option<f64>,
    written: f64,
    errors: u64,
    server_us: f64,
    utilisation: f64,
}

impl Overwritten {
    fn moved_share(&self) -> Option<f64> {
        self.moved.map(|moved| moved / self.appended.unwrap_or(self.written))
    }

    fn cells(&self, workload: &str, policy: &str) -> [String; 7] {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let megabytes = |bytes: f64| format!("{:.0}", bytes / 1e6);
        [
            format!("{workload}, {policy}"),
            megabytes(self.written),
            or_dash(self.moved.map(megabytes)),
            or_dash(self.moved_share().map(|share| format!("{share:.3}"))),
            format!("{:.3}", self.server_us),
            format!("{:.3}", self.utilisation),
            self.errors.to_string(),
        ]
    }
}

fn run_one(bench: &Bench, plan: &Plan, policy: &str, choice: &KeyChoice) -> Result<Overwritten> {
    let launch = Launch::default()
        .with("maxmemory", plan.limit())
        .with("maxmemory-policy", "noeviction")
        .with("reclaim-policy", policy);
    let server = bench.varve.start(&launch)?;
    let values = ValueSize::Uniform(VALUE_BYTES.0..=VALUE_BYTES.1);
    fill(&server, plan.keys(), values.clone())?;
    overwrite(&server, plan, choice, values)
}

fn overwrite(
    server: &Server,
    plan: &Plan,
    choice: &KeyChoice,
    value: ValueSize,
) -> Result<Overwritten> {
    let mut load = Load::new(Operation::Set, 16, plan.keys());
    load.shape.value = value;
    load.keys = choice.clone();
    load.stop = Stop::Operations(plan.keys() * plan.turns);
    let mut control = server.control()?;
    let (mut generator, mut requests, mut keys) = load.prepare(server)?;
    let before = Cleaned::read(&mut control)?;
    let cpu_before = server.cpu_time()?;
    let outcome = generator.run(&mut requests, &mut keys, load.stop)?;
    let used = server.cpu_time()?.saturating_sub(cpu_before);
    let after = Cleaned::read(&mut control)?;
    let stored = outcome.replies.status as f64;
    Ok(Overwritten {
        moved: difference(after.moved, before.moved),
        appended: difference(after.appended, before.appended),
        written: stored * (KEY_BYTES + VALUE_MEAN) as f64,
        errors: outcome.replies.error,
        server_us: used.as_secs_f64() * 1e6 / outcome.operations.max(1) as f64,
        utilisation: plan.payload as f64 / server.resident_bytes()? as f64,
    })
}

/// The cleaner's counters in INFO.
struct Cleaned {
    moved: Option<f64>,
    appended: Option<f64>,
}

impl Cleaned {
    fn read(control: &mut Control) -> Result<Self> {
        let moved = control.info_number("cleaner_bytes_moved")?;
        let appended = control.info_number("cleaner_bytes_appended")?;
        Ok(Self { moved, appended })
    }
}

fn difference(after: Option<f64>, before: Option<f64>) -> Option<f64> {
    Some(after? - before?)
}

const POLICIES: [&str; 3] = ["original", "greedy", "modified"];
const HOT_COLD: &str = "hot-cold";
const VALUE_BYTES: (usize, usize) = (100, 300);
const VALUE_MEAN: usize = 200;
const RECORD_HEADER: usize = 6;
const INDEX_BYTES: f64 = 12.6;
const FIXED_BYTES: f64 = 10e6;
const COLUMNS: [&str; 7] = [
    "workload, policy",
    "written MB",
    "moved MB",
    "moved/written",
    "CPU us/SET",
    "payload/resident",
    "errors",
];

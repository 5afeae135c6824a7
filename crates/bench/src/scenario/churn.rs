//! Live payload over resident memory while the sizes of values change and afterwards: the
//! paper's Table 5, as rows of [`WORKLOADS`].

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use super::measure::{Load, fill};
use super::{Bench, mebibytes, pin_client};
use crate::generator::{KEY_BYTES, KeyChoice, Operation, Stop, ValueSize, shuffled};
use crate::report::{Aim, Section};
use crate::servers::{Kind, Launch, Program, Server};

/// How much is stored.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Keys and values together before the change, in bytes.
    pub payload: u64,
}

impl Plan {
    /// The full plan, or a short one.
    pub fn new(quick: bool) -> Self {
        Self { payload: if quick { 128 << 20 } else { 512 << 20 } }
    }
}

/// One row of the paper's table, and what must be reached.
struct Workload {
    name: &'static str,
    /// Bytes in a value before the change.
    before: usize,
    /// Bytes in a value after it.
    after: usize,
    change: Change,
    /// Least share of payload in resident memory while it runs.
    running: f64,
    /// The same after some seconds of rest.
    rested: f64,
}

enum Change {
    /// Every key once, in random order.
    Overwrite,
    /// This part of the keys is deleted at random, then new keys come until the payload is what
    /// it was.
    DeleteThenInsert(f64),
}

impl Workload {
    const fn new(
        name: &'static str,
        (before, after): (usize, usize),
        change: Change,
        (running, rested): (f64, f64),
    ) -> Self {
        Self { name, before, after, change, running, rested }
    }
}

const WORKLOADS: [Workload; 4] = [
    Workload::new("W1", (100, 130), Change::Overwrite, (0.78, 0.80)),
    Workload::new("W2", (100, 130), Change::DeleteThenInsert(0.9), (0.78, 0.80)),
    Workload::new("W3", (200, 260), Change::Overwrite, (0.82, 0.88)),
    Workload::new("W4", (260, 520), Change::DeleteThenInsert(0.9), (0.82, 0.88)),
];

/// Runs every workload on fresh servers.
///
/// # Errors
/// If a server fails.
pub fn run(bench: &Bench, plan: &Plan) -> Result<Section> {
    pin_client(1);
    let mut section =
        Section::new("Live payload / resident memory under churn (Table 5)", &COLUMNS);
    section.note(
        "W1, W3: every key overwritten once at random. W2, W4: 90 % of the keys deleted, then \
         new ones until the payload is what it was. Least and mean: over the SETs \
         after their first quarter.",
    );
    for workload in &WORKLOADS {
        for program in bench.varve_and_valkey() {
            let churn = run_one(program, workload, plan)?;
            section.row(churn.cells(workload));
            if churn.kind == Kind::Varve {
                let name = workload.name;
                let (running, rested) =
                    (Aim::AtLeast(workload.running), Aim::AtLeast(workload.rested));
                section.figure(
                    format!("{name}: payload / resident while it runs"),
                    running,
                    Some(churn.mean),
                    "",
                );
                section.figure(
                    format!("{name}: payload / resident 5 s later"),
                    rested,
                    Some(churn.rested),
                    "",
                );
            }
        }
    }
    Ok(section)
}

struct Churn {
    label: String,
    kind: Kind,
    payload: f64,
    least: f64,
    mean: f64,
    at_end: f64,
    rested: f64,
}

impl Churn {
    fn cells(&self, workload: &Workload) -> Vec<String> {
        let sizes = format!("{} {} -> {}", workload.name, workload.before, workload.after);
        let mut cells = vec![sizes, self.label.clone(), mebibytes(self.payload)];
        let shares = [self.least, self.mean, self.at_end, self.rested];
        cells.extend(shares.map(|share| format!("{share:.3}")));
        cells
    }
}

fn run_one(program: &Program, workload: &Workload, plan: &Plan) -> Result<Churn> {
    let server = program.start(&Launch::default())?;
    let (before, after) =
        ((KEY_BYTES + workload.before) as u64, (KEY_BYTES + workload.after) as u64);
    let keys = plan.payload / before;
    fill(&server, keys, ValueSize::Fixed(workload.before))?;
    let order: Arc<[u32]> = shuffled(u32::try_from(keys)?, 1).into();
    let running = match workload.change {
        Change::Overwrite => {
            let payload = |done| keys * before + done * (after - before);
            writes(&server, workload.after, KeyChoice::Listed(order), keys, keys, payload)?
        }
        Change::DeleteThenInsert(share) => {
            let deleted = (keys as f64 * share) as u64;
            delete(&server, &order[..usize::try_from(deleted)?], keys)?;
            let inserted = deleted * before / after;
            let new: Arc<[u32]> = (keys..keys + inserted).map(|key| key as u32).collect();
            let payload = |done| (keys - deleted) * before + done * after;
            let choice = KeyChoice::Listed(new);
            writes(&server, workload.after, choice, keys + inserted, inserted, payload)?
        }
    };
    rested(&server, running)
}

/// Payload and resident memory at points of a run.
struct Running {
    payload: u64,
    shares: Vec<f64>,
}

fn rested(server: &Server, running: Running) -> Result<Churn> {
    let share = || Ok::<_, anyhow::Error>(running.payload as f64 / server.resident_bytes()? as f64);
    let at_end = share()?;
    thread::sleep(REST);
    Ok(Churn {
        label: server.label.clone(),
        kind: server.kind,
        payload: running.payload as f64,
        least: running.shares.iter().copied().fold(f64::INFINITY, f64::min),
        mean: running.shares.iter().sum::<f64>() / running.shares.len() as f64,
        at_end,
        rested: share()?,
    })
}

fn writes(
    server: &Server,
    value: usize,
    choice: KeyChoice,
    key_count: u64,
    operations: u64,
    payload: impl Fn(u64) -> u64,
) -> Result<Running> {
    let load = change_load(Operation::Set, value, choice, key_count, operations);
    let (mut generator, mut requests, mut keys) = load.prepare(server)?;
    let mut shares = Vec::new();
    let watch = |done| {
        if done >= operations / 4 {
            shares.push(payload(done) as f64 / server.resident_bytes()? as f64);
        }
        Ok(())
    };
    let every = (operations / SAMPLES).max(1);
    let outcome = generator.run_watched(&mut requests, &mut keys, load.stop, every, watch)?;
    if outcome.replies.error > 0 {
        bail!("SET failed: {:?}", outcome.first_error);
    }
    Ok(Running { payload: payload(operations), shares })
}

fn delete(server: &Server, keys: &[u32], key_count: u64) -> Result<()> {
    let count = keys.len() as u64;
    let load = change_load(Operation::Delete, 0, KeyChoice::Listed(keys.into()), key_count, count);
    let (mut generator, mut requests, mut keys) = load.prepare(server)?;
    let outcome = generator.run(&mut requests, &mut keys, load.stop)?;
    if outcome.replies.error > 0 {
        bail!("DEL failed: {:?}", outcome.first_error);
    }
    Ok(())
}

fn change_load(
    operation: Operation,
    value: usize,
    keys: KeyChoice,
    key_count: u64,
    operations: u64,
) -> Load {
    let mut load = Load::new(operation, 16, key_count);
    load.shape.value = ValueSize::Fixed(value);
    load.keys = keys;
    load.stop = Stop::Operations(operations);
    load
}

const COLUMNS: [&str; 7] =
    ["workload", "server", "payload MiB", "least", "mean", "at the end", "5 s later"];
const REST: Duration = Duration::from_secs(5);
const SAMPLES: u64 = 400;

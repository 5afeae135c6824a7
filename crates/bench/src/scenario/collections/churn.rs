//! Live records over resident memory after values, fields and whole hashes were replaced.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::absent;
use super::elements::{FIELDS, whole_hash};
use super::store::{Stored, expect};
use crate::generator::shuffled;
use crate::report::{Plot, Section};
use crate::scenario::{Bench, Scale, Scenario, mebibytes, pin_client};
use crate::servers::{Kind, Launch, Program, Server};

/// Amount of data that is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Hashes of ten fields.
    pub hashes: u64,
    /// Fields of the one large hash.
    pub fields: u64,
}

/// Stored data, and its changes, one after the other.
struct Workload {
    name: &'static str,
    stored: Stored,
    changes: Vec<Change>,
    /// Command that counts the stored keys or fields before and after each change, and its answer.
    count: (&'static str, u64),
}

struct Change {
    name: &'static str,
    steps: Vec<Stored>,
    /// Bytes of keys, fields and values afterwards.
    payload: f64,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { hashes: scale.of(self.hashes), fields: scale.of(self.fields) }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(format!(
            "{} hashes of 10 fields of 8 bytes, and one hash of {} fields; values of 16 bytes, \
             replaced by others of 8 to 32. Records: live bytes of records over resident bytes of \
             segments, as the server reports them.",
            self.hashes, self.fields,
        ));
        for workload in
            [small_hashes(u32::try_from(self.hashes)?), large_hash(u32::try_from(self.fields)?)]
        {
            let title = format!("Payload / resident memory 5 s after a change: {}", workload.name);
            let mut plot = Plot::bars(title, Vec::new(), "ratio, more is better");
            run_one(section, &mut plot, &bench.varve_and_valkey(), &workload)?;
            section.plot(plot);
        }
        Ok(())
    }
}

/// Returns the workload of small hashes, with keys of 12 bytes and fields of 8.
fn small_hashes(hashes: u32) -> Workload {
    let (new, fields) = ("{?8-32}", hashes * FIELDS as u32);
    let replace = format!("HSET user:{{n/10:7}} field_{{n%10:2}} {new}");
    let replace = Stored::new(replace, 1).listed(shuffled(fields, 1));
    let delete = Stored::new("DEL user:{n:7}", 1).listed(half(hashes, 2));
    let create = Stored::new(whole_hash(new), 1).listed((hashes..hashes + hashes / 2).collect());
    let payload = f64::from(hashes) * (12.0 + 10.0 * (8.0 + NEW_MEAN));
    Workload {
        name: "small hashes",
        stored: Stored::new(whole_hash("{?16}"), u64::from(hashes)),
        changes: vec![
            Change { name: "all values", steps: vec![replace], payload },
            Change { name: "half of them", steps: vec![delete, create], payload },
        ],
        count: ("DBSIZE", u64::from(hashes)),
    }
}

fn large_hash(fields: u32) -> Workload {
    let set = |numbers| Stored::new("HSET hash {n~8} {?8-32}", 1).listed(numbers);
    let delete = Stored::new("HDEL hash {n~8}", 1).listed(half(fields, 2));
    let add = set((fields..fields + fields / 2).collect());
    let payload = |new: f64| f64::from(fields) * (8.0 + new * NEW_MEAN + (1.0 - new) * 16.0);
    Workload {
        name: "large hash",
        stored: Stored::new("HSET hash {n~8} {?16}", u64::from(fields)),
        changes: vec![
            Change {
                name: "half of the values",
                steps: vec![set(half(fields, 1))],
                payload: payload(0.5),
            },
            Change { name: "half of the fields", steps: vec![delete, add], payload: payload(0.75) },
        ],
        count: ("HLEN hash", u64::from(fields)),
    }
}

fn half(count: u32, seed: u64) -> Vec<u32> {
    let mut numbers = shuffled(count, seed);
    numbers.truncate(numbers.len() / 2);
    numbers
}

/// Runs a workload on all servers, which rest at the same time.
fn run_one(
    section: &mut Section,
    plot: &mut Plot,
    programs: &[&Program],
    workload: &Workload,
) -> Result<()> {
    let servers: Vec<_> =
        programs.iter().map(|it| it.start(&Launch::default())).collect::<Result<_>>()?;
    let stored: Vec<_> = servers.iter().map(|server| store(server, workload)).collect();
    for change in &workload.changes {
        let name = format!("{}: {}", workload.name, change.name);
        let apply = |(server, stored): (&Server, &Result<()>)| match stored {
            Ok(()) => apply(server, workload, change),
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        };
        let at_end: Vec<_> = servers.iter().zip(&stored).map(apply).collect();
        thread::sleep(REST);
        for (server, at_end) in servers.iter().zip(at_end) {
            let changed = at_end
                .and_then(|at_end| Ok(Changed { at_end, rested: Shares::of(server, change)? }));
            show(section, plot, server, change, &name, changed);
        }
    }
    Ok(())
}

fn show(
    section: &mut Section,
    plot: &mut Plot,
    server: &Server,
    change: &Change,
    name: &str,
    changed: Result<Changed>,
) {
    let cells = match &changed {
        Ok(changed) => changed.cells(change),
        Err(error) => vec![absent(section, name, error)],
    };
    section.row([name.to_owned(), server.label.clone()].into_iter().chain(cells));
    if let Ok(changed) = &changed {
        plot.bar(&server.label, change.name, changed.rested.payload);
    }
    if server.kind == Kind::Varve {
        let share = changed.ok().and_then(|changed| changed.rested.records);
        let what = format!("{name}: live records / resident 5 s later");
        section.gain(what, share, "");
    }
}

fn store(server: &Server, workload: &Workload) -> Result<()> {
    workload.stored.send(server)?;
    expect(server, workload.count.0, workload.count.1)
}

/// Applies a change; returns the shares right after it.
fn apply(server: &Server, workload: &Workload, change: &Change) -> Result<Shares> {
    change.steps.iter().try_for_each(|step| step.send(server))?;
    let at_end = Shares::of(server, change)?;
    expect(server, workload.count.0, workload.count.1)?;
    Ok(at_end)
}

struct Changed {
    at_end: Shares,
    rested: Shares,
}

impl Changed {
    fn cells(&self, change: &Change) -> Vec<String> {
        let text = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
        let (at_end, rested) = (&self.at_end, &self.rested);
        let shares = [Some(at_end.payload), Some(rested.payload), at_end.records, rested.records];
        std::iter::once(mebibytes(change.payload)).chain(shares.map(text)).collect()
    }
}

/// Live data over resident memory.
struct Shares {
    /// Payload over all memory of the server.
    payload: f64,
    /// Live records over the memory of segments, where the server reports both.
    records: Option<f64>,
}

impl Shares {
    fn of(server: &Server, change: &Change) -> Result<Self> {
        let mut control = server.control()?;
        let live = control.info_number("segments_live_bytes")?;
        let touched = control.info_number("segments_touched_bytes")?;
        Ok(Self {
            payload: change.payload / server.resident_bytes()? as f64,
            records: live.zip(touched).map(|(live, touched)| live / touched),
        })
    }
}

/// Mean size of a new value.
const NEW_MEAN: f64 = 20.0;
const REST: Duration = Duration::from_secs(5);
const COLUMNS: [&str; 7] = [
    "change",
    "server",
    "payload MiB",
    "payload/resident",
    "5 s later",
    "records/resident",
    "5 s later",
];

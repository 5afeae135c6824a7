//! Removal of a set of ten million members: effects on its caller and on other clients.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::absent;
use super::steady::{Others, Seen, Steady};
use super::store::{Stored, expect};
use crate::generator::ValueSize;
use crate::report::{Figure, Plot, Section};
use crate::scenario::measure::fill;
use crate::scenario::{Bench, Scale, Scenario, pin_client};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

/// Size of the set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Members of the set.
    pub members: u64,
    /// Number of times that each removal is measured.
    pub rounds: usize,
    /// Pause until the cleaner is done with the remains of loading.
    #[serde(skip, default = "rest")]
    rest: Duration,
}

fn rest() -> Duration {
    REST
}

struct Case {
    name: &'static str,
    commands: Vec<String>,
    /// Keys that remain after the commands.
    left: u64,
    /// True if the caller waits for the removal at all.
    caller_waits: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, command: &str| Case {
        name,
        commands: vec![command.to_owned()],
        left: 0,
        caller_waits: true,
    };
    vec![
        case("DEL", "DEL set"),
        case("UNLINK", "UNLINK set"),
        case("FLUSHALL", "FLUSHALL"),
        Case { caller_waits: false, ..case("expiry", "PEXPIRE set 100") },
        Case { commands: renames(), left: 1, ..case("RENAME", "") },
    ]
}

/// Returns a cycle of ten renames over names that hash to different places; the last is the first.
fn renames() -> Vec<String> {
    let name =
        |number| if number % NAMES == 0 { "set".to_owned() } else { format!("set:{number}") };
    (0..NAMES).map(|number| format!("RENAME {} {}", name(number), name(number + 1))).collect()
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        // Each round waits for most of a minute, whatever the size.
        let rounds = scale.of(self.rounds as u64) as usize;
        let rest = scale.time(REST).max(REST_MIN);
        Self { members: scale.of(self.members / 10) * 10, rounds, rest }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        let note = format!("Removal of a set of {} members.", self.members);
        section.columns(&COLUMNS);
        section.note(note);
        section.note(
            "Others: 20 clients that GET and SET, 20,000 times a second together, for 3 s before \
             the command and for 3 s from it on. RENAME: to ten names in turn, the worst counts. \
             Taken: by other processes, from clients and server in the six seconds; it is taken \
             off the caller's wait alone.",
        );
        let mut caller = Plot::bars("What the caller waits", Vec::new(), "milliseconds").log_y();
        let title = "p99.9 of others in the 3 s after the command / before";
        let mut others = Plot::bars(title, Vec::new(), "ratio, less is better").log_y();
        for case in cases() {
            let programs = bench.varve_and_valkey();
            for (program, removed) in programs.iter().zip(rounds(&programs, &case, self)) {
                let cells = match &removed {
                    Ok(removed) => removed.cells(),
                    Err(error) => vec![absent(section, case.name, error)],
                };
                section.row([case.name.to_owned(), program.label.clone()].into_iter().chain(cells));
                if let Ok(removed) = &removed {
                    others.bar(&program.label, case.name, median(removed.p999_ratios()));
                    if case.caller_waits {
                        caller.bar(&program.label, case.name, median(removed.caller_ms.clone()));
                    }
                }
                if program.kind == Kind::Varve {
                    figures(section, &case, removed.ok().as_ref());
                }
            }
        }
        section.plot(caller);
        section.plot(others);
        Ok(())
    }
}

fn figures(section: &mut Section, case: &Case, removed: Option<&Removed>) {
    if case.caller_waits {
        let what = format!("{}: what the caller waits", case.name);
        let waited = removed.map_or_else(Vec::new, |removed| removed.caller_ms.clone());
        section.figures.push(Figure::of_rounds(what, waited, "ms"));
    }
    let what = format!("{}: p99.9 of others in the 3 s after / before", case.name);
    let ratios = removed.map_or_else(Vec::new, Removed::p999_ratios);
    section.figures.push(Figure::of_rounds(what, ratios, ""));
}

/// Returns one result per program; a program that fails in one round is left out of the others.
fn rounds(programs: &[&Program], case: &Case, plan: &Plan) -> Vec<Result<Removed>> {
    let mut all: Vec<Result<Removed>> = programs.iter().map(|_| Ok(Removed::default())).collect();
    for _ in 0..plan.rounds {
        for (program, removed) in programs.iter().zip(&mut all) {
            let Ok(so_far) = removed else { continue };
            if let Err(error) = remove(program, case, plan, so_far) {
                *removed = Err(error);
            }
        }
    }
    all
}

/// Measurements by round.
#[derive(Default)]
struct Removed {
    /// Longest time of a command, in milliseconds.
    caller_ms: Vec<f64>,
    /// Latency in microseconds, like all fields below.
    p999_before: Vec<f64>,
    p999_after: Vec<f64>,
    longest_before: Vec<f64>,
    longest_after: Vec<f64>,
    /// Time that other processes took.
    taken: Vec<f64>,
}

impl Removed {
    fn add(&mut self, before: &Seen, after: &Seen) {
        let longest = after.caller.iter().max().copied().unwrap_or_default();
        self.caller_ms.push(longest.as_secs_f64() * 1e3);
        self.p999_before.push(p999_us(before));
        self.p999_after.push(p999_us(after));
        self.longest_before.push(before.others.max() as f64 / 1e3);
        self.longest_after.push(after.others.max() as f64 / 1e3);
        self.taken.push((before.taken + after.taken).as_secs_f64() * 1e6);
    }

    fn p999_ratios(&self) -> Vec<f64> {
        self.p999_after
            .iter()
            .zip(&self.p999_before)
            .map(|(after, before)| after / before)
            .collect()
    }

    fn cells(&self) -> Vec<String> {
        let whole = |values: &[f64]| format!("{:.0}", median(values.to_vec()));
        vec![
            format!("{:.3}", median(self.caller_ms.clone())),
            whole(&self.p999_before),
            whole(&self.p999_after),
            format!("{:.2}", median(self.p999_ratios())),
            whole(&self.longest_before),
            whole(&self.longest_after),
            whole(&self.taken),
        ]
    }
}

fn p999_us(seen: &Seen) -> f64 {
    seen.others.value_at_quantile(0.999) as f64 / 1e3
}

fn remove(program: &Program, case: &Case, plan: &Plan, removed: &mut Removed) -> Result<()> {
    let server = program.start(&Launch::default())?;
    store(&server, plan)?;
    thread::sleep(plan.rest);
    let mut clients = Steady::connect(&server, &OTHERS)?;
    clients.watch(WARM_UP, &[])?;
    let before = clients.watch(WATCHED, &[])?;
    let after = clients.watch(WATCHED, &case.commands)?;
    expect(&server, "EXISTS set", case.left)?;
    removed.add(&before, &after);
    Ok(())
}

fn store(server: &Server, plan: &Plan) -> Result<()> {
    let members: String = (0..10).map(|member| format!(" {{n*10+{member}~16}}")).collect();
    Stored::new(format!("SADD set{members}"), plan.members / 10).send(server)?;
    expect(server, "SCARD set", plan.members)?;
    fill(server, KEYS, ValueSize::Fixed(16))
}

const NAMES: usize = 10;
/// Keys of the other clients.
const KEYS: u64 = 100_000;
const OTHERS: Others = Others { keys: KEYS, value: 16, every: Duration::from_micros(50) };
const REST: Duration = Duration::from_secs(8);
const REST_MIN: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(500);
const WATCHED: Duration = Duration::from_secs(3);
const COLUMNS: [&str; 9] = [
    "command",
    "server",
    "caller ms",
    "p99.9 us before",
    "after",
    "ratio",
    "longest us before",
    "after",
    "taken us",
];

#[cfg(test)]
mod tests {
    use super::renames;

    #[test]
    fn the_last_of_ten_names_is_the_first_again() {
        let renames = renames();
        assert_eq!(renames.len(), 10);
        assert_eq!(renames[0], "RENAME set set:1");
        assert_eq!(renames[9], "RENAME set:9 set");
    }
}

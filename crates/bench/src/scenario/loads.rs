//! Cost of requests, as files describe them: any data, on any servers, at any pipelines.
//!
//! ```toml
//! [parameters]
//! rounds = 5                            # interleaved; medians count
//! ms = 1000                             # length of one measurement
//! pipelines = [1, 16]
//! servers = ["varve", { program = "varve", label = "2 threads", threads = 2 }, "null"]
//!
//! [[parameters.data]]                   # each with fresh servers
//! name = "many lists"
//! keys = 10_000                         # KEYS in requests and counts
//! fill = [{ request = "RPUSH list:{n%KEYS:5} {?16}", times = 100 }]
//! counts = ["LLEN list:00007 100"]      # checked when filled and after each load
//! loads = [{ name = "LPOP", request = "LPOP list:{n%KEYS:5}", replies = "values",
//!            before = "LPUSH list:{n%KEYS:5} {?16}" }]
//! beside = [{ clients = 10, sends = ["SUBSCRIBE news"] }]   # they send this once, and then read
//! ```
//!
//! A row has the name of the load, with that of the data, and with the pipeline if there are
//! several: `LPOP, many lists at pipeline 16`.

pub(super) mod text;

use anyhow::{Result, anyhow, ensure};
use tempfile::TempDir;

use super::bare::Bare;
use super::data::{check, with_keys};
use super::figures::PIPELINE;
use super::place::{Entry, Place};
use super::rounds::{costs, in_turns, show};
use super::{Bench, Scenario, peers_missing, pin_client};
use crate::audience::Audience;
use crate::generator::{KeyChoice, Load, Outcome};
use crate::measure::{Measured, measure};
use crate::null::bulk;
use crate::process;
use crate::report::Section;
use crate::servers::{Kind, Launch, Server};
use text::{Data, Replies, Text};

pub use text::Plan;

impl Replies {
    /// Returns a reply in wire format, with strings of 16 bytes.
    fn example(self) -> String {
        let value = bulk(&"v".repeat(16));
        match self {
            Self::Values => value,
            Self::Ones | Self::Integers => ":1\r\n".to_owned(),
            Self::Zeros => ":0\r\n".to_owned(),
            Self::Elements(each) => format!("*{each}\r\n{}", value.repeat(each as usize)),
        }
    }

    /// Checks that the server found what was asked for.
    fn check(self, outcome: &Outcome) -> Result<()> {
        let replies = &outcome.replies;
        let right = match self {
            Self::Values => replies.bulk == replies.total(),
            Self::Ones => replies.zero * 50 <= replies.integer,
            Self::Zeros => replies.zero == replies.integer,
            Self::Integers => replies.integer == replies.total(),
            Self::Elements(each) => replies.elements == each * replies.total(),
        };
        ensure!(right, "not what was expected: {replies:?}");
        Ok(())
    }
}

/// Server with its data, or the reason why it has none.
struct Tested {
    server: Server,
    keys: u64,
    connections: Option<usize>,
    opens: Vec<String>,
    counts: Vec<String>,
    stored: Result<()>,
    /// Leaves before the server ends.
    _beside: Vec<Audience>,
    /// Removed when the server has ended.
    _folder: Option<TempDir>,
}

impl Tested {
    fn start(bench: &Bench, entry: &Entry, data: &Data) -> Result<Option<Self>> {
        let Some(Place { program, launch, folder, .. }) = entry.place(bench)? else {
            return Ok(None);
        };
        let server = program.start(&launch)?;
        let keys = entry.keys.unwrap_or(data.keys);
        let is_null = server.kind == Kind::Null;
        let counts = if is_null { Vec::new() } else { data.counts.clone() };
        let (connections, opens) = (data.connections, entry.opens.clone());
        let (stored, _beside) = (Ok(()), Vec::new());
        let mut tested =
            Self { server, keys, connections, opens, counts, stored, _beside, _folder: folder };
        if !is_null {
            tested.stored = data.fill(&tested.server, keys).and_then(|()| tested.check());
            let join = |seats| Audience::join(&tested.server, seats);
            let seats = data.beside.iter().chain(&entry.beside);
            tested._beside = seats.map(join).collect::<Result<_>>()?;
        }
        Ok(Some(tested))
    }

    fn check(&self) -> Result<()> {
        check(&self.server, &self.counts, self.keys)
    }

    /// Measures a load once; numbers are drawn from the seed, so that the requests beforehand and
    /// afterwards are for the same numbers.
    fn measure(&self, plan: &Plan, text: &Text, pipeline: usize, seed: u64) -> Result<Measured> {
        self.stored.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let connections = self.connections.unwrap_or(plan.connections);
        let mut load = text.load(self.keys).pipelined(pipeline).on(connections).seeded(seed);
        load.threads = plan.clients_of(&self.server).min(connections);
        load.opens.clone_from(&self.opens);
        let is_null = self.server.kind == Kind::Null;
        let other = |request: &str| {
            let requests = vec![(1, with_keys(request, self.keys))];
            Load { requests, misses: true, ..load.clone() }
        };
        let undo = |operations| match text.after.as_ref().filter(|_| !is_null) {
            None => Ok(()),
            Some(after) => measure(&self.server, &other(after).count(operations)).map(|_| ()),
        };
        let measured = if let Some(before) = text.before.as_ref().filter(|_| !is_null) {
            let stored = measure(&self.server, &other(before).lasting(plan.time))?;
            measure(&self.server, &load.clone().count(stored.outcome.operations))?
        } else if text.after.is_some() {
            let warm = measure(&self.server, &load.clone().lasting(plan.time / 5))?;
            undo(warm.outcome.operations)?;
            measure(&self.server, &load.clone().lasting(plan.time))?
        } else {
            let warm_up = plan.time / 5;
            measure(&self.server, &Load { warm_up, ..load.clone().lasting(plan.time) })?
        };
        text.replies.map_or(Ok(()), |replies| replies.check(&measured.outcome))?;
        undo(measured.outcome.operations)?;
        // An interrupted cycle has moved an element or two.
        if !matches!(text.choice, KeyChoice::Shuffled) {
            self.check()?;
        }
        Ok(measured)
    }
}

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(self.most_cores());
        section.columns(COLUMNS);
        let (connections, rounds) = (self.connections, self.rounds);
        section.note(format!("{connections} connections; medians of {rounds} interleaved rounds."));
        let (cores, most) = (process::cores(), self.most_cores());
        if most > cores {
            section.note(format!(
                "This machine has {cores} cores: servers on up to {most} were left out."
            ));
        }
        if most >= cores {
            section.note("Too few cores: the clients share one with servers on all of them.");
        }
        peers_missing(section, bench);
        for data in &self.data {
            if let Some(note) = &data.note {
                let name = match data.name.is_empty() {
                    true => String::new(),
                    false => format!("{}: ", data.name),
                };
                section.note(format!("{name}{}.", with_keys(note, data.keys)));
            }
            self.run_on(bench, section, data)?;
        }
        if self.bare {
            let mut counts: Vec<_> = self.servers.iter().filter_map(|entry| entry.keys).collect();
            counts.sort_unstable();
            counts.dedup();
            bare_rows(section, &counts, self.rounds);
        }
        Ok(())
    }
}

impl Plan {
    fn most_cores(&self) -> usize {
        self.servers.iter().map(Entry::cores).max().unwrap_or(1)
    }

    /// Returns the threads of the load for a server.
    fn clients_of(&self, server: &Server) -> usize {
        match self.clients {
            0 => process::cores().saturating_sub(server.cores).clamp(1, self.connections),
            clients => clients,
        }
    }

    /// Stores the data in fresh servers and measures its loads.
    fn run_on(&self, bench: &Bench, section: &mut Section, data: &Data) -> Result<()> {
        let mut servers = Vec::new();
        for entry in self.servers.iter().filter(|entry| entry.cores() <= process::cores()) {
            servers.extend(Tested::start(bench, entry, data)?);
        }
        for &pipeline in &self.pipelines {
            for load in &data.loads {
                if let Some(replies) = load.replies {
                    let null = bench.null_answering(&replies.example());
                    for tested in servers.iter_mut().filter(|it| it.server.kind == Kind::Null) {
                        tested.server = null.start(&Launch::default())?;
                    }
                }
                let mut row = load.name.clone();
                if !data.name.is_empty() {
                    row = format!("{row}, {}", data.name);
                }
                if self.pipelines.len() > 1 {
                    row = format!("{row}{PIPELINE}{pipeline}");
                }
                let all = in_turns(&mut servers, self.rounds, |tested, round| {
                    Ok(costs(&tested.measure(self, load, pipeline, round)?))
                });
                for (tested, rounds) in servers.iter().zip(&all) {
                    show(section, &row, &tested.server.label, rounds);
                }
            }
        }
        Ok(())
    }
}

fn bare_rows(section: &mut Section, counts: &[u64], rounds: usize) {
    section.note(
        "bare: a read of a random line and of the record that it names, eight at a time, and \
         nothing else; its time is that of a core.",
    );
    let mut bare: Vec<_> = counts.iter().map(|keys| (*keys, Bare::new(*keys))).collect();
    let all = in_turns(&mut bare, rounds, |(_, bare), _| Ok([bare.nanos_per_lookup()? / 1e3]));
    for (keys, rounds) in counts.iter().zip(all) {
        show(section, "bare", &format!("{} M keys", keys / 1_000_000), &rounds);
    }
}

const COLUMNS: &str = "load | server | CPU us/op .3 | op/s .0 | p50 us .0 | p99 us .0 | \
    client us/op .3 | of valkey .2 | of redis .2 | of null .2";

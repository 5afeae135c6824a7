//! Steps as files write them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use clap::ValueEnum;
use serde::{Deserialize, Deserializer, de};
use toml::Value;

use super::pairs::Exchange;
use super::values::{Values, with_texts};
use crate::audience::Seats;
use crate::feed::By;
use crate::generator::{Arrival, Load, Stop};
use crate::moving::Way;
use crate::protocol::Protocol;
use crate::sampler::Watch;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    Load(Box<LoadText>),
    Beside {
        #[serde(default)]
        loads: Vec<LoadText>,
        #[serde(default)]
        busy: bool,
        steps: Steps,
    },
    Peak {
        name: String,
        steps: Steps,
    },
    Repeat {
        times: u64,
        /// What must be above zero after each time for another one.
        #[serde(rename = "while")]
        goes_on: Option<String>,
        steps: Steps,
    },
    Do(String),
    Other {
        #[serde(default)]
        options: toml::Table,
        /// Index of its core; those of the first server by default.
        core: Option<usize>,
        steps: Steps,
    },
    /// Steps beside replicas that drop what they read; `NAME.sync_seconds` and others of their
    /// snapshots.
    Sinks {
        name: String,
        count: usize,
        /// Bytes per second that each reads at most.
        rate: Option<u64>,
        #[serde(default)]
        steps: Steps,
    },
    /// What the server needs as the replica of a stream that is written beforehand:
    /// `NAME.per_second`, `NAME.us`.
    Feed {
        name: String,
        #[serde(default)]
        by: By,
        request: String,
        keys: u64,
        count: u64,
    },
    /// A server of another program follows this one by `varve-import`: `NAME.oldest_ms` of so many
    /// writes that arrive, `NAME.cpu_us` of `varve-import` for a command of the stream.
    Follow {
        name: String,
        to: String,
        marks: u64,
    },
    /// Clients are moved to a server of another program and back while they write:
    /// `NAME.there_ms`, `NAME.back_ms`, `NAME.per_second`, `NAME.lost`, `NAME.errors`.
    Move {
        name: String,
        to: String,
        way: Way,
        connections: usize,
        rate: u64,
        keys: u64,
    },
    /// Seconds until the other server, its replica, has all that it has now.
    CaughtUp(String),
    /// Seconds until the server's link to its primary is up.
    Replicating(String),
    Join(Seats),
    /// Connections with TLS that are established one after the other, and closed: `NAME.cpu_us` of
    /// the server for each, `NAME.ms`.
    Establish {
        name: String,
        count: u64,
        /// True if each takes up the session of the one before.
        #[serde(default)]
        resumes: bool,
    },
    /// Steps during which new connections with TLS are established and closed all the time:
    /// `NAME.per_second`.
    Storm {
        name: String,
        steps: Steps,
    },
    Leave {},
    Tell(String),
    Check(String),
    Config(BTreeMap<String, String>),
    Peers(BTreeMap<String, String>),
    Ask(BTreeMap<String, String>),
    Info(BTreeMap<String, String>),
    Micros(BTreeMap<String, String>),
    Memory(String),
    Cpu(String),
    CpuOfAll(String),
    Keys(String),
    Records {
        /// Property file of YCSB.
        workload: PathBuf,
        count: u64,
    },
    Written {
        request: String,
        count: usize,
        /// Bytes of each reply.
        reply: usize,
        /// Milliseconds between two of them.
        #[serde(default)]
        pause: u64,
    },
    Pairs(Exchange),
    Unit {
        name: String,
        /// Request, in which `{i}` counts.
        request: String,
        count: u64,
        times: u64,
    },
    Let(BTreeMap<String, f64>),
    Say(BTreeMap<String, String>),
    Point(Point),
    Clock(String),
    Saved {
        name: String,
        /// Time at which it was asked for.
        since: f64,
    },
    Append {
        name: String,
        bytes: usize,
        /// Number of pieces, or the time for which they are written.
        count: Option<u64>,
        ms: Option<u64>,
        /// Milliseconds between syncs by another thread; without them each piece is synced.
        sync_ms: Option<u64>,
    },
    Benchmark {
        name: String,
        load: Box<LoadText>,
    },
    Bare {
        name: String,
        keys: u64,
    },
    OnNull(Steps),
    OnOthers(Steps),
    Wait(u64),
    Start(toml::Table),
    End {},
}

/// Steps whose texts are filled when their turn comes.
#[derive(Clone, Debug, Default)]
pub struct Steps(pub Vec<Value>);

impl Step {
    pub fn read(step: &Value, values: &Values) -> Result<Self> {
        let filled = values.fill(step)?;
        filled.try_into().with_context(|| format!("the step {step}"))
    }
}

impl<'de> Deserialize<'de> for Steps {
    /// Also checks them, with a number in the place of what is computed.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let steps = Vec::<Value>::deserialize(from)?;
        let with_one = |text: &str| match text.strip_prefix("= ") {
            Some(_) => Ok(Value::Integer(1)),
            None => Ok(Value::String(text.to_owned())),
        };
        let sound = |step| -> Result<_> { Ok(with_texts(step, &with_one)?.try_into::<Step>()?) };
        steps.iter().try_for_each(|step| sound(step).map(drop).map_err(de::Error::custom))?;
        Ok(Self(steps))
    }
}

/// A point of a plot of lines: one line per server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub plot: String,
    pub axes: [String; 2],
    pub at: [f64; 2],
}

/// A load as a file writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadText {
    /// Beginning of the names of its values.
    pub name: String,
    request: String,
    /// Requests with their shares, instead of one.
    mix: Vec<(u32, String)>,
    /// Requests that store what those have missed, one for each.
    fills: Vec<String>,
    /// By default that in which the server gets loads.
    protocol: Option<String>,
    keys: Option<u64>,
    /// As the command line has it.
    choice: Option<String>,
    connections: Option<usize>,
    threads: Option<usize>,
    pipeline: Option<usize>,
    arrival: Option<Arrival>,
    count: Option<u64>,
    pub ms: Option<u64>,
    warm_up_ms: u64,
    /// True if it is sent once for each number, in order; what it asks for may be missing.
    each: bool,
    misses: bool,
    /// By default, only Memcached may refuse: it makes room in the background.
    pub refusals: Option<bool>,
    /// Requests that each connection sends at first; an empty one is none.
    opens: Vec<String>,
    /// True if connections are encrypted; the server then needs the option `tls`.
    tls: bool,
    seed: Option<u64>,
    /// True if memory is sampled meanwhile.
    pub sampled: bool,
    /// Steps for samples that are taken meanwhile.
    pub samples: Option<Samples>,
    /// True if keys are counted meanwhile: `NAME.least_keys`.
    pub counted: bool,
    /// True if the server must refuse to go on.
    pub fails: bool,
    /// Milliseconds for which the server is stopped in the middle.
    pub stopped_ms: Option<u64>,
    /// Single requests of another client meanwhile: `NAME.caller_ms`, the longest wait less what
    /// other processes took, and that as `NAME.taken`.
    pub calls: Option<Box<LoadText>>,
    /// Operations from which on another client asks all the time, instead of these.
    pub probed_from: Option<u64>,
}

/// Steps that are taken for each sample when the load has ended: `at` are the seconds, `done` the
/// operations and `bytes` the memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    pub ms: u64,
    /// Only for each so many of them.
    #[serde(default = "one")]
    pub every: u8,
    /// Operations before the first of them.
    #[serde(default)]
    pub from: u64,
    pub steps: Steps,
}

impl LoadText {
    pub fn load(&self, round: u64) -> Result<Load> {
        let keys = self.keys.unwrap_or(1);
        let mut load = match self.each {
            true => Load::each(&self.request, keys),
            false => Load::of(&self.request, keys),
        };
        load.misses = self.each || self.misses || !self.fills.is_empty();
        load.fills.clone_from(&self.fills);
        let protocol = self.protocol.as_ref().map(|it| Protocol::from_str(it, false));
        load.protocol = protocol.transpose().map_err(Error::msg)?;
        if let Some(choice) = &self.choice {
            load.keys = choice.parse()?;
        }
        load.seed = self.seed.unwrap_or(round);
        if !self.mix.is_empty() {
            load.requests.clone_from(&self.mix);
        }
        load.connections = self.connections.unwrap_or(load.connections);
        load.threads = self.threads.unwrap_or(1).min(load.connections);
        load.pipeline = self.pipeline.unwrap_or(load.pipeline);
        load.arrival = self.arrival.unwrap_or(load.arrival);
        load.stop = match (self.count, self.ms.map(Duration::from_millis)) {
            (Some(count), Some(time)) => Stop::Within(count, time),
            (Some(count), None) => Stop::Operations(count),
            (None, Some(time)) => Stop::After(time),
            (None, None) => load.stop,
        };
        load.warm_up = Duration::from_millis(self.warm_up_ms);
        load.opens = self.opens.iter().filter(|it| !it.is_empty()).cloned().collect();
        Ok(Load { refusals: self.refusals.unwrap_or_default(), tls: self.tls, ..load })
    }

    /// Returns how the server is sampled meanwhile; nothing if it is not.
    pub fn watch(&self) -> Option<Watch> {
        let every = self.samples.as_ref().map(|it| Duration::from_millis(it.ms));
        every.or(self.sampled.then_some(SAMPLE_EVERY)).map(Watch::every)
    }
}

/// Default of a factor.
pub fn one<T: From<u8>>() -> T {
    1.into()
}

pub const SAMPLE_EVERY: Duration = Duration::from_millis(5);

//! What files say of servers, data, loads and figures.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Deserializer};

use crate::audience::Seats;
use crate::generator::{KeyChoice, Load};
use crate::measure::measure;
use crate::scenario::milliseconds;
use crate::servers::Server;

/// Servers, data and loads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    pub(super) rounds: usize,
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub(super) time: Duration,
    #[serde(deserialize_with = "servers")]
    pub(super) servers: Vec<Entry>,
    pub(super) connections: usize,
    /// Threads of the load; zero for as many as the server leaves cores.
    pub(super) clients: usize,
    pub(super) pipelines: Vec<usize>,
    pub(in crate::scenario) data: Vec<Data>,
    /// True if the cost of a lookup for the machine alone is measured for the keys of each server.
    pub(super) bare: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            rounds: 5,
            time: Duration::from_secs(1),
            servers: ["varve", "valkey", "redis", "memcached", "null"].map(Entry::of).into(),
            connections: 50,
            clients: 1,
            pipelines: vec![16],
            data: Vec::new(),
            bare: false,
        }
    }
}

/// Server, which a file gives by its name alone or with settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct Entry {
    pub(super) program: String,
    pub(super) label: Option<String>,
    pub(super) threads: usize,
    /// Cores; as many as threads by default.
    cores: Option<usize>,
    /// Number of its keys, where it is another one than that of the data.
    pub(super) keys: Option<u64>,
    pub(super) options: BTreeMap<String, String>,
    /// True if it keeps its files in a folder of its own.
    pub(super) folder: bool,
    /// Clients that are connected beside the loads.
    pub(super) beside: Vec<Seats>,
}

impl Default for Entry {
    fn default() -> Self {
        Self::of("varve")
    }
}

impl Entry {
    fn of(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            label: None,
            threads: 1,
            cores: None,
            keys: None,
            options: BTreeMap::new(),
            folder: false,
            beside: Vec::new(),
        }
    }

    pub(super) fn cores(&self) -> usize {
        self.cores.unwrap_or(self.threads)
    }
}

fn servers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Entry>, D::Error> {
    let entry = |value: toml::Value| match value {
        toml::Value::String(program) => Ok(Entry::of(&program)),
        settings => settings.try_into().map_err(serde::de::Error::custom),
    };
    Vec::deserialize(from)?.into_iter().map(entry).collect()
}

/// Stored data, and the loads that run over it, in this order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Data {
    #[serde(default)]
    pub(in crate::scenario) name: String,
    /// Number and size of what is stored, in words.
    pub(in crate::scenario) note: Option<String>,
    pub(in crate::scenario) keys: u64,
    pub(in crate::scenario) fill: Vec<Fill>,
    /// Commands that count what is stored, each with the answer as its last word.
    #[serde(default)]
    pub(in crate::scenario) counts: Vec<String>,
    /// Clients that are connected beside the loads, to each server.
    #[serde(default)]
    pub(in crate::scenario) beside: Vec<Seats>,
    /// Connections of the loads, where they are not those of the plan.
    pub(in crate::scenario) connections: Option<usize>,
    pub(in crate::scenario) loads: Vec<Text>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Fill {
    pub(in crate::scenario) request: String,
    /// Requests per key.
    #[serde(default = "one")]
    pub(in crate::scenario) times: u64,
    /// True if the numbers come in random order.
    #[serde(default)]
    pub(in crate::scenario) shuffled: bool,
    /// True if the requests must arrive in order: over one connection.
    #[serde(default)]
    pub(in crate::scenario) ordered: bool,
}

/// Load on the data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Text {
    pub(in crate::scenario) name: String,
    #[serde(default)]
    pub(in crate::scenario) request: String,
    /// Requests with their shares, instead of one.
    #[serde(default)]
    pub(in crate::scenario) mix: Vec<(u32, String)>,
    /// Upper bound of the drawn numbers, per key.
    #[serde(default = "one")]
    pub(in crate::scenario) times: f64,
    #[serde(default)]
    pub(in crate::scenario) choice: KeyChoice,
    /// Request sent beforehand for the same numbers, so that the load finds what it removes.
    pub(in crate::scenario) before: Option<String>,
    /// Request sent afterwards for the same numbers, to restore the data.
    pub(in crate::scenario) after: Option<String>,
    /// Expected replies; the null server gives such.
    pub(in crate::scenario) replies: Option<Replies>,
}

/// Replies to a load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::scenario) enum Replies {
    /// A value for each request.
    Values,
    /// An integer for each request, hardly any of them zero.
    Ones,
    /// Zero for each request.
    Zeros,
    /// An integer for each request.
    Integers,
    /// An array of so many elements for each request.
    Elements(u64),
}

fn one<T: From<u8>>() -> T {
    1.into()
}

impl Data {
    /// Stores it in a server.
    pub(in crate::scenario) fn fill(&self, server: &Server, keys: u64) -> Result<()> {
        for fill in &self.fill {
            let count = keys * fill.times;
            let mut load = Load::each(with_keys(&fill.request, keys), count);
            load.misses = true;
            if fill.shuffled {
                load.keys = KeyChoice::Shuffled;
            }
            if fill.ordered {
                load.connections = 1;
            }
            measure(server, &load)?;
        }
        Ok(())
    }

    /// Returns the commands that count what is stored, and the expected answers.
    pub(in crate::scenario) fn counts(&self, keys: u64) -> Result<Vec<(String, u64)>> {
        let count = |text: &String| {
            let text = with_keys(text, keys);
            let (command, answer) = text.rsplit_once(' ').context("a count without an answer")?;
            Ok((command.to_owned(), answer.parse()?))
        };
        self.counts.iter().map(count).collect()
    }
}

impl Text {
    /// Returns the load for so many keys.
    pub(in crate::scenario) fn load(&self, keys: u64) -> Load {
        let count = ((keys as f64 * self.times) as u64).max(1);
        let mut load = Load::of(with_keys(&self.request, keys), count);
        if !self.mix.is_empty() {
            let mix = self.mix.iter().map(|(share, it)| (*share, with_keys(it, keys)));
            load.requests = mix.collect();
        }
        load.choosing(self.choice.clone())
    }
}

/// Replaces the word for the number of keys.
pub(in crate::scenario) fn with_keys(request: &str, keys: u64) -> String {
    request.replace("KEYS", &keys.to_string())
}

//! What files say of servers, data, loads and figures.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use crate::audience::Seats;
use crate::generator::{KeyChoice, Load};
use crate::scenario::data::{Fill, one, with_keys};
use crate::scenario::milliseconds;
use crate::scenario::place::{Entry, servers};
use crate::servers::Server;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    pub rounds: usize,
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
    #[serde(deserialize_with = "servers")]
    pub servers: Vec<Entry>,
    pub connections: usize,
    /// Threads of the load; zero for as many as the server leaves cores.
    pub clients: usize,
    pub pipelines: Vec<usize>,
    pub data: Vec<Data>,
    /// True if the cost of a lookup for the machine alone is measured for the keys of each server.
    pub bare: bool,
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

/// Stored data, and the loads that run over it, in this order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    #[serde(default)]
    pub name: String,
    /// Number and size of what is stored, in words.
    pub note: Option<String>,
    pub keys: u64,
    pub fill: Vec<Fill>,
    /// Commands that count what is stored, each with the answer as its last word.
    #[serde(default)]
    pub counts: Vec<String>,
    /// Clients that are connected beside the loads, to each server.
    #[serde(default)]
    pub beside: Vec<Seats>,
    /// Connections of the loads, where they are not those of the plan.
    pub connections: Option<usize>,
    pub loads: Vec<Text>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub name: String,
    #[serde(default)]
    pub request: String,
    /// Requests with their shares, instead of one.
    #[serde(default)]
    pub mix: Vec<(u32, String)>,
    /// Upper bound of the drawn numbers, per key.
    #[serde(default = "one")]
    pub times: f64,
    #[serde(default)]
    pub choice: KeyChoice,
    /// Request sent beforehand for the same numbers, so that the load finds what it removes.
    pub before: Option<String>,
    /// Request sent afterwards for the same numbers, to restore the data.
    pub after: Option<String>,
    /// Expected replies; the null server gives such.
    pub replies: Option<Replies>,
}

/// Replies to a load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
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

impl Data {
    pub fn fill(&self, server: &Server, keys: u64) -> Result<()> {
        self.fill.iter().try_for_each(|fill| fill.send(server, keys))
    }
}

impl Text {
    /// Returns the load for so many keys.
    pub fn load(&self, keys: u64) -> Load {
        let count = ((keys as f64 * self.times) as u64).max(1);
        let mut load = Load::of(with_keys(&self.request, keys), count);
        if !self.mix.is_empty() {
            let mix = self.mix.iter().map(|(share, it)| (*share, with_keys(it, keys)));
            load.requests = mix.collect();
        }
        load.keys.clone_from(&self.choice);
        load
    }
}

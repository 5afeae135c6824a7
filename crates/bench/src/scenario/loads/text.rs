//! What files say of servers, data, loads and figures.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::generator::{KeyChoice, Load, shuffled};
use crate::measure::measure;
use crate::scenario::milliseconds;
use crate::servers::Server;

/// Servers, data, loads and the figures that follow from them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub(in crate::scenario) rounds: usize,
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub(in crate::scenario) time: Duration,
    #[serde(default = "everyone")]
    pub(in crate::scenario) servers: Vec<Entry>,
    #[serde(default = "fifty")]
    pub(in crate::scenario) connections: usize,
    /// Threads of the load; zero for as many as the server leaves cores.
    #[serde(default = "one_thread")]
    pub(in crate::scenario) clients: usize,
    #[serde(default = "sixteen")]
    pub(in crate::scenario) pipelines: Vec<usize>,
    pub(in crate::scenario) data: Vec<Data>,
    #[serde(default)]
    pub(in crate::scenario) ratios: Vec<Ratio>,
    #[serde(default)]
    pub(in crate::scenario) plots: Vec<PlotText>,
    /// True if the cost of a lookup for the machine alone is measured for the keys of each server.
    #[serde(default)]
    pub(in crate::scenario) bare: bool,
}

/// Server, by its name or with settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "EntryText")]
pub(in crate::scenario) struct Entry {
    pub(in crate::scenario) program: String,
    pub(in crate::scenario) label: Option<String>,
    pub(in crate::scenario) threads: usize,
    pub(in crate::scenario) cores: usize,
    /// Number of its keys, where it is another one than that of the data.
    pub(in crate::scenario) keys: Option<u64>,
    pub(in crate::scenario) options: BTreeMap<String, String>,
    /// True if it keeps its files in a folder of its own.
    pub(in crate::scenario) has_folder: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EntryText {
    Name(String),
    Settings(EntrySettings),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct EntrySettings {
    program: String,
    label: Option<String>,
    threads: Option<usize>,
    cores: Option<usize>,
    keys: Option<u64>,
    options: BTreeMap<String, String>,
    folder: bool,
}

impl From<EntryText> for Entry {
    fn from(text: EntryText) -> Self {
        let settings = match text {
            EntryText::Settings(settings) => settings,
            EntryText::Name(program) => EntrySettings { program, ..EntrySettings::default() },
        };
        let EntrySettings { program, label, threads, cores, keys, options, folder } = settings;
        let threads = threads.unwrap_or(1);
        let cores = cores.unwrap_or(threads);
        Self { program, label, threads, cores, keys, options, has_folder: folder }
    }
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
    #[serde(default = "once")]
    pub(in crate::scenario) times: f64,
    #[serde(default)]
    pub(in crate::scenario) choice: KeyChoice,
    /// True if each number comes equally often, as in a cycle.
    #[serde(default)]
    pub(in crate::scenario) in_turn: bool,
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

/// Quantity that is measured.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::scenario) enum Quantity {
    /// Server CPU per operation.
    #[default]
    Cpu,
    /// Operations per second.
    PerSecond,
    /// Median latency.
    P50,
}

/// Figures: a quantity of one server over that of others, for each load and pipeline.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Ratio {
    /// Name, with `{load}`, `{data}`, `{pipeline}`, and `{to}` or `{To}` for the other server.
    pub(in crate::scenario) what: String,
    #[serde(default)]
    pub(in crate::scenario) of: Quantity,
    #[serde(default = "varve")]
    pub(in crate::scenario) base: String,
    /// Labels of the others; all of them if there are none.
    #[serde(default)]
    pub(in crate::scenario) to: Vec<String>,
    /// True if the only figure for each of the others is the geometric mean over all loads. One
    /// that is measured on several data counts once.
    #[serde(default)]
    pub(in crate::scenario) mean: bool,
}

/// Bars for each load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PlotText {
    pub(in crate::scenario) title: String,
    #[serde(default)]
    pub(in crate::scenario) of: Quantity,
    /// True if bars show Varve's part of the peers'.
    #[serde(default)]
    pub(in crate::scenario) parts: bool,
    /// Names of the data that are shown; all of them if there are none.
    #[serde(default)]
    pub(in crate::scenario) data: Vec<String>,
}

fn everyone() -> Vec<Entry> {
    let names = ["varve", "valkey", "redis", "memcached", "null"];
    names.map(|name| EntryText::Name(name.to_owned()).into()).into()
}

fn fifty() -> usize {
    50
}

fn one_thread() -> usize {
    1
}

fn sixteen() -> Vec<usize> {
    vec![16]
}

fn one() -> u64 {
    1
}

fn once() -> f64 {
    1.0
}

fn varve() -> String {
    "varve".to_owned()
}

impl Data {
    /// Stores it in a server.
    pub(in crate::scenario) fn fill(&self, server: &Server, keys: u64) -> Result<()> {
        for fill in &self.fill {
            let count = keys * fill.times;
            let mut load = Load::each(with_keys(&fill.request, keys), count);
            load.misses = true;
            if fill.shuffled {
                load.keys = KeyChoice::Listed(shuffled(u32::try_from(count)?, 1).into());
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
    pub(in crate::scenario) fn load(&self, keys: u64) -> Result<Load> {
        let count = ((keys as f64 * self.times) as u64).max(1);
        let mut load = Load::of(with_keys(&self.request, keys), count);
        if !self.mix.is_empty() {
            let mix = self.mix.iter().map(|(share, it)| (*share, with_keys(it, keys)));
            load.requests = mix.collect();
        }
        load.keys = match self.in_turn {
            false => self.choice.clone(),
            true => KeyChoice::Listed(shuffled(u32::try_from(count)?, 1).into()),
        };
        Ok(load)
    }
}

/// Replaces the word for the number of keys.
pub(in crate::scenario) fn with_keys(request: &str, keys: u64) -> String {
    request.replace("KEYS", &keys.to_string())
}

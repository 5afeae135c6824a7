//! What files say of servers, data, loads and figures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::generator::KeyChoice;
use crate::scenario::milliseconds;

/// Servers, data, loads and the figures that follow from them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub(super) rounds: usize,
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub(super) time: Duration,
    #[serde(default = "everyone")]
    pub(super) servers: Vec<Entry>,
    #[serde(default = "fifty")]
    pub(super) connections: usize,
    /// Threads of the load; zero for as many as the server leaves cores.
    #[serde(default = "one_thread")]
    pub(super) clients: usize,
    #[serde(default = "sixteen")]
    pub(super) pipelines: Vec<usize>,
    pub(super) data: Vec<Data>,
    #[serde(default)]
    pub(super) ratios: Vec<Ratio>,
    #[serde(default)]
    pub(super) plots: Vec<PlotText>,
    /// True if the cost of a lookup for the machine alone is measured for the keys of each server.
    #[serde(default)]
    pub(super) bare: bool,
}

/// Server, by its name or with settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "EntryText")]
pub(super) struct Entry {
    pub(super) program: String,
    pub(super) label: Option<String>,
    pub(super) threads: usize,
    pub(super) cores: usize,
    /// Number of its keys, where it is another one than that of the data.
    pub(super) keys: Option<u64>,
    pub(super) options: BTreeMap<String, String>,
    /// True if it keeps its files in a folder of its own.
    pub(super) has_folder: bool,
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
pub(super) struct Data {
    #[serde(default)]
    pub(super) name: String,
    /// Number and size of what is stored, in words.
    pub(super) note: Option<String>,
    pub(super) keys: u64,
    pub(super) fill: Vec<Fill>,
    /// Commands that count what is stored, each with the answer as its last word.
    #[serde(default)]
    pub(super) counts: Vec<String>,
    pub(super) loads: Vec<Text>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fill {
    pub(super) request: String,
    /// Requests per key.
    #[serde(default = "one")]
    pub(super) times: u64,
    /// True if the numbers come in random order.
    #[serde(default)]
    pub(super) shuffled: bool,
}

/// Load on the data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub(super) name: String,
    #[serde(default)]
    pub(super) request: String,
    /// Requests with their shares, instead of one.
    #[serde(default)]
    pub(super) mix: Vec<(u32, String)>,
    /// Upper bound of the drawn numbers, per key.
    #[serde(default = "once")]
    pub(super) times: f64,
    #[serde(default)]
    pub(super) choice: KeyChoice,
    /// True if each number comes equally often, as in a cycle.
    #[serde(default)]
    pub(super) in_turn: bool,
    /// Request sent beforehand for the same numbers, so that the load finds what it removes.
    pub(super) before: Option<String>,
    /// Request sent afterwards for the same numbers, to restore the data.
    pub(super) after: Option<String>,
    /// Expected replies; the null server gives such.
    pub(super) replies: Option<Replies>,
}

/// Replies to a load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Replies {
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
pub(super) enum Quantity {
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
pub(super) struct Ratio {
    /// Name, with `{load}`, `{data}`, `{pipeline}`, and `{to}` or `{To}` for the other server.
    pub(super) what: String,
    #[serde(default)]
    pub(super) of: Quantity,
    #[serde(default = "varve")]
    pub(super) base: String,
    /// Labels of the others; all of them if there are none.
    #[serde(default)]
    pub(super) to: Vec<String>,
    /// True if the only figure for each of the others is the geometric mean over all loads. One
    /// that is measured on several data counts once.
    #[serde(default)]
    pub(super) mean: bool,
}

/// Bars for each load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlotText {
    pub(super) title: String,
    #[serde(default)]
    pub(super) of: Quantity,
    /// True if bars show Varve's part of the peers'.
    #[serde(default)]
    pub(super) parts: bool,
    /// Names of the data that are shown; all of them if there are none.
    #[serde(default)]
    pub(super) data: Vec<String>,
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

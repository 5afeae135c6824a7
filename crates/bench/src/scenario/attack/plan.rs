//! How much clients ask for, and what is seen of a server.

use std::time::Duration;

use serde::Deserialize;

use crate::scenario::seconds;

/// How much is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// How long values are made and removed, of each type.
    #[serde(deserialize_with = "seconds")]
    pub seconds: Duration,
    /// How often a value of a megabyte replaces itself.
    pub overwrites: u64,
    /// GETs of a megabyte that are sent before the first reply is read.
    pub gets: u64,
    /// Members that are asked for of a small set.
    pub picks: u64,
    /// Sets that are built and renamed in each of three parts.
    pub renames: u64,
    /// Connections that have said something once.
    pub idle: u64,
    /// Clients that ask and never read.
    pub deaf: u64,
    /// Commands in one pipeline.
    pub pipeline: u64,
    /// Bytes that a heap holds before it shrinks.
    pub bytes: u64,
    /// Elements of a list that is read whole.
    pub elements: u64,
}

/// What was seen.
pub(super) struct Finding {
    pub what: &'static str,
    pub value: f64,
    pub unit: &'static str,
}

pub(super) fn megabytes(what: &'static str, bytes: u64) -> Finding {
    Finding { what, value: bytes as f64 / 1e6, unit: "MB" }
}

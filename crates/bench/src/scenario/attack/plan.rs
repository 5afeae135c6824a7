//! Amount of load that clients make, and findings about a server.

use std::time::Duration;

use serde::Deserialize;

use crate::scenario::seconds;

/// Amount of load that clients make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Time in which values of each type are made and removed.
    #[serde(deserialize_with = "seconds")]
    pub seconds: Duration,
    /// Number of times that a value of a megabyte overwrites itself.
    pub overwrites: u64,
    /// GETs of a megabyte that are sent before the first reply is read.
    pub gets: u64,
    /// Members requested from a small set.
    pub picks: u64,
    /// Sets that are built and renamed in each of three parts.
    pub renames: u64,
    /// Connections that send one command and stay open.
    pub idle: u64,
    /// Clients that send requests and never read.
    pub deaf: u64,
    /// Commands in one pipeline.
    pub pipeline: u64,
    /// Bytes that a heap holds before it shrinks.
    pub bytes: u64,
    /// Elements of a list that is read whole.
    pub elements: u64,
}

/// One measured value.
pub(super) struct Finding {
    pub what: &'static str,
    pub value: f64,
    pub unit: &'static str,
}

pub(super) fn megabytes(what: &'static str, bytes: u64) -> Finding {
    Finding { what, value: bytes as f64 / 1e6, unit: "MB" }
}

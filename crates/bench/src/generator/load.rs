//! A load as data: requests, keys, connections and pace.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Error, Result, bail};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};

use crate::protocol::Protocol;

/// Distribution from which the next key number in `0..count` is drawn.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyChoice {
    /// 0, 1, 2, ... up to the last, and from the start again.
    Sequential,
    /// All keys with equal probability.
    Uniform,
    /// Zipf over ranks. Ranks are scattered over the key numbers, so that popular keys are not
    /// neighbours.
    Zipf {
        /// Exponent; YCSB uses 0.99.
        exponent: f64,
    },
    /// A `share` of the draws goes to the `hot` part of the keys, which are scattered as for Zipf.
    HotCold {
        /// Share of the keys that are hot, 0 to 1.
        hot: f64,
        /// Share of the draws that go to the hot keys, 0 to 1.
        share: f64,
    },
    /// All keys once in random order, and from the start again.
    Shuffled,
    /// All keys in their order, and then all with equal probability.
    AllThenUniform,
}

impl FromStr for KeyChoice {
    type Err = Error;

    /// Reads the name of a choice and its numbers, with colons between them.
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.split(':').collect::<Vec<_>>()[..] {
            ["uniform"] => Self::Uniform,
            ["sequential"] => Self::Sequential,
            ["all-then-uniform"] => Self::AllThenUniform,
            ["shuffled"] => Self::Shuffled,
            ["zipf", exponent] => Self::Zipf { exponent: exponent.parse()? },
            ["hot-cold", hot, share] => Self::HotCold { hot: hot.parse()?, share: share.parse()? },
            _ => bail!(
                "none of uniform, sequential, all-then-uniform, shuffled, zipf:EXPONENT, \
                 hot-cold:PART:SHARE"
            ),
        })
    }
}

/// End of a run; batches in flight are always waited for.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    After(Duration),
    Operations(u64),
    /// So many operations, or fewer if they take longer than this.
    Within(u64, Duration),
}

/// Event upon which a batch is sent; rates are operations per second.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Last reply of the previous batch on the same connection: a closed loop.
    Closed,
    /// As in a closed loop, but not above this rate; time lost to a slow server is not made up
    /// for.
    Limited(f64),
    /// Due times at equal distances: an open loop.
    Even(f64),
    /// Due times as of many independent clients (a Poisson process): an open loop.
    Poisson(f64),
}

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Requests in the form of `template.rs`, each with its share.
    pub requests: Vec<(u32, String)>,
    /// Requests that store what those have missed, one for each of them; or none at all. Each
    /// request then asks for one key.
    pub fills: Vec<String>,
    /// By default that in which the server gets loads.
    pub protocol: Option<Protocol>,
    pub keys: KeyChoice,
    /// Upper bound of the numbers, exclusive.
    pub key_count: u64,
    /// Requests per batch.
    pub pipeline: usize,
    /// Connections of all threads together.
    pub connections: usize,
    pub threads: usize,
    /// Event upon which a batch is sent.
    pub arrival: Arrival,
    pub stop: Stop,
    /// Duration of the same load beforehand, which is not measured.
    pub warm_up: Duration,
    /// True if what is asked for may be missing. Otherwise the measurement fails after a miss,
    /// since a miss costs less than a hit.
    pub misses: bool,
    /// True if the server may answer with errors, which then count as replies.
    pub refusals: bool,
    pub seed: u64,
    /// Requests that each connection sends at first.
    pub opens: Vec<String>,
    /// True if connections are encrypted.
    pub tls: bool,
}

impl Load {
    /// Creates a load of one request with numbers below `key_count`: 50 connections, pipeline 16,
    /// uniform, for one second.
    pub fn of(request: impl Into<String>, key_count: u64) -> Self {
        Self {
            requests: vec![(1, request.into())],
            fills: Vec::new(),
            protocol: None,
            keys: KeyChoice::Uniform,
            key_count,
            pipeline: 16,
            connections: 50,
            threads: 1,
            arrival: Arrival::Closed,
            stop: Stop::After(Duration::from_secs(1)),
            warm_up: Duration::ZERO,
            misses: false,
            refusals: false,
            seed: 1,
            opens: Vec::new(),
            tls: false,
        }
    }

    pub fn get(key_count: u64) -> Self {
        Self::of("GET k{n:15}", key_count)
    }

    /// Creates the load that sends a request once for each number in order: eight connections,
    /// pipeline 100.
    pub fn each(request: impl Into<String>, key_count: u64) -> Self {
        let (keys, pipeline, connections) = (KeyChoice::Sequential, 100, 8);
        Self { keys, pipeline, connections, ..Self::of(request, key_count) }.count(key_count)
    }

    pub fn count(self, operations: u64) -> Self {
        Self { stop: Stop::Operations(operations), ..self }
    }

    /// Returns the source of random numbers of one of its threads.
    pub fn random_of(&self, thread: usize) -> SmallRng {
        SmallRng::seed_from_u64(self.seed.wrapping_add((thread as u64) << 32))
    }

    pub fn stop_of(&self, thread: usize) -> Stop {
        match self.stop {
            Stop::After(time) => Stop::After(time),
            Stop::Operations(count) => Stop::Operations(share(count, thread, self.threads)),
            Stop::Within(count, time) => Stop::Within(share(count, thread, self.threads), time),
        }
    }

    pub fn connections_of(&self, thread: usize) -> usize {
        share(self.connections as u64, thread, self.threads) as usize
    }
}

/// Returns the part of `count` for one of several threads, as equal as possible.
fn share(count: u64, thread: usize, threads: usize) -> u64 {
    (count + (threads - 1 - thread) as u64) / threads as u64
}

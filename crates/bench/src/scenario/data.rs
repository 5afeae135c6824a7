//! Stored data, as files describe it: requests that store it, and commands that count it.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::generator::{KeyChoice, Load};
use crate::measure::measure;
use crate::servers::Server;

/// A request for many numbers; `KEYS` in it stands for the number of keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    request: String,
    /// Numbers per key.
    #[serde(default = "one")]
    pub times: u64,
    /// True if the numbers come in random order.
    #[serde(default)]
    shuffled: bool,
    /// True if the requests must arrive in order: over one connection.
    #[serde(default)]
    ordered: bool,
}

/// Default of a factor.
pub fn one<T: From<u8>>() -> T {
    1.into()
}

impl Fill {
    pub fn send(&self, server: &Server, keys: u64) -> Result<()> {
        let count = keys * self.times;
        let mut load = Load { misses: true, ..Load::each(with_keys(&self.request, keys), count) };
        if self.shuffled {
            load.keys = KeyChoice::Shuffled;
        }
        if self.ordered {
            load.connections = 1;
        }
        measure(server, &load).map(drop)
    }
}

/// Checks that exactly what was stored is there, with commands that count it, each with the answer
/// as its last word.
pub fn check(server: &Server, counts: &[String], keys: u64) -> Result<()> {
    for count in counts {
        let text = with_keys(count, keys);
        let (command, answer) = text.rsplit_once(' ').context("a count without an answer")?;
        let counted = server.control()?.integer(command)?;
        ensure!(counted == answer.parse::<u64>()?, "{command} is {counted}, not {answer}");
    }
    Ok(())
}

/// Replaces the word for the number of keys.
pub fn with_keys(text: &str, keys: u64) -> String {
    text.replace("KEYS", &keys.to_string())
}

//! Protocols that servers speak.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Protocol of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// RESP2, as Redis and Valkey speak it.
    #[default]
    Resp,
    /// The text protocol of memcached.
    Memcached,
}

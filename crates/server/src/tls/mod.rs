//! TLS of connections: rules as the settings have them, and handshakes on threads of their own.
//!
//! ```text
//! settings, files ──▶ current ──▶ rules in force
//!                                    │
//! acceptor ──▶ handshakes ◀──────────┘
//!                  └──▶ mailbox of a worker ──▶ TlsStream, as another stream
//! ```
//! Owner: a socket belongs to the thread of its handshake, and then to a worker.
//! Not here: the protocol itself (the crate `tls`), established streams (`tls_stream.rs`), users of
//! certificates (`command`).
//!
//! Without the feature `tls` there is no such stream, and a `tls-port` is refused.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod current;
#[cfg(feature = "tls")]
mod files;
#[cfg(feature = "tls")]
mod handshakes;
#[cfg(feature = "tls")]
mod renewal;

#[cfg(not(feature = "tls"))]
pub use absent::{Handshakes, Tls, judge};
#[cfg(feature = "tls")]
pub use current::{Tls, judge};
#[cfg(feature = "tls")]
pub use handshakes::Handshakes;

use settings::Settings;
use settings::memcached::MEMCACHED_TLS_PORT;
use settings::tls::{TLS_CLUSTER, TLS_PORT, TLS_REPLICATION};

/// Returns true if the settings ask for TLS anywhere.
pub fn is_wanted(settings: &Settings) -> bool {
    TLS_PORT.get(settings) != 0
        || MEMCACHED_TLS_PORT.get(settings) != 0
        || TLS_REPLICATION.get(settings)
        || TLS_CLUSTER.get(settings)
}

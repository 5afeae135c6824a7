//! Keys on their way to another server, which MIGRATE has asked for, and who carries them.

use crate::departures::Departure;
use crate::waiter::Waiter;
use base::{KeyspaceId, Millis};
use std::sync::Arc;
use std::time::Duration;

/// Carrier of keys to other servers, for MIGRATE. The server implements it, since commands know no
/// sockets.
pub trait Carrier: Send + Sync {
    /// Takes keys and returns at once. The waiting client gets its answer later, whatever happens.
    fn carry(&self, migration: Migration);

    /// Number of connections to other servers that are kept for the next keys.
    fn sockets(&self) -> usize;
}

/// Keys on their way.
#[derive(Debug)]
pub struct Migration {
    /// Where to.
    pub target: Target,
    /// Longest time that connecting, and each step of writing and reading, may take.
    pub timeout: Duration,
    /// True if the keys stay here too.
    pub copies: bool,
    /// True if keys of the target are replaced.
    pub replaces: bool,
    /// Number of the database that they are in.
    pub database: usize,
    /// Keyspace that the database had.
    pub keyspace: KeyspaceId,
    /// The keys.
    pub parcels: Vec<Parcel>,
    /// The client that waits.
    pub waiter: Arc<Waiter>,
}

/// A server and a database of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: String,
    /// Number of the database.
    pub database: i64,
    /// Arguments of AUTH; none without it.
    pub credentials: Vec<Vec<u8>>,
}

/// A key, and the value that is sent.
#[derive(Debug)]
pub struct Parcel {
    /// Its name.
    pub name: Vec<u8>,
    /// Its value, as DUMP gives it.
    pub payload: Vec<u8>,
    /// What it has besides its value, as a note tells it; empty if there is nothing.
    pub attributes: Vec<u8>,
    /// Its deadline.
    pub deadline: Option<Millis>,
    /// Tells whether it has changed since; none if the key stays here anyway.
    pub departure: Option<Departure>,
}

//! A server that was built without TLS.

use crate::balance::Balance;
use crate::front::Dialect;
use crate::peer_stream::PeerStream;
use mio::net::TcpStream;
use session::Instance;
use settings::Settings;
use std::io;
use std::sync::Arc;

/// Rules in force: there are none.
#[derive(Debug)]
pub struct Tls {
    instance: Arc<Instance>,
}

/// Refuses settings that ask for TLS.
///
/// # Errors
/// When they do.
pub fn judge(settings: &Settings) -> Result<Vec<String>, String> {
    if super::is_wanted(settings) {
        return Err(
            "`tls-port`, `memcached-tls-port`, `tls-replication` and `tls-cluster` need TLS, and \
             this server was built without it (the feature `tls`)"
                .to_owned(),
        );
    }
    Ok(Vec::new())
}

impl Tls {
    /// Returns what has no rules.
    pub fn new(instance: &Arc<Instance>) -> Arc<Tls> {
        Arc::new(Tls { instance: Arc::clone(instance) })
    }

    /// Refuses a connection to another server.
    ///
    /// # Errors
    /// Always.
    pub fn connect(&self, _: &str, _: std::net::TcpStream) -> io::Result<Box<dyn PeerStream>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Refuses settings that ask for TLS.
    ///
    /// # Errors
    /// When they do.
    pub fn configure(&self) -> Result<(), String> {
        judge(&self.instance.settings).map(drop)
    }

    /// Refuses settings that ask for TLS.
    ///
    /// # Errors
    /// When they do.
    pub fn follow_settings(&self) -> Result<(), String> {
        self.configure()
    }

    /// Refuses settings that ask for TLS.
    ///
    /// # Errors
    /// When they do.
    pub fn prepare(&self, _: &Settings) -> Result<(), String> {
        self.configure()
    }

    /// Starts nothing.
    ///
    /// # Errors
    /// None.
    pub fn start_renewal(self: &Arc<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// Threads of handshakes: there are none.
#[derive(Debug)]
pub struct Handshakes;

impl Handshakes {
    /// Returns what establishes nothing.
    pub fn new(_: &Arc<Instance>, _: &Arc<Tls>, _: &Arc<Balance>) -> Handshakes {
        Handshakes
    }

    /// Closes a connection that nobody can establish.
    pub fn begin(&self, _: TcpStream, _: Dialect) {}

    /// Returns false: nothing gives way.
    pub fn give_way(&self) -> bool {
        false
    }
}

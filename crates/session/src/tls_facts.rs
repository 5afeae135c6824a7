//! What INFO tells of TLS: certificates in force, and handshakes.

use base::mutex::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Serial number and end of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Serial number, hexadecimal.
    pub serial: String,
    /// Second since 1970 at which it expires.
    pub expires: i64,
}

/// Certificates in force; of several the one that expires first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// That of the server.
    pub server: Option<CertificateFacts>,
    /// That which the server shows to others, if it is another one.
    pub client: Option<CertificateFacts>,
    /// Of the CA.
    pub ca: Option<CertificateFacts>,
}

/// What INFO tells of TLS.
#[derive(Debug, Default)]
pub struct TlsFacts {
    /// Certificates in force.
    pub certificates: Mutex<Certificates>,
    /// Connections that were established.
    pub done: AtomicU64,
    /// Of these, those that went on with a session of before.
    pub resumed: AtomicU64,
    /// Connections that could not be established.
    pub failed: AtomicU64,
    /// Connections that are not established yet.
    pub waiting: AtomicU64,
    /// Why the newest one could not be.
    pub newest_failure: Mutex<String>,
    /// True while sockets of established connections take nothing (DEBUG FORCE-TLS-WRITE-ERROR).
    pub refuses_writes: Arc<AtomicBool>,
    /// True once they did, so that there may be output of which no event tells.
    pub has_refused_writes: AtomicBool,
}

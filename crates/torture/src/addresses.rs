//! Where a server is reached, plain and with TLS.

use anyhow::Result;
use bench::{Address, Certificates};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Addresses of one server, which connections take in turns.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    all: Arc<[Address]>,
    taken: Arc<AtomicUsize>,
}

impl Addresses {
    /// Returns a port of a server that does not speak TLS.
    pub(crate) fn plain(port: u16) -> Self {
        Self::of([port.into()])
    }

    /// Returns a port, and one where TLS is spoken, of a server with these certificates.
    pub(crate) fn both(port: u16, tls_port: u16, certificates: &Certificates) -> Result<Self> {
        let resumes = true;
        let encrypted = Address::encrypted(tls_port, certificates.rules(resumes)?);
        Ok(Self::of([port.into(), encrypted]))
    }

    fn of(all: impl Into<Arc<[Address]>>) -> Self {
        Self { all: all.into(), taken: Arc::default() }
    }

    /// Returns the address whose turn it is.
    pub(crate) fn next(&self) -> Address {
        self.all[self.taken.fetch_add(1, Relaxed) % self.all.len()].clone()
    }
}

/// Returns a port that nobody listens on.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

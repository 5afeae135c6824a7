//! Why the server did not start, and how that is logged.

use crate::claim::Taken;
use crate::descriptors::Shortage;
use crate::listen::ListenError;
use crate::load::LoadFailed;
use crate::users::UsersError;
use base::process;
use std::io::{self, ErrorKind};
use thiserror::Error;

/// Reason why the server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A bad line of the file or option of the command line.
    #[error("{0}")]
    Settings(#[from] settings::FileError),
    /// An address that cannot be used.
    #[error("{0}")]
    Listen(#[from] ListenError),
    /// A limit of open files that is too low.
    #[error("{0}")]
    Descriptors(#[from] Shortage),
    /// Address space in which threads could not be sure of their first memory.
    #[error(
        "`ulimit -v` (LimitAS= of a service, or vm.overcommit_memory) leaves {left_mib} MiB of \
         address space, and {threads} threads need {least_mib} at least: 1 GB is enough"
    )]
    AddressSpace {
        /// MiB that are left.
        left_mib: u64,
        /// Number of workers.
        threads: usize,
        /// MiB that are needed.
        least_mib: u64,
    },
    /// Users that cannot be made.
    #[error("{0}")]
    Users(#[from] UsersError),
    /// Rules of TLS that cannot be made.
    #[error("Failed to configure TLS: {0}")]
    Tls(String),
    /// Data files that another server writes.
    #[error("{0}")]
    Taken(#[from] Taken),
    /// A data file that cannot be loaded.
    #[error("{0}")]
    Load(#[from] LoadFailed),
    /// An action that the system refused.
    #[error("{what}: {error}{}", remedy(.error))]
    System {
        /// The action that failed, for the message.
        what: &'static str,
        /// Error of the system call.
        error: io::Error,
    },
}

/// What to do about an error, where that is known: memory for threads is address space first.
fn remedy(error: &io::Error) -> &'static str {
    let lacks_memory = matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::WouldBlock);
    if lacks_memory && process::address_space().is_some() {
        ". `ulimit -v` (LimitAS= of a service, or vm.overcommit_memory) leaves too little address \
         space: 1 GB is enough"
    } else {
        ""
    }
}

/// Makes the error of an action that the system refused.
pub(super) fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |error| StartError::System { what, error }
}

/// Logs why the server did not start, unless it was logged when it happened.
pub(super) fn log_reason(error: &StartError) {
    match error {
        StartError::Load(_) => {}
        StartError::Listen(ListenError::Tcp { kind, address, .. }) => {
            let port = address.rsplit(':').next().unwrap_or_default();
            tracing::warn!("Warning: {error}");
            tracing::warn!("Failed listening on port {port} ({kind}), aborting.");
        }
        error => tracing::error!("{error}"),
    }
}

//! File descriptors: those of clients, and those that the server keeps back for its own files.
//!
//! Where the system allows fewer than both need, clients get what is left: a server whose clients
//! have taken all could neither write a snapshot nor go on with its append-only file.

use crate::limits;
use crate::migrate::SOCKETS_MAX;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use settings::{Origin, Settings, network};
use std::io;
use thiserror::Error;

/// Fewest descriptors that are kept back.
const KEPT_BACK_MIN: u64 = 32;
/// Standard streams, the log file, signals, directories, and files that are read for a moment.
const ALWAYS: u64 = 10;
/// Files of a snapshot, of the append-only file and its rotation, and of one that is loaded.
const DATA_FILES: u64 = 10;
/// An event loop with its waker, and a connection that is refused or being closed.
const PER_THREAD: u64 = 4;

/// Reason why fewer clients can connect than the settings ask for.
#[derive(Debug, Error)]
pub enum Shortage {
    /// The system grants descriptors for so many.
    #[error(
        "The operating system is not able to handle the specified number of clients, try with {0}"
    )]
    Clients(u64),
    /// The server itself needs more than it grants.
    #[error(
        "Your current 'ulimit -n' of {granted} is not enough for the server to start. Please \
         increase your open file limit to at least {wanted}. Exiting."
    )]
    Server {
        /// Files that the process may open.
        granted: u64,
        /// Files that it needs with all clients.
        wanted: u64,
    },
}

/// Lets the process open as many files as `maxclients` asks for, or lowers `maxclients` to what is
/// left of those that the system grants.
///
/// # Errors
/// When the system grants too few for a server without clients.
pub fn adopt(settings: &Settings) -> Result<(), Shortage> {
    let most = match grant(settings) {
        Ok(()) => return Ok(()),
        Err(Shortage::Clients(most)) => most,
        Err(shortage) => return Err(shortage),
    };
    let lowered = [(network::MAXCLIENTS.name(), most.to_string())];
    let outcome = settings.set_many(&lowered, Origin::Local);
    debug_assert!(outcome.is_ok(), "{outcome:?}");
    Ok(())
}

/// Lets the process open as many files as a `maxclients` asks for that was set while it runs.
///
/// # Errors
/// When the system grants too few, with the number of clients for which they are enough.
pub fn follow(settings: &Settings) -> Result<(), String> {
    grant(settings).map_err(|shortage| shortage.to_string())
}

fn grant(settings: &Settings) -> Result<(), Shortage> {
    let clients = u64::from(network::MAXCLIENTS.get(settings));
    let kept_back = kept_back(settings);
    let wanted = clients + kept_back;
    let Err((granted, error)) = raise_limit(wanted) else { return Ok(()) };
    let left = granted.saturating_sub(kept_back);
    if left == 0 {
        return Err(Shortage::Server { granted, wanted });
    }
    tracing::warn!(
        "You requested maxclients of {clients} requiring at least {wanted} max file descriptors."
    );
    tracing::warn!("Server can't set maximum open files to {wanted} because of OS error: {error}.");
    tracing::warn!(
        "Current maximum open files is {granted}. maxclients has been reduced to {left} to \
         compensate for low ulimit. If you need higher maxclients increase 'ulimit -n'."
    );
    Err(Shortage::Clients(left))
}

/// Returns the descriptors that are kept back from clients.
fn kept_back(settings: &Settings) -> u64 {
    let listeners = network::BIND.get(settings).len() as u64 + 1;
    let threads = limits::threads(settings) as u64 * PER_THREAD;
    let needed = ALWAYS + DATA_FILES + SOCKETS_MAX as u64 + listeners + threads;
    needed.max(KEPT_BACK_MIN)
}

/// Lets the process open `wanted` files.
///
/// # Errors
/// When the system does not allow that, with the number that it grants.
fn raise_limit(wanted: u64) -> Result<(), (u64, io::Error)> {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return Ok(()) };
    let raised = |most: u64| Rlimit {
        current: Some(most),
        maximum: Some(limit.maximum.unwrap_or(most).max(most)),
    };
    let Err(error) = setrlimit(Resource::Nofile, raised(wanted)) else { return Ok(()) };
    let most = limit.maximum.unwrap_or(current).min(wanted);
    let is_raised = setrlimit(Resource::Nofile, raised(most)).is_ok();
    Err((if is_raised { most } else { current }, error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_back_rises_with_threads_and_addresses() {
        let settings = Settings::new();
        let set = |name: &str, value: &str| {
            settings.set_many(&[(name, value)], Origin::Local).expect("it can be set");
        };
        set("bind", "127.0.0.1");
        let few = kept_back(&settings);
        set("bind", "127.0.0.1 -::1");
        assert_eq!(kept_back(&settings), few + 1);
    }
}

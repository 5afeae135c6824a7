//! What all clients of one server share: handles to the parts, each of which guards its own state.

use crate::clients::{Clients, Pause};
use crate::needs::{Grants, Needs};
use crate::statistics::Statistics;
use crate::waiting::Waiters;
use base::{Clock, Millis};
use settings::Settings;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;

/// Who this server is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Forty hexadecimal digits, drawn at start.
    pub run_id: String,
    /// When it started.
    pub started: Millis,
    /// Where its configuration came from.
    pub config_file: Option<PathBuf>,
    /// Its program.
    pub executable: PathBuf,
    /// Threads that execute commands.
    pub threads: usize,
    /// Where memory comes from: segments for what clients store, and what serves the rest.
    pub allocator: &'static str,
}

/// How the server is asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shutdown {
    /// End whatever cannot be saved.
    pub force: bool,
    /// Do not wait for anybody.
    pub now: bool,
}

/// See the module page.
pub struct Instance {
    /// Keys and values.
    pub store: Store,
    /// Settings and their values.
    pub settings: Arc<Settings>,
    /// Who is connected.
    pub clients: Clients,
    /// What of the commands' needs holds for all clients.
    pub grants: Grants,
    /// Who waits for keys.
    pub waiters: Waiters,
    /// What was counted.
    pub statistics: Statistics,
    /// Who this is.
    pub identity: Identity,
    /// What time it is.
    pub clock: Clock,
    /// Whether the background jobs remove keys whose deadline has passed (DEBUG SET-ACTIVE-EXPIRE).
    pub active_expire: AtomicBool,
    /// Whether the background jobs rest (DEBUG PAUSE-CRON).
    pub chores_paused: AtomicBool,
    /// Resident bytes of the process when the background jobs last looked.
    pub resident_bytes: AtomicU64,
    /// The highest of those.
    pub resident_peak: AtomicU64,
    /// The highest `used_memory` that was seen.
    pub used_peak: AtomicU64,
    /// Bytes of the process that are neither records nor index.
    pub other_bytes: AtomicU64,
    /// Held while a pause begins or ends.
    pausing: Mutex<()>,
    shutdown: Mutex<Option<Shutdown>>,
    wake_main: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Instance {
    /// Puts the parts together, for so many ids of `commands`; `wake_main` is called when a client
    /// asks for a shutdown.
    pub fn new(
        store: Store,
        settings: Arc<Settings>,
        identity: Identity,
        clock: Clock,
        commands: usize,
        wake_main: Box<dyn Fn() + Send + Sync>,
    ) -> Instance {
        Instance {
            store,
            settings,
            clients: Clients::default(),
            grants: Grants::default(),
            waiters: Waiters::default(),
            statistics: Statistics::new(commands),
            identity,
            clock,
            active_expire: AtomicBool::new(true),
            chores_paused: AtomicBool::new(false),
            resident_bytes: AtomicU64::new(0),
            resident_peak: AtomicU64::new(0),
            used_peak: AtomicU64::new(0),
            other_bytes: AtomicU64::new(0),
            pausing: Mutex::new(()),
            shutdown: Mutex::new(None),
            wake_main,
        }
    }

    /// Asks for the end of the server.
    pub fn request_shutdown(&self, how: Shutdown) {
        *self.shutdown.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
        (self.wake_main)();
    }

    /// Takes a request for a shutdown back; false if there was none.
    pub fn abort_shutdown(&self) -> bool {
        self.shutdown.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    /// The request for a shutdown, if there is one.
    pub fn shutdown_requested(&self) -> Option<Shutdown> {
        *self.shutdown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds commands back until `until`; a longer or stricter pause is not made shorter or milder.
    pub fn pause(&self, what: Pause, until: Millis, now: Millis) {
        let _pausing = self.pausing.lock().unwrap_or_else(PoisonError::into_inner);
        self.clients.pause(what, until, now);
        self.grants.withdraw(match what {
            Pause::Nothing => Needs::empty(),
            Pause::Writes => Needs::WRITES_FLOW,
            Pause::Everything => Needs::UNPAUSED,
        });
    }

    /// Ends a pause and has every worker look at its connections again.
    pub fn unpause(&self) {
        let _pausing = self.pausing.lock().unwrap_or_else(PoisonError::into_inner);
        self.grants.restore(Needs::WRITES_FLOW | Needs::UNPAUSED);
        self.clients.unpause();
    }

    /// What is held back at present. For requests that lack `WRITES_FLOW` or `UNPAUSED`, which are
    /// granted again when the time of the pause is over.
    pub fn held_back(&self, now: Millis) -> Pause {
        if self.clients.paused(now) == Pause::Nothing {
            let _pausing = self.pausing.lock().unwrap_or_else(PoisonError::into_inner);
            if self.clients.paused(now) == Pause::Nothing {
                self.grants.restore(Needs::WRITES_FLOW | Needs::UNPAUSED);
            }
        }
        self.clients.paused(now)
    }

    /// `used_memory`: what keys, their index and everything else take at this moment.
    pub fn used_memory(&self) -> u64 {
        self.store.used_bytes() + self.other_bytes.load(Relaxed)
    }
}

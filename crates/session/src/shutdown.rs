//! Requests to end the server.

use crate::loading::Loading;
use crate::refusal::Refusal;
use crate::saving::Asker;
use crate::statistics::Statistics;
use base::mutex::{Mutex, MutexGuard};
use std::fmt;

/// Options of a requested shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shutdown {
    /// Makes a snapshot before, or none; `None`: if the settings ask for snapshots.
    pub saves: Option<bool>,
    /// Ends even if data cannot be saved.
    pub force: bool,
    /// Ends without waiting for others.
    pub now: bool,
}

/// Requests to end the server, of which the last one counts.
pub struct ShutdownRequests {
    requested: Mutex<Option<Ending>>,
    /// Wakes the thread that ends the server.
    wake_main: Box<dyn Fn() + Send + Sync>,
}

/// A requested shutdown.
struct Ending {
    how: Shutdown,
    /// Clients that get a reply if it fails.
    askers: Vec<Asker>,
}

impl fmt::Debug for ShutdownRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShutdownRequests").field("requested", &self.requested()).finish()
    }
}

impl ShutdownRequests {
    /// No request yet; `wake_main` is called when there is one.
    pub fn new(wake_main: Box<dyn Fn() + Send + Sync>) -> ShutdownRequests {
        ShutdownRequests { requested: Mutex::new(None), wake_main }
    }

    fn ending(&self) -> MutexGuard<'_, Option<Ending>> {
        self.requested.lock()
    }

    /// Requests a shutdown of the server, also in other ways than an earlier request. The asker
    /// hears of it if it fails.
    pub fn request(&self, loading: &Loading, how: Shutdown, asker: Option<Asker>) {
        loading.give_up(true);
        let mut ending = self.ending();
        let mut askers = ending.take().map_or_else(Vec::new, |ending| ending.askers);
        askers.extend(asker);
        *ending = Some(Ending { how, askers });
        drop(ending);
        (self.wake_main)();
    }

    /// Takes back a request for a shutdown; returns false if there was none.
    pub fn abort(&self, loading: &Loading, statistics: &Statistics) -> bool {
        loading.give_up(false);
        let Some(ending) = self.ending().take() else { return false };
        for asker in ending.askers {
            asker.refuse(statistics, &Refusal::SHUTDOWN_FAILED);
        }
        (self.wake_main)();
        true
    }

    /// The request for a shutdown, if there is one.
    pub fn requested(&self) -> Option<Shutdown> {
        self.ending().as_ref().map(|ending| ending.how)
    }
}

//! Clients that run MONITOR: they see every command after it has run.
//!
//! ```text
//! a command has run ──▶ note: a line in the session ──▶ its batch has ended ──▶ send: one letter
//!                                                                              for each worker
//! ```
//! While there is one, `UNMONITORED` is not granted, so commands take the path on which lines are
//! made; without one nothing is asked for it. Lines of one client come in order. Their bytes are
//! made once, for all who see them.

use crate::client::Client;
use crate::message::Message;
use crate::receivers::{Left, Outgoing, Receivers};
use base::mutex::{Mutex, MutexGuard};
use wire::Protocol;

/// All who run MONITOR.
#[derive(Debug, Default)]
pub struct Monitors(Mutex<Receivers>);

impl Monitors {
    fn lock(&self) -> MutexGuard<'_, Receivers> {
        self.0.lock()
    }

    /// Returns the number of clients.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Adds a client; `withdraw` is called under the lock.
    pub fn add(&self, client: &Client, protocol: Protocol, withdraw: impl FnOnce()) {
        let mut receivers = self.lock();
        receivers.add(client, protocol);
        withdraw();
    }

    /// Removes a client; `restore` is called under the lock if it was the last.
    pub fn remove(&self, client: &Client, restore: impl FnOnce()) {
        let mut receivers = self.lock();
        receivers.remove(client);
        if receivers.is_empty() {
            restore();
        }
    }

    /// Leaves lines in the mailboxes of workers with monitors; nobody is woken yet. They are left
    /// under the lock, so a client that has ended MONITOR gets no later line.
    pub fn leave(&self, lines: &[u8]) -> Left {
        let receivers = self.lock();
        let mut outgoing = Outgoing::default();
        outgoing.add(&receivers, |_| Message::lines(lines));
        outgoing.leave()
    }
}

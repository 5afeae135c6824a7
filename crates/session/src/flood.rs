//! Clients that one command sends more than they may leave unread.
//!
//! A publisher is postponed between commands while a worker has much mail to read. A command that
//! publishes without end, as EXEC or the events of a MSET may, is not postponed: the workers of its
//! receivers read nothing meanwhile. So the bytes that it sends are counted by client, and a client
//! that has got more than its output may hold is closed, as it would be by its worker.

use crate::letter::Receiver;
use base::mutex::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes on their way to clients of workers that have far too much mail to read.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    /// Most bytes for one client; zero for any number.
    most: AtomicU64,
    /// By id of the client.
    sent: Mutex<HashMap<u64, u64>>,
}

impl Flood {
    /// Sets the most bytes that one client may get.
    pub fn follow_limit(&self, most: Option<u64>) {
        self.most.store(most.unwrap_or(0), Relaxed);
    }

    /// Returns the `receivers` that may get `bytes` more. Calls `closed` with each client that
    /// these bytes put over its limit.
    #[cold]
    pub fn admit(
        &self,
        receivers: &Arc<[Receiver]>,
        bytes: usize,
        mut closed: impl FnMut(u64),
    ) -> Arc<[Receiver]> {
        let most = self.most.load(Relaxed);
        if most == 0 {
            return Arc::clone(receivers);
        }
        let mut sent = self.sent();
        let may_get = |receiver: &&Receiver| {
            let sum = sent.entry(receiver.client).or_default();
            let was_within = *sum <= most;
            *sum = sum.saturating_add(bytes as u64);
            if was_within && *sum > most {
                closed(receiver.client);
            }
            *sum <= most
        };
        let kept: Vec<Receiver> = receivers.iter().filter(may_get).copied().collect();
        if kept.len() == receivers.len() { Arc::clone(receivers) } else { kept.into() }
    }

    /// Begins to count anew, once workers have read their mail.
    pub fn end(&self) {
        *self.sent() = HashMap::new();
    }

    fn sent(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.sent.lock()
    }
}

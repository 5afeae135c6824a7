//! Eviction of clients: the largest are closed while all of them together take more memory than
//! `maxmemory-clients` allows.
//!
//! A worker adds the sums of all workers at the end of its loop iteration. If they are too much,
//! one worker chooses the largest clients of all workers, and their own workers close them, by
//! mail.

use crate::client::{Client, ClientFlags};
use crate::clients::Clients;
use base::Steady;
use std::sync::Arc;

/// Milliseconds for which nobody is looked for after nobody was found: clients that may not be
/// closed take the memory.
pub const REST_MILLIS: u64 = 100;

impl Clients {
    /// Closes clients, the largest first, until what is left takes at most `most` bytes. Returns
    /// the number of those that were chosen; their workers close them. `None` while another thread
    /// chooses.
    pub fn evict(&self, most: u64, now: Steady) -> Option<u64> {
        let left = self.memory().saturating_sub(self.eviction.leaving());
        if left <= most || self.eviction.rests(now) {
            return Some(0);
        }
        let _choosing = self.eviction.begin()?;
        let (mut left, mut evictable) = self.evictable();
        evictable
            .sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.id.cmp(&other.1.id)));
        let mut evicted = 0;
        for (bytes, client) in evictable {
            if left <= most {
                return Some(evicted);
            }
            if client.evict(bytes, &self.eviction) {
                tracing::info!(
                    "Evicting client: id={} addr={} tot-mem={bytes}",
                    client.id,
                    client.address
                );
                evicted += 1;
            }
            left = left.saturating_sub(bytes);
        }
        if left > most {
            tracing::warn!("Over client maxmemory after evicting all evictable clients");
            self.eviction.rest(now.after(REST_MILLIS));
        }
        Some(evicted)
    }

    /// Ends the rest of the search: the limit has changed.
    pub fn evict_anew(&self) {
        self.eviction.rest(Steady(0));
    }

    /// Returns the bytes of all clients that stay, and those of them that may be closed, with their
    /// bytes.
    fn evictable(&self) -> (u64, Vec<(u64, Arc<Client>)>) {
        let mut clients = self.list();
        clients.retain(|client| !client.is_doomed());
        let mut sized: Vec<_> = clients.into_iter().map(|it| (it.memory(), it)).collect();
        let all = sized.iter().map(|(bytes, _)| bytes).sum();
        sized.retain(|(_, client)| !client.flags().contains(ClientFlags::NO_EVICT));
        (all, sized)
    }
}

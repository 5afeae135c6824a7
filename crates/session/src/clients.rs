//! Registry of all clients. CLIENT LIST, KILL and PAUSE reach clients of other workers through it.
//! What postpones their commands for a while stands in `pause.rs`.

use crate::client::{Client, Endpoint, Owner};
use crate::client_memory::{Eviction, MemorySum, RecentPeaks};
use crate::needs::Grants;
use crate::notice::{Notice, Post};
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU64};

/// Number of parts of the registry.
const PARTS: usize = 16;

/// The registry of clients.
#[derive(Default)]
pub struct Clients {
    /// All clients by id, in parts that are locked apart.
    parts: [Mutex<BTreeMap<u64, Arc<Client>>>; PARTS],
    /// Ways to the workers.
    workers: Mutex<Vec<Arc<dyn Post>>>,
    /// Memory of the clients of each worker.
    memory: Mutex<Vec<Arc<MemorySum>>>,
    /// State of closing clients for their memory.
    pub eviction: Eviction,
    /// Largest input and output of a client in the last seconds.
    pub peaks: RecentPeaks,
    /// Bytes of notices that workers have not received yet.
    mail_bytes: Arc<AtomicU64>,
    next_id: AtomicU64,
    /// Number of admitted connections that are still open, registered as clients or not.
    admitted: AtomicU64,
    /// Needs of commands that are granted to all clients.
    pub grants: Grants,
    /// Lock that is held while a pause begins or ends.
    pub(crate) pausing: Mutex<()>,
    /// Commands that CLIENT PAUSE postpones, as the number of a `Pause`, and until when.
    pub(crate) paused: AtomicU8,
    pub(crate) paused_until: AtomicU64,
    /// Who postpones writes until further notice: bits of `Holder`.
    pub(crate) holders: AtomicU8,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Clients {
    fn workers(&self) -> MutexGuard<'_, Vec<Arc<dyn Post>>> {
        self.workers.lock()
    }

    /// Registers a worker; its clients are those that are added with the same `post`. Returns the
    /// sum of their memory.
    pub fn add_worker(&self, post: Arc<dyn Post>) -> Arc<MemorySum> {
        self.workers().push(post);
        let sum = Arc::<MemorySum>::default();
        self.sums().push(Arc::clone(&sum));
        sum
    }

    fn sums(&self) -> MutexGuard<'_, Vec<Arc<MemorySum>>> {
        self.memory.lock()
    }

    /// Returns the bytes of memory of all clients.
    pub fn memory(&self) -> u64 {
        self.sums().iter().map(|sum| sum.get()).sum()
    }

    /// Returns the counter of the bytes of mail on its way to workers, which the mailboxes update.
    pub fn mail_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.mail_bytes)
    }

    /// The part that a client is in.
    fn part(&self, id: u64) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.parts[narrow::to_usize(id % PARTS as u64)].lock()
    }

    /// Admits a connection, and returns false if `most` are open already. Each admitted connection
    /// must end with `dismiss` or `remove`.
    pub fn admit(&self, most: u64) -> bool {
        let one_more = |count| (count < most).then_some(count + 1);
        self.admitted.fetch_update(Relaxed, Relaxed, one_more).is_ok()
    }

    /// Removes an admitted connection that has not become a client.
    pub fn dismiss(&self) {
        self.admitted.fetch_sub(1, Relaxed);
    }

    /// Registers an admitted connection as a client. To be called by the thread of its worker.
    pub fn add(&self, endpoint: Endpoint, owner: Owner, now: Steady) -> Arc<Client> {
        let id = self.next_id.fetch_add(1, Relaxed) + 1;
        let client = Arc::new(Client::new(id, endpoint, owner, now));
        client.count_memory();
        self.part(id).insert(id, Arc::clone(&client));
        client
    }

    /// Removes a client that has disconnected. To be called by the thread of its worker.
    pub fn remove(&self, id: u64) {
        let removed = self.part(id).remove(&id);
        if let Some(client) = removed {
            client.count_as(0);
            // From here on nobody chooses it; a thread that did has noted its bytes before.
            client.doomed.swap(true, AcqRel);
            client.has_left(&self.eviction);
            self.dismiss();
        }
    }

    /// Number of open connections, which `admit` limits.
    pub fn count(&self) -> u64 {
        self.admitted.load(Relaxed)
    }

    /// All clients, in order of id.
    pub fn list(&self) -> Vec<Arc<Client>> {
        {
            let clients =
                |part: &Mutex<BTreeMap<_, _>>| part.lock().values().cloned().collect::<Vec<_>>();
            let mut all: Vec<Arc<Client>> = self.parts.iter().flat_map(clients).collect();
            all.sort_unstable_by_key(|client| client.id);
            all
        }
    }

    /// The client with an id.
    pub fn find(&self, id: u64) -> Option<Arc<Client>> {
        self.part(id).get(&id).cloned()
    }

    /// Has every worker look again at connections that are postponed.
    pub fn look_again(&self) {
        self.notify_workers(&Notice::Unpaused);
    }

    /// Returns true if a worker has more letters to read than it is to have.
    pub fn is_any_behind(&self) -> bool {
        self.workers().iter().any(|post| post.is_behind())
    }

    /// Sends a notice to every worker.
    pub fn notify_workers(&self, notice: &Notice) {
        self.workers().iter().for_each(|post| post.send(notice.clone()));
    }
}

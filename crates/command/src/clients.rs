//! All clients, as others see them: CLIENT LIST, KILL and PAUSE reach across workers through here.

use crate::waiting::waiter::Waiter;
use base::Millis;
use bitflags::bitflags;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

bitflags! {
    /// What CLIENT LIST shows as letters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ClientFlags: u32 {
        /// Connected through a unix socket.
        const UNIX_SOCKET = 1 << 0;
        /// Never closed for taking too much memory.
        const NO_EVICT = 1 << 1;
        /// Leaves access histories alone.
        const NO_TOUCH = 1 << 2;
        /// Loads data.
        const IMPORT_SOURCE = 1 << 3;
        /// Will be closed once its replies are written.
        const CLOSING = 1 << 4;
        /// Waits for keys; only ever in `shown_flags`.
        const BLOCKED = 1 << 5;
        /// Held back by CLIENT PAUSE.
        const PAUSED = 1 << 6;
    }
}

/// What one worker is told by another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Close the client with this id.
    Close(u64),
    /// Give the client with this id, which has waited, its reply.
    Answer(u64, Vec<u8>),
    /// Send the client with this id a message that others get too.
    Message(u64, Arc<[u8]>),
    /// Replies that waited for positions up to this one may leave.
    Safe(u64),
    /// Look at paused connections again.
    Unpaused,
}

/// Delivers a notice to the worker that owns a client, and wakes it.
pub type Post = Arc<dyn Fn(Notice) + Send + Sync>;

/// What others can see of one client. Its worker keeps it up to date once per batch.
pub struct Client {
    /// Unique for the life of the process, rising.
    pub id: u64,
    /// Peer's address as `ip:port`, or the path of the unix socket.
    pub address: String,
    /// Our end.
    pub local_address: String,
    /// File descriptor, for people.
    pub fd: i32,
    /// When it connected.
    pub created: Millis,
    /// When it last sent or took something.
    pub last_interaction: AtomicU64,
    /// The database that it has chosen.
    pub database: AtomicU32,
    /// RESP version.
    pub protocol: AtomicU8,
    /// Bits of `ClientFlags`.
    pub flags: AtomicU32,
    /// Id of the last command's row, plus one.
    pub last_command: AtomicU32,
    /// Bytes waiting in the query buffer.
    pub query_bytes: AtomicU64,
    /// Bytes free in the query buffer.
    pub query_free: AtomicU64,
    /// Bytes of replies that wait to be written.
    pub output_bytes: AtomicU64,
    /// Bytes that the buffer for replies has room for.
    pub output_room: AtomicU64,
    /// Bytes received.
    pub received: AtomicU64,
    /// Bytes sent.
    pub sent: AtomicU64,
    /// Commands processed.
    pub commands: AtomicU64,
    /// The name and library that the client told.
    pub info: Mutex<ClientInfo>,
    /// Set once it is to be closed.
    pub doomed: AtomicBool,
    waiter: Mutex<Option<Arc<Waiter<Client>>>>,
    post: Post,
}

/// What a client says of itself.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// CLIENT SETNAME.
    pub name: String,
    /// CLIENT SETINFO LIB-NAME.
    pub library: String,
    /// CLIENT SETINFO LIB-VER.
    pub library_version: String,
    /// CLIENT CAPA, a letter each.
    pub capabilities: String,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).field("address", &self.address).finish()
    }
}

impl Client {
    /// What the client said of itself.
    pub fn info(&self) -> MutexGuard<'_, ClientInfo> {
        self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it waits for, if it does.
    pub fn waiter(&self) -> MutexGuard<'_, Option<Arc<Waiter<Client>>>> {
        self.waiter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it waits for keys.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.waiter().is_some()
    }

    /// Its flags as clients see them: one that waits for keys is told by no flag of its own.
    pub fn shown_flags(&self) -> ClientFlags {
        let mut flags = self.flags();
        flags.set(ClientFlags::BLOCKED, self.is_waiting());
        flags
    }

    /// Its flags.
    pub fn flags(&self) -> ClientFlags {
        ClientFlags::from_bits_truncate(self.flags.load(Relaxed))
    }

    /// Sets or clears a flag.
    pub fn set_flag(&self, flag: ClientFlags, on: bool) {
        if on {
            self.flags.fetch_or(flag.bits(), Relaxed);
        } else {
            self.flags.fetch_and(!flag.bits(), Relaxed);
        }
    }

    /// Has its worker close it; false if somebody else did before.
    pub fn kill(&self) -> bool {
        let is_first = !self.doomed.swap(true, Relaxed);
        if is_first {
            (self.post)(Notice::Close(self.id));
        }
        is_first
    }

    /// Whether it is to be closed and belongs to no list any more.
    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Relaxed)
    }

    /// Tells its worker something.
    pub fn notify(&self, notice: Notice) {
        (self.post)(notice);
    }
}

/// Where a client comes from.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Peer's address, or the path of the unix socket.
    pub address: String,
    /// Our end.
    pub local_address: String,
    /// File descriptor.
    pub fd: i32,
    /// Whether it came through a unix socket.
    pub is_unix: bool,
}

/// Which commands CLIENT PAUSE holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Pause {
    /// None.
    #[default]
    Nothing = 0,
    /// Those that change data.
    Writes = 1,
    /// All.
    Everything = 2,
}

/// The registry of clients.
#[derive(Default)]
pub struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    /// The ways to all workers.
    workers: Mutex<Vec<Post>>,
    /// Bytes of what the workers were told and have not heard yet.
    mail_bytes: Arc<AtomicU64>,
    next_id: AtomicU64,
    /// Connections that were admitted and are not gone, whether or not they are clients yet.
    admitted: AtomicU64,
    paused: AtomicU8,
    paused_until: AtomicU64,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Clients {
    fn workers(&self) -> MutexGuard<'_, Vec<Post>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of a worker, whose clients will be those that are added with the same `post`.
    pub fn add_worker(&self, post: Post) {
        self.workers().push(post);
    }

    /// Where those who carry mail to workers count its bytes.
    pub fn mail_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.mail_bytes)
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection, unless `most` are there already; `dismiss` must follow one day.
    pub fn admit(&self, most: u64) -> bool {
        let one_more = |count| (count < most).then_some(count + 1);
        self.admitted.fetch_update(Relaxed, Relaxed, one_more).is_ok()
    }

    /// Forgets a connection that was admitted and has not become a client.
    pub fn dismiss(&self) {
        self.admitted.fetch_sub(1, Relaxed);
    }

    /// Makes a connection that was admitted a client.
    pub fn add(&self, endpoint: Endpoint, post: Post, now: Millis) -> Arc<Client> {
        let flags = if endpoint.is_unix { ClientFlags::UNIX_SOCKET } else { ClientFlags::empty() };
        let client = Arc::new(Client {
            id: self.next_id.fetch_add(1, Relaxed) + 1,
            address: endpoint.address,
            local_address: endpoint.local_address,
            fd: endpoint.fd,
            created: now,
            last_interaction: AtomicU64::new(now.0),
            database: AtomicU32::new(0),
            protocol: AtomicU8::new(2),
            flags: AtomicU32::new(flags.bits()),
            last_command: AtomicU32::new(0),
            query_bytes: AtomicU64::new(0),
            query_free: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            output_room: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            info: Mutex::new(ClientInfo::default()),
            doomed: AtomicBool::new(false),
            waiter: Mutex::new(None),
            post,
        });
        self.all().insert(client.id, Arc::clone(&client));
        client
    }

    /// Forgets a client that is gone.
    pub fn remove(&self, id: u64) {
        if self.all().remove(&id).is_some() {
            self.dismiss();
        }
    }

    /// Connections that are there: as many as count for whether another one is admitted.
    pub fn count(&self) -> u64 {
        self.admitted.load(Relaxed)
    }

    /// All clients, by id.
    pub fn list(&self) -> Vec<Arc<Client>> {
        self.all().values().cloned().collect()
    }

    /// The client with an id.
    pub fn find(&self, id: u64) -> Option<Arc<Client>> {
        self.all().get(&id).cloned()
    }

    /// Holds commands back until `until`; a longer or stricter pause is not made shorter or milder.
    pub fn pause(&self, what: Pause, until: Millis, now: Millis) {
        let present = self.paused(now);
        let until_present =
            if present == Pause::Nothing { 0 } else { self.paused_until.load(Relaxed) };
        self.paused_until.store(until.0.max(until_present), Relaxed);
        self.paused.store((what as u8).max(present as u8), Relaxed);
    }

    /// Ends a pause and has every worker look at its connections again.
    pub fn unpause(&self) {
        self.paused.store(0, Relaxed);
        self.workers().iter().for_each(|post| post(Notice::Unpaused));
    }

    /// What is held back at present.
    #[inline]
    pub fn paused(&self, now: Millis) -> Pause {
        match self.paused.load(Relaxed) {
            0 => Pause::Nothing,
            _ if self.paused_until.load(Relaxed) <= now.0 => Pause::Nothing,
            1 => Pause::Writes,
            _ => Pause::Everything,
        }
    }

    /// When the pause ends.
    pub fn paused_until(&self) -> Millis {
        Millis(self.paused_until.load(Relaxed))
    }
}

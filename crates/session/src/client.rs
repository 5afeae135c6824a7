//! State of one client as other threads see it.

pub use crate::client_flags::ClientFlags;
pub use crate::client_info::{ClientInfo, Endpoint};
use crate::client_memory::{Eviction, MemorySum, Peak};
use crate::notice::{Notice, Nowhere, Post};
use crate::place::Place;
use crate::waiter::Waiter;
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64};

/// Number of queued commands of a client that has opened no transaction and watched nothing.
pub(crate) const NEVER_QUEUED: u64 = u64::MAX;

/// State of one client as other threads see it. Its worker updates it once per batch.
pub struct Client {
    /// Unique for the life of the process, rising.
    pub id: u64,
    /// Peer's address as `ip:port`, or the path of the unix socket.
    pub address: String,
    /// Server's address, or the path of the unix socket.
    pub local_address: String,
    /// File descriptor, only for display.
    pub fd: i32,
    /// Time of the connection.
    pub created: Steady,
    /// Time when it last sent or took bytes, as a `Steady`.
    pub last_interaction: AtomicU64,
    /// Number of the selected database.
    pub database: AtomicU32,
    /// RESP version.
    pub protocol: AtomicU8,
    /// Bits of `ClientFlags`.
    pub flags: AtomicU32,
    /// Id of the last command's row, plus one.
    pub last_command: AtomicU32,
    /// Memory of the arguments of a request that is not whole yet, in bytes.
    pub argument_bytes: AtomicU64,
    /// Bytes waiting in the query buffer that belong to no such argument.
    pub query_bytes: AtomicU64,
    /// Bytes free in the query buffer.
    pub query_free: AtomicU64,
    /// Bytes of replies that wait to be written.
    pub output_bytes: AtomicU64,
    /// Memory of the output buffers, in bytes.
    pub output_room: AtomicU64,
    /// Memory of what encrypts its connection, in bytes.
    pub encryption_bytes: AtomicU64,
    /// Bytes received.
    pub received: AtomicU64,
    /// Bytes sent.
    pub sent: AtomicU64,
    /// Commands processed.
    pub commands: AtomicU64,
    /// Commands queued for EXEC; `NEVER_QUEUED` until its first MULTI or WATCH.
    pub queued: AtomicU64,
    /// Bytes of the queued commands.
    pub queue_bytes: AtomicU64,
    /// Memory that is held for further ones, in bytes.
    pub queue_room: AtomicU64,
    /// Keys that it watches.
    pub watched: AtomicU64,
    /// Memory of the keys that it watches, in bytes.
    pub watch_bytes: AtomicU64,
    /// Channels that it has subscribed to.
    pub channels: AtomicU64,
    /// Patterns that it has subscribed to.
    pub patterns: AtomicU64,
    /// Shard channels that it has subscribed to.
    pub shard_channels: AtomicU64,
    /// Memory of its subscriptions, in bytes.
    pub subscription_bytes: AtomicU64,
    /// Bytes of its memory as they count in the sum of its worker.
    counted: AtomicU64,
    /// Bytes that counted when it was chosen to be closed for its memory.
    leaving: AtomicU64,
    /// Id of the client that is notified of changed keys in its place; zero for none, and -1 if
    /// this one is not notified either.
    pub redirection: AtomicI64,
    /// Memory of the prefixes of keys that it is notified of, in bytes.
    pub prefix_bytes: AtomicU64,
    /// Name, library and capabilities reported by the client.
    pub info: Mutex<ClientInfo>,
    /// True once it is to be closed.
    pub doomed: AtomicBool,
    waiter: Mutex<Option<Arc<Waiter>>>,
    place: Place<Owner>,
}

/// Where a client lives.
#[derive(Clone)]
pub struct Owner {
    /// Way to its worker.
    pub post: Arc<dyn Post>,
    /// Memory of all clients of its worker.
    pub sum: Arc<MemorySum>,
    /// Entry of its connection in the table of its worker, as a hint.
    pub entry: u32,
}

/// Entry of a connection that is on its way to another worker.
const ON_ITS_WAY: u32 = u32::MAX;

impl Default for Owner {
    fn default() -> Owner {
        Owner { post: Arc::new(Nowhere), sum: Arc::default(), entry: 0 }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).field("address", &self.address).finish()
    }
}

impl Client {
    pub(crate) fn new(id: u64, endpoint: Endpoint, owner: Owner, now: Steady) -> Client {
        let flags = if endpoint.is_unix { ClientFlags::UNIX_SOCKET } else { ClientFlags::empty() };
        Client {
            id,
            address: endpoint.address,
            local_address: endpoint.local_address,
            fd: endpoint.fd,
            created: now,
            last_interaction: AtomicU64::new(now.0),
            database: AtomicU32::new(0),
            protocol: AtomicU8::new(2),
            flags: AtomicU32::new(flags.bits()),
            last_command: AtomicU32::new(0),
            argument_bytes: AtomicU64::new(0),
            query_bytes: AtomicU64::new(0),
            query_free: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            output_room: AtomicU64::new(0),
            encryption_bytes: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            queued: AtomicU64::new(NEVER_QUEUED),
            queue_bytes: AtomicU64::new(0),
            queue_room: AtomicU64::new(0),
            watched: AtomicU64::new(0),
            watch_bytes: AtomicU64::new(0),
            channels: AtomicU64::new(0),
            patterns: AtomicU64::new(0),
            shard_channels: AtomicU64::new(0),
            subscription_bytes: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            leaving: AtomicU64::new(0),
            redirection: AtomicI64::new(-1),
            prefix_bytes: AtomicU64::new(0),
            info: Mutex::new(ClientInfo::default()),
            doomed: AtomicBool::new(false),
            waiter: Mutex::new(None),
            place: Place::new(owner),
        }
    }

    /// A client without a connection, whose commands come from a file. It is in no list.
    pub fn of_file(name: &str, now: Steady) -> Arc<Client> {
        let endpoint = Endpoint {
            address: name.to_owned(),
            local_address: String::new(),
            fd: -1,
            is_unix: false,
        };
        Arc::new(Client::new(u64::MAX, endpoint, Owner::default(), now))
    }

    /// Returns a text for messages of the log that tells which client it is. `hides_user_data`
    /// keeps out what the client has said itself.
    pub fn for_log(&self, hides_user_data: bool) -> String {
        let (id, address, local) = (self.id, &self.address, &self.local_address);
        let name = if hides_user_data { "*redacted*" } else { &self.info().name };
        format!("id={id} addr={address} laddr={local} name={name}")
    }

    /// Locks and returns the facts that the client has reported about itself.
    pub fn info(&self) -> MutexGuard<'_, ClientInfo> {
        self.info.lock()
    }

    /// Locks and returns the client's waiter; `None` if the client does not wait for keys.
    pub fn waiter(&self) -> MutexGuard<'_, Option<Arc<Waiter>>> {
        self.waiter.lock()
    }

    /// Returns the bytes of the request with which it waits, and of its places in lines.
    pub fn waiter_bytes(&self) -> u64 {
        self.waiter().as_ref().map_or(0, |waiter| waiter.bytes())
    }

    /// Returns true while the client waits for keys.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.waiter().is_some()
    }

    /// Returns the flags that clients see: the stored ones, and `BLOCKED` if the client waits for
    /// keys.
    pub fn shown_flags(&self) -> ClientFlags {
        let mut flags = self.flags();
        flags.set(ClientFlags::BLOCKED, self.is_waiting());
        flags
    }

    /// Returns the stored flags, without `BLOCKED`.
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

    /// Returns true if it came through a unix socket or the loopback interface.
    pub fn is_local(&self) -> bool {
        if self.flags().contains(ClientFlags::UNIX_SOCKET) {
            return true;
        }
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    /// Returns its bytes of memory: its input, its output, its encryption, its transaction, what
    /// it watches, what it has subscribed to, prefixes of keys that it is notified of, and what it
    /// says of itself.
    pub fn memory(&self) -> u64 {
        let parts = [
            &self.argument_bytes,
            &self.query_bytes,
            &self.query_free,
            &self.output_room,
            &self.encryption_bytes,
            &self.queue_bytes,
            &self.queue_room,
            &self.watch_bytes,
            &self.subscription_bytes,
            &self.prefix_bytes,
        ];
        let parts: u64 = parts.iter().map(|bytes| bytes.load(Relaxed)).sum();
        size_of::<Client>() as u64 + self.info().bytes() as u64 + parts
    }

    /// Returns the bytes of memory of its input and of its output.
    pub fn buffers(&self) -> Peak {
        let input = [&self.argument_bytes, &self.query_bytes, &self.query_free];
        let input = input.iter().map(|bytes| bytes.load(Relaxed)).sum();
        Peak { input, output: self.output_room.load(Relaxed) }
    }

    /// Has its memory count in the sum of its worker as it is now. For its worker's thread only.
    pub fn count_memory(&self) {
        self.count_as(self.memory());
    }

    pub(crate) fn count_as(&self, bytes: u64) {
        self.place.owner().sum.change(self.counted.swap(bytes, Relaxed), bytes);
    }

    /// Returns true if a key that it watches has changed, so that EXEC runs nothing.
    pub fn is_void(&self) -> bool {
        self.flags().contains(ClientFlags::CHANGED)
    }

    /// Returns the number of keys that it watches; the first that changes ends all watching.
    pub fn watches(&self) -> u64 {
        if self.is_void() { 0 } else { self.watched.load(Relaxed) }
    }

    /// Asks its worker to close it since it takes `bytes` of memory; returns false if it was to be
    /// closed before.
    pub fn evict(&self, bytes: u64, eviction: &Eviction) -> bool {
        eviction.note(bytes);
        self.leaving.store(bytes, Relaxed);
        let is_first = self.kill();
        if !is_first {
            self.has_left(eviction);
        }
        is_first
    }

    /// Ends its counting among those that were chosen and are not closed yet.
    pub(crate) fn has_left(&self, eviction: &Eviction) {
        eviction.forget(self.leaving.swap(0, Relaxed));
    }

    /// Asks its worker to close it; returns false if that was asked before.
    pub fn kill(&self) -> bool {
        let is_first = !self.doomed.swap(true, AcqRel);
        if is_first {
            self.notify(Notice::Close(self.id));
        }
        is_first
    }

    /// Returns true once it is to be closed; it is left out of lists from then on.
    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Relaxed)
    }

    /// Sends a notice to its worker.
    pub fn notify(&self, notice: Notice) {
        self.place.owner().post.send(notice);
    }

    /// Returns the way to its worker.
    pub(crate) fn post(&self) -> Arc<dyn Post> {
        self.place.owner().post
    }

    /// Returns its worker, which is the same from now on: for lists that outlast a command. The
    /// entry is a hint, and none if the connection is still on its way there.
    pub(crate) fn pin(&self) -> Owner {
        self.place.pin()
    }

    /// Has the worker `to` own the client; `send` sends the connection there. Returns false if the
    /// client has to stay where it is. For its worker's thread only.
    pub fn hand_over(&self, to: Owner, send: impl FnOnce()) -> bool {
        let sum = self.place.owner().sum;
        self.place.hand_over(Owner { entry: ON_ITS_WAY, ..to }, || {
            sum.change(self.counted.swap(0, Relaxed), 0);
            send();
        })
    }

    /// Takes note of the entry that its new worker has for it. For that worker's thread only.
    pub fn arrive(&self, entry: u32) {
        self.place.update(|owner| owner.entry = entry);
        self.count_memory();
    }
}

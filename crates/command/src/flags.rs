//! Facts about commands that have few values: flags, categories, families, the waiters that are
//! woken, the locks that are taken, the clients that are let in, and what it asks of the rights of
//! their users.

use bitflags::bitflags;
use session::Args;
use smallvec::SmallVec;

bitflags! {
    /// Flags of a command. The bits are stored nowhere; COMMAND INFO has names and order of its
    /// own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u32 {
        /// Changes data.
        const WRITE = 1 << 0;
        /// Reads data.
        const READONLY = 1 << 1;
        /// May need memory; refused when `maxmemory` is used up.
        const DENYOOM = 1 << 2;
        /// For administrators.
        const ADMIN = 1 << 3;
        /// Not for scripts.
        const NOSCRIPT = 1 << 4;
        /// Allowed while data is loaded.
        const LOADING = 1 << 5;
        /// Allowed on a replica without its primary.
        const STALE = 1 << 6;
        /// Takes constant or logarithmic time.
        const FAST = 1 << 7;
        /// Allowed without authentication.
        const NO_AUTH = 1 << 8;
        /// May block its client.
        const BLOCKING = 1 << 9;
        /// Allowed on a key that is on its way to this node of a cluster.
        const ASKING = 1 << 10;
        /// Not shown by MONITOR.
        const SKIP_MONITOR = 1 << 11;
        /// Allowed while the server is busy with a script.
        const ALLOW_BUSY = 1 << 12;
        /// Not in a transaction.
        const NO_MULTI = 1 << 13;
        /// Publishes or subscribes.
        const PUBSUB = 1 << 14;
        /// Not while a replica loads data beside its own.
        const NO_ASYNC_LOADING = 1 << 15;
        /// Refused while writes are refused because the disk fails, so that a health check by PING
        /// sees it. Not shown by COMMAND INFO.
        const TELLS_TROUBLE = 1 << 16;
        /// Not shown by the log of slow commands.
        const SKIP_COMMANDLOG = 1 << 17;
        /// Answers null, and not a null array, inside a transaction, where no command waits. Not
        /// shown by COMMAND INFO.
        const ANSWERS_NULL = 1 << 18;
        /// Selects the client's database by its first argument. Not shown by COMMAND INFO.
        const SELECTS = 1 << 19;
        /// Ends a transaction, so it is never queued. Not shown by COMMAND INFO.
        const ENDS_MULTI = 1 << 20;
        /// Runs the queued commands of a transaction. Not shown by COMMAND INFO.
        const RUNS_QUEUE = 1 << 21;
        /// Allowed to a subscriber that speaks RESP2. Not shown by COMMAND INFO.
        const WHILE_SUBSCRIBED = 1 << 22;
        /// For servers and their tests. Not shown by COMMAND INFO, but by COMMAND DOCS.
        const SYSTEM = 1 << 23;
        /// Reads, but may change how a value is kept, which has to reach replicas. Not shown by
        /// COMMAND INFO.
        const MAY_REPLICATE = 1 << 24;
        /// Its request may name no key.
        const NO_MANDATORY_KEYS = 1 << 25;
        /// Changes which scripts there are. Not shown by COMMAND INFO.
        const CHANGES_SCRIPTS = 1 << 26;
    }

    /// ACL categories, in the order of Valkey.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Categories: u32 {
        /// On keys of any kind.
        const KEYSPACE = 1 << 0;
        /// Read data.
        const READ = 1 << 1;
        /// Change data.
        const WRITE = 1 << 2;
        /// On sets.
        const SET = 1 << 3;
        /// On sorted sets.
        const SORTEDSET = 1 << 4;
        /// On lists.
        const LIST = 1 << 5;
        /// On hashes.
        const HASH = 1 << 6;
        /// On strings.
        const STRING = 1 << 7;
        /// On bitmaps.
        const BITMAP = 1 << 8;
        /// On HyperLogLogs.
        const HYPERLOGLOG = 1 << 9;
        /// On places in sorted sets.
        const GEO = 1 << 10;
        /// On streams.
        const STREAM = 1 << 11;
        /// Publish or subscribe.
        const PUBSUB = 1 << 12;
        /// For administrators.
        const ADMIN = 1 << 13;
        /// Take constant or logarithmic time.
        const FAST = 1 << 14;
        /// May take longer.
        const SLOW = 1 << 15;
        /// May block its client.
        const BLOCKING = 1 << 16;
        /// May harm other clients, or reveal facts about them.
        const DANGEROUS = 1 << 17;
        /// On connections.
        const CONNECTION = 1 << 18;
        /// Of transactions.
        const TRANSACTION = 1 << 19;
        /// Of scripts and functions.
        const SCRIPTING = 1 << 20;
    }
}

/// Family of a command, as COMMAND DOCS and ACL categories name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the command reference")]
pub enum Group {
    String,
    Bitmap,
    List,
    Hash,
    Set,
    SortedSet,
    Stream,
    Geo,
    HyperLogLog,
    Generic,
    Connection,
    Server,
    Scripting,
    Transactions,
    PubSub,
    Cluster,
}

impl Categories {
    /// The names of all categories, in the order of Valkey, with their bits.
    pub fn names() -> impl Iterator<Item = (&'static str, u32)> {
        NAMES.into_iter().zip(Categories::all().iter()).map(|(name, it)| (name, it.bits()))
    }
}

/// Names of the categories, in the order of their bits.
const NAMES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

impl Group {
    /// Name in COMMAND DOCS.
    pub fn name(self) -> &'static str {
        match self {
            Group::String => "string",
            Group::Bitmap => "bitmap",
            Group::List => "list",
            Group::Hash => "hash",
            Group::Set => "set",
            Group::SortedSet => "sorted-set",
            Group::Stream => "stream",
            Group::Geo => "geo",
            Group::HyperLogLog => "hyperloglog",
            Group::Generic => "generic",
            Group::Connection => "connection",
            Group::Server => "server",
            Group::Scripting => "scripting",
            Group::Transactions => "transactions",
            Group::PubSub => "pubsub",
            Group::Cluster => "cluster",
        }
    }

    /// The ACL category of its commands.
    pub(crate) const fn category(self) -> Categories {
        match self {
            Group::String => Categories::STRING,
            Group::Bitmap => Categories::BITMAP,
            Group::List => Categories::LIST,
            Group::Hash => Categories::HASH,
            Group::Set => Categories::SET,
            Group::SortedSet => Categories::SORTEDSET,
            Group::Stream => Categories::STREAM,
            Group::Geo => Categories::GEO,
            Group::HyperLogLog => Categories::HYPERLOGLOG,
            Group::Generic => Categories::KEYSPACE,
            Group::Connection => Categories::CONNECTION,
            Group::Server => Categories::empty(),
            Group::Scripting => Categories::SCRIPTING,
            Group::Transactions => Categories::TRANSACTION,
            Group::PubSub | Group::Cluster => Categories::empty(),
        }
    }
}

/// Waiters that a command wakes when it has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakes {
    /// Waiters of the keys that it names, in the database of its client: no others get anything.
    ItsKeys,
    /// Waiters of its keys in any database: it writes to another one than the client's.
    ItsKeysAnywhere,
    /// Any waiter, after it has ended: it closes the gate, which a thread that holds locks must not
    /// do.
    AnyoneAfterwards,
    /// No waiter: nothing that it changes can be waited for, or it only takes.
    Nobody,
}

/// Locks that a command takes in a transaction, whose locks are all taken before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// Those of the keys that it names.
    ItsKeys,
    /// All: the data tells which keys it reaches.
    All,
    /// All in a unit. By itself, those that are free when it looks at them: it needs none.
    AllFree,
    /// None: it closes the gate, which a thread that holds locks must not do.
    Gate,
}

/// Clients that settings let run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetsIn {
    /// All.
    Everybody,
    /// Those that `enable-debug-command` names.
    Debuggers,
    /// None.
    Nobody,
}

/// Channels among the arguments of a command that its user needs the right to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamesChannels {
    /// None.
    No,
    /// Its first argument.
    First,
    /// All arguments.
    All,
    /// All arguments, which are patterns.
    Patterns,
}

/// Databases that a command reaches.
#[derive(Clone, Copy, Debug)]
pub enum ReachesDatabases {
    /// The one that its client has selected, if it has to do with keys.
    Selected,
    /// Those that its arguments name, and the selected one if it has keys.
    Named(FindDatabases),
    /// All.
    All,
}

/// Function that finds arguments which name databases, by their places; none if one of them is no
/// number. Whether a database of that number exists is not looked at.
pub type FindDatabases = fn(&Args<'_>) -> SmallVec<[(usize, i64); 2]>;

//! Rows of the command table: every fact about a command.
//!
//! A row is generic over its handler, since a handler works on a `Call`, and a call knows its row:
//! `call::Command` is a row whose handler is a `call::Handler`.

use crate::argument_fact::ArgumentFacts;
use crate::key_spec::{self, FindKeys, KeySpec};
use crate::secrets::{FindSecrets, no_secrets};
use crate::tips::Tips;
use bitflags::bitflags;
use session::Needs;

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
    const fn category(self) -> Categories {
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

/// Row of the command table.
#[derive(Debug)]
pub struct CommandSpec<Run: 'static> {
    /// Name in upper case; of a subcommand, without the name of its parent.
    pub name: &'static str,
    /// Number of arguments, the name included; a negative number is a minimum.
    pub arity: i16,
    /// Flags, as COMMAND INFO shows them.
    pub flags: Flags,
    /// Key specifications: places and use of the keys.
    pub keys: &'static [KeySpec],
    /// Function that finds the keys of a request.
    pub find_keys: FindKeys,
    /// Function that finds arguments that logs must not show.
    pub secrets: FindSecrets,
    /// Position of the first argument that names a field of the hash at the first key, so that
    /// fields can be prefetched; zero for none.
    pub field_at: usize,
    /// Clients that settings let run it.
    pub lets_in: LetsIn,
    /// Locks that it takes.
    pub locks: Locks,
    /// Waiters that it wakes, if it writes.
    pub wakes: Wakes,
    /// Its family.
    pub group: Group,
    /// ACL categories, except those that follow from its flags.
    pub categories: Categories,
    /// Tips for clients that route commands in a cluster.
    pub tips: Tips,
    /// Version of the reference server that introduced it.
    pub since: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// How its time grows, as COMMAND DOCS shows it; empty where nothing is told.
    pub complexity: &'static str,
    /// Its arguments as the manual writes them: `key value [NX | XX] [GET] [EX seconds | ...]`.
    pub syntax: &'static str,
    /// Facts about its arguments that the syntax does not tell.
    pub arguments: ArgumentFacts,
    /// Versions that changed it, oldest first, each with what changed.
    pub history: &'static [(&'static str, &'static str)],
    /// Handler; of a command with subcommands, for requests without one.
    pub run: Run,
    /// Rows of its subcommands.
    pub subcommands: &'static [CommandSpec<Run>],
}

impl<Run: Copy + 'static> CommandSpec<Run> {
    /// Creates a row without keys, subcommands, summary and syntax, on which a family's own rows
    /// are based.
    pub const fn plain(
        group: Group,
        name: &'static str,
        arity: i16,
        flags: Flags,
        since: &'static str,
        run: Run,
    ) -> CommandSpec<Run> {
        CommandSpec {
            name,
            arity,
            flags,
            keys: &[],
            find_keys: key_spec::find,
            secrets: no_secrets,
            field_at: 0,
            lets_in: LetsIn::Everybody,
            locks: Locks::ItsKeys,
            wakes: Wakes::ItsKeys,
            group,
            categories: group.category(),
            tips: &[],
            since,
            summary: "",
            complexity: "",
            syntax: "",
            arguments: &[],
            history: &[],
            run,
            subcommands: &[],
        }
    }
}

impl<Run> CommandSpec<Run> {
    /// Returns true if a request of `len` arguments has a valid number of them.
    #[inline]
    pub fn accepts(&self, len: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity >= 0 { len == arity } else { len >= arity }
    }

    /// Returns true if its replies are pushes, as those of SUBSCRIBE.
    pub fn replies_by_push(&self) -> bool {
        self.flags.contains(Flags::PUBSUB.union(Flags::WHILE_SUBSCRIBED))
    }

    /// All its ACL categories.
    pub fn all_categories(&self) -> Categories {
        let has = |flag| self.flags.contains(flag);
        let is_script = self.categories.contains(Categories::SCRIPTING);
        let mut all = self.categories;
        all.set(Categories::READ, has(Flags::READONLY) && !is_script);
        all.set(Categories::WRITE, has(Flags::WRITE));
        all.set(Categories::PUBSUB, has(Flags::PUBSUB));
        all.set(Categories::FAST, has(Flags::FAST));
        all.set(Categories::SLOW, !has(Flags::FAST));
        all.set(Categories::BLOCKING, has(Flags::BLOCKING));
        if has(Flags::ADMIN) {
            all |= Categories::ADMIN | Categories::DANGEROUS;
        }
        all
    }

    /// Returns the needs of the command, from its flags and keys.
    pub fn needs(&self) -> Needs {
        let has = |flags| self.flags.intersects(flags);
        let writes = has(Flags::WRITE);
        // Any command may be one that the user may not run, or that is queued or postponed.
        let mut needs = Needs::PERMITTED | Needs::UNPAUSED;
        needs.set(Needs::NO_TRANSACTION, !has(Flags::ENDS_MULTI));
        needs.set(Needs::QUEUE, has(Flags::RUNS_QUEUE));
        needs.set(Needs::AUTHENTICATED, !has(Flags::NO_AUTH));
        needs.set(Needs::SLOT, !self.keys.is_empty());
        needs.set(Needs::MEMORY, has(Flags::DENYOOM));
        needs.set(Needs::REPLICAS | Needs::PRIMARY, writes);
        needs.set(Needs::DISK, writes || has(Flags::TELLS_TROUBLE));
        needs.set(Needs::UNSUBSCRIBED, !has(Flags::WHILE_SUBSCRIBED));
        needs.set(Needs::FRESH, !has(Flags::STALE));
        needs.set(Needs::LOADED, !has(Flags::LOADING));
        needs.set(Needs::LET_IN, self.lets_in != LetsIn::Everybody);
        needs.set(Needs::IDLE, !has(Flags::ALLOW_BUSY));
        let may_write = writes || has(Flags::MAY_REPLICATE);
        needs.set(Needs::WRITES_FLOW, may_write);
        // What is published is no change of data.
        needs.set(Needs::JOURNAL_ROOM, may_write && !has(Flags::PUBSUB));
        needs.set(Needs::EVENT_ROOM, writes || !self.keys.is_empty());
        needs.set(Needs::MAIL_ROOM, has(Flags::PUBSUB) && may_write);
        let is_shown = !has(Flags::SKIP_MONITOR.union(Flags::ADMIN));
        needs.set(Needs::UNMONITORED | Needs::LINE_ROOM, is_shown);
        needs.insert(Needs::UNTRACKED);
        needs.set(Needs::NO_MONITOR, may_write || has(Flags::READONLY));
        needs
    }
}

//! What a row of the command table says.

use crate::call::{Call, Outcome};
use bitflags::bitflags;

/// Does the command: reads arguments, works on the store, writes one reply.
pub type Run = fn(&mut Call<'_>) -> Outcome;

bitflags! {
    /// What COMMAND INFO tells about a command.
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
        /// May wait for others.
        const BLOCKING = 1 << 9;
        /// Its keys are found by looking at its arguments.
        const MOVABLE_KEYS = 1 << 10;
        /// Not shown by MONITOR.
        const SKIP_MONITOR = 1 << 11;
        /// Allowed while the server is busy with a script.
        const ALLOW_BUSY = 1 << 12;
        /// Not in a transaction.
        const NO_MULTI = 1 << 13;
        /// Publishes or subscribes.
        const PUBSUB = 1 << 14;
        /// Reads, but may change how a value is kept, which replicas must hear of. COMMAND INFO
        /// does
        /// not tell it.
        const MAY_REPLICATE = 1 << 15;
    }

    /// What a command does to a key, as COMMAND GETKEYSANDFLAGS tells.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KeyFlags: u16 {
        /// Reads.
        const RO = 1 << 0;
        /// Reads and writes.
        const RW = 1 << 1;
        /// Writes without reading.
        const OW = 1 << 2;
        /// Removes.
        const RM = 1 << 3;
        /// Returns the value or something from it.
        const ACCESS = 1 << 4;
        /// Changes the value depending on what it was.
        const UPDATE = 1 << 5;
        /// Adds to the value.
        const INSERT = 1 << 6;
        /// Takes from the value.
        const DELETE = 1 << 7;
        /// The flags depend on the arguments.
        const VARIABLE = 1 << 8;
    }

    /// What must be given for a command to run; a worker grants what holds at present.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Needs: u8 {
        /// The client is authenticated.
        const AUTHENTICATED = 1 << 0;
        /// There is memory for more data.
        const MEMORY = 1 << 1;
    }
}

/// The family that COMMAND DOCS and ACL categories name.
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
}

impl Group {
    /// As COMMAND DOCS writes it.
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
        }
    }
}

/// Where the keys stand among the arguments: first, last (negative: from the end), step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// Position of the first key; zero for none.
    pub first: i16,
    /// Position of the last key; negative ones count from the end.
    pub last: i16,
    /// Arguments from one key to the next.
    pub step: i16,
    /// What happens to them.
    pub flags: KeyFlags,
}

impl KeySpec {
    /// No keys.
    pub const NONE: KeySpec = KeySpec { first: 0, last: 0, step: 0, flags: KeyFlags::empty() };

    /// One key, the first argument.
    pub const fn one(flags: KeyFlags) -> KeySpec {
        KeySpec { first: 1, last: 1, step: 1, flags }
    }

    /// Every argument is a key.
    pub const fn all(flags: KeyFlags) -> KeySpec {
        KeySpec { first: 1, last: -1, step: 1, flags }
    }

    /// Positions of the keys in a request of `len` words.
    pub fn positions(self, len: usize) -> impl Iterator<Item = usize> {
        let last = if self.last < 0 { len as i64 + i64::from(self.last) } else { self.last.into() };
        let end = if self.first == 0 { 0 } else { (last + 1).clamp(0, len as i64) as usize };
        (self.first as usize..end).step_by(self.step.max(1) as usize)
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct CommandSpec {
    /// Upper case; of a subcommand, its own word.
    pub name: &'static str,
    /// Words, the name included; negative: at least so many.
    pub arity: i16,
    /// What COMMAND INFO tells.
    pub flags: Flags,
    /// Where the keys are.
    pub keys: KeySpec,
    /// Its family.
    pub group: Group,
    /// Version of the protocol's reference in which it came.
    pub since: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Its arguments as the manual writes them: `key value [NX | XX] [GET] [EX seconds | ...]`.
    pub syntax: &'static str,
    /// The handler. A command with subcommands has one for a call without.
    pub run: Run,
    /// Rows of its subcommands.
    pub subcommands: &'static [CommandSpec],
}

impl CommandSpec {
    /// A row without keys, subcommands and words for people: what a family's own rows begin with.
    pub const fn plain(
        group: Group,
        name: &'static str,
        arity: i16,
        flags: Flags,
        since: &'static str,
        run: Run,
    ) -> CommandSpec {
        CommandSpec {
            name,
            arity,
            flags,
            keys: KeySpec::NONE,
            group,
            since,
            summary: "",
            syntax: "",
            run,
            subcommands: &[],
        }
    }

    /// Whether a request of `len` words has the right number.
    #[inline]
    pub fn accepts(&self, len: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity >= 0 { len == arity } else { len >= arity }
    }

    /// What must be given for the command to run.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::empty();
        needs.set(Needs::AUTHENTICATED, !self.flags.contains(Flags::NO_AUTH));
        needs.set(Needs::MEMORY, self.flags.contains(Flags::DENYOOM));
        needs
    }
}

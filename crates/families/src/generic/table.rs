//! Rows of the commands on keys of any kind.

use super::{copy, dump, expire, keys, migrate, object, scan, sort, wait};
use crate::server::help::help;
use command::ArgumentFact::{Display, Name, Since, SpecIndex, Type};
use command::rights::numbers_at;
use command::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, Locks, ReachesDatabases, Wakes,
    tips,
};

const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE);

const SORTS: Flags = Flags::WRITE.union(Flags::DENYOOM);

const READS: KeyFlags = KeyFlags::RO;
const LOOKS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const MOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS);
const REMOVES: KeyFlags = KeyFlags::RM.union(KeyFlags::DELETE);
const CHANGED: &[KeySpec] = &[KeySpec::one(CHANGES)];
const LOOKED_AT: &[KeySpec] = &[KeySpec::one(LOOKS)];
const LOOKED_BEHIND: &[KeySpec] = &[KeySpec::at(2, READS)];
const TAKES: KeyFlags = MOVES.union(KeyFlags::DELETE);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);
const WRITTEN: &[KeySpec] = &[KeySpec::one(SETS)];

/// Categories of SORT: those of the kinds that it sorts, and DANGEROUS.
const SORTING: Categories = Categories::SET
    .union(Categories::SORTEDSET)
    .union(Categories::LIST)
    .union(Categories::DANGEROUS);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(LOOKS), KeySpec::at(2, SETS)],
        databases: ReachesDatabases::Named(copy::databases_of_copy),
        wakes: Wakes::ItsKeysAnywhere,
        summary: "Copies the value of a key to another key.",
        syntax: "source destination [DB destination-db] [REPLACE]",
        complexity: "O(N), N elements of the value",
        ..row("COPY", -3, Flags::WRITE.union(Flags::DENYOOM), "6.2.0", copy::copy)
    },
    Command {
        keys: &[KeySpec::all(REMOVES)],
        tips: tips::MULTI_SHARD_SUMMED,
        summary: "Removes keys.",
        syntax: "key [key ...]",
        complexity: "O(N), N keys",
        ..row("DEL", -2, Flags::WRITE, "1.0.0", keys::del)
    },
    Command {
        keys: LOOKED_AT,
        tips: tips::NONDETERMINISTIC,
        summary: "Returns a value as bytes that RESTORE takes.",
        syntax: "key",
        complexity: "O(N), N bytes of the value",
        ..row("DUMP", 2, Flags::READONLY, "2.6.0", dump::dump)
    },
    Command {
        keys: &[KeySpec::all(READS)],
        tips: tips::MULTI_SHARD_SUMMED,
        summary: "Counts those of the keys that exist.",
        syntax: "key [key ...]",
        complexity: "O(N), N keys",
        history: &[("3.0.3", "Several keys.")],
        ..row("EXISTS", -2, READ_FAST, "1.0.0", keys::exists)
    },
    Command {
        summary: "Sets how many seconds a key has left.",
        syntax: "key seconds [NX | XX | GT | LT]",
        arguments: &[("condition", Since("7.0.0"))],
        complexity: "O(1)",
        history: &[("7.0.0", "NX, XX, GT and LT.")],
        ..expiring("EXPIRE", "1.0.0", expire::expire)
    },
    Command {
        summary: "Sets the Unix time in seconds at which a key ends.",
        syntax: "key unix-time-seconds [NX | XX | GT | LT]",
        arguments: &[("condition", Since("7.0.0"))],
        complexity: "O(1)",
        history: &[("7.0.0", "NX, XX, GT and LT.")],
        ..expiring("EXPIREAT", "1.2.0", expire::expireat)
    },
    Command {
        summary: "Tells the Unix time in seconds at which a key ends.",
        complexity: "O(1)",
        ..looking_at_deadline("EXPIRETIME", "7.0.0", expire::expiretime)
    },
    Command {
        locks: Locks::All,
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        tips: tips::ALL_SHARDS_UNORDERED,
        summary: "Lists all keys that match a pattern.",
        syntax: "pattern",
        complexity: "O(N), N keys of the database",
        ..row("KEYS", 2, Flags::READONLY, "1.0.0", scan::keys)
    },
    Command {
        keys: &[
            KeySpec::at(3, TAKES),
            KeySpec::rest("KEYS", -2, TAKES.union(KeyFlags::INCOMPLETE)),
        ],
        find_keys: migrate::keys,
        // The thread that sends the keys serves the waiters that their loss concerns.
        wakes: Wakes::Nobody,
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        tips: tips::NONDETERMINISTIC,
        summary: "Moves keys to another server.",
        syntax: "host port <key | \"\"> destination-db timeout [COPY] [REPLACE] [AUTH \
                 password | AUTH2 username password] [KEYS key [key ...]]",
        secrets: migrate::secrets,
        arguments: &[
            ("operation", Name("key-selector")),
            ("", Name("empty-string")),
            ("COPY", Since("3.0.0")),
            ("REPLACE", Since("3.0.0")),
            ("operation", Name("authentication")),
            ("AUTH", Name("auth")),
            ("AUTH", Display("password")),
            ("AUTH", Since("4.0.7")),
            ("AUTH2", Since("6.0.0")),
            ("KEYS", Name("keys")),
            ("KEYS", Display("key")),
            ("KEYS", Since("3.0.6")),
        ],
        complexity: "O(N), N bytes of the value",
        history: &[
            ("3.0.0", "COPY and REPLACE."),
            ("3.0.6", "KEYS."),
            ("4.0.7", "AUTH."),
            ("6.0.0", "AUTH2."),
        ],
        ..row("MIGRATE", -6, Flags::WRITE, "2.6.0", migrate::migrate)
    },
    Command {
        keys: &[KeySpec::one(MOVES.union(KeyFlags::UPDATE))],
        databases: ReachesDatabases::Named(|args| numbers_at(args, &[2])),
        wakes: Wakes::ItsKeysAnywhere,
        summary: "Moves a key to another database.",
        syntax: "key db",
        complexity: "O(1)",
        ..row("MOVE", 3, WRITE_FAST, "1.0.0", copy::move_key)
    },
    Command {
        summary: "Looks behind values, at how they are kept.",
        ..Command::parent(Group::Generic, "OBJECT", "2.2.3", OBJECT)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Takes the deadline of a key away.",
        syntax: "key",
        complexity: "O(1)",
        ..row("PERSIST", 2, WRITE_FAST, "2.2.0", expire::persist)
    },
    Command {
        summary: "Sets how many milliseconds a key has left.",
        syntax: "key milliseconds [NX | XX | GT | LT]",
        arguments: &[("condition", Since("7.0.0"))],
        complexity: "O(1)",
        history: &[("7.0.0", "NX, XX, GT and LT.")],
        ..expiring("PEXPIRE", "2.6.0", expire::pexpire)
    },
    Command {
        summary: "Sets the Unix time in milliseconds at which a key ends.",
        syntax: "key unix-time-milliseconds [NX | XX | GT | LT]",
        arguments: &[("condition", Since("7.0.0"))],
        complexity: "O(1)",
        history: &[("7.0.0", "NX, XX, GT and LT.")],
        ..expiring("PEXPIREAT", "2.6.0", expire::pexpireat)
    },
    Command {
        summary: "Tells the Unix time in milliseconds at which a key ends.",
        complexity: "O(1)",
        ..looking_at_deadline("PEXPIRETIME", "7.0.0", expire::pexpiretime)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells how many milliseconds a key has left.",
        complexity: "O(1)",
        history: &[("2.8.0", "The reply -2 for a missing key.")],
        ..looking_at_deadline("PTTL", "2.6.0", expire::pttl)
    },
    Command {
        locks: Locks::All,
        tips: tips::ONE_OF_ALL_SHARDS,
        summary: "Picks a key by chance.",
        complexity: "O(1)",
        ..row("RANDOMKEY", 1, Flags::READONLY, "1.0.0", scan::randomkey)
    },
    Command {
        keys: &[KeySpec::one(TAKES), KeySpec::at(2, SETS)],
        summary: "Gives a key another name, whatever had it before.",
        syntax: "key newkey",
        complexity: "O(1)",
        ..row("RENAME", 3, Flags::WRITE, "1.0.0", copy::rename)
    },
    Command {
        keys: &[KeySpec::one(TAKES), KeySpec::at(2, KeyFlags::OW.union(KeyFlags::INSERT))],
        summary: "Gives a key another name, unless a key has it.",
        syntax: "key newkey",
        complexity: "O(1)",
        history: &[("3.2.0", "Two equal names are no error.")],
        ..row("RENAMENX", 3, WRITE_FAST, "1.0.0", copy::renamenx)
    },
    restoring("RESTORE", "2.6.0", Flags::empty()),
    Command {
        group: Group::Server,
        ..restoring("RESTORE-ASKING", "3.0.0", Flags::ASKING.union(Flags::SYSTEM))
    },
    Command {
        locks: Locks::All,
        tips: tips::CURSOR,
        summary: "Goes over the keys of the database, a few with each call.",
        syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        arguments: &[("TYPE", Since("6.0.0"))],
        complexity: "O(N), N keys looked at; O(M) for a whole iteration, M keys",
        history: &[("6.0.0", "TYPE.")],
        ..row("SCAN", -2, Flags::READONLY, "2.8.0", scan::scan)
    },
    Command {
        locks: Locks::All,
        keys: &[KeySpec::one(LOOKS), KeySpec::unknown(LOOKS), KeySpec::unknown(SETS)],
        find_keys: sort::keys,
        categories: SORTING,
        summary: "Puts the elements of a list, a set or a sorted set in order.",
        syntax: "key [BY by-pattern] [LIMIT offset count] [GET get-pattern ...] [ASC | DESC] \
                 [ALPHA] [STORE destination]",
        arguments: &[
            ("BY", Display("pattern")),
            ("BY", SpecIndex(1)),
            ("GET", Display("pattern")),
            ("GET", SpecIndex(1)),
            ("ALPHA", Name("sorting")),
            ("STORE", SpecIndex(2)),
        ],
        complexity: "O(N+M log M), N elements sorted, M elements returned",
        ..row("SORT", -2, SORTS, "1.0.0", sort::sort)
    },
    Command {
        locks: Locks::All,
        keys: &[KeySpec::one(LOOKS), KeySpec::unknown(LOOKS)],
        categories: SORTING,
        summary: "Does what SORT does, but stores nothing.",
        syntax: "key [BY by-pattern] [LIMIT offset count] [GET get-pattern ...] [ASC | DESC] \
                 [ALPHA]",
        arguments: &[
            ("BY", Display("pattern")),
            ("BY", SpecIndex(1)),
            ("GET", Display("pattern")),
            ("GET", SpecIndex(1)),
            ("ALPHA", Name("sorting")),
        ],
        complexity: "O(N+M log M), N elements sorted, M elements returned",
        ..row("SORT_RO", -2, Flags::READONLY, "7.0.0", sort::sort_ro)
    },
    Command {
        keys: &[KeySpec::all(READS)],
        tips: tips::MULTI_SHARD_SUMMED,
        summary: "Notes an access to keys, and counts those that exist.",
        syntax: "key [key ...]",
        complexity: "O(N), N keys",
        ..row("TOUCH", -2, READ_FAST, "3.2.1", keys::touch)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells how many seconds a key has left.",
        complexity: "O(1)",
        history: &[("2.8.0", "The reply -2 for a missing key.")],
        ..looking_at_deadline("TTL", "1.0.0", expire::ttl)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Tells what kind of value a key holds.",
        syntax: "key",
        complexity: "O(1)",
        ..row("TYPE", 2, READ_FAST, "1.0.0", keys::type_of)
    },
    Command {
        keys: &[KeySpec::all(REMOVES)],
        tips: tips::MULTI_SHARD_SUMMED,
        summary: "Removes keys, and leaves freeing their memory for later.",
        syntax: "key [key ...]",
        complexity: "O(N), N keys",
        ..row("UNLINK", -2, WRITE_FAST, "4.0.0", keys::del)
    },
    Command {
        categories: Categories::CONNECTION,
        tips: tips::ALL_SHARDS_LEAST,
        summary: "Waits until replicas have acknowledged what the client wrote.",
        syntax: "numreplicas timeout",
        complexity: "O(1)",
        ..row("WAIT", 3, Flags::BLOCKING, "3.0.0", wait::wait)
    },
    Command {
        categories: Categories::CONNECTION,
        tips: tips::ALL_SHARDS_LEAST,
        summary: "Waits until the append-only file, and those of replicas, hold what the client \
                  wrote.",
        syntax: "numlocal numreplicas timeout",
        complexity: "O(1)",
        arguments: &[("numlocal", Type("integer"))],
        ..row("WAITAOF", 4, Flags::BLOCKING, "7.2.0", wait::wait_aof)
    },
];

const OBJECT: &[Command] = &[
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Names the way in which a value is kept.",
        complexity: "O(1)",
        ..looking_behind("ENCODING", "2.2.3", object::encoding)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells how often a key is used, as a logarithm.",
        complexity: "O(1)",
        ..looking_behind("FREQ", "4.0.0", object::freq)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells about how many seconds ago a key was used.",
        complexity: "O(1)",
        ..looking_behind("IDLETIME", "2.2.3", object::idletime)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Counts who refers to a value.",
        complexity: "O(1)",
        ..looking_behind("REFCOUNT", "2.2.3", object::refcount)
    },
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ANY_TIME, "6.2.0", help)
    },
];

const fn expiring(name: &'static str, since: &'static str, run: Handler) -> Command {
    Command { keys: CHANGED, ..row(name, -3, WRITE_FAST, since, run) }
}

const fn restoring(name: &'static str, since: &'static str, also: Flags) -> Command {
    Command {
        keys: WRITTEN,
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        summary: "Creates a key with a value that DUMP returned.",
        syntax: "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        arguments: &[
            ("ttl", Type("integer")),
            ("REPLACE", Since("3.0.0")),
            ("ABSTTL", Since("5.0.0")),
            ("IDLETIME", Since("5.0.0")),
            ("FREQ", Since("5.0.0")),
        ],
        complexity: "O(N), N bytes of the value",
        history: &[("3.0.0", "REPLACE."), ("5.0.0", "ABSTTL."), ("5.0.0", "IDLETIME and FREQ.")],
        ..row(name, -4, SORTS.union(also), since, dump::restore)
    }
}

const fn looking_at_deadline(name: &'static str, since: &'static str, run: Handler) -> Command {
    Command { keys: LOOKED_AT, syntax: "key", ..row(name, 2, READ_FAST, since, run) }
}

const fn looking_behind(name: &'static str, since: &'static str, run: Handler) -> Command {
    Command { keys: LOOKED_BEHIND, syntax: "key", ..row(name, 3, Flags::READONLY, since, run) }
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Generic, name, arity, flags, since, run)
}

//! The rows of the hash family.

use super::{count, expire, random, read, scan, take, write};
use command::ArgumentFact::{Name, Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, tips};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE_FAST: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
/// Flags of writes that need no memory, or little.
const FREE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const UPDATES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const CHANGES: KeyFlags = UPDATES.union(KeyFlags::ACCESS);
const INSERTS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const REMOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);
const TAKES: KeyFlags = REMOVES.union(KeyFlags::ACCESS);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(REMOVES)],
        field_at: 2,
        summary: "Removes fields of a hash, and the key with the last one.",
        syntax: "key field [field ...]",
        complexity: "O(N), N fields named",
        history: &[("2.4.0", "Several fields.")],
        ..row("HDEL", -3, FREE_FAST, "2.0.0", write::hdel)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        field_at: 2,
        summary: "Tells whether a hash has a field.",
        syntax: "key field",
        complexity: "O(1)",
        ..row("HEXISTS", 3, READ_FAST, "2.0.0", read::hexists)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Sets after how many seconds fields of a hash end.",
        syntax: "key seconds [NX | XX | GT | LT] <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HEXPIRE", -6, FREE_FAST, "9.0.0", expire::hexpire)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Sets the second at which fields of a hash end.",
        syntax: "key unix-time-seconds [NX | XX | GT | LT] <FIELDS numfields field \
                 [field ...]>",
        arguments: &[("unix-time-seconds", Type("integer")), ("condition", Since("9.0.0"))],
        complexity: "O(N), N fields named",
        ..row("HEXPIREAT", -6, FREE_FAST, "9.0.0", expire::hexpireat)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the second at which fields of a hash end.",
        syntax: "key <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HEXPIRETIME", -5, READ_FAST, "9.0.0", expire::hexpiretime)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        field_at: 2,
        summary: "Returns the value of a field.",
        syntax: "key field",
        complexity: "O(1)",
        ..row("HGET", 3, READ_FAST, "2.0.0", read::hget)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns all fields of a hash with their values.",
        syntax: "key",
        complexity: "O(N), N fields of the hash",
        ..row("HGETALL", 2, READ, "2.0.0", read::hgetall)
    },
    Command {
        keys: &[KeySpec::one(TAKES)],
        summary: "Returns the values of fields and removes the fields.",
        syntax: "key <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HGETDEL", -5, FREE_FAST, "9.1.0", take::hgetdel)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Returns the values of fields and sets or takes away their deadlines.",
        syntax: "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT \
                 unix-time-milliseconds | PERSIST] <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HGETEX", -5, FREE_FAST, "9.0.0", take::hgetex)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        field_at: 2,
        summary: "Adds a number to the integer of a field, where none counts as zero.",
        syntax: "key field increment",
        complexity: "O(1)",
        ..row("HINCRBY", 4, WRITE_FAST, "2.0.0", count::hincrby)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        field_at: 2,
        summary: "Adds a decimal number to that of a field, where none counts as zero.",
        syntax: "key field increment",
        arguments: &[("increment", Type("double"))],
        complexity: "O(1)",
        ..row("HINCRBYFLOAT", 4, WRITE_FAST, "2.6.0", count::hincrbyfloat)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns the names of all fields of a hash.",
        syntax: "key",
        complexity: "O(N), N fields of the hash",
        ..row("HKEYS", 2, READ, "2.0.0", read::hkeys)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Returns the number of fields of a hash.",
        syntax: "key",
        complexity: "O(1)",
        ..row("HLEN", 2, READ_FAST, "2.0.0", read::hlen)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        field_at: 2,
        summary: "Returns the values of several fields.",
        syntax: "key field [field ...]",
        complexity: "O(N), N fields named",
        ..row("HMGET", -3, READ_FAST, "2.0.0", read::hmget)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        field_at: 2,
        summary: "Sets several fields of a hash.",
        syntax: "key field value [field value ...]",
        complexity: "O(N), N fields named",
        ..row("HMSET", -4, WRITE_FAST, "2.0.0", write::hmset)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Takes away the deadlines of fields.",
        syntax: "key <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HPERSIST", -5, FREE_FAST, "9.0.0", expire::hpersist)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Sets after how many milliseconds fields of a hash end.",
        syntax: "key milliseconds [NX | XX | GT | LT] <FIELDS numfields field [field \
                 ...]>",
        arguments: &[("condition", Since("9.0.0"))],
        complexity: "O(N), N fields named",
        ..row("HPEXPIRE", -6, FREE_FAST, "9.0.0", expire::hpexpire)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Sets the millisecond at which fields of a hash end.",
        syntax: "key unix-time-milliseconds [NX | XX | GT | LT] <FIELDS numfields field \
                 [field ...]>",
        arguments: &[("unix-time-milliseconds", Type("integer")), ("condition", Since("9.0.0"))],
        complexity: "O(N), N fields named",
        ..row("HPEXPIREAT", -6, FREE_FAST, "9.0.0", expire::hpexpireat)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the millisecond at which fields of a hash end.",
        syntax: "key <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HPEXPIRETIME", -5, READ_FAST, "9.0.0", expire::hpexpiretime)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how many milliseconds fields of a hash have left.",
        syntax: "key <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HPTTL", -5, READ_FAST, "9.0.0", expire::hpttl)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Returns fields of a hash by chance.",
        syntax: "key [count [WITHVALUES]]",
        arguments: &[("count-withvalues", Name("options"))],
        complexity: "O(N), N fields returned",
        ..row("HRANDFIELD", -2, READ, "6.2.0", random::hrandfield)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Walks over the fields of a hash, some with each call.",
        syntax: "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
        complexity: "O(N), N elements looked at; O(M) for a whole iteration, M elements",
        ..row("HSCAN", -3, READ, "2.8.0", scan::hscan)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        field_at: 2,
        summary: "Sets fields of a hash, which is created if there is none.",
        syntax: "key field value [field value ...]",
        complexity: "O(N), N fields named",
        history: &[("4.0.0", "Several fields.")],
        ..row("HSET", -4, WRITE_FAST, "2.0.0", write::hset)
    },
    Command {
        keys: &[KeySpec::one(INSERTS)],
        summary: "Sets fields of a hash, on conditions and with a deadline if wanted.",
        syntax: "key [NX | XX] [FNX | FXX] [EX seconds | PX milliseconds | EXAT \
                 unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] <FIELDS \
                 numfields field value [field value ...]>",
        arguments: &[("condition", Name("key-condition")), ("condition", Name("fields-condition"))],
        complexity: "O(N), N fields named",
        ..row("HSETEX", -6, WRITE_FAST, "9.0.0", write::hsetex)
    },
    Command {
        keys: &[KeySpec::one(INSERTS)],
        field_at: 2,
        summary: "Sets a field of a hash unless it exists.",
        syntax: "key field value",
        complexity: "O(1)",
        ..row("HSETNX", 4, WRITE_FAST, "2.0.0", write::hsetnx)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        field_at: 2,
        summary: "Returns the number of bytes of a value.",
        syntax: "key field",
        complexity: "O(1)",
        ..row("HSTRLEN", 3, READ_FAST, "3.2.0", read::hstrlen)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how many seconds fields of a hash have left.",
        syntax: "key <FIELDS numfields field [field ...]>",
        complexity: "O(N), N fields named",
        ..row("HTTL", -5, READ_FAST, "9.0.0", expire::httl)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns the values of all fields of a hash.",
        syntax: "key",
        complexity: "O(N), N fields of the hash",
        ..row("HVALS", 2, READ, "2.0.0", read::hvals)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Hash, name, arity, flags, since, run)
}

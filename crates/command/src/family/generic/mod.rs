//! Keys, whatever they hold.

mod copy;
pub(super) mod expire;
mod keys;
mod object;
pub mod scan;
mod sort;

use crate::call::{Call, Outcome};
use crate::family::server::help::help;
use crate::refusal::Refusal;
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec, Run};

const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE);

const SORTS: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::MOVABLE_KEYS);

const READS: KeyFlags = KeyFlags::RO;
const LOOKS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const MOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS);
const REMOVES: KeyFlags = KeyFlags::RM.union(KeyFlags::DELETE);
const TWO_KEYS: KeySpec = KeySpec { first: 1, last: 2, step: 1, flags: LOOKS };

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        keys: TWO_KEYS,
        summary: "Copies the value of a key to another key.",
        syntax: "source destination [DB destination-db] [REPLACE]",
        ..row("COPY", -3, Flags::WRITE.union(Flags::DENYOOM), "6.2.0", copy::copy)
    },
    CommandSpec {
        keys: KeySpec::all(REMOVES),
        summary: "Removes keys.",
        syntax: "key [key ...]",
        ..row("DEL", -2, Flags::WRITE, "1.0.0", keys::del)
    },
    CommandSpec {
        keys: KeySpec::all(READS),
        summary: "Counts those of the keys that exist.",
        syntax: "key [key ...]",
        ..row("EXISTS", -2, READ_FAST, "1.0.0", keys::exists)
    },
    CommandSpec {
        summary: "Sets how many seconds a key has left.",
        syntax: "key seconds [NX | XX | GT | LT]",
        ..expiring("EXPIRE", "1.0.0", expire::expire)
    },
    CommandSpec {
        summary: "Sets the Unix time in seconds at which a key ends.",
        syntax: "key unix-time-seconds [NX | XX | GT | LT]",
        ..expiring("EXPIREAT", "1.2.0", expire::expireat)
    },
    CommandSpec {
        summary: "Tells the Unix time in seconds at which a key ends.",
        ..telling("EXPIRETIME", "7.0.0", expire::expiretime)
    },
    CommandSpec {
        summary: "Lists all keys that match a pattern.",
        syntax: "pattern",
        ..row("KEYS", 2, Flags::READONLY, "1.0.0", scan::keys)
    },
    CommandSpec {
        keys: KeySpec::one(MOVES.union(KeyFlags::UPDATE)),
        summary: "Moves a key to another database.",
        syntax: "key db",
        ..row("MOVE", 3, WRITE_FAST, "1.0.0", copy::move_key)
    },
    CommandSpec {
        summary: "Looks behind values, at how they are kept.",
        subcommands: OBJECT,
        ..row("OBJECT", -2, Flags::empty(), "2.2.3", only_subcommands)
    },
    CommandSpec {
        keys: KeySpec::one(CHANGES),
        summary: "Takes the deadline of a key away.",
        syntax: "key",
        ..row("PERSIST", 2, WRITE_FAST, "2.2.0", expire::persist)
    },
    CommandSpec {
        summary: "Sets how many milliseconds a key has left.",
        syntax: "key milliseconds [NX | XX | GT | LT]",
        ..expiring("PEXPIRE", "2.6.0", expire::pexpire)
    },
    CommandSpec {
        summary: "Sets the Unix time in milliseconds at which a key ends.",
        syntax: "key unix-time-milliseconds [NX | XX | GT | LT]",
        ..expiring("PEXPIREAT", "2.6.0", expire::pexpireat)
    },
    CommandSpec {
        summary: "Tells the Unix time in milliseconds at which a key ends.",
        ..telling("PEXPIRETIME", "7.0.0", expire::pexpiretime)
    },
    CommandSpec {
        summary: "Tells how many milliseconds a key has left.",
        ..telling("PTTL", "2.6.0", expire::pttl)
    },
    CommandSpec {
        summary: "Picks a key by chance.",
        ..row("RANDOMKEY", 1, Flags::READONLY, "1.0.0", scan::randomkey)
    },
    CommandSpec {
        keys: KeySpec { flags: MOVES.union(KeyFlags::DELETE), ..TWO_KEYS },
        summary: "Gives a key another name, whatever had it before.",
        syntax: "key newkey",
        ..row("RENAME", 3, Flags::WRITE, "1.0.0", copy::rename)
    },
    CommandSpec {
        keys: KeySpec { flags: MOVES.union(KeyFlags::DELETE), ..TWO_KEYS },
        summary: "Gives a key another name, unless a key has it.",
        syntax: "key newkey",
        ..row("RENAMENX", 3, WRITE_FAST, "1.0.0", copy::renamenx)
    },
    CommandSpec {
        summary: "Goes over the keys of the database, a few with each call.",
        syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        ..row("SCAN", -2, Flags::READONLY, "2.8.0", scan::scan)
    },
    CommandSpec {
        keys: KeySpec::one(LOOKS),
        summary: "Puts the elements of a list, a set or a sorted set in order.",
        syntax: "key [BY by-pattern] [LIMIT offset count] [GET get-pattern ...] [ASC | DESC] \
                 [ALPHA] [STORE destination]",
        ..row("SORT", -2, SORTS, "1.0.0", sort::sort)
    },
    CommandSpec {
        keys: KeySpec::one(LOOKS),
        summary: "Does what SORT does, but stores nothing.",
        syntax: "key [BY by-pattern] [LIMIT offset count] [GET get-pattern ...] [ASC | DESC] \
                 [ALPHA]",
        ..row("SORT_RO", -2, Flags::READONLY.union(Flags::MOVABLE_KEYS), "7.0.0", sort::sort_ro)
    },
    CommandSpec {
        keys: KeySpec::all(READS),
        summary: "Notes an access to keys, and counts those that exist.",
        syntax: "key [key ...]",
        ..row("TOUCH", -2, READ_FAST, "3.2.1", keys::touch)
    },
    CommandSpec {
        summary: "Tells how many seconds a key has left.",
        ..telling("TTL", "1.0.0", expire::ttl)
    },
    CommandSpec {
        keys: KeySpec::one(READS),
        summary: "Tells what kind of value a key holds.",
        syntax: "key",
        ..row("TYPE", 2, READ_FAST, "1.0.0", keys::type_of)
    },
    CommandSpec {
        keys: KeySpec::all(REMOVES),
        summary: "Removes keys, and leaves freeing their memory for later.",
        syntax: "key [key ...]",
        ..row("UNLINK", -2, WRITE_FAST, "4.0.0", keys::del)
    },
];

const OBJECT: &[CommandSpec] = &[
    CommandSpec {
        summary: "Names the way in which a value is kept.",
        ..looking_behind("ENCODING", "2.2.3", object::encoding)
    },
    CommandSpec {
        summary: "Tells how often a key is used, as a logarithm.",
        ..looking_behind("FREQ", "4.0.0", object::freq)
    },
    CommandSpec {
        summary: "Tells about how many seconds ago a key was used.",
        ..looking_behind("IDLETIME", "2.2.3", object::idletime)
    },
    CommandSpec {
        summary: "Counts who refers to a value.",
        ..looking_behind("REFCOUNT", "2.2.3", object::refcount)
    },
    CommandSpec { summary: "Lists the subcommands.", ..row("HELP", 2, ANY_TIME, "6.2.0", help) },
];

const fn expiring(name: &'static str, since: &'static str, run: Run) -> CommandSpec {
    CommandSpec { keys: KeySpec::one(CHANGES), ..row(name, -3, WRITE_FAST, since, run) }
}

const fn telling(name: &'static str, since: &'static str, run: Run) -> CommandSpec {
    CommandSpec { keys: KeySpec::one(LOOKS), syntax: "key", ..row(name, 2, READ_FAST, since, run) }
}

const fn looking_behind(name: &'static str, since: &'static str, run: Run) -> CommandSpec {
    let keys = KeySpec { first: 2, last: 2, step: 1, flags: READS };
    CommandSpec { keys, syntax: "key", ..row(name, 3, Flags::READONLY, since, run) }
}

/// What comes without a known subcommand is refused before it gets here.
fn only_subcommands(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::SYNTAX)
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Run,
) -> CommandSpec {
    CommandSpec::plain(Group::Generic, name, arity, flags, since, run)
}

#[cfg(test)]
mod tests;

//! The rows of the HyperLogLog family.

use super::{count, debug};
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec};

const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS);

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        name: "PFADD",
        arity: -2,
        flags: WRITE.union(Flags::FAST),
        keys: KeySpec::one(KeyFlags::RW.union(KeyFlags::INSERT)),
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Adds elements to a HyperLogLog, which is created if need be.",
        syntax: "key [element [element ...]]",
        run: count::pfadd,
        subcommands: &[],
    },
    CommandSpec {
        name: "PFCOUNT",
        arity: -2,
        flags: Flags::READONLY.union(Flags::MAY_REPLICATE),
        keys: KeySpec::all(CHANGES),
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Estimates how many different elements were added to HyperLogLogs.",
        syntax: "key [key ...]",
        run: count::pfcount,
        subcommands: &[],
    },
    CommandSpec {
        name: "PFDEBUG",
        arity: 3,
        flags: WRITE.union(Flags::ADMIN),
        keys: KeySpec { first: 2, last: 2, step: 1, flags: CHANGES },
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Looks inside a HyperLogLog: DECODE, ENCODING, GETREG, TODENSE; or SIMD.",
        syntax: "subcommand key",
        run: debug::pfdebug,
        subcommands: &[],
    },
    CommandSpec {
        name: "PFMERGE",
        arity: -2,
        flags: WRITE,
        keys: KeySpec::all(CHANGES.union(KeyFlags::INSERT)),
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Merges HyperLogLogs into the first of them.",
        syntax: "destkey [sourcekey [sourcekey ...]]",
        run: count::pfmerge,
        subcommands: &[],
    },
    CommandSpec {
        name: "PFSELFTEST",
        arity: 1,
        flags: Flags::ADMIN,
        keys: KeySpec::NONE,
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Tests the registers and estimates of HyperLogLogs.",
        syntax: "",
        run: debug::pfselftest,
        subcommands: &[],
    },
];

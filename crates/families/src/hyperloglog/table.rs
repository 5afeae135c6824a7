//! The rows of the HyperLogLog family.

use super::{count, debug};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec};

const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS);
const INTERNAL: Flags = Flags::ADMIN.union(Flags::SYSTEM);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(KeyFlags::RW.union(KeyFlags::INSERT))],
        summary: "Adds elements to a HyperLogLog, which is created if need be.",
        syntax: "key [element [element ...]]",
        complexity: "O(N), N elements added",
        ..row("PFADD", -2, WRITE.union(Flags::FAST), "2.8.9", count::pfadd)
    },
    Command {
        keys: &[KeySpec::all(CHANGES)],
        summary: "Estimates how many different elements were added to HyperLogLogs.",
        syntax: "key [key ...]",
        complexity: "O(N), N HyperLogLogs",
        ..row("PFCOUNT", -2, Flags::READONLY.union(Flags::MAY_REPLICATE), "2.8.9", count::pfcount)
    },
    Command {
        keys: &[KeySpec::at(2, CHANGES)],
        summary: "Looks inside a HyperLogLog: DECODE, ENCODING, GETREG, TODENSE; or SIMD.",
        syntax: "subcommand key",
        complexity: "O(N), N registers",
        ..row("PFDEBUG", 3, WRITE.union(INTERNAL), "2.8.9", debug::pfdebug)
    },
    Command {
        keys: &[KeySpec::one(CHANGES.union(KeyFlags::INSERT)), KeySpec::from(2, READS)],
        summary: "Merges HyperLogLogs into the first of them.",
        syntax: "destkey [sourcekey [sourcekey ...]]",
        complexity: "O(N), N HyperLogLogs",
        ..row("PFMERGE", -2, WRITE, "2.8.9", count::pfmerge)
    },
    Command {
        summary: "Tests the registers and estimates of HyperLogLogs.",
        complexity: "O(N), N registers",
        ..row("PFSELFTEST", 1, INTERNAL, "2.8.9", debug::pfselftest)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::HyperLogLog, name, arity, flags, since, run)
}

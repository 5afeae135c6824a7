//! The rows of the bitmap family.

use super::{bits, combine, field, search};
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        name: "BITCOUNT",
        arity: -2,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Bitmap,
        since: "2.6.0",
        summary: "Counts the bits that are set in a string.",
        syntax: "key [start [end [BYTE | BIT]]]",
        run: search::bitcount,
        subcommands: &[],
    },
    CommandSpec {
        name: "BITFIELD",
        arity: -2,
        flags: WRITE,
        keys: KeySpec::one(
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE).union(KeyFlags::VARIABLE),
        ),
        group: Group::Bitmap,
        since: "3.2.0",
        summary: "Reads and changes integers of any width inside a string.",
        syntax: "key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] \
                 <SET encoding offset value | INCRBY encoding offset increment> \
                 [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] \
                 <SET encoding offset value | INCRBY encoding offset increment> ...]]",
        run: field::bitfield,
        subcommands: &[],
    },
    CommandSpec {
        name: "BITFIELD_RO",
        arity: -2,
        flags: READ_FAST,
        keys: KeySpec::one(READS),
        group: Group::Bitmap,
        since: "6.0.0",
        summary: "Reads integers of any width inside a string.",
        syntax: "key [GET encoding offset [GET encoding offset ...]]",
        run: field::bitfield_ro,
        subcommands: &[],
    },
    CommandSpec {
        name: "BITOP",
        arity: -4,
        flags: WRITE,
        keys: KeySpec { first: 2, last: -1, step: 1, flags: KeyFlags::OW.union(KeyFlags::UPDATE) },
        group: Group::Bitmap,
        since: "2.6.0",
        summary: "Combines strings bit by bit and stores the result.",
        syntax: "<AND | OR | XOR | NOT> destkey key [key ...]",
        run: combine::bitop,
        subcommands: &[],
    },
    CommandSpec {
        name: "BITPOS",
        arity: -3,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Bitmap,
        since: "2.8.7",
        summary: "Finds the first bit of a string that is set, or that is not.",
        syntax: "key bit [start [end [BYTE | BIT]]]",
        run: search::bitpos,
        subcommands: &[],
    },
    CommandSpec {
        name: "GETBIT",
        arity: 3,
        flags: READ_FAST,
        keys: KeySpec::one(READS),
        group: Group::Bitmap,
        since: "2.2.0",
        summary: "Returns one bit of a string.",
        syntax: "key offset",
        run: bits::getbit,
        subcommands: &[],
    },
    CommandSpec {
        name: "SETBIT",
        arity: 4,
        flags: WRITE,
        keys: KeySpec::one(KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE)),
        group: Group::Bitmap,
        since: "2.2.0",
        summary: "Sets or clears one bit of a string, which grows if need be.",
        syntax: "key offset value",
        run: bits::setbit,
        subcommands: &[],
    },
];

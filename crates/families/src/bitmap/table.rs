//! The rows of the bitmap family.

use super::{bits, combine, field, search};
use command::ArgumentFact::{Name, Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Counts the bits that are set in a string.",
        syntax: "key [start [end [BYTE | BIT]]]",
        arguments: &[("end-unit", Name("end-unit-block")), ("unit", Since("7.0.0"))],
        complexity: "O(N), N bytes",
        history: &[("7.0.0", "BYTE and BIT."), ("8.0.0", "The end may be left out.")],
        ..row("BITCOUNT", -2, READ, "2.6.0", search::bitcount)
    },
    Command {
        keys: &[KeySpec::one(
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE).union(KeyFlags::VARIABLE),
        )],
        find_keys: field::keys,
        summary: "Reads and changes integers of any width inside a string.",
        syntax: "key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] \
                 <SET encoding offset value | INCRBY encoding offset increment> \
                 [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] \
                 <SET encoding offset value | INCRBY encoding offset increment> ...]]",
        arguments: &[
            ("GET", Name("get-block")),
            ("overflow-operation", Name("write")),
            ("OVERFLOW", Name("overflow-block")),
            ("operation", Name("operation")),
            ("operation", Name("write-operation")),
            ("SET", Name("set-block")),
            ("value", Type("integer")),
            ("INCRBY", Name("incrby-block")),
        ],
        complexity: "O(N), N operations",
        ..row("BITFIELD", -2, WRITE, "3.2.0", field::bitfield)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Reads integers of any width inside a string.",
        syntax: "key [GET encoding offset [GET encoding offset ...]]",
        arguments: &[("GET", Name("get-block"))],
        complexity: "O(N), N operations",
        ..row("BITFIELD_RO", -2, READ_FAST, "6.0.0", field::bitfield_ro)
    },
    Command {
        keys: &[KeySpec::at(2, SETS), KeySpec::from(3, READS)],
        summary: "Combines strings bit by bit and stores the result.",
        syntax: "<AND | OR | XOR | NOT> destkey key [key ...]",
        complexity: "O(N), N bytes of the longest string",
        ..row("BITOP", -4, WRITE, "2.6.0", combine::bitop)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Finds the first bit of a string that is set, or that is not.",
        syntax: "key bit [start [end [BYTE | BIT]]]",
        arguments: &[("end-unit", Name("end-unit-block")), ("unit", Since("7.0.0"))],
        complexity: "O(N), N bytes",
        history: &[("7.0.0", "BYTE and BIT.")],
        ..row("BITPOS", -3, READ, "2.8.7", search::bitpos)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns one bit of a string.",
        syntax: "key offset",
        complexity: "O(1)",
        ..row("GETBIT", 3, READ_FAST, "2.2.0", bits::getbit)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE))],
        summary: "Sets or clears one bit of a string, which grows if need be.",
        syntax: "key offset value",
        arguments: &[("value", Type("integer"))],
        complexity: "O(1)",
        ..row("SETBIT", 4, WRITE, "2.2.0", bits::setbit)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Bitmap, name, arity, flags, since, run)
}

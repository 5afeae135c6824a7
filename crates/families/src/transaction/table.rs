//! Rows of the family.

use super::{discard, multi, unwatch, watch};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec};
use session::Refusal;

const ANY_TIME: Flags = Flags::NOSCRIPT.union(Flags::LOADING).union(Flags::STALE);
const QUICK: Flags = ANY_TIME.union(Flags::FAST).union(Flags::ALLOW_BUSY);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        summary: "Drops the queued commands.",
        complexity: "O(N), N queued commands",
        ..row("DISCARD", 1, QUICK.union(Flags::ENDS_MULTI), "2.0.0", discard)
    },
    // `crate::exec`, above all families, runs it in place of a handler.
    Command {
        summary: "Runs the queued commands, unless a watched key has changed.",
        complexity: "That of the queued commands",
        ..row("EXEC", 1, RUNS, "1.2.0", |_| Err(Refusal::SYNTAX.into()))
    },
    Command {
        summary: "Begins a transaction: commands are queued from here on.",
        ..row("MULTI", 1, QUICK.union(Flags::NO_MULTI), "1.2.0", multi)
    },
    Command { summary: "Watches no key any more.", ..row("UNWATCH", 1, QUICK, "2.2.0", unwatch) },
    Command {
        keys: &[KeySpec::all(KeyFlags::RO)],
        summary: "Watches keys: EXEC runs nothing if one of them has changed.",
        syntax: "key [key ...]",
        complexity: "O(N), N keys",
        ..row("WATCH", -2, QUICK.union(Flags::NO_MULTI), "2.2.0", watch)
    },
];

const RUNS: Flags =
    ANY_TIME.union(Flags::SKIP_COMMANDLOG).union(Flags::ENDS_MULTI).union(Flags::RUNS_QUEUE);

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command {
        complexity: "O(1)",
        ..Command::plain(Group::Transactions, name, arity, flags, since, run)
    }
}

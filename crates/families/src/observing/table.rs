//! Rows of the family.

use super::{commandlog, latency, monitor};
use crate::server::help::help;
use command::{Command, Flags, Group, Handler, tips};

const HELP: Flags = Flags::LOADING.union(Flags::STALE);
const LOGS: Flags = HELP.union(Flags::ADMIN);
const LATENCY: Flags = LOGS.union(Flags::NOSCRIPT);
const SHOWS_HELP: Command =
    Command { summary: "Shows this text.", ..row("HELP", 2, HELP, "6.2.0", help) };

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        summary: "Shows commands that took long, or had large requests or replies.",
        ..Command::parent(Group::Server, "COMMANDLOG", "8.1.0", ALL_LOGS)
    },
    Command {
        summary: "Shows how long things take.",
        ..Command::parent(Group::Server, "LATENCY", "2.8.13", LATENCIES)
    },
    Command {
        summary: "Shows every command that the server runs, after it has run.",
        complexity: "",
        ..row("MONITOR", 1, LATENCY, "1.0.0", monitor::monitor)
    },
    Command {
        summary: "Shows commands that took long.",
        ..Command::parent(Group::Server, "SLOWLOG", "2.2.12", SLOW_LOG)
    },
];

const KIND: &str = "<SLOW | LARGE-REQUEST | LARGE-REPLY>";

const ALL_LOGS: &[Command] = &[
    Command {
        tips: tips::EACH_NODE,
        summary: "Returns the latest commands of a kind; -1 for all.",
        syntax: "count <SLOW | LARGE-REQUEST | LARGE-REPLY>",
        complexity: "O(N), N entries",
        ..row("GET", 4, LOGS, "8.1.0", commandlog::get)
    },
    Command { since: "8.1.0", ..SHOWS_HELP },
    Command {
        tips: tips::ALL_NODES_COUNTED,
        summary: "Returns how many commands of a kind are kept.",
        syntax: KIND,
        ..row("LEN", 3, LOGS, "8.1.0", commandlog::len)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Forgets the commands of a kind.",
        syntax: KIND,
        complexity: "O(N), N entries",
        ..row("RESET", 3, LOGS, "8.1.0", commandlog::reset)
    },
];

const SLOW_LOG: &[Command] = &[
    Command {
        tips: tips::EACH_NODE,
        summary: "Returns the latest slow commands; ten unless told how many, -1 for all.",
        syntax: "[count]",
        complexity: "O(N), N entries",
        history: &[("4.0.0", "The address and the name of the client.")],
        ..row("GET", -2, LOGS, "2.2.12", commandlog::get_slow)
    },
    SHOWS_HELP,
    Command {
        tips: tips::ALL_NODES_COUNTED,
        summary: "Returns how many slow commands are kept.",
        ..row("LEN", 2, LOGS, "2.2.12", commandlog::len_slow)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Forgets the slow commands.",
        complexity: "O(N), N entries",
        ..row("RESET", 2, LOGS, "2.2.12", commandlog::reset_slow)
    },
];

const LATENCIES: &[Command] = &[
    Command {
        tips: tips::ALL_NODES_GATHERED,
        summary: "Tells what took long and what can be done about it.",
        ..row("DOCTOR", 2, LATENCY, "2.8.13", latency::doctor)
    },
    Command {
        tips: tips::ALL_NODES_GATHERED,
        summary: "Draws how long an event took.",
        syntax: "event",
        ..row("GRAPH", 3, LATENCY, "2.8.13", latency::graph)
    },
    Command { since: "2.8.13", ..SHOWS_HELP },
    Command {
        tips: tips::ALL_NODES_GATHERED,
        summary: "Returns how often commands took how long.",
        syntax: "[command [command ...]]",
        complexity: "O(N), N commands that have run",
        ..row("HISTOGRAM", -2, LATENCY, "7.0.0", latency::histogram)
    },
    Command {
        tips: tips::ALL_NODES_GATHERED,
        summary: "Returns when an event took long.",
        syntax: "event",
        ..row("HISTORY", 3, LATENCY, "2.8.13", latency::history)
    },
    Command {
        tips: tips::ALL_NODES_GATHERED,
        summary: "Returns for each event when it took long last.",
        ..row("LATEST", 2, LATENCY, "2.8.13", latency::latest)
    },
    Command {
        tips: tips::ALL_NODES_SUMMED,
        summary: "Forgets events; without any, all of them.",
        syntax: "[event [event ...]]",
        ..row("RESET", -2, LATENCY, "2.8.13", latency::reset)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command { complexity: "O(1)", ..Command::plain(Group::Server, name, arity, flags, since, run) }
}

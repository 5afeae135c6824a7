//! Rows of CLIENT.

use super::{conditions, others, own, tracking};
use crate::server::help::help;
use command::ArgumentFact::{Name, Since};
use command::{Command, Flags, Group, Handler, tips};

const HELP: Flags = Flags::LOADING.union(Flags::STALE);
const OWN: Flags = HELP.union(Flags::NOSCRIPT);
const OWN_WHILE_BUSY: Flags = OWN.union(Flags::ALLOW_BUSY);
const ADMIN: Flags = OWN.union(Flags::ADMIN);

/// Rows of the family.
pub const TABLE: &[Command] = &[Command {
    summary: "Knows about clients.",
    ..Command::parent(Group::Connection, "CLIENT", "2.4.0", SUBCOMMANDS)
}];

const SUBCOMMANDS: &[Command] = &[
    Command {
        summary: "Makes the next command an exception: what it reads is tracked, or is not.",
        syntax: "<YES | NO>",
        arguments: &[("operation", Name("mode"))],
        ..row("CACHING", 3, OWN_WHILE_BUSY, "6.0.0", tracking::caching)
    },
    Command {
        summary: "Tells what the client can do.",
        syntax: "capability [capability ...]",
        ..row("CAPA", -3, OWN_WHILE_BUSY, "8.0.0", own::capa)
    },
    Command {
        summary: "Returns the name of the connection.",
        ..row("GETNAME", 2, OWN_WHILE_BUSY, "2.6.9", own::get_name)
    },
    Command {
        summary: "Returns the client that is told about changed keys; -1 for none.",
        ..row("GETREDIR", 2, OWN_WHILE_BUSY, "6.0.0", tracking::redirection)
    },
    Command {
        summary: "Returns the id of the connection.",
        ..row("ID", 2, OWN_WHILE_BUSY, "5.0.0", own::id)
    },
    Command {
        summary: "Marks the connection as one that loads data.",
        syntax: "<ON | OFF>",
        ..row("IMPORT-SOURCE", 3, OWN, "8.1.0", own::import_source)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells about the connection.",
        ..row("INFO", 2, OWN, "6.2.0", own::info)
    },
    Command {
        summary: "Closes the connections that meet all conditions.",
        syntax: conditions::KILL,
        arguments: conditions::ARGUMENTS_OF_KILL,
        history: conditions::HISTORY_OF_KILL,
        complexity: "O(N), N clients",
        ..row("KILL", -3, ADMIN, "2.4.0", others::kill)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells about the connections that meet all conditions.",
        syntax: conditions::LIST,
        arguments: conditions::ARGUMENTS_OF_LIST,
        history: conditions::HISTORY_OF_LIST,
        complexity: "O(N), N clients",
        ..row("LIST", -2, ADMIN, "2.4.0", others::list)
    },
    Command {
        summary: "Chooses whether the connection may be closed to save memory.",
        syntax: "<ON | OFF>",
        ..row("NO-EVICT", 3, ADMIN.union(Flags::ALLOW_BUSY), "7.0.0", own::no_evict)
    },
    Command {
        summary: "Chooses whether the connection's commands count as use of keys.",
        syntax: "<ON | OFF>",
        ..row("NO-TOUCH", 3, OWN_WHILE_BUSY, "7.2.0", own::no_touch)
    },
    Command {
        summary: "Holds commands back for a time.",
        syntax: "timeout [WRITE | ALL]",
        arguments: &[("operation", Name("mode")), ("operation", Since("6.2.0"))],
        history: &[("6.2.0", "WRITE and ALL.")],
        ..row("PAUSE", -3, ADMIN, "3.0.0", others::pause)
    },
    Command {
        summary: "Chooses which replies the connection gets.",
        syntax: "<ON | OFF | SKIP>",
        arguments: &[("operation", Name("action"))],
        ..row("REPLY", 3, OWN_WHILE_BUSY.union(Flags::NO_MULTI), "3.2.0", own::reply)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Tells which library the client uses.",
        syntax: "<LIB-NAME libname | LIB-VER libver>",
        arguments: &[("operation", Name("attr"))],
        ..row("SETINFO", 4, OWN_WHILE_BUSY, "7.2.0", own::set_info)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Gives the connection a name.",
        syntax: "connection-name",
        ..row("SETNAME", 3, OWN_WHILE_BUSY, "2.6.9", own::set_name)
    },
    Command {
        summary: "Tells the client which keys change that it may have cached, or stops it.",
        syntax: "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] \
                 [OPTIN] [OPTOUT] [NOLOOP]",
        arguments: &[("enabled", Name("status"))],
        ..row("TRACKING", -3, OWN, "6.0.0", tracking::tracking)
    },
    Command {
        summary: "Tells how the client is told of keys that change.",
        ..row("TRACKINGINFO", 2, OWN, "6.2.0", tracking::tracking_info)
    },
    Command {
        summary: "Wakes a client that waits in a blocking command.",
        syntax: "client-id [TIMEOUT | ERROR]",
        complexity: "O(log N), N clients",
        arguments: &[("operation", Name("unblock-type"))],
        ..row("UNBLOCK", -3, ADMIN, "5.0.0", others::unblock)
    },
    Command {
        summary: "Holds commands back no longer.",
        complexity: "O(N), N clients that are held back",
        ..row("UNPAUSE", 2, ADMIN, "6.2.0", others::unpause)
    },
    Command { summary: "Lists the subcommands.", ..row("HELP", 2, HELP, "5.0.0", help) },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command {
        complexity: "O(1)",
        ..Command::plain(Group::Connection, name, arity, flags, since, run)
    }
}

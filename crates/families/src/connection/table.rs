//! Rows of the family; CLIENT has its own.

use super::{auth, echo, hello, ping, quit, reset, secrets_of_hello, select};
use command::ArgumentFact::{Name, Since};
use command::rights::numbers_at;
use command::{Command, Flags, Group, Handler, ReachesDatabases, every_argument, tips};

const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE).union(Flags::FAST);
const UNKNOWN_CLIENT: Flags =
    ANY_TIME.union(Flags::NOSCRIPT).union(Flags::NO_AUTH).union(Flags::ALLOW_BUSY);
const SELECTS: Flags = ANY_TIME.union(Flags::ALLOW_BUSY).union(Flags::SELECTS);
const LEAVES: Flags = UNKNOWN_CLIENT.union(Flags::ENDS_MULTI).union(Flags::WHILE_SUBSCRIBED);
const PINGS: Flags = Flags::FAST.union(Flags::TELLS_TROUBLE).union(Flags::WHILE_SUBSCRIBED);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        secrets: every_argument,
        summary: "Shows a password, and with it which user the client is.",
        syntax: "[username] password",
        arguments: &[("username", Since("6.0.0"))],
        complexity: "O(N), N passwords of the user",
        history: &[("6.0.0", "A user name may stand before the password.")],
        ..row("AUTH", -2, UNKNOWN_CLIENT, "1.0.0", auth)
    },
    Command {
        summary: "Sends a message back.",
        syntax: "message",
        complexity: "O(1)",
        ..row("ECHO", 2, ANY_TIME, "1.0.0", echo)
    },
    Command {
        secrets: secrets_of_hello,
        summary: "Agrees on the protocol and tells about the server.",
        syntax: "[protover [AUTH username password] [SETNAME clientname]]",
        arguments: &[("protover-auth-clientname", Name("arguments"))],
        complexity: "O(1)",
        history: &[
            ("6.2.0", "The version may be left out, to learn about the connection."),
            ("8.1.0", "The reply has availability_zone if that setting is not empty."),
        ],
        ..row("HELLO", -1, UNKNOWN_CLIENT, "6.0.0", hello)
    },
    Command {
        tips: tips::ALL_SHARDS,
        summary: "Answers, to show that the server is there.",
        syntax: "[message]",
        complexity: "O(1)",
        ..row("PING", -1, PINGS, "1.0.0", ping)
    },
    Command {
        summary: "Closes the connection.",
        complexity: "O(1)",
        ..row("QUIT", -1, LEAVES, "1.0.0", quit)
    },
    Command {
        summary: "Makes the connection as it was when it was opened.",
        complexity: "O(1)",
        ..row("RESET", 1, LEAVES, "6.2.0", reset)
    },
    Command {
        databases: ReachesDatabases::Named(|args| numbers_at(args, &[1])),
        summary: "Chooses the database of the connection.",
        syntax: "index",
        complexity: "O(1)",
        ..row("SELECT", 2, SELECTS, "1.0.0", select)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Connection, name, arity, flags, since, run)
}

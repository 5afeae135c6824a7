//! Rows of the family.

use super::{delete_users, dry_run, files, log, names_and_rules, set_user, show, whoami};
use crate::server::help::help;
use command::{Command, Flags, Group, Handler, tips};

const HELP: Flags = Flags::LOADING.union(Flags::STALE);
const ASKS: Flags = HELP.union(Flags::NOSCRIPT);
const RULES: Flags = ASKS.union(Flags::ADMIN);

/// Rows of the family.
pub const TABLE: &[Command] = &[Command {
    summary: "Manages users, and what they may do.",
    ..Command::parent(Group::Server, "ACL", "6.0.0", SUBCOMMANDS)
}];

const SUBCOMMANDS: &[Command] = &[
    Command {
        summary: "Lists the categories of commands, or the commands of one.",
        syntax: "[category]",
        ..row("CAT", -2, ASKS, "6.0.0", show::categories)
    },
    Command {
        secrets: names_and_rules,
        tips: tips::ALL_NODES,
        summary: "Removes users, and closes their connections.",
        syntax: "username [username ...]",
        complexity: "O(N), N connections, for each user",
        ..row("DELUSER", -3, RULES, "6.0.0", delete_users)
    },
    Command {
        summary: "Tells whether a user may run a command, without running it.",
        syntax: "username command [arg [arg ...]]",
        complexity: "O(1)",
        ..row("DRYRUN", -4, RULES, "7.0.0", dry_run::dry_run)
    },
    Command {
        summary: "Returns a password that nobody guesses: 64 hexadecimal digits, or for so many \
                  bits.",
        syntax: "[bits]",
        ..row("GENPASS", -2, ASKS, "6.0.0", show::generate_password)
    },
    Command {
        secrets: names_and_rules,
        summary: "Returns the rules of a user.",
        syntax: "username",
        complexity: "O(N), N rules",
        history: &[
            ("6.2.0", "Patterns of channels."),
            ("7.0.0", "Selectors; patterns as the rules that made them."),
            ("9.1.0", "Rules of databases."),
        ],
        ..row("GETUSER", 3, RULES, "6.0.0", show::get_user)
    },
    Command { summary: "Shows this text.", ..row("HELP", 2, HELP, "6.0.0", help) },
    Command {
        summary: "Returns all users with their rules, as lines of a file.",
        complexity: "O(N), N users",
        ..row("LIST", 2, RULES, "6.0.0", show::list)
    },
    Command {
        summary: "Takes the users of the file of `aclfile` in the place of all.",
        complexity: "O(N), N users and connections",
        ..row("LOAD", 2, RULES, "6.0.0", files::load)
    },
    Command {
        summary: "Returns what users were denied last, or forgets it.",
        syntax: "[count | RESET]",
        complexity: "O(N), N entries",
        history: &[("7.2.0", "The id of an entry, and when it was made and changed.")],
        ..row("LOG", -2, RULES, "6.0.0", log::log)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Writes all users to the file of `aclfile`.",
        complexity: "O(N), N users",
        ..row("SAVE", 2, RULES, "6.0.0", files::save)
    },
    Command {
        secrets: names_and_rules,
        tips: tips::ALL_NODES,
        summary: "Makes a user, or changes one, by rules.",
        syntax: "username [rule [rule ...]]",
        complexity: "O(N), N rules and connections",
        history: &[
            ("6.2.0", "Patterns of channels."),
            ("7.0.0", "Selectors, and rights to read and to write."),
            ("9.1.0", "Rules of databases."),
        ],
        ..row("SETUSER", -3, RULES, "6.0.0", set_user)
    },
    Command {
        summary: "Returns the names of all users.",
        complexity: "O(N), N users",
        ..row("USERS", 2, RULES, "6.0.0", show::names)
    },
    Command {
        summary: "Returns the user that the connection is.",
        ..row("WHOAMI", 2, ASKS, "6.0.0", whoami)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    let row = Command::plain(Group::Server, name, arity, flags, since, run);
    Command { complexity: "O(1)", ..row }
}

//! DEBUG: inspection of the server by tests. No subcommand can end the process.
//!
//! | file | subcommands |
//! |---|---|
//! | `switches.rs` | those that turn something on or off, or wait |
//! | `objects.rs` | those that look at one key |
//! | `tables.rs` | those that look at the index |
//! | `digest.rs` | DIGEST, DIGEST-VALUE: fingerprints of data, equal to Valkey's |
//! | `protocol.rs` | PROTOCOL: one reply of each type |
//! | `populate.rs` | POPULATE |
//! | `reload.rs` | RELOAD, LOADAOF |
//! | `replication.rs` | those that act on the stream, or on the link to the primary |

mod digest;
mod objects;
mod populate;
mod protocol;
mod reload;
mod replication;
mod switches;
mod tables;

use command::{Call, Outcome};
use session::{Refusal, begin_of};
use std::ops::RangeInclusive;

/// Subcommand: its name, its numbers of arguments, its help and its function.
struct Subcommand {
    name: &'static str,
    words: RangeInclusive<usize>,
    syntax: &'static str,
    summary: &'static str,
    run: fn(&mut Call<'_>) -> Outcome,
}

const fn subcommand(
    name: &'static str,
    words: RangeInclusive<usize>,
    syntax: &'static str,
    summary: &'static str,
    run: fn(&mut Call<'_>) -> Outcome,
) -> Subcommand {
    Subcommand { name, words, syntax, summary, run }
}

const ANY: RangeInclusive<usize> = 2..=usize::MAX;

const SUBCOMMANDS: [Subcommand; 37] = [
    subcommand(
        "AOF-FLUSH-SLEEP",
        3..=3,
        "<microseconds>",
        "Lets the append-only file wait before each write.",
        switches::aof_flush_sleep,
    ),
    subcommand(
        "CHANGE-REPL-ID",
        2..=2,
        "",
        "Gives the stream of changes a new id, and forgets those that it had.",
        replication::change_id,
    ),
    subcommand(
        "CONFIG-REWRITE-FORCE-ALL",
        2..=2,
        "",
        "Writes the configuration file with a line for every setting.",
        switches::rewrite_config,
    ),
    subcommand(
        "DICT-RESIZING",
        3..=3,
        "<0|1>",
        "Is accepted; the index grows in small steps.",
        switches::accepted,
    ),
    subcommand("DIGEST", 2..=2, "", "Fingerprint of all data.", digest::digest),
    subcommand(
        "DIGEST-VALUE",
        ANY,
        "<key> [<key> ...]",
        "Fingerprints of values.",
        digest::digest_value,
    ),
    subcommand("ERROR", 3..=3, "<text>", "Answers an error.", switches::error),
    subcommand(
        "FORCE-FREE-PRIMARY-ASYNC",
        3..=3,
        "<0|1>",
        "Has the next link to a primary that a change of the role ends be closed a little later.",
        replication::close_link_late,
    ),
    subcommand(
        "FORCE-TLS-WRITE-ERROR",
        3..=3,
        "<0|1>",
        "Has sockets of TLS take nothing.",
        switches::force_tls_write_error,
    ),
    subcommand(
        "HASHTABLE-CAN-ABORT-SHRINK",
        3..=3,
        "<0|1>",
        "Is accepted; the index shrinks in small steps.",
        switches::accepted,
    ),
    subcommand(
        "HTSTATS",
        3..=4,
        "<database> [full]",
        "Figures of the index of a database.",
        tables::htstats,
    ),
    subcommand(
        "HTSTATS-KEY",
        3..=4,
        "<key> [full]",
        "Figures of the hash table that a key holds.",
        tables::htstats_key,
    ),
    subcommand(
        "LOADAOF",
        2..=2,
        "",
        "Loads the append-only files in place of all data.",
        reload::load_aof,
    ),
    subcommand("LOG", 3..=3, "<text>", "Writes a message.", switches::log),
    subcommand(
        "MOVE-CONNECTIONS",
        3..=3,
        "<0|1>",
        "Has connections move between threads at random.",
        switches::move_connections,
    ),
    subcommand("OBJECT", 3..=4, "<key> [fast]", "How a key is kept.", objects::object),
    subcommand(
        "PAUSE-CRON",
        3..=3,
        "<0|1>",
        "Lets the background jobs rest.",
        switches::pause_cron,
    ),
    subcommand(
        "POPULATE",
        3..=5,
        "<count> [<prefix>] [<size>]",
        "Creates keys.",
        populate::populate,
    ),
    subcommand("PROTOCOL", 3..=3, "<type>", "A reply of a type.", protocol::protocol),
    subcommand(
        "QUICKLIST-PACKED-THRESHOLD",
        3..=3,
        "<size>",
        "Is accepted; long elements of lists are apart from others anyway.",
        switches::packed_threshold,
    ),
    subcommand(
        "RELOAD",
        ANY,
        "[MERGE] [NOFLUSH] [NOSAVE]",
        "Saves all data and loads it again.",
        reload::reload,
    ),
    subcommand(
        "REPLICATE",
        3..=usize::MAX,
        "<word> [<word> ...]",
        "Sends a command to replicas, which is not executed here.",
        replication::replicate,
    ),
    subcommand("SDSLEN", 3..=3, "<key>", "Bytes of a key and its value.", objects::sdslen),
    subcommand(
        "SET-ACTIVE-EXPIRE",
        3..=3,
        "<0|1>",
        "Whether expired keys are removed before anybody asks for them.",
        switches::set_active_expire,
    ),
    subcommand(
        "SET-DISABLE-DENY-SCRIPTS",
        3..=3,
        "<0|1>",
        "Lets scripts call DEBUG.",
        switches::set_disable_deny_scripts,
    ),
    subcommand(
        "SET-SKIP-CHECKSUM-VALIDATION",
        3..=3,
        "<0|1>",
        "Whether RESTORE takes payloads with a wrong checksum.",
        switches::set_skip_checksum_validation,
    ),
    subcommand("SLEEP", 3..=3, "<seconds>", "Freezes the server.", switches::sleep),
    subcommand(
        "STRINGMATCH-LEN",
        4..=4,
        "<pattern> <text>",
        "Whether a pattern matches.",
        switches::stringmatch_len,
    ),
    subcommand("STRUCTSIZE", 2..=2, "", "Bytes of a few structures.", objects::structsize),
    subcommand("HELP", 2..=2, "", "Prints this.", help),
    // Callers know what other servers do on these words, so the refusal gives a reason.
    subcommand("ASSERT", ANY, "", "", refuse_to_end),
    subcommand("CRASH-AND-RECOVER", ANY, "", "", refuse_to_end),
    subcommand("OOM", ANY, "", "", refuse_to_end),
    subcommand("PANIC", ANY, "", "", refuse_to_end),
    subcommand("RESTART", ANY, "", "", refuse_to_end),
    subcommand("SEGFAULT", ANY, "", "", refuse_to_end),
    subcommand("QUICKLIST", ANY, "", "", refuse_quicklist),
];

pub(super) fn debug(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let found = SUBCOMMANDS.iter().find(|it| args.is(1, it.name));
    match found.filter(|it| it.words.contains(&args.len())) {
        Some(subcommand) => (subcommand.run)(call),
        None => Err(Refusal::naming(
            "ERR unknown subcommand or wrong number of arguments for '{}'. Try DEBUG HELP.",
            &[begin_of(args.get(1))],
        )
        .into()),
    }
}

fn help(call: &mut Call<'_>) -> Outcome {
    let told = SUBCOMMANDS.iter().filter(|it| !it.summary.is_empty());
    let mark = call.reply.deferred_array();
    call.reply.simple("DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    let mut count = 1;
    for it in told {
        call.reply.simple(format!("{} {}", it.name, it.syntax).trim_end());
        call.reply.simple(&format!("    {}", it.summary));
        count += 2;
    }
    call.reply.close_array(mark, count);
    Ok(())
}

fn refuse_to_end(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::of("ERR Varve does not end on request of DEBUG: use SHUTDOWN").into())
}

fn refuse_quicklist(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::of("ERR Varve keeps large lists as trees: use DEBUG OBJECT").into())
}

//! Commands of a file as a client may send them to a server.
//!
//! A file holds what the server that wrote it reads again, and servers take more from their files
//! than from clients:
//!
//! | in the file | sent |
//! |---|---|
//! | XADD, XTRIM with `MAXLEN = 101 LIMIT 250`, `MINID = 5-1 LIMIT 250` | without LIMIT |
//! | EXEC alone, MULTI inside a transaction, DISCARD, WATCH | not at all |
//! | commands of the connection, the server, replicas, a cluster, subscribers | not at all |
//! | CLUSTER FLUSHSLOT | as it is: it removes keys, and a server without a cluster refuses it |
//!
//! What is not sent changes no data. Some would change the server that is filled, or this
//! connection. What only reads is sent, and does no harm.

/// Commands that change no data, but the server or the connection.
const NOT_SENT: [&str; 40] = [
    "ACL",
    "ASKING",
    "AUTH",
    "BGREWRITEAOF",
    "BGSAVE",
    "CLIENT",
    "CLUSTER",
    "COMMANDLOG",
    "CONFIG",
    "DEBUG",
    "DISCARD",
    "EXEC",
    "FAILOVER",
    "HELLO",
    "LATENCY",
    "MODULE",
    "MONITOR",
    "MULTI",
    "PSUBSCRIBE",
    "PSYNC",
    "PUNSUBSCRIBE",
    "QUIT",
    "READONLY",
    "READWRITE",
    "REPLCONF",
    "REPLICAOF",
    "RESET",
    "SAVE",
    "SHUTDOWN",
    "SLAVEOF",
    "SLOWLOG",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "SUNSUBSCRIBE",
    "SYNC",
    "UNSUBSCRIBE",
    "UNWATCH",
    "WAIT",
    "WAITAOF",
    "WATCH",
];

/// The words of a command as a client may send them; `None` if it is not to be sent.
pub fn to_client<'w>(words: &[&'w [u8]]) -> Option<Vec<&'w [u8]>> {
    let name = words.first().copied().unwrap_or_default();
    let is = |at: usize, word: &str| {
        words.get(at).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
    };
    let removes_keys = is(0, "CLUSTER") && is(1, "FLUSHSLOT");
    if NOT_SENT.iter().any(|it| is(0, it)) && !removes_keys {
        return None;
    }
    let mut words = words.to_vec();
    let trims = name.eq_ignore_ascii_case(b"XADD") || name.eq_ignore_ascii_case(b"XTRIM");
    if trims && let Some(at) = limit_of_exact(&words) {
        words.drain(at..at + 2);
    }
    Some(words)
}

/// Where LIMIT stands in the options of a trimming that is exact.
fn limit_of_exact(words: &[&[u8]]) -> Option<usize> {
    let is = |at: usize, word: &str| {
        words.get(at).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
    };
    let (mut at, mut limit) = (2, None);
    while at + 1 < words.len() {
        at += match () {
            () if is(at, "NOMKSTREAM") => 1,
            () if (is(at, "MAXLEN") || is(at, "MINID")) && is(at + 1, "~") => return None,
            () if (is(at, "MAXLEN") || is(at, "MINID")) && is(at + 1, "=") => 3,
            () if is(at, "MAXLEN") || is(at, "MINID") => 2,
            () if is(at, "LIMIT") => {
                limit = Some(at);
                2
            }
            () => break,
        };
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use command::{Flags, Group};

    fn sent(command: &str) -> Option<String> {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        let sent = to_client(&words)?;
        Some(String::from_utf8_lossy(&sent.join(&b' ')).into_owned())
    }

    #[test]
    fn forms_that_only_a_file_may_hold_become_those_of_clients() {
        for (file, client) in [
            ("XADD s MAXLEN = 101 LIMIT 250 5-1 f v", "XADD s MAXLEN = 101 5-1 f v"),
            (
                "xadd s nomkstream minid = 3-0 limit 9 5-1 f v",
                "xadd s nomkstream minid = 3-0 5-1 f v",
            ),
            ("XADD s LIMIT 9 MAXLEN = 3 5-1 f v", "XADD s MAXLEN = 3 5-1 f v"),
            ("XTRIM s MAXLEN = 101 LIMIT 250", "XTRIM s MAXLEN = 101"),
            ("XTRIM s MINID = 3-0 LIMIT 250", "XTRIM s MINID = 3-0"),
        ] {
            assert_eq!(sent(file).as_deref(), Some(client));
        }
    }

    #[test]
    fn everything_else_that_changes_data_is_sent_as_it_is() {
        for command in [
            "XADD s MAXLEN ~ 100 LIMIT 250 5-1 f v",
            "XADD s MAXLEN = 100 5-1 LIMIT 250",
            "XADD s 5-1 LIMIT 250",
            "SET MAXLEN LIMIT",
            "SELECT 3",
            "SCRIPT LOAD x",
            "cluster flushslot 7 sync",
            "GET k",
        ] {
            assert_eq!(sent(command).as_deref(), Some(command));
        }
    }

    #[test]
    fn what_would_change_the_server_or_the_connection_is_not_sent() {
        for command in
            ["config set port 1", "SHUTDOWN", "EXEC", "MONITOR", "CLUSTER SETSLOT 7 STABLE"]
        {
            assert_eq!(sent(command), None);
        }
        assert!(NOT_SENT.is_sorted());
    }

    /// Commands that only tell something, though their rows are not among those that read.
    const ONLY_TELL: [&str; 13] = [
        "command",
        "echo",
        "info",
        "lastsave",
        "memory",
        "object",
        "pfselftest",
        "ping",
        "pubsub",
        "role",
        "time",
        "xgroup",
        "xinfo",
    ];

    #[test]
    fn what_is_not_sent_is_what_changes_no_data_in_the_table_of_commands() {
        for row in families::table().rows().iter().filter(|row| row.spec.subcommands.is_empty()) {
            let words: Vec<&[u8]> = row.full_name.split('|').map(str::as_bytes).collect();
            let is_needed = command::changes_data(row)
                || row.spec.flags.contains(Flags::SELECTS)
                || row.spec.group == Group::Scripting;
            let only_tells = row.spec.flags.contains(Flags::READONLY)
                || ONLY_TELL.iter().any(|name| name.as_bytes() == words[0]);
            let is_sent = to_client(&words).is_some();
            assert_eq!(is_sent, is_needed || only_tells, "{}", row.full_name);
        }
    }
}

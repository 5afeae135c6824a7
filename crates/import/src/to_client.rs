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
//!
//! The last change no data. Some would change the server that is filled, or this connection. What
//! only reads is sent, and does no harm.

/// Commands that change no data, but the server or the connection.
const NOT_SENT: [&str; 39] = [
    "ACL",
    "ASKING",
    "AUTH",
    "BGREWRITEAOF",
    "BGSAVE",
    "CLIENT",
    "CLUSTER",
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
    if NOT_SENT.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes())) {
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
            "GET k",
        ] {
            assert_eq!(sent(command).as_deref(), Some(command));
        }
    }

    #[test]
    fn what_would_change_the_server_or_the_connection_is_not_sent() {
        for command in ["config set port 1", "SHUTDOWN", "CLIENT REPLY OFF", "EXEC", "MONITOR"] {
            assert_eq!(sent(command), None);
        }
        assert!(NOT_SENT.is_sorted());
    }
}

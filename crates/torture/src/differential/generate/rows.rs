//! Commands that are drawn, and their weights.

use command::Row;
use families::table;

/// Commands that are not drawn, with reasons. A name stands for its subcommands, too.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("acl", "changes what the others may run"),
    ("bgrewriteaof", "makes files"),
    ("bgsave", "makes files"),
    ("client", "tells about connections, or stops the replies by which the servers are compared"),
    ("cluster", "there is no cluster; KEYSLOT is drawn all the same"),
    ("command", "tells what the server has; GETKEYS is drawn all the same"),
    ("commandlog", "tells how long commands took"),
    ("config", "tells about the server; thresholds are changed by steps of their own"),
    ("config|help", "lists what the server has"),
    ("debug", "looks inside the server"),
    ("eval", "what is drawn is no script"),
    ("eval_ro", "what is drawn is no script"),
    ("evalsha", "what is drawn names no script"),
    ("evalsha_ro", "what is drawn names no script"),
    ("fcall", "what is drawn names no function"),
    ("fcall_ro", "what is drawn names no function"),
    ("function", "what is drawn is no library"),
    ("info", "tells about the server"),
    ("lastsave", "tells the time"),
    ("latency", "tells how long commands took"),
    ("lolwut", "draws other pictures"),
    ("memory", "tells about the server's memory"),
    ("migrate", "goes to other servers"),
    ("module", "there are no modules"),
    ("monitor", "brings lines among the replies"),
    ("multi", "queues what follows, and with it the steps in which clients wait"),
    ("object|freq", "depends on time and chance"),
    ("object|help", "lists what the server has"),
    ("object|idletime", "depends on time"),
    ("pfselftest", "tells nothing about keys, and takes long"),
    ("psubscribe", "brings messages among the replies"),
    ("psync", "makes the client a replica"),
    ("pubsub", "tells of subscriptions, of which there are none"),
    ("punsubscribe", "may have more than one reply"),
    ("quit", "closes the connection"),
    ("replconf", "has no reply where only replicas would say it"),
    ("replicaof", "connects to other servers, and has writes refused"),
    ("role", "tells about the server"),
    ("save", "makes files"),
    ("script", "what is drawn is no script"),
    ("shutdown", "ends the server"),
    ("slaveof", "connects to other servers, and has writes refused"),
    ("slowlog", "tells how long commands took"),
    ("ssubscribe", "brings messages among the replies"),
    ("subscribe", "brings messages among the replies"),
    ("sunsubscribe", "may have more than one reply"),
    ("sync", "makes the client a replica"),
    ("time", "tells the time"),
    ("unsubscribe", "may have more than one reply"),
    ("wait", "waits for replicas, of which there are none"),
    ("waitaof", "waits for replicas, of which there are none"),
    ("xgroup|help", "lists what the server has"),
    ("xinfo|help", "lists what the server has"),
];

/// Subcommands that are drawn although their commands are left out.
const DRAWN: &[&str] = &[
    "client|capa",
    "client|getname",
    "client|import-source",
    "client|no-evict",
    "client|no-touch",
    "client|setname",
    "cluster|help",
    "cluster|keyslot",
    "cluster|slots",
    "command|getkeys",
    "command|getkeysandflags",
];

/// Weights other than ten.
const WEIGHTS: &[(&str, u32)] = &[
    ("auth", 1),
    ("del", 4),
    ("echo", 2),
    ("flushall", 1),
    ("flushdb", 1),
    ("geoadd", 30),
    ("hello", 1),
    ("hset", 50),
    ("hsetex", 25),
    ("keys", 3),
    ("lcs", 3),
    ("lpush", 30),
    ("move", 4),
    ("pfadd", 30),
    ("ping", 2),
    ("reset", 1),
    ("rpush", 30),
    ("sadd", 50),
    ("select", 2),
    ("set", 50),
    ("swapdb", 1),
    ("xadd", 60),
    ("xgroup|create", 30),
    ("xreadgroup", 30),
    ("unlink", 4),
    ("xautoclaim", 20),
    ("xclaim", 20),
    ("xpending", 20),
    ("zadd", 60),
];

/// Returns the rows that may be drawn, with their weights.
pub fn drawn() -> Vec<(&'static Row, u32)> {
    let rows = table().rows().iter().filter(|row| is_drawn(row));
    rows.map(|row| (row, weight(&row.full_name))).collect()
}

fn is_drawn(row: &Row) -> bool {
    let name = row.full_name.as_str();
    let parent = name.split('|').next().unwrap_or(name);
    let is_left_out = LEFT_OUT.iter().any(|(left, _)| *left == name || *left == parent);
    // A command with subcommands cannot be used without one.
    DRAWN.contains(&name) || (!is_left_out && row.spec.subcommands.is_empty())
}

fn weight(name: &str) -> u32 {
    let found = WEIGHTS.iter().find(|(wanted, _)| *wanted == name);
    found.map_or(10, |(_, weight)| *weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::Needs;

    #[test]
    fn every_name_in_the_lists_is_a_row() {
        let names = LEFT_OUT.iter().map(|(name, _)| *name).chain(DRAWN.iter().copied());
        for name in names.chain(WEIGHTS.iter().map(|(name, _)| *name)) {
            assert!(table().rows().iter().any(|row| row.full_name == name), "{name}");
        }
    }

    #[test]
    fn what_changes_data_is_drawn() {
        let drawn: Vec<_> = drawn().iter().map(|(row, _)| row.full_name.as_str()).collect();
        for row in table().rows() {
            let name = row.full_name.as_str();
            let is_elsewhere = ["migrate", "function", "fcall", "eval", "cluster|"];
            let is_elsewhere = is_elsewhere.iter().any(|left| name.starts_with(left));
            let has_to_be = row.needs.contains(Needs::WRITES_FLOW) && !is_elsewhere;
            assert!(!has_to_be || drawn.contains(&name), "{name}");
        }
    }
}

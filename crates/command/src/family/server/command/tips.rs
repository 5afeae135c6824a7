//! Tips for routing clients: to which nodes a command goes, how their replies are put together,
//! and which replies differ from one time to the next.

use crate::table::Row;

const UNSTEADY: &[&str] = &["nondeterministic_output"];
const UNORDERED: &[&str] = &["nondeterministic_output_order"];
const ALL_NODES: &[&str] = &["request_policy:all_nodes", "response_policy:all_succeeded"];
const ALL_SHARDS: &[&str] = &["request_policy:all_shards", "response_policy:all_succeeded"];
const SPREAD: &[&str] = &["request_policy:multi_shard", "response_policy:all_succeeded"];
const SPREAD_AND_SUMMED: &[&str] = &["request_policy:multi_shard", "response_policy:agg_sum"];
const PER_SHARD: &[&str] =
    &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];

/// The tips of a command.
pub(super) fn of(row: &Row) -> &'static [&'static str] {
    match row.full_name.as_str() {
        "client|info" | "client|list" | "object|encoding" | "object|freq" | "object|idletime"
        | "object|refcount" | "hrandfield" | "hscan" | "pttl" | "spop" | "srandmember"
        | "sscan" | "ttl" | "time" | "xadd" | "xautoclaim" | "xclaim" | "xinfo|consumers"
        | "xpending" | "xtrim" | "zrandmember" | "zscan" => UNSTEADY,
        "command" | "command|docs" | "command|info" | "command|list" | "function|list"
        | "hgetall" | "hkeys" | "hvals" | "sdiff" | "sinter" | "smembers" | "sunion" => UNORDERED,
        "client|setinfo" | "client|setname" | "config|resetstat" | "config|rewrite"
        | "config|set" => ALL_NODES,
        "flushall" | "flushdb" | "function|flush" | "memory|purge" | "ping" => ALL_SHARDS,
        "mset" | "msetex" => SPREAD,
        "mget" => &["request_policy:multi_shard"],
        "del" | "exists" | "touch" | "unlink" => SPREAD_AND_SUMMED,
        "dbsize" => &["request_policy:all_shards", "response_policy:agg_sum"],
        "info" | "memory|doctor" | "memory|malloc-stats" | "memory|segments" | "memory|stats" => {
            PER_SHARD
        }
        "keys" => &["request_policy:all_shards", "nondeterministic_output_order"],
        "randomkey" => {
            &["request_policy:all_shards", "response_policy:special", "nondeterministic_output"]
        }
        "scan" => &["nondeterministic_output", "request_policy:special", "response_policy:special"],
        _ => &[],
    }
}

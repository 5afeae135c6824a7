//! Tips for clients that route commands in a cluster: the nodes that get a command, how their
//! replies are put together, and replies that vary from one time to the next.

/// Tips of a row for clients that route commands.
pub type Tips = &'static [&'static str];

/// Reply that may differ although the data is the same.
pub const NONDETERMINISTIC: Tips = &["nondeterministic_output"];
/// Reply whose elements come in any order.
pub const NONDETERMINISTIC_ORDER: Tips = &["nondeterministic_output_order"];
/// Sent to all nodes, replicas included.
pub const ALL_NODES: Tips = &["request_policy:all_nodes", "response_policy:all_succeeded"];
/// Sent to all nodes, replicas included, each of which replies about itself.
pub const EACH_NODE: Tips = &["request_policy:all_nodes", "nondeterministic_output"];
/// Sent to all nodes, replicas included, whose numbers are added.
pub const ALL_NODES_SUMMED: Tips = &["request_policy:all_nodes", "response_policy:agg_sum"];
/// The same, of numbers that change by themselves.
pub const ALL_NODES_COUNTED: Tips =
    &["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"];
/// Sent to all nodes, replicas included, whose replies clients put together.
pub const ALL_NODES_GATHERED: Tips =
    &["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"];
/// Sent to all primaries.
pub const ALL_SHARDS: Tips = &["request_policy:all_shards", "response_policy:all_succeeded"];
/// Sent to all primaries, whose numbers are added.
pub const ALL_SHARDS_SUMMED: Tips = &["request_policy:all_shards", "response_policy:agg_sum"];
/// Sent to all primaries, of whose numbers the least is taken.
pub const ALL_SHARDS_LEAST: Tips = &["request_policy:all_shards", "response_policy:agg_min"];
/// Sent to all primaries, whose lists are joined in any order.
pub const ALL_SHARDS_UNORDERED: Tips =
    &["request_policy:all_shards", "nondeterministic_output_order"];
/// Sent to all primaries, one of whose replies is taken.
pub const ONE_OF_ALL_SHARDS: Tips =
    &["request_policy:all_shards", "response_policy:special", "nondeterministic_output"];
/// Sent to all primaries, each of which replies about itself.
pub const PER_SHARD: Tips =
    &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];
/// The same, without a rule for putting the replies together.
pub const EACH_SHARD: Tips = &["nondeterministic_output", "request_policy:all_shards"];
/// Sent to all primaries, of whose replies those are true that all have.
pub const ALL_SHARDS_AND: Tips = &["request_policy:all_shards", "response_policy:agg_logical_and"];
/// Sent to all primaries, of which one has to succeed.
pub const ALL_SHARDS_ONE: Tips = &["request_policy:all_shards", "response_policy:one_succeeded"];
/// Sent in parts to the primaries of the keys.
pub const MULTI_SHARD: Tips = &["request_policy:multi_shard", "response_policy:all_succeeded"];
/// Sent in parts to the primaries of the keys, whose numbers are added.
pub const MULTI_SHARD_SUMMED: Tips = &["request_policy:multi_shard", "response_policy:agg_sum"];
/// Sent in parts to the primaries of the keys, whose lists are joined in the order of the keys.
pub const MULTI_SHARD_GATHERED: Tips = &["request_policy:multi_shard"];
/// Sent to one primary after the other, as the cursor says.
pub const CURSOR: Tips =
    &["nondeterministic_output", "request_policy:special", "response_policy:special"];

//! Tips for routing clients: to which nodes a command goes, how their replies are put together,
//! and which replies differ from one time to the next.

/// What a row says to routing clients.
pub type Tips = &'static [&'static str];

/// A reply that may differ although the data is the same.
pub const NONDETERMINISTIC: Tips = &["nondeterministic_output"];
/// A reply whose elements come in any order.
pub const NONDETERMINISTIC_ORDER: Tips = &["nondeterministic_output_order"];
/// To all nodes; replicas too.
pub const ALL_NODES: Tips = &["request_policy:all_nodes", "response_policy:all_succeeded"];
/// To all primaries.
pub const ALL_SHARDS: Tips = &["request_policy:all_shards", "response_policy:all_succeeded"];
/// To all primaries, whose numbers are added.
pub const ALL_SHARDS_SUMMED: Tips = &["request_policy:all_shards", "response_policy:agg_sum"];
/// To all primaries, whose lists make one.
pub const ALL_SHARDS_UNORDERED: Tips =
    &["request_policy:all_shards", "nondeterministic_output_order"];
/// To all primaries, one of whose replies is taken.
pub const ONE_OF_ALL_SHARDS: Tips =
    &["request_policy:all_shards", "response_policy:special", "nondeterministic_output"];
/// About one primary each.
pub const PER_SHARD: Tips =
    &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];
/// In parts to the primaries of the keys.
pub const MULTI_SHARD: Tips = &["request_policy:multi_shard", "response_policy:all_succeeded"];
/// In parts to the primaries of the keys, whose numbers are added.
pub const MULTI_SHARD_SUMMED: Tips = &["request_policy:multi_shard", "response_policy:agg_sum"];
/// In parts to the primaries of the keys, whose lists are joined in the order of the keys.
pub const MULTI_SHARD_GATHERED: Tips = &["request_policy:multi_shard"];
/// From one primary to the next, as the cursor says.
pub const CURSOR: Tips =
    &["nondeterministic_output", "request_policy:special", "response_policy:special"];

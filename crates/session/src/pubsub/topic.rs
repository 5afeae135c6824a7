//! Topics: what messages are published on, and subscribed to.

use std::sync::Arc;

/// Kind of what a client subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A channel.
    Channel,
    /// All channels whose names match a pattern.
    Pattern,
    /// A channel that belongs to a hash slot.
    ShardChannel,
}

/// Name of a channel, or a pattern; the table and all who have subscribed to it share it.
pub type Name = Arc<[u8]>;

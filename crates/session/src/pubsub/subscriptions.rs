//! Subscriptions of one client.

use super::topic::{Name, Topic};
use crate::sparse::smaller_room;
use std::collections::HashSet;

/// What one client has subscribed to.
#[derive(Debug, Default)]
pub struct Subscriptions {
    channels: HashSet<Name>,
    patterns: HashSet<Name>,
    shard_channels: HashSet<Name>,
    /// Bytes of the names.
    name_bytes: usize,
}

/// Bytes that a subscription takes in the table and in the set of its client, with what both have
/// in reserve, its name excepted.
const SUBSCRIPTION_BYTES: usize = 208;

impl Subscriptions {
    /// Returns true if the client has subscribed to this.
    pub fn contains(&self, topic: Topic, name: &[u8]) -> bool {
        self.of(topic).contains(name)
    }

    /// Returns the number of subscriptions.
    pub fn count(&self, topic: Topic) -> usize {
        self.of(topic).len()
    }

    /// Returns the number that a confirmation tells: channels and patterns count together, shard
    /// channels alone.
    pub fn confirmed_count(&self, topic: Topic) -> usize {
        match topic {
            Topic::ShardChannel => self.shard_channels.len(),
            _ => self.channels.len() + self.patterns.len(),
        }
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }

    /// Returns all names.
    pub fn names(&self, topic: Topic) -> Vec<Name> {
        self.of(topic).iter().cloned().collect()
    }

    /// Adds one.
    pub fn add(&mut self, topic: Topic, name: Name) {
        self.name_bytes += name.len();
        self.of_mut(topic).insert(name);
    }

    /// Removes one; returns false if there was none.
    pub fn remove(&mut self, topic: Topic, name: &[u8]) -> bool {
        let names = self.of_mut(topic);
        let is_there = names.remove(name);
        if let Some(room) = smaller_room(names.len(), names.capacity()) {
            names.shrink_to(room);
        }
        if is_there {
            self.name_bytes -= name.len();
        }
        is_there
    }

    /// Returns the bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        let all = self.channels.len() + self.patterns.len() + self.shard_channels.len();
        self.name_bytes + all * SUBSCRIPTION_BYTES
    }

    fn of(&self, topic: Topic) -> &HashSet<Name> {
        match topic {
            Topic::Channel => &self.channels,
            Topic::Pattern => &self.patterns,
            Topic::ShardChannel => &self.shard_channels,
        }
    }

    fn of_mut(&mut self, topic: Topic) -> &mut HashSet<Name> {
        match topic {
            Topic::Channel => &mut self.channels,
            Topic::Pattern => &mut self.patterns,
            Topic::ShardChannel => &mut self.shard_channels,
        }
    }
}

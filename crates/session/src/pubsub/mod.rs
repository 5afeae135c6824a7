//! Messages from clients to clients: who has subscribed to what, and how a message reaches them.
//!
//! ```text
//! PUBLISH ──▶ channel ──┐                 one letter for each worker
//!         └─▶ patterns ─┴─▶ receivers ──▶ worker A ──▶ outputs of its clients
//!                                    └──▶ worker B ──▶ ...
//! ```
//! The receivers of a message are decided when it is published, under the lock of its channel, and
//! the letters are left in the mailboxes under it too. So all clients get the messages of a channel
//! in the same order. A client that gives up a subscription gets the confirmation as mail too,
//! behind all messages that were published before.
//!
//! A channel is looked up, and each pattern matched, once. The message is formatted once; a letter
//! carries it with the list of receivers, which stays as it was at that moment. Workers are woken
//! behind the lock. A worker shares the bytes among the outputs of its clients and writes at the
//! end of its loop iteration. A client that may have sent something to itself has its next request
//! served in the next iteration, so that the message stands between the two replies. Publishers are
//! postponed while a worker has more unread letters than its limit.

mod channels;
mod patterns;
mod subscriptions;
mod topic;

pub use subscriptions::Subscriptions;
pub use topic::Name;
pub use topic::Topic;

use crate::client::Client;
use crate::flood::Flood;
use crate::message::{Message, Payload};
use crate::receivers::{Left, Outgoing, Receivers};
use channels::{Channels, Locked};
use patterns::{Matching, Patterns};
use wire::Protocol;

/// Table of all subscriptions.
#[derive(Debug, Default)]
pub struct PubSub {
    channels: Channels,
    shard_channels: Channels,
    patterns: Patterns,
    flood: Flood,
}

impl PubSub {
    /// Adds a client to the subscribers of a topic, of which it is none yet.
    pub fn subscribe(
        &self,
        topic: Topic,
        name: &[u8],
        client: &Client,
        protocol: Protocol,
    ) -> Name {
        match topic {
            Topic::Pattern => self.patterns.add(name, client, protocol),
            topic => self.channels(topic).add(name, client, protocol),
        }
    }

    /// Removes a client from the subscribers of a topic.
    pub fn unsubscribe(&self, topic: Topic, name: &[u8], client: &Client) {
        match topic {
            Topic::Pattern => self.patterns.remove(name, client),
            topic => self.channels(topic).remove(name, client),
        }
    }

    /// Returns the number of channels, patterns or shard channels that somebody has subscribed to.
    pub fn count(&self, topic: Topic) -> usize {
        match topic {
            Topic::Pattern => self.patterns.count(),
            topic => self.channels(topic).count(),
        }
    }

    /// Returns the names of the channels, or shard channels, that match a pattern; without one, of
    /// all.
    pub fn names(&self, topic: Topic, pattern: Option<&[u8]>) -> Vec<Name> {
        self.channels(topic).names(pattern)
    }

    /// Returns the number of clients that have subscribed to a channel, or a shard channel, by its
    /// name.
    pub fn subscribers(&self, topic: Topic, name: &[u8]) -> usize {
        self.channels(topic).lock(name).receivers().map_or(0, Receivers::len)
    }

    /// Calls `act` with the name of each channel and pattern and the id of each subscriber.
    pub fn each_subscriber(&self, mut act: impl FnMut(Topic, &[u8], u64)) {
        let mut all = |topic, name: &[u8], receivers: &Receivers| {
            receivers.clients().for_each(|client| act(topic, name, client));
        };
        for topic in [Topic::Channel, Topic::ShardChannel] {
            self.channels(topic).each(|name, receivers| all(topic, name, receivers));
        }
        self.patterns.each(|name, receivers| all(Topic::Pattern, name, receivers));
    }

    /// Returns true if nobody has subscribed to a channel or a pattern.
    pub fn is_idle(&self) -> bool {
        self.channels.count() == 0 && self.patterns.count() == 0
    }

    /// Sets the most bytes that may wait for one client.
    pub fn follow_limit(&self, most: Option<u64>) {
        self.flood.follow_limit(most);
    }

    /// Forgets what clients were sent while their workers had too much to read.
    pub fn end_flood(&self) {
        self.flood.end();
    }

    /// Sends a message, caused by the client with the id `author`, to the subscribers of a channel
    /// and of matching patterns, or of a shard channel.
    pub fn publish(&self, topic: Topic, name: &[u8], payload: &[u8], author: u64) -> Left {
        self.publish_with(topic, (name, payload), author, None)
    }

    /// Does the same, and calls `put` while messages of the channel stand still: what that puts
    /// somewhere has their order.
    pub fn publish_with(
        &self,
        topic: Topic,
        (name, payload): (&[u8], &[u8]),
        author: u64,
        put: Option<&mut dyn FnMut()>,
    ) -> Left {
        let patterns = (topic == Topic::Channel).then(|| self.patterns.matching(name)).flatten();
        let channels = self.channels(topic);
        // A subscriber of patterns sees the messages of a channel in one order, too.
        let is_wanted = channels.count() > 0 || patterns.is_some() || put.is_some();
        let channel = is_wanted.then(|| channels.lock(name));
        if let Some(put) = put {
            put();
        }
        let payload = Payload::of(payload);
        let mut outgoing = Outgoing::counted_by(&self.flood, author);
        if let Some(receivers) = channel.as_ref().and_then(Locked::receivers) {
            let word = if topic == Topic::Channel { &b"message"[..] } else { b"smessage" };
            outgoing.add(receivers, |protocol| Message::push(protocol, &[word, name], &payload));
        }
        for (pattern, receivers) in patterns.iter().flat_map(Matching::iter) {
            let words = [b"pmessage", &pattern[..], name];
            outgoing.add(receivers, |protocol| Message::push(protocol, &words, &payload));
        }
        outgoing.leave()
    }

    fn channels(&self, topic: Topic) -> &Channels {
        match topic {
            Topic::ShardChannel => &self.shard_channels,
            _ => &self.channels,
        }
    }
}

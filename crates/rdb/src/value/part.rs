//! Parts of values, as readers give them.

use crate::text::Text;
use packed::Element;

/// Part of a value.
#[derive(Debug)]
pub enum Part<'p> {
    /// A string, all of it.
    String(Text<'p>),
    /// An element of a list, or a member of a set.
    Element(Element<'p>),
    /// A member of a sorted set. The score is a number.
    Member {
        /// The member.
        member: Element<'p>,
        /// Its score.
        score: f64,
    },
    /// A field of a hash.
    Field {
        /// The field.
        field: Element<'p>,
        /// Its value.
        value: Element<'p>,
        /// Its deadline in milliseconds since the Unix epoch.
        deadline: Option<u64>,
    },
    /// A part of a stream.
    Stream(StreamPart<'p>),
}

/// Id of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// Milliseconds.
    pub ms: u64,
    /// Number within the millisecond.
    pub seq: u64,
}

/// Facts about a stream besides its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFacts {
    /// Number of entries.
    pub len: u64,
    /// Highest id ever added.
    pub last_id: StreamId,
    /// Id of the first entry; zero if there is none.
    pub first_id: StreamId,
    /// Highest id ever deleted; zero if there is none.
    pub max_deleted: StreamId,
    /// Number of entries ever added.
    pub added: u64,
}

/// Part of a stream. Entries come first, in the order of their ids, then the facts, then each group
/// with its pending entries, and its consumers, each with the ids that are pending with it.
#[derive(Debug)]
pub enum StreamPart<'p> {
    /// An entry.
    Entry {
        /// Its id, above that of the entry before.
        id: StreamId,
        /// True if a listpack begins with it.
        starts_node: bool,
        /// Names and values in turn.
        texts: &'p [Element<'p>],
    },
    /// The facts.
    Facts(StreamFacts),
    /// A group.
    Group {
        /// Its name.
        name: &'p [u8],
        /// Id of the last entry that was delivered.
        last_id: StreamId,
        /// Number of entries delivered; `None` if not known.
        entries_read: Option<u64>,
    },
    /// A pending entry of the last group.
    Pending {
        /// Id of the entry.
        id: StreamId,
        /// Time of its last delivery, in milliseconds since the Unix epoch.
        delivered: u64,
        /// Number of deliveries.
        deliveries: u64,
    },
    /// A consumer of the last group.
    Consumer {
        /// Its name.
        name: &'p [u8],
        /// Time of its last command, in milliseconds since the Unix epoch.
        seen: u64,
        /// Time of its last successful command; `None` if there was none.
        active: Option<u64>,
    },
    /// Id of an entry that is pending with the last consumer.
    Owned(StreamId),
}

impl StreamId {
    /// Id as it stands in keys of nodes and in lists of pending entries.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.ms.to_be_bytes());
        bytes[8..].copy_from_slice(&self.seq.to_be_bytes());
        bytes
    }
}

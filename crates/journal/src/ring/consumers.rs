//! Which consumers the ring has, and the first position that each of them needs.

/// Identity of a consumer among those of its ring. None has that of one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerId(u64);

/// The consumer that is furthest behind: without it, more memory would be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowest {
    /// Which consumer it is.
    pub consumer: ConsumerId,
    /// First position that it needs.
    pub position: u64,
    /// Bytes from there to the tail of the stream.
    pub behind_bytes: u64,
}

/// List of the consumers. They are few, so what is asked of it walks over it.
#[derive(Debug, Default)]
pub(super) struct Consumers {
    next_id: u64,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: ConsumerId,
    position: u64,
    is_dismissed: bool,
}

impl Consumers {
    /// Adds a consumer that needs what is at `position` and behind it.
    pub fn add(&mut self, position: u64) -> ConsumerId {
        let id = ConsumerId(self.next_id);
        self.next_id += 1;
        self.entries.push(Entry { id, position, is_dismissed: false });
        id
    }

    /// Removes a consumer.
    pub fn remove(&mut self, id: ConsumerId) {
        self.entries.retain(|entry| entry.id != id);
    }

    /// Notes that a consumer needs nothing below `position` any more.
    pub fn advance(&mut self, id: ConsumerId, position: u64) {
        if let Some(entry) = self.entry(id) {
            entry.position = position;
        }
    }

    /// Notes that a consumer is to end. Returns false if there is no such consumer.
    pub fn dismiss(&mut self, id: ConsumerId) -> bool {
        self.entry(id).map(|entry| entry.is_dismissed = true).is_some()
    }

    /// True if a consumer is to end.
    pub fn is_dismissed(&mut self, id: ConsumerId) -> bool {
        self.entry(id).is_some_and(|entry| entry.is_dismissed)
    }

    /// The consumer at the lowest position, and that position.
    pub fn slowest(&self) -> Option<(ConsumerId, u64)> {
        let lowest = self.entries.iter().min_by_key(|entry| entry.position)?;
        Some((lowest.id, lowest.position))
    }

    fn entry(&mut self, id: ConsumerId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }
}

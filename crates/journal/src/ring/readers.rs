//! Which readers the ring has, and the first position that each of them needs.

/// Identity of a reader among those of its ring. None has that of one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderId(u64);

/// The reader that is furthest behind: without it, more memory would be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowest {
    /// Which reader it is.
    pub reader: ReaderId,
    /// First position that it needs.
    pub position: u64,
    /// Bytes from there to the tail of the stream.
    pub behind_bytes: u64,
}

/// List of the readers. They are few, so what is asked of it walks over it.
#[derive(Debug, Default)]
pub(super) struct Readers {
    next_id: u64,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: ReaderId,
    position: u64,
    is_dismissed: bool,
}

impl Readers {
    /// Adds a reader that needs what is at `position` and behind it.
    pub fn add(&mut self, position: u64) -> ReaderId {
        let id = ReaderId(self.next_id);
        self.next_id += 1;
        self.entries.push(Entry { id, position, is_dismissed: false });
        id
    }

    /// Removes a reader.
    pub fn remove(&mut self, id: ReaderId) {
        self.entries.retain(|entry| entry.id != id);
    }

    /// Notes that a reader needs nothing below `position` any more.
    pub fn advance(&mut self, id: ReaderId, position: u64) {
        if let Some(entry) = self.entry(id) {
            entry.position = position;
        }
    }

    /// Notes that a reader is to end. Returns false if there is no such reader.
    pub fn dismiss(&mut self, id: ReaderId) -> bool {
        self.entry(id).map(|entry| entry.is_dismissed = true).is_some()
    }

    /// True if a reader is to end.
    pub fn is_dismissed(&mut self, id: ReaderId) -> bool {
        self.entry(id).is_some_and(|entry| entry.is_dismissed)
    }

    /// The reader at the lowest position, and that position.
    pub fn slowest(&self) -> Option<(ReaderId, u64)> {
        let lowest = self.entries.iter().min_by_key(|entry| entry.position)?;
        Some((lowest.id, lowest.position))
    }

    fn entry(&mut self, id: ReaderId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }
}

//! Read access to streams.

use super::Id;
use super::block::{Block, BlockLeaf};
use super::entry::Entry;
use super::facts::{ENTRIES, Facts, GROUPS};
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Key, Kind};
use crate::shard::{ReadNodes, ValueRef};
use crate::value::collection::root;
use packed::{Element, Iter};
use tree::{Path, View};

/// View of the entries of a stream.
pub(super) type EntryView<'x> = View<'x, ReadNodes<'x>, BlockLeaf>;

/// A stream, under the lock of its key.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'x> {
    pub(super) entries: EntryView<'x>,
    pub(super) facts: Facts,
    pub(super) groups: tree::Root,
}

/// Reads the stream of a key for a command.
///
/// # Errors
/// When the key does not hold a stream.
#[inline]
pub fn read<'x>(
    access: &'x mut Access<'_>,
    key: &Key<'_>,
) -> Result<Option<Stream<'x>>, WrongKind> {
    Ok(access.read_kind(key, Kind::Stream)?.map(Stream::of))
}

/// Reads the stream of a key without any trace.
///
/// # Errors
/// When the key does not hold a stream.
pub fn lookup_without_touch<'x>(
    access: &'x Access<'_>,
    key: &Key<'_>,
) -> Result<Option<Stream<'x>>, WrongKind> {
    Ok(access.lookup_kind_without_touch(key, Kind::Stream)?.map(Stream::of))
}

impl<'x> Stream<'x> {
    /// The stream in a value of that kind.
    #[inline]
    pub fn of(value: ValueRef<'x>) -> Stream<'x> {
        let bytes = value.bytes();
        Stream {
            entries: value.view(ENTRIES),
            facts: Facts::read(bytes),
            groups: root(bytes, GROUPS),
        }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> u64 {
        self.entries.root.count
    }

    /// Returns true if the stream has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Highest id ever given to an entry, or the one set by XSETID.
    #[inline]
    pub fn last_id(&self) -> Id {
        self.facts.last_id
    }

    /// Highest id of a deleted entry; trimming does not count.
    pub fn max_deleted_id(&self) -> Id {
        self.facts.max_deleted
    }

    /// Number of entries ever added.
    pub fn added(&self) -> u64 {
        self.facts.added
    }

    /// Number of nodes of `stream-node-max-entries`, as clients count them.
    pub fn nodes(&self) -> u64 {
        u64::from(self.facts.nodes)
    }

    /// Returns the first entry.
    pub fn first(&self) -> Option<Entry<'x>> {
        self.range(Id::MIN, Id::MAX).next()
    }

    /// Returns the last entry.
    #[inline]
    pub fn last(&self) -> Option<Entry<'x>> {
        let block = Block::new(self.entries.leaf(&self.entries.last()));
        let last = block.packed.iter().next_back()?;
        Some(block.packed(last).entry(self.entries.nodes, block.names))
    }

    /// Returns true if an entry has an id above this one.
    #[inline]
    pub fn has_above(&self, id: Id) -> bool {
        // The entry with the last id may have been deleted or trimmed.
        !self.is_empty() && id < self.facts.last_id && self.last().is_some_and(|last| last.id > id)
    }

    /// Returns the entry with an id.
    #[inline]
    pub fn get(&self, id: Id) -> Option<Entry<'x>> {
        self.range(id, id).next()
    }

    /// Iterates over the entries from one id to another, both included.
    #[inline]
    pub fn range(&self, from: Id, to: Id) -> Range<'x> {
        Range::new(self.entries, from, to)
    }

    /// Iterates over the same entries from the last to the first.
    pub fn range_back(&self, from: Id, to: Id) -> RangeBack<'x> {
        let (view, key) = (self.entries, to.to_bytes());
        let path = view.find(|separator| separator <= &key[..]);
        let block = Block::new(view.leaf(&path));
        let place = to.next().map_or(block.packed.end(), |next| block.seek(next));
        RangeBack { view, path, block, packed: block.packed.iter_to(place), from }
    }
}

/// Iterator over entries in the order of their ids.
#[derive(Debug)]
pub struct Range<'x> {
    view: EntryView<'x>,
    path: Path,
    block: Block<'x>,
    packed: Iter<'x>,
    to: Id,
}

impl<'x> Range<'x> {
    #[inline]
    pub(super) fn new(view: EntryView<'x>, from: Id, to: Id) -> Range<'x> {
        let key = from.to_bytes();
        let path = view.find(|separator| separator <= &key[..]);
        let block = Block::new(view.leaf(&path));
        let packed = block.packed.iter_from(block.seek(from));
        Range { view, path, block, packed, to }
    }

    #[inline]
    fn next_element(&mut self) -> Option<Element<'x>> {
        loop {
            if let Some(element) = self.packed.next() {
                return Some(element);
            }
            if !self.view.next(&mut self.path) {
                return None;
            }
            self.block = Block::new(self.view.leaf(&self.path));
            self.packed = self.block.packed.iter();
        }
    }
}

impl<'x> Iterator for Range<'x> {
    type Item = Entry<'x>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'x>> {
        let element = self.next_element()?;
        let entry = self.block.packed(element);
        (entry.id <= self.to).then(|| entry.entry(self.view.nodes, self.block.names))
    }
}

/// Iterator over entries from the last to the first.
#[derive(Debug)]
pub struct RangeBack<'x> {
    view: EntryView<'x>,
    path: Path,
    block: Block<'x>,
    packed: Iter<'x>,
    from: Id,
}

impl<'x> Iterator for RangeBack<'x> {
    type Item = Entry<'x>;

    fn next(&mut self) -> Option<Entry<'x>> {
        loop {
            if let Some(element) = self.packed.next_back() {
                let entry = self.block.packed(element);
                let is_in = entry.id >= self.from;
                return is_in.then(|| entry.entry(self.view.nodes, self.block.names));
            }
            if !self.view.previous(&mut self.path) {
                return None;
            }
            self.block = Block::new(self.view.leaf(&self.path));
            self.packed = self.block.packed.iter();
        }
    }
}

//! What a key holds, to be read.

use super::append::{Found, weight_of};
use super::{CollectionId, Guard, ReadNodes, Shards};
use crate::key::{Kind, Label};
use base::{KeyHasher, Location, Millis};

/// The value of a key. Borrows the guard through which it was found, so that nothing changes
/// meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueRef<'g> {
    shards: &'g Shards,
    as_of: Millis,
    found: Found<'g>,
}

impl<'g> ValueRef<'g> {
    #[inline(always)]
    pub(super) fn new(guard: &'g Guard<'_>, found: Found<'g>) -> ValueRef<'g> {
        ValueRef { shards: guard.shards, as_of: guard.as_of(), found }
    }

    /// The moment by which parts of the value have expired.
    #[inline]
    pub fn as_of(&self) -> Millis {
        self.as_of
    }

    /// The hash by which elements stand.
    #[inline]
    pub fn hasher(&self) -> &'g KeyHasher {
        &self.shards.hasher
    }

    /// The key.
    pub fn key(&self) -> &'g [u8] {
        self.found.record.key()
    }

    /// Where the record lies.
    pub fn location(&self) -> Location {
        self.found.entry.location()
    }

    /// The kind of value.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.label().kind()
    }

    /// Kind and form of the value.
    #[inline(always)]
    pub fn label(&self) -> Label {
        self.found.label()
    }

    /// The bytes of the value.
    #[inline(always)]
    pub fn bytes(&self) -> &'g [u8] {
        self.found.bytes()
    }

    /// When the key ends.
    #[inline]
    pub fn deadline(&self) -> Option<Millis> {
        if self.found.entry.has_deadline() { self.found.deadline() } else { None }
    }

    /// The four bits of access history.
    pub fn access_bits(&self) -> u8 {
        self.found.entry.access()
    }

    /// Bytes that the record takes, without room that goes with the next cleaning.
    pub fn live_bytes(&self) -> u32 {
        weight_of(&self.found).live
    }

    /// The collection that keeps the value, if it is a tree.
    #[inline]
    pub fn collection(&self) -> Option<CollectionId> {
        self.found.collection()
    }

    /// The nodes of a value that is a tree.
    ///
    /// # Panics
    /// If it is none.
    #[inline]
    pub fn nodes(&self) -> ReadNodes<'g> {
        let id = CollectionId::read(self.bytes()).expect("a tree names its collection");
        // SAFETY: the shard is locked for 'g, and changes need the guard exclusively.
        unsafe { ReadNodes::of(self.shards, id) }.expect("a collection has a table")
    }
}

//! The indexes of all keyspaces and shards: memory is touched only for keyspaces in use.

use crate::table::Index;
use base::units::SHARDS;
use base::{KeyspaceId, Reservation, ShardId};
use std::io;

/// Parts of limited address space.
const PARTS: u64 = 1;
/// Number of keyspaces that a record can name.
const KEYSPACES: usize = 1 << 16;

/// One index per keyspace and shard; the 256 of a keyspace lie together.
#[derive(Debug)]
pub struct Indexes {
    space: Reservation,
    keyspaces: usize,
}

impl Indexes {
    /// Creates empty indexes for 65,536 keyspaces, or for as many as the system allows.
    ///
    /// # Errors
    /// When the system refuses address space for 256.
    pub fn new() -> io::Result<Indexes> {
        let keyspaces = if cfg!(miri) { 16 } else { KEYSPACES };
        let bytes = |keyspaces: usize| keyspaces * SHARDS * size_of::<Index>();
        let page = base::memory::PAGE_BYTES;
        let space = Reservation::up_to(bytes(keyspaces), bytes(keyspaces.min(256)), page, PARTS)?;
        let keyspaces = space.bytes() / bytes(1);
        Ok(Indexes { space, keyspaces })
    }

    /// Number of keyspaces that there is room for.
    pub fn keyspaces(&self) -> usize {
        self.keyspaces
    }

    /// The index of a keyspace in a shard.
    #[inline]
    pub fn get(&self, keyspace: KeyspaceId, shard: ShardId) -> &Index {
        assert!(keyspace.index() < self.keyspaces);
        // SAFETY: inside the reservation; zeros are an empty index, accessed through atomics.
        unsafe {
            let first = self.space.base().cast::<Index>();
            &*first.add(keyspace.index() * SHARDS + shard.index())
        }
    }

    /// The 256 indexes of a keyspace.
    pub fn of_keyspace(&self, keyspace: KeyspaceId) -> impl Iterator<Item = &Index> {
        ShardId::all().map(move |shard| self.get(keyspace, shard))
    }
}

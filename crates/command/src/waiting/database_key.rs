//! Keys as those who wait name them.

use base::PositionHash;
use smallvec::SmallVec;

/// A key of a database, by its number: who waits there waits for what the database holds then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseKey {
    pub hash: PositionHash,
    pub database: usize,
    pub bytes: SmallVec<[u8; 24]>,
}

impl DatabaseKey {
    pub fn new(database: usize, bytes: &[u8], hash: PositionHash) -> DatabaseKey {
        DatabaseKey { hash, database, bytes: SmallVec::from_slice(bytes) }
    }

    /// Memory that it takes, with what stands outside itself.
    pub fn memory(&self) -> usize {
        size_of::<DatabaseKey>() + if self.bytes.spilled() { self.bytes.capacity() } else { 0 }
    }
}

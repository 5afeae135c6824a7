//! Key of a numbered database.

use base::PositionHash;
use smallvec::SmallVec;

/// Key in the database with a number, as those name it who wait for it or watch it: after SWAPDB it
/// stands for the key in the keyspace that has the number then.
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

    /// Returns its bytes of memory, those outside the struct included.
    pub fn memory(&self) -> usize {
        size_of::<DatabaseKey>() + if self.bytes.spilled() { self.bytes.capacity() } else { 0 }
    }
}

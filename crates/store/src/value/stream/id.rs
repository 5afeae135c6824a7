//! Ids of entries: a millisecond, and a sequence number within it.

/// Bytes of a stored id; byte strings compare as ids do.
pub(super) const ID_BYTES: usize = 16;

/// The id of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Milliseconds since the Unix epoch, unless the client has chosen something else.
    pub ms: u64,
    /// Sequence number within the millisecond.
    pub seq: u64,
}

impl Id {
    /// Lowest id, which no entry has.
    pub const MIN: Id = Id { ms: 0, seq: 0 };
    /// Highest id.
    pub const MAX: Id = Id { ms: u64::MAX, seq: u64::MAX };

    /// Returns the next higher id; `None` after the highest.
    #[inline]
    pub fn next(self) -> Option<Id> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Id { seq, ..self }),
            None => Some(Id { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }

    /// Returns the next lower id; `None` before the lowest.
    pub fn previous(self) -> Option<Id> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Id { seq, ..self }),
            None => Some(Id { ms: self.ms.checked_sub(1)?, seq: u64::MAX }),
        }
    }

    #[inline]
    pub(super) fn to_bytes(self) -> [u8; ID_BYTES] {
        (u128::from(self.ms) << 64 | u128::from(self.seq)).to_be_bytes()
    }

    /// Reads the id at the start of `bytes`; the lowest id if they are too few.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Id {
        let word = bytes.first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        Id { ms: (word >> 64) as u64, seq: narrow::low_u64(word) }
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    #[test]
    fn neighbours_carry_over_between_moments() {
        let last = Id { ms: 4, seq: u64::MAX };
        assert_eq!(last.next(), Some(Id { ms: 5, seq: 0 }));
        assert_eq!(Id { ms: 5, seq: 0 }.previous(), Some(last));
        assert_eq!((Id::MAX.next(), Id::MIN.previous()), (None, None));
    }

    #[test]
    fn bytes_sort_as_ids_do() {
        let ids = [Id::MIN, Id { ms: 0, seq: 300 }, Id { ms: 1, seq: 2 }, Id { ms: 256, seq: 0 }];
        assert!(ids.map(Id::to_bytes).is_sorted());
        ids.iter().for_each(|id| assert_eq!(Id::read(&id.to_bytes()), *id));
    }
}

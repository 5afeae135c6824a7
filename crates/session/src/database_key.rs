//! Key of a numbered database.

use base::PositionHash;
use std::ops::Deref;
use std::sync::Arc;

/// Longest key whose bytes are kept in place.
const SHORT_MAX: usize = 30;
/// Bytes of the counts in front of shared bytes.
const COUNTS: usize = 2 * size_of::<usize>();

/// Key of a numbered database, as a client that waits for it or watches it has named it. The number
/// is fixed, the keyspace is not: after SWAPDB this is the key of the keyspace that the number then
/// stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseKey {
    /// Position hash of the bytes.
    pub hash: PositionHash,
    /// Number of the database.
    pub database: usize,
    /// Its name.
    pub bytes: KeyBytes,
}

impl DatabaseKey {
    /// The key with this name, of which the hash is known.
    pub fn new(database: usize, bytes: &[u8], hash: PositionHash) -> DatabaseKey {
        DatabaseKey { hash, database, bytes: KeyBytes::new(bytes) }
    }

    /// Returns its bytes of memory, those outside the struct included.
    pub fn memory(&self) -> usize {
        let outside = match &self.bytes {
            KeyBytes::Short(..) => 0,
            KeyBytes::Long(bytes) => bytes.len() + COUNTS,
        };
        size_of::<DatabaseKey>() + outside
    }
}

/// Bytes of a key: short ones in place, long ones shared by all clones.
#[derive(Clone, Debug)]
pub enum KeyBytes {
    /// Their number, and the bytes with zeros behind them.
    Short(u8, [u8; SHORT_MAX]),
    /// Shared by all clones.
    Long(Arc<[u8]>),
}

const _: () = assert!(size_of::<KeyBytes>() == 32);

impl KeyBytes {
    fn new(bytes: &[u8]) -> KeyBytes {
        let mut short = [0; SHORT_MAX];
        match short.get_mut(..bytes.len()) {
            Some(begin) => {
                begin.copy_from_slice(bytes);
                KeyBytes::Short(narrow::to_u8(bytes.len()), short)
            }
            None => KeyBytes::Long(Arc::from(bytes)),
        }
    }
}

impl Deref for KeyBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            KeyBytes::Short(len, bytes) => &bytes[..usize::from(*len)],
            KeyBytes::Long(bytes) => bytes,
        }
    }
}

impl PartialEq for KeyBytes {
    fn eq(&self, other: &KeyBytes) -> bool {
        **self == **other
    }
}

impl Eq for KeyBytes {}

#[cfg(test)]
mod tests {
    use super::{DatabaseKey, KeyBytes, SHORT_MAX};
    use base::PositionHash;

    #[test]
    fn a_long_key_is_kept_once_and_a_short_one_in_place() {
        for len in [0, 1, SHORT_MAX, SHORT_MAX + 1, 1000] {
            let bytes = vec![b'k'; len];
            let key = DatabaseKey::new(3, &bytes, PositionHash(7));
            let clone = key.clone();
            assert!(*clone.bytes == *bytes && clone == key);
            assert_ne!(key, DatabaseKey::new(3, b"other", PositionHash(7)));
            let is_long = matches!(key.bytes, KeyBytes::Long(_));
            assert_eq!(is_long, len > SHORT_MAX);
            assert_eq!(is_long, key.bytes.as_ptr() == clone.bytes.as_ptr());
            assert_eq!(key.memory() > size_of::<DatabaseKey>(), is_long);
        }
    }
}

//! The head of a run: where its elements and their codes are.

/// Bytes of the head.
pub(crate) const HEAD_BYTES: usize = 8;

/// A run takes at most so many bytes.
pub const RUN_BYTES_MAX: usize = u16::MAX as usize;

/// A run without elements.
pub const EMPTY: [u8; HEAD_BYTES] =
    [0, 0, HEAD_BYTES as u8, 0, HEAD_BYTES as u8, 0, HEAD_BYTES as u8, 0];

/// ```text
/// | count 2 | begin 2 | end 2 | codes 2 |
/// ```
/// Elements lie from `begin` to `end`, their codes from `codes` on; all counted from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub count: usize,
    pub begin: usize,
    pub end: usize,
    pub codes: usize,
}

impl Head {
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let field = |at: u32| (word >> (16 * at)) as u16 as usize;
        Some(Head { count: field(0), begin: field(1), end: field(2), codes: field(3) })
    }

    #[inline]
    pub fn write(self, bytes: &mut [u8]) {
        let Head { count, begin, end, codes } = self;
        debug_assert!(codes + count <= RUN_BYTES_MAX);
        let word = count as u64 | (begin as u64) << 16 | (end as u64) << 32 | (codes as u64) << 48;
        bytes[..HEAD_BYTES].copy_from_slice(&word.to_le_bytes());
    }

    /// Bytes of the whole run.
    #[inline]
    pub fn byte_len(self) -> usize {
        self.codes + self.count
    }

    /// Whether its parts lie one behind the other inside `len` bytes.
    pub fn is_sound(self, len: usize) -> bool {
        let Head { begin, end, codes, .. } = self;
        HEAD_BYTES <= begin && begin <= end && end <= codes && self.byte_len() <= len
    }
}

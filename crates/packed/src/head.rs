//! Head of a packed list: the places of its elements and codes.

/// Bytes of the head.
pub(crate) const HEAD_BYTES: usize = 8;

/// Most bytes of a packed list.
pub const PACKED_BYTES_MAX: usize = u16::MAX as usize;

/// Bytes of a packed list without elements.
pub const EMPTY: [u8; HEAD_BYTES] = [0, 0, END, 0, END, 0, END, 0];
const END: u8 = narrow::to_u8(HEAD_BYTES);

/// Most codes that repeat.
const ROW_MAX: usize = 2;

/// Head of a packed list, four numbers of 16 bits.
///
/// ```text
/// | count 2 | begin 2 | end 2 | codes 2 |
/// ```
/// Elements lie from `begin` to `end`, their codes from `codes` on; all are offsets from the start.
/// Where codes repeat, the last field holds their number, one or two, and they follow the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub count: usize,
    pub begin: usize,
    pub end: usize,
    pub codes: usize,
    /// Mask of the bits of an element's number that select its code: all bits, or none where all
    /// elements have the same code, or the lowest where two codes alternate.
    pub mask: usize,
}

impl Head {
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let field = |at: u32| narrow::low_u16(word >> (16 * at)) as usize;
        let (count, begin, end, codes) = (field(0), field(1), field(2), field(3));
        let is_repeating = (1..=ROW_MAX).contains(&codes);
        let (codes, mask) = if is_repeating { (end, codes - 1) } else { (codes, usize::MAX) };
        Some(Head { count, begin, end, codes, mask })
    }

    #[inline]
    pub fn write(self, bytes: &mut [u8]) {
        let Head { count, begin, end, codes, .. } = self;
        debug_assert!(self.byte_len() <= PACKED_BYTES_MAX);
        let codes = if self.is_repeating() { self.mask + 1 } else { codes };
        let word = count as u64 | (begin as u64) << 16 | (end as u64) << 32 | (codes as u64) << 48;
        bytes[..HEAD_BYTES].copy_from_slice(&word.to_le_bytes());
    }

    /// Returns true if codes repeat: one code for all elements, or two that alternate.
    #[inline]
    pub fn is_repeating(self) -> bool {
        self.mask != usize::MAX
    }

    /// Returns the number of codes that are stored.
    #[inline]
    pub fn code_count(self) -> usize {
        self.count.min(self.mask.saturating_add(1))
    }

    /// Returns the bytes of the whole packed list.
    #[inline]
    pub fn byte_len(self) -> usize {
        self.codes + self.code_count()
    }

    /// Returns the bytes of the packed list without gaps.
    #[inline]
    pub fn dense_len(self) -> usize {
        HEAD_BYTES + self.end - self.begin + self.code_count()
    }

    /// Returns the bytes of the packed list without gaps, with a code for each element.
    #[inline]
    pub fn full_len(self) -> usize {
        HEAD_BYTES + self.end - self.begin + self.count
    }

    /// Returns true if its parts lie one behind the other inside `len` bytes.
    pub fn is_sound(self, len: usize) -> bool {
        let Head { begin, end, codes, .. } = self;
        HEAD_BYTES <= begin && begin <= end && end <= codes && self.byte_len() <= len
    }
}

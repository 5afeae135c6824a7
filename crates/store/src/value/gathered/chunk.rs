//! Memory for rows that are gathered, and lengths in front of them.

use crate::fault::NoSpace;
use base::PageBytes;

/// Length byte of what is longer: its length follows in four bytes.
const LONG: u8 = u8::MAX;

/// Memory that is filled from its begin on.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: PageBytes,
    used: usize,
}

impl Chunk {
    /// Memory for at least so many bytes.
    pub fn new(bytes: usize) -> Result<Chunk, NoSpace> {
        let bytes = PageBytes::new(bytes).map_err(|_| NoSpace)?;
        Ok(Chunk { bytes, used: 0 })
    }

    /// The bytes that were taken.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Bytes that can still be taken.
    #[inline]
    pub fn room(&self) -> usize {
        self.bytes.len() - self.used
    }

    /// Takes bytes, which are to be written.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline]
    pub fn take(&mut self, len: usize) -> &mut [u8] {
        let from = self.used;
        self.used += len;
        &mut self.bytes[from..from + len]
    }

    /// Forgets what was taken.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

/// Bytes that a length takes.
#[inline]
pub(in crate::value) fn len_bytes(len: usize) -> usize {
    if len < usize::from(LONG) { 1 } else { 1 + size_of::<u32>() }
}

/// Bytes of a row: a head, a length, and so many bytes.
///
/// # Errors
/// When a row cannot be as long.
#[inline]
pub(super) fn row_bytes(head: usize, len: usize) -> Result<usize, NoSpace> {
    u32::try_from(len).map_err(|_| NoSpace)?;
    Ok(head + len_bytes(len) + len)
}

/// Writes a length, and returns what is behind it.
#[inline]
pub(in crate::value) fn write_len(to: &mut [u8], len: usize) -> &mut [u8] {
    match u8::try_from(len) {
        Ok(short) if short != LONG => {
            to[0] = short;
            &mut to[1..]
        }
        _ => {
            to[0] = LONG;
            to[1..5].copy_from_slice(&narrow::to_u32(len).to_le_bytes());
            &mut to[5..]
        }
    }
}

/// Reads a length, and returns it with what is behind it; `None` where nothing is left.
#[inline]
pub(in crate::value) fn read_len(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (len, rest) = bytes.split_first()?;
    if *len != LONG {
        return Some((usize::from(*len), rest));
    }
    let (len, rest) = rest.split_first_chunk()?;
    Some((u32::from_le_bytes(*len) as usize, rest))
}

//! Bytes of a blob, taken from the front.

/// Reason for which a blob is refused.
pub(crate) type Damage = &'static str;

/// Sign-extends the `N` bytes of an integer, least significant first.
pub(super) fn integer<const N: usize>(bytes: [u8; N]) -> i64 {
    let mut word = [0; 8];
    word[8 - N..].copy_from_slice(&bytes);
    i64::from_le_bytes(word) >> (64 - 8 * N)
}

/// Takes the first `count` bytes.
pub(super) fn take<'b>(from: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = from.split_at_checked(count)?;
    *from = rest;
    Some(taken)
}

/// Takes the first bytes as an array.
pub(super) fn array<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*taken)
}

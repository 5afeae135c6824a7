//! Text of keys: `k` and 15 digits, of which the last twelve vary.

/// Length of every key.
pub const KEY_BYTES: usize = 16;

/// Highest number of keys, given by the digits that vary.
pub const KEY_COUNT_MAX: u64 = 10_u64.pow(KEY_DIGITS as u32);

/// Writes a number into the digits at the end of the bytes.
#[inline]
pub(super) fn write_key(bytes: &mut [u8], number: u64) {
    let Some(digits) = bytes.last_chunk_mut::<KEY_DIGITS>() else { return };
    let (high, low) = ((number / 100_000_000) as usize, (number % 100_000_000) as usize);
    let pairs =
        [high / 100, high % 100, low / 1_000_000, low / 10_000 % 100, low / 100 % 100, low % 100];
    for (place, pair) in digits.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        *place = DIGIT_PAIRS[pair];
    }
}

/// Digits of a key that vary.
const KEY_DIGITS: usize = 12;
const DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

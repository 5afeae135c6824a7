//! LZF, the compression of texts in files.
//!
//! ```text
//! 000lllll                    l + 1 bytes follow as they are
//! lllddddd dddddddd           l + 2 bytes again from d + 1 bytes before, l below 7
//! 111ddddd llllllll dddddddd  l + 9 bytes again
//! ```

/// Most bytes that follow as they are.
const PLAIN_MAX: usize = 32;
/// Shortest repetition.
const REPEAT_MIN: usize = 3;
/// Longest repetition.
const REPEAT_MAX: usize = 264;
/// Length bits that say that a byte of length follows.
const LONG: usize = 7;
/// Most bytes from a repetition back to its source.
const DISTANCE_MAX: usize = 1 << 13;
/// Bits of a hash of three bytes.
const HASH_BITS: u32 = 14;
/// Bytes that one compressed byte mostly becomes, at most.
const EXPANSION_USUAL: usize = 4;
/// Multiplier of the hash of three bytes: odd, with well mixed bits.
const HASH_FACTOR: u32 = 0x9e37_79b1;
/// Most positions of a repetition that are noted.
const NOTED_MAX: usize = 4;
/// Most bytes that one compressed byte can become.
const EXPANSION_MAX: usize = REPEAT_MAX / 3;

/// Decompresses to exactly `len` bytes; `None` if the bytes do not become as many.
pub fn decompress(mut from: &[u8], len: usize) -> Option<Vec<u8>> {
    if len > from.len().saturating_mul(EXPANSION_MAX) {
        return None;
    }
    // Of a length that is only announced no more is allocated than most texts need.
    let mut to = Vec::with_capacity(len.min(from.len().saturating_mul(EXPANSION_USUAL)));
    while let Some((&control, rest)) = from.split_first() {
        let control = usize::from(control);
        if control < PLAIN_MAX {
            let (plain, rest) = rest.split_at_checked(control + 1)?;
            to.extend_from_slice(plain);
            from = rest;
        } else {
            from = repeat(control, rest, &mut to)?;
        }
        if to.len() > len {
            return None;
        }
    }
    (to.len() == len).then_some(to)
}

/// Appends one repetition; returns the bytes behind it.
#[inline]
fn repeat<'a>(control: usize, mut from: &'a [u8], to: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut length = control >> 5;
    if length == LONG {
        let (&more, rest) = from.split_first()?;
        length += usize::from(more);
        from = rest;
    }
    let (&low, rest) = from.split_first()?;
    let distance = ((control & 0x1f) << 8 | usize::from(low)) + 1;
    let begin = to.len().checked_sub(distance)?;
    let mut left = length + 2;
    // A repetition may overlap what it appends: each round doubles what can be copied.
    while left > 0 {
        let count = left.min(to.len() - begin);
        to.extend_from_within(begin..begin + count);
        left -= count;
    }
    Some(rest)
}

/// Compresses texts one after the other.
#[derive(Clone, Debug, Default)]
pub struct Compressor {
    /// Position of the last three bytes with a hash, plus one. What an earlier text has left is
    /// harmless, for whatever is found here is compared before it is used.
    seen: Vec<u32>,
}

impl Compressor {
    /// Compresses bytes; `None` if that does not save at least `saved_min` bytes.
    pub fn compress(&mut self, from: &[u8], saved_min: usize) -> Option<Vec<u8>> {
        let most = from.len().checked_sub(saved_min)?;
        self.seen.resize(1 << HASH_BITS, 0);
        let mut to = Compressed { bytes: Vec::with_capacity(most.min(1 << 16)), plain_at: None };
        let mut at = 0;
        while at < from.len() {
            let source = self.look_up(from, at);
            let length = source.map_or(0, |source| common(from, source, at));
            match source.filter(|_| length >= REPEAT_MIN) {
                Some(source) => {
                    to.repeat(at - source, length);
                    // Its next positions are noted too, so that what repeats from there is found.
                    for at in at + 1..at + length.min(NOTED_MAX) {
                        self.look_up(from, at);
                    }
                    at += length;
                }
                None => {
                    to.plain(from[at]);
                    at += 1;
                }
            }
            if to.bytes.len() > most {
                return None;
            }
        }
        Some(to.bytes)
    }

    /// Returns the last position within reach with the hash of the three bytes at `at`, and notes
    /// `at` in its place.
    #[inline]
    fn look_up(&mut self, from: &[u8], at: usize) -> Option<usize> {
        let [one, two, three] = *from.get(at..)?.first_chunk()?;
        let word = u32::from_le_bytes([one, two, three, 0]);
        let hash = (word.wrapping_mul(HASH_FACTOR) >> (32 - HASH_BITS)) as usize;
        let noted = u32::try_from(at + 1).ok()?;
        let before = std::mem::replace(&mut self.seen[hash], noted) as usize;
        let distance = at.checked_sub(before.checked_sub(1)?)?;
        (1..=DISTANCE_MAX).contains(&distance).then(|| at - distance)
    }
}

/// Number of bytes, within the limit of a repetition, that are equal at two positions.
#[inline]
fn common(from: &[u8], source: usize, at: usize) -> usize {
    let pairs = from[source..].iter().zip(&from[at..]).take(REPEAT_MAX);
    pairs.take_while(|(one, other)| one == other).count()
}

struct Compressed {
    bytes: Vec<u8>,
    /// Position of the control byte of the plain bytes at the end.
    plain_at: Option<usize>,
}

impl Compressed {
    #[inline]
    fn plain(&mut self, byte: u8) {
        match self.plain_at {
            Some(at) if usize::from(self.bytes[at]) < PLAIN_MAX - 1 => self.bytes[at] += 1,
            _ => {
                self.plain_at = Some(self.bytes.len());
                self.bytes.push(0);
            }
        }
        self.bytes.push(byte);
    }

    fn repeat(&mut self, distance: usize, length: usize) {
        let (distance, length) = (distance - 1, length - 2);
        let high = narrow::to_u8(distance >> 8);
        if length < LONG {
            self.bytes.push(narrow::to_u8(length << 5) | high);
        } else {
            self.bytes.push(narrow::to_u8(LONG << 5) | high);
            self.bytes.push(narrow::to_u8(length - LONG));
        }
        self.bytes.push(narrow::to_u8(distance & 0xff));
        self.plain_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    fn compress(text: &[u8], saved_min: usize) -> Option<Vec<u8>> {
        Compressor::default().compress(text, saved_min)
    }

    fn returns(text: &[u8]) {
        let mut used = Compressor::default();
        used.compress(&[text, b"xyz", text].concat(), 0);
        for short in [compress(text, 1), used.compress(text, 1)].into_iter().flatten() {
            assert!(short.len() < text.len());
            assert_eq!(decompress(&short, text.len()).as_deref(), Some(text));
            assert_eq!(decompress(&short, text.len() + 1), None);
            assert_eq!(decompress(&short, text.len().wrapping_sub(1)), None);
        }
    }

    #[test]
    fn repetitions_of_all_lengths_and_distances_return() {
        for length in (1..=600).chain([8190, 8191, 8192, 8193, 8194, 20_000]) {
            returns(&vec![b'x'; length]);
            let mut text: Vec<u8> =
                (0..length).map(|it| narrow::low_u8((it as u64 * 7919) >> 3)).collect();
            text.extend_from_within(..);
            returns(&text);
        }
        assert!(compress(&[b'x'; 10_000], 4).is_some_and(|short| short.len() < 200));
    }

    #[test]
    fn what_does_not_get_shorter_is_left_alone() {
        let text: Vec<u8> = (0..=255).collect();
        assert_eq!(compress(&text, 4), None);
        assert_eq!(compress(b"", 4), None);
        assert_eq!(compress(b"aaaa", 4), None);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let refused: [(&[u8], usize); 5] = [
            (&[5, 1, 2], 6),
            (&[0x20, 0], 3),
            (&[0, 1, 0xe0], 9),
            (&[0, 1, 0x20, 1], 4),
            (&[0, 1], 1 << 60),
        ];
        for (bytes, len) in refused {
            assert_eq!(decompress(bytes, len), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_returns(text in proptest::collection::vec(0_u8..4, 0..5000)) {
            returns(&text);
        }

        #[test]
        fn any_bytes_are_decompressed_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            len in 0_usize..2000,
        ) {
            let found = decompress(&bytes, len);
            prop_assert!(found.is_none_or(|text| text.len() == len));
        }
    }
}

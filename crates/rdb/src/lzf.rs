//! LZF, the compression of texts in files.
//!
//! ```text
//! 000lllll                    l + 1 bytes follow as they are
//! lllddddd dddddddd           l + 2 bytes again from d + 1 bytes before, l below 7
//! 111ddddd llllllll dddddddd  l + 9 bytes again
//! ```

/// Most bytes that follow as they are.
const PLAIN_MAX: usize = 32;
/// Shortest repetition that is worth it. Three bytes again would save one and end the plain bytes
/// before, whose successors need a byte of their own.
const REPEAT_MIN: usize = 4;
/// Longest repetition.
const REPEAT_MAX: usize = 264;
/// Length bits that say that a byte of length follows.
const LONG: usize = 7;
/// Most bytes from a repetition back to its source.
const DISTANCE_MAX: usize = 1 << 13;
/// Bits of a hash of four bytes.
const HASH_BITS: u32 = 14;
/// Bytes that one compressed byte mostly becomes, at most.
const EXPANSION_USUAL: usize = 4;
/// Multiplier of the hash of four bytes: odd, with well mixed bits.
const HASH_FACTOR: u32 = 0x9e37_79b1;
/// Most positions of a repetition that are noted.
const NOTED_MAX: usize = 4;
/// Positions at which nothing repeats before each second one is skipped, and so on.
const PATIENCE: usize = 32;
/// Longest step from a position to the next.
const STEP_MAX: usize = 16;
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
    /// Position of the last four bytes with a hash, plus one. What an earlier text has left is
    /// harmless, for whatever is found here is compared before it is used.
    seen: Vec<u32>,
}

impl Compressor {
    /// Compresses bytes; `None` if that does not save at least `saved_min` bytes.
    pub fn compress(&mut self, from: &[u8], saved_min: usize) -> Option<Vec<u8>> {
        let most = from.len().checked_sub(saved_min)?;
        self.seen.resize(1 << HASH_BITS, 0);
        let mut to = Vec::with_capacity(most.min(1 << 16));
        // What is not compressed yet begins at `plain`.
        let (mut at, mut plain, mut missed) = (0, 0, 0);
        while at < from.len() && to.len() + plain_bytes(at - plain) <= most {
            let Some((source, length)) = self.find_repetition(from, at) else {
                // Where nothing repeats, not each position is looked at. The bytes decide by how
                // much steps differ, so that those through the same bytes again come to meet.
                missed += 1;
                let step = (1 + missed / PATIENCE).min(STEP_MAX);
                at += step - usize::from(from[at]) % step.div_ceil(2);
                continue;
            };
            let before = common_before(&from[..source], &from[plain..at]);
            let (begin, length) = (at - before, (length + before).min(REPEAT_MAX));
            put_plain(&from[plain..begin], &mut to);
            put_repeat(at - source, length, &mut to);
            // Its next positions are noted too, so that what repeats from there is found.
            for at in at + 1..at + length.min(NOTED_MAX) {
                self.look_up(from, at);
            }
            (at, plain, missed) = (begin + length, begin + length, 0);
        }
        if to.len() + plain_bytes(from.len() - plain) > most {
            return None;
        }
        put_plain(&from[plain..], &mut to);
        Some(to)
    }

    /// Finds where the bytes at `at` were before, and how many of them.
    #[inline]
    fn find_repetition(&mut self, from: &[u8], at: usize) -> Option<(usize, usize)> {
        let source = self.look_up(from, at)?;
        let length = common(from, source, at);
        (length >= REPEAT_MIN).then_some((source, length))
    }

    /// Returns the last position within reach with the hash of the four bytes at `at`, and notes
    /// `at` in its place.
    #[inline]
    fn look_up(&mut self, from: &[u8], at: usize) -> Option<usize> {
        let word = u32::from_le_bytes(*from.get(at..)?.first_chunk()?);
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
    let most = (from.len() - at).min(REPEAT_MAX);
    let (one, other) = (&from[source..source + most], &from[at..at + most]);
    let words = one.chunks_exact(8).zip(other.chunks_exact(8));
    for (number, (one, other)) in words.enumerate() {
        let differs = word(one) ^ word(other);
        if differs != 0 {
            return number * 8 + differs.trailing_zeros() as usize / 8;
        }
    }
    let begin = most / 8 * 8;
    let rest = one[begin..].iter().zip(&other[begin..]);
    begin + rest.take_while(|(one, other)| one == other).count()
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Number of bytes that are equal before two positions.
#[inline]
fn common_before(source: &[u8], at: &[u8]) -> usize {
    let pairs = source.iter().rev().zip(at.iter().rev());
    pairs.take_while(|(one, other)| one == other).count()
}

/// Bytes that `put_plain` appends.
#[inline]
fn plain_bytes(count: usize) -> usize {
    count + count.div_ceil(PLAIN_MAX)
}

#[inline]
fn put_plain(plain: &[u8], to: &mut Vec<u8>) {
    for plain in plain.chunks(PLAIN_MAX) {
        to.push(narrow::to_u8(plain.len() - 1));
        match plain.len() {
            // Most of what stands between repetitions is shorter than a call to copy it.
            0..8 => plain.iter().for_each(|byte| to.push(*byte)),
            _ => to.extend_from_slice(plain),
        }
    }
}

#[inline]
fn put_repeat(distance: usize, length: usize, to: &mut Vec<u8>) {
    let (distance, length) = (distance - 1, length - 2);
    let high = narrow::to_u8(distance >> 8);
    if length < LONG {
        to.push(narrow::to_u8(length << 5) | high);
    } else {
        to.push(narrow::to_u8(LONG << 5) | high);
        to.push(narrow::to_u8(length - LONG));
    }
    to.push(narrow::to_u8(distance & 0xff));
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
    fn a_repetition_is_found_behind_much_that_does_not_repeat() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            narrow::low_u8(random >> 56)
        };
        for repeated in [100, 500, 4000] {
            let mut text: Vec<u8> = (0..8000).map(|_| next()).collect();
            text.extend_from_within(8000 - repeated..);
            let short = compress(&text, 0).map_or(text.len(), |short| short.len());
            let plain = 8000 + 8000 / PLAIN_MAX;
            assert!(short < plain + repeated / 3 + 60, "{repeated}: {short}");
            returns(&text);
        }
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

//! Small sets of integers: a sorted array, each integer as wide as the widest one needs.

use smallvec::SmallVec;

/// Integers in ascending order. The width is 2, 4 or 8 bytes, and never falls.
///
/// ```text
/// | width 1 | integer of so many bytes, little-endian | ... |
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Integers<'a> {
    width: usize,
    array: &'a [u8],
}

const HEAD_BYTES: usize = 1;

/// Bytes of an array with its head.
pub(super) type Bytes = SmallVec<[u8; 256]>;

/// Bytes that an integer needs.
#[inline]
pub(super) fn width_of(value: i64) -> usize {
    if i16::try_from(value).is_ok() {
        2
    } else if i32::try_from(value).is_ok() {
        4
    } else {
        8
    }
}

impl<'a> Integers<'a> {
    /// Returns the array in the value of a set.
    ///
    /// # Panics
    /// If the head is missing.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Integers<'a> {
        let (width, array) = bytes.split_first().expect("integers have a head");
        Integers { width: usize::from(*width), array }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.array.len() / self.width
    }

    /// Bytes of each integer.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the integer at an index, in ascending order.
    ///
    /// # Panics
    /// If the index is out of range.
    #[inline]
    pub fn get(&self, at: usize) -> i64 {
        let bytes = &self.array[at * self.width..(at + 1) * self.width];
        match *bytes {
            [a, b] => i64::from(i16::from_le_bytes([a, b])),
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            _ => i64::from_le_bytes(bytes.try_into().expect("the widest have eight bytes")),
        }
    }

    /// Finds an integer: its index, or as an error the index at which it would be inserted.
    #[inline]
    pub fn find(&self, value: i64) -> Result<usize, usize> {
        match self.width {
            2 => search(self.array.as_chunks().0, value, |it| i16::from_le_bytes(it).into()),
            4 => search(self.array.as_chunks().0, value, |it| i32::from_le_bytes(it).into()),
            _ => search(self.array.as_chunks().0, value, i64::from_le_bytes),
        }
    }

    /// Iterates in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator + use<'a> {
        let integers = *self;
        (0..self.len()).map(move |at| integers.get(at))
    }

    /// Length in bytes of the longest integer as text.
    pub fn longest_text(&self) -> usize {
        let ends = [self.get(0), self.get(self.len() - 1)];
        ends.into_iter().map(|end| packed::Element::Integer(end).text_len()).max().unwrap_or(0)
    }
}

#[inline]
fn search<const N: usize>(
    array: &[[u8; N]],
    value: i64,
    read: impl Fn([u8; N]) -> i64,
) -> Result<usize, usize> {
    let at = array.partition_point(|other| read(*other) < value);
    if array.get(at).is_some_and(|other| read(*other) == value) { Ok(at) } else { Err(at) }
}

/// Length in bytes of an array with its head.
pub(super) fn byte_len(width: usize, count: usize) -> usize {
    HEAD_BYTES + width * count
}

/// Encodes integers that are in ascending order.
pub(super) fn encode(width: usize, values: impl Iterator<Item = i64>) -> Bytes {
    let mut bytes = Bytes::new();
    bytes.push(narrow::to_u8(width));
    for value in values {
        bytes.extend_from_slice(&value.to_le_bytes()[..width]);
    }
    bytes
}

/// Bytes that the widest of some integers needs.
pub(super) fn width_of_all(values: impl Iterator<Item = i64>) -> usize {
    values.map(width_of).max().unwrap_or(2)
}

/// Inserts an integer at index `at` into bytes that have already grown by its width.
pub(super) fn insert(bytes: &mut [u8], at: usize, value: i64) {
    let width = usize::from(bytes[0]);
    let (from, end) = (HEAD_BYTES + at * width, bytes.len() - width);
    bytes.copy_within(from..end, from + width);
    bytes[from..from + width].copy_from_slice(&value.to_le_bytes()[..width]);
}

/// Removes the integer at index `at`; the caller then shortens the bytes by its width.
pub(super) fn remove(bytes: &mut [u8], at: usize) {
    let width = usize::from(bytes[0]);
    let next = HEAD_BYTES + (at + 1) * width;
    bytes.copy_within(next.., next - width);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_found_in_each_width() {
        for most in [i64::from(i16::MAX), i64::from(i32::MAX), i64::MAX] {
            let values = [-most - 1, -5, 0, 7, most];
            let bytes = encode(width_of_all(values.into_iter()), values.into_iter());
            let integers = Integers::new(&bytes);
            assert!(integers.iter().eq(values));
            for (at, value) in values.into_iter().enumerate() {
                assert_eq!(integers.find(value), Ok(at));
            }
            assert_eq!(integers.find(-6), Err(1));
            assert_eq!(integers.find(8), Err(4));
        }
        assert_eq!(width_of(32_768), 4);
        assert_eq!(width_of(-32_769), 4);
        assert_eq!(width_of(1 << 31), 8);
    }

    #[test]
    fn integers_come_and_go_in_place() {
        let mut bytes = encode(2, [1, 3].into_iter()).to_vec();
        bytes.extend([0, 0]);
        insert(&mut bytes, 1, 2);
        assert!(Integers::new(&bytes).iter().eq([1, 2, 3]));
        remove(&mut bytes, 0);
        bytes.truncate(5);
        assert!(Integers::new(&bytes).iter().eq([2, 3]));
    }
}

//! Intsets: sets of integers in ascending order.
//!
//! ```text
//! | bytes of an integer 4 | integers 4 | integer | ... |
//! ```

use super::bytes::{Damage, array, integer};
use packed::Element;

const HEAD_BYTES: usize = 8;

/// Integers of an intset, checked to rise.
#[derive(Debug)]
pub(crate) struct Integers<'b> {
    rest: &'b [u8],
    width: usize,
    before: Option<i64>,
}

impl<'b> Integers<'b> {
    pub fn new(bytes: &'b [u8]) -> Result<Integers<'b>, Damage> {
        let mut rest = bytes;
        let (Some(width), Some(count)) = (array(&mut rest), array(&mut rest)) else {
            return Err("a short intset");
        };
        let (width, count) = (u32::from_le_bytes(width) as usize, u32::from_le_bytes(count));
        if !matches!(width, 2 | 4 | 8) || (count as usize).checked_mul(width) != Some(rest.len()) {
            return Err("the head of an intset");
        }
        Ok(Integers { rest, width, before: None })
    }
}

impl<'b> Iterator for Integers<'b> {
    type Item = Result<Element<'b>, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Result<Element<'b>, Damage>> {
        let value = match self.width {
            2 => integer::<2>(array(&mut self.rest)?),
            4 => integer::<4>(array(&mut self.rest)?),
            _ => integer::<8>(array(&mut self.rest)?),
        };
        if self.before.replace(value).is_some_and(|before| before >= value) {
            self.rest = &[];
            return Some(Err("integers that do not rise"));
        }
        Some(Ok(Element::Integer(value)))
    }
}

/// Bytes of the intset of integers in ascending order.
pub fn intset(integers: &[i64]) -> Vec<u8> {
    let ends = [integers.first(), integers.last()].map(|it| it.copied().unwrap_or(0));
    let width: usize = if ends.iter().all(|it| i16::try_from(*it).is_ok()) {
        2
    } else if ends.iter().all(|it| i32::try_from(*it).is_ok()) {
        4
    } else {
        8
    };
    let mut bytes = Vec::with_capacity(HEAD_BYTES + width * integers.len());
    bytes.extend_from_slice(&narrow::to_u32(width).to_le_bytes());
    bytes.extend_from_slice(&narrow::to_u32(integers.len()).to_le_bytes());
    integers.iter().for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()[..width]));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bytes: &[u8]) -> Result<Vec<Element<'_>>, Damage> {
        Integers::new(bytes)?.collect()
    }

    #[test]
    fn integers_return_in_the_narrowest_width() {
        let widths: [(usize, &[i64]); 5] = [
            (2, &[]),
            (2, &[-32_768, 0, 32_767]),
            (4, &[-32_769, 5]),
            (4, &[-2_147_483_648, 2_147_483_647]),
            (8, &[i64::MIN, i64::MAX]),
        ];
        for (width, integers) in widths {
            let bytes = intset(integers);
            assert_eq!(bytes.len(), HEAD_BYTES + width * integers.len());
            let expected: Vec<Element<'_>> =
                integers.iter().map(|it| Element::Integer(*it)).collect();
            assert_eq!(values(&bytes), Ok(expected));
        }
    }

    #[test]
    fn integers_that_do_not_rise_and_wrong_heads_are_refused() {
        assert!(values(&intset(&[1, 1])).is_err());
        assert!(values(&intset(&[2, 1])).is_err());
        for (at, to) in [(0, 3), (0, 8), (4, 1), (4, 3), (7, 255)] {
            let mut bytes = intset(&[1, 2]);
            bytes[at] = to;
            assert!(values(&bytes).is_err(), "byte {at} is {to}");
        }
        assert!(values(b"\x02\0\0\0").is_err());
    }
}

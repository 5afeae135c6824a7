//! Largest size of a list that is one packed list. Sizes are counted as in a listpack, as clients
//! expect.

use crate::key::Encoding;
use packed::{Element, PackedList};

pub(super) const SMALL: Encoding = Encoding::Listpack;
pub(super) const LARGE: Encoding = Encoding::Quicklist;

/// The setting `list-max-listpack-size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimit {
    bytes: usize,
    elements: usize,
}

/// Bytes of a listpack besides its elements.
pub(super) const LISTPACK_BYTES: usize = 7;
/// Most bytes if the setting is a number of elements.
const SAFE_BYTES: usize = 8192;
/// Longest packed list of a list, in bytes, whatever the setting.
const PACKED_BYTES: usize = 60_000;

impl ListLimit {
    /// Converts the setting: a number of elements, or from -1 to -5, a limit of 4, 8, 16, 32 or 64
    /// KiB.
    pub fn of_setting(setting: i32) -> ListLimit {
        if setting >= 0 {
            // At least one element, as a limit of zero would allow none.
            let elements = (setting as usize).max(1);
            return ListLimit { bytes: SAFE_BYTES, elements };
        }
        let step = setting.unsigned_abs().min(5) as usize - 1;
        ListLimit { bytes: 4096 << step, elements: usize::MAX }
    }

    /// Returns true if a list of this number of elements, and bytes in a listpack, may be one
    /// packed list.
    pub fn allows(self, elements: usize, bytes: usize) -> bool {
        elements <= self.elements && bytes <= self.bytes
    }

    /// Returns true if a list that has shrunk to this size becomes one packed list again, which it
    /// does below half the limit only.
    pub fn allows_again(self, elements: usize, bytes: usize) -> bool {
        elements <= self.elements / 2 && bytes <= self.bytes / 2
    }

    /// Encoding name of a list that has become too large for one packed list with more elements. It
    /// may still be that of a small list, since the limit may allow more than fits into a packed
    /// list.
    pub(super) fn encoding_of(self, packed: PackedList<'_>, more: More) -> Encoding {
        let (count, bytes) = (packed.len() + more.elements, listpack_bytes(packed) + more.bytes);
        if self.allows(count, bytes) { SMALL } else { LARGE }
    }

    /// Returns true if more elements may be added to a packed list.
    pub(super) fn allows_more(self, packed: PackedList<'_>, more: More) -> bool {
        if packed.full_len() + more.cost > PACKED_BYTES {
            return false;
        }
        let count = packed.len() + more.elements;
        let at_most = |more_for_each: usize| {
            let bytes = LISTPACK_BYTES + packed.full_len() + more_for_each * packed.len();
            self.allows(count, bytes + more.bytes)
        };
        // A listpack takes at most four bytes more for an element, namely an integer of 33 bits,
        // and at most one byte more for a short one.
        at_most(4)
            || packed.is_all_short() && at_most(1)
            || self.allows(count, listpack_bytes(packed) + more.bytes)
    }
}

/// Totals of the elements to be added.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct More {
    pub elements: usize,
    /// Bytes of their texts.
    pub bytes: usize,
    /// Upper bound of their bytes in a packed list.
    pub cost: usize,
}

impl More {
    #[inline]
    pub fn of<'t>(texts: impl Iterator<Item = &'t [u8]>) -> More {
        texts.fold(More::default(), |more, text| More {
            elements: more.elements + 1,
            bytes: more.bytes + text.len(),
            cost: more.cost + Element::Bytes(text).cost(),
        })
    }
}

/// Bytes of a listpack with the elements of a packed list.
pub(super) fn listpack_bytes(packed: PackedList<'_>) -> usize {
    LISTPACK_BYTES + packed.iter().map(element_bytes).sum::<usize>()
}

/// Lower bound, close and quickly computed, of the bytes of a leaf's elements in a listpack.
pub(super) fn listpack_bytes_about(packed: PackedList<'_>) -> usize {
    // The lengths of a long text take four bytes less in a listpack.
    packed.element_bytes().len() / 32 * 31 + packed.len()
}

/// Lower bound, exact but for some of the smallest integers, of the bytes of a leaf's elements in a
/// listpack. An element takes one byte more there than in the packed list, where long texts store
/// their length twice in eight bytes instead of four.
pub(super) fn listpack_bytes_at_least(packed: PackedList<'_>) -> usize {
    let (small_integers, long_texts) = packed.count_unusual();
    packed.element_bytes().len() + 2 * packed.len() - small_integers - 6 * long_texts
}

/// Bytes of an element in a listpack: its header, its content, and its length repeated at the end.
#[inline]
pub(in crate::value) fn element_bytes(element: Element<'_>) -> usize {
    let bytes = match element {
        Element::Integer(value) => match value {
            0..128 => 1,
            -4096..4096 => 2,
            -0x8000..0x8000 => 3,
            -0x80_0000..0x80_0000 => 4,
            -0x8000_0000..0x8000_0000 => 5,
            _ => 9,
        },
        other => match other.text_len() {
            len @ 0..64 => 1 + len,
            len @ 64..4096 => 2 + len,
            len => 5 + len,
        },
    };
    let behind = match bytes {
        0..128 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    bytes + behind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_give_the_limits_that_their_manual_names() {
        let kib = |setting: i32| ListLimit::of_setting(setting).bytes >> 10;
        assert_eq!([-1, -2, -3, -4, -5, -9].map(kib), [4, 8, 16, 32, 64, 64]);
        let five = ListLimit::of_setting(5);
        assert!(five.allows(5, 8192) && !five.allows(6, 10) && !five.allows(1, 8193));
        assert!(ListLimit::of_setting(0).allows(1, 10));
    }

    #[test]
    fn what_an_element_takes_in_a_listpack_is_within_bounds() {
        let integers = (0..63).flat_map(|bits| [1_i64 << bits, -(1_i64 << bits)]);
        let texts = (0..5_000).map(|len| vec![b'x'; len]);
        for text in integers.map(|it| it.to_string().into_bytes()).chain(texts) {
            let element = Element::of(&text);
            let mut packed = packed::EMPTY.to_vec();
            packed::push(&mut packed, element);
            let more = if PackedList::new(&packed).is_all_short() { 1 } else { 4 };
            assert!(element_bytes(element) <= element.cost() + more, "{} bytes", text.len());
            let least = listpack_bytes_at_least(PackedList::new(&packed));
            assert!(least <= element_bytes(element), "{} bytes", text.len());
            assert!(
                listpack_bytes_about(PackedList::new(&packed)) <= least,
                "{} bytes",
                text.len()
            );
        }
    }

    #[test]
    fn elements_take_what_they_take_in_a_listpack() {
        let rows: [(&[u8], usize); 8] = [
            (b"", 2),
            (b"5", 2),
            (b"127", 2),
            (b"128", 3),
            (b"-4096", 3),
            (b"70000", 5),
            (b"abc", 5),
            (&[b'x'; 64], 67),
        ];
        for (text, bytes) in rows {
            assert_eq!(element_bytes(Element::of(text)), bytes, "{text:?}");
        }
    }
}

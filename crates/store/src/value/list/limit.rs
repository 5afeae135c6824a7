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
        is_allowed(|bytes_of| self.allows(count, LISTPACK_BYTES + bytes_of(packed) + more.bytes))
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
    LISTPACK_BYTES + listpack_element_bytes(packed)
}

/// Returns true if `allows` is true for the bytes of elements in a listpack. It gets several ways
/// to compute them, bounds first: each push onto a list that is almost as large as it may be asks,
/// and the exact bytes matter for very few of them.
pub(super) fn is_allowed(allows: impl Fn(fn(PackedList<'_>) -> usize) -> bool) -> bool {
    let most = |packed: PackedList<'_>| bounds(packed).1;
    let least = |packed: PackedList<'_>| bounds(packed).0;
    allows(listpack_bytes_at_most)
        || allows(most)
        || allows(least) && allows(listpack_element_bytes)
}

/// Bytes of the elements of a packed list in a listpack: computed many elements at a time, unless
/// some are long.
pub(super) fn listpack_element_bytes(packed: PackedList<'_>) -> usize {
    let (least, most) = bounds(packed);
    if least == most { most } else { one_by_one(packed) }
}

fn one_by_one(packed: PackedList<'_>) -> usize {
    packed.iter().map(element_bytes).sum()
}

/// Lower and upper bound of the bytes of the elements of a packed list in a listpack. They are six
/// bytes apart for each long text, which takes up to four bytes less there, or up to two more if it
/// is very long.
fn bounds(packed: PackedList<'_>) -> (usize, usize) {
    let (small_integers, long_texts) = packed.count_unusual();
    // What a listpack has besides the bytes of each element, but for the smallest integers: two
    // bytes for a long text.
    let of_text = |len: u8| 2 + u8::from(len >= 64) + u8::from(len >= 126);
    let of_integer = |bytes: u8| if bytes < 5 { 2 } else { 10_u8.wrapping_sub(bytes) };
    let besides = if packed.is_all_short() {
        Some(2 * packed.len())
    } else {
        packed.sum_by_size(of_text, of_integer)
    };
    let Some(besides) = besides else {
        let exactly = one_by_one(packed);
        return (exactly, exactly);
    };
    let smallest = match small_integers {
        0 => 0,
        _ => packed.count_small_integers(|it| it >= 0, |it| (-4096..4096).contains(&it)),
    };
    let most = packed.element_bytes().len() + besides - smallest;
    (most - 6 * long_texts, most)
}

/// Upper bound, more quickly computed, of the same: a listpack takes at most four bytes more for an
/// element than a packed list with a code for each, namely for an integer of 33 bits, and at most
/// one byte more for a short one.
pub(super) fn listpack_bytes_at_most(packed: PackedList<'_>) -> usize {
    let stored = packed.element_bytes().len() + packed.len();
    if packed.is_all_short() {
        return stored + packed.len();
    }
    let elsewhere: u64 = packed.far_ones(0, packed.len()).map(|far| far.len).sum();
    stored + 4 * packed.len() + narrow::to_usize(elsewhere)
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
    use packed::Far;

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
            let (packed, exactly) = (PackedList::new(&packed), element_bytes(element));
            let bounds = [listpack_bytes_about, listpack_bytes_at_least, listpack_element_bytes];
            let [about, least, counted] = bounds.map(|bound| bound(packed));
            assert!(about <= least && least <= exactly, "{} bytes", text.len());
            assert_eq!(counted, exactly, "{} bytes", text.len());
            assert!(exactly <= listpack_bytes_at_most(packed), "{} bytes", text.len());
        }
    }

    #[test]
    fn an_element_kept_elsewhere_takes_what_its_text_takes() {
        for len in [0, 63, 64, 5_000, 100_000, 3_000_000] {
            let (far, mut packed) = (Element::Far(Far { node: 7, len }), packed::EMPTY.to_vec());
            packed::push(&mut packed, far);
            let packed = PackedList::new(&packed);
            assert_eq!(listpack_element_bytes(packed), element_bytes(far), "{len} bytes");
            assert!(element_bytes(far) <= listpack_bytes_at_most(packed), "{len} bytes");
        }
    }

    #[test]
    fn many_elements_take_as_much_as_each_of_them() {
        let mut packed = packed::EMPTY.to_vec();
        let runs = [-4098, -4090, -130, -100, 0, 100, 4090, 32_760, 70_000, 1 << 33];
        for start in runs {
            for value in start..start + 70 {
                packed::push(&mut packed, Element::Integer(value));
                if value % 100 == 0 {
                    packed::push(&mut packed, Element::Bytes(b"text"));
                }
                let list = PackedList::new(&packed);
                let exactly: usize = list.iter().map(element_bytes).sum();
                assert_eq!(listpack_element_bytes(list), exactly);
                assert!(exactly <= listpack_bytes_at_most(list));
            }
        }
    }

    #[test]
    fn long_texts_leave_few_bytes_between_the_bounds() {
        let mut packed = packed::EMPTY.to_vec();
        for (long_texts, len) in (1..).zip([240, 4_095, 4_096, 16_377, 16_378, 239 + 5_000]) {
            for value in -60..60 {
                packed::push(&mut packed, Element::Integer(value * 7_001));
            }
            packed::push(&mut packed, Element::Bytes(&[b't'; 130]));
            packed::push(&mut packed, Element::Bytes(&vec![b'l'; len]));
            let list = PackedList::new(&packed);
            let ((least, most), exactly) = (bounds(list), one_by_one(list));
            assert!((least..=most).contains(&exactly) && most - least == 6 * long_texts);
            assert_eq!(listpack_element_bytes(list), exactly);
            for limit in least - 1..=most + 1 {
                assert_eq!(is_allowed(|bytes_of| bytes_of(list) <= limit), exactly <= limit);
            }
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

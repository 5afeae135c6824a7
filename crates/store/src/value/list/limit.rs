//! Up to which size a list is one packed list: the sizes that clients know from listpacks.

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
/// What a limit in elements allows in bytes.
const SAFE_BYTES: usize = 8192;
/// A packed list holds no more, whatever the setting.
const PACKED_BYTES: usize = 60_000;

impl ListLimit {
    /// The limit of a setting: a number of elements, or from -1 on 4, 8, 16, 32 or 64 KiB.
    pub fn of_setting(setting: i32) -> ListLimit {
        if setting >= 0 {
            // One element at least, as zero would allow none.
            let elements = (setting as usize).max(1);
            return ListLimit { bytes: SAFE_BYTES, elements };
        }
        let step = setting.unsigned_abs().min(5) as usize - 1;
        ListLimit { bytes: 4096 << step, elements: usize::MAX }
    }

    /// Whether a list of so many elements and bytes, as those of a listpack are counted, is one
    /// packed list.
    pub fn allows(self, elements: usize, bytes: usize) -> bool {
        elements <= self.elements && bytes <= self.bytes
    }

    /// The same of a list that has shrunk, which becomes one packed list below half the limit only.
    pub fn allows_again(self, elements: usize, bytes: usize) -> bool {
        elements <= self.elements / 2 && bytes <= self.bytes / 2
    }

    /// What a list is called that would not stay one packed list with more elements: the limit may
    /// be wider than what a packed list holds.
    pub(super) fn encoding_of(self, packed: PackedList<'_>, more: More) -> Encoding {
        let (count, bytes) = (packed.len() + more.elements, listpack_bytes(packed) + more.bytes);
        if self.allows(count, bytes) { SMALL } else { LARGE }
    }

    /// Whether a packed list may take more elements.
    pub(super) fn allows_more(self, packed: PackedList<'_>, more: More) -> bool {
        if packed.full_len() + more.cost > PACKED_BYTES {
            return false;
        }
        let count = packed.len() + more.elements;
        let at_most = |more_for_each: usize| {
            let bytes = LISTPACK_BYTES + packed.full_len() + more_for_each * packed.len();
            self.allows(count, bytes + more.bytes)
        };
        // A listpack takes up to four bytes more for an element, of an integer of 33 bits, and up
        // to one for a short one.
        at_most(4)
            || packed.is_all_short() && at_most(1)
            || self.allows(count, listpack_bytes(packed) + more.bytes)
    }
}

/// Elements that are to come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct More {
    pub elements: usize,
    /// Bytes of their texts.
    pub bytes: usize,
    /// Bytes that they take in a packed list, at most.
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

/// Bytes that a listpack with the elements of a packed list takes.
pub(super) fn listpack_bytes(packed: PackedList<'_>) -> usize {
    LISTPACK_BYTES + packed.iter().map(element_bytes).sum::<usize>()
}

/// Less than the elements of a packed list of a tree take in a listpack, but not much.
pub(super) fn listpack_bytes_about(packed: PackedList<'_>) -> usize {
    // The lengths of a long text are four bytes less in a listpack.
    packed.element_bytes().len() / 32 * 31 + packed.len()
}

/// Bytes that the elements of a packed list of a tree take in a listpack at least, and but for some
/// of the smallest integers just so many: one more than in the packed list, of which long texts
/// have their length twice in eight bytes and not in four.
pub(super) fn listpack_bytes_at_least(packed: PackedList<'_>) -> usize {
    let (small_integers, long_texts) = packed.count_unusual();
    packed.element_bytes().len() + 2 * packed.len() - small_integers - 6 * long_texts
}

/// Bytes that an element takes in a listpack: its head, itself, and its length once more behind.
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

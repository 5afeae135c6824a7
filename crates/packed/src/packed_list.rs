//! Reading of a packed list: from either end, and by number.

mod concat;
mod search;
mod sums;

pub use concat::concat;

use crate::element::{Element, Far, has_far, short_size, size_at_end, size_at_start, sum_of_sizes};
use crate::head::{HEAD_BYTES, Head};
use thiserror::Error;

/// Number of elements below which they are passed one by one.
const FEW: usize = 8;
/// Least average bytes of elements whose codes repeat: a packed list of shorter ones would grow by
/// too much once they get codes of their own.
pub(crate) const REPEATING_BYTES_MIN: usize = 4;

/// View of a packed list for reading. Its bytes were written by `PackedListMut`, or passed
/// `PackedList::checked`.
#[derive(Clone, Copy, Debug)]
pub struct PackedList<'a> {
    bytes: &'a [u8],
    head: Head,
}

/// Place of an element of a packed list; valid until the packed list is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) index: usize,
    pub(crate) offset: usize,
}

/// Error: bytes are not a valid packed list.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("damaged packed list of elements: {0}")]
pub struct Damaged(&'static str);

impl Place {
    /// Returns the number of the element, from 0 at the front.
    pub fn index(self) -> usize {
        self.index
    }
}

impl<'a> PackedList<'a> {
    /// Returns a view of the packed list in `bytes`.
    ///
    /// # Panics
    /// If there is no head.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> PackedList<'a> {
        let head = Head::read(bytes).expect("a packed list has a head");
        debug_assert!(head.is_sound(bytes.len()), "{head:?} in {} bytes", bytes.len());
        PackedList { bytes, head }
    }

    /// Checks bytes that may hold anything, and returns the packed list in them. Every element of
    /// it can be read, and is in the one form of its text.
    ///
    /// # Errors
    /// When they were not written by `PackedListMut`.
    pub fn checked(bytes: &'a [u8]) -> Result<PackedList<'a>, Damaged> {
        PackedList::walked(bytes, |list, place, next| list.check_form(place, next))
    }

    /// Checks bytes that may hold anything, and returns the packed list in them. Every element of
    /// it can be read.
    ///
    /// # Errors
    /// When an element cannot be read, or the parts of the packed list do not fit together.
    pub fn readable(bytes: &'a [u8]) -> Result<PackedList<'a>, Damaged> {
        PackedList::walked(bytes, |_, _, _| Ok(()))
    }

    /// Walks over bytes that may hold anything, and calls `check` for each element.
    fn walked(
        bytes: &'a [u8],
        check: impl Fn(&PackedList<'a>, Place, Place) -> Result<(), Damaged>,
    ) -> Result<PackedList<'a>, Damaged> {
        let head = Head::read(bytes).ok_or(Damaged("no head"))?;
        if !head.is_sound(bytes.len()) {
            return Err(Damaged("parts that overlap or reach beyond its end"));
        }
        let list = PackedList { bytes, head };
        let mut place = list.front();
        while place.index < head.count {
            let size = size_at_start(list.code(place.index), &bytes[place.offset..head.end]);
            let size = size.ok_or(Damaged("a code that means nothing"))?;
            let next = Place { index: place.index + 1, offset: place.offset + size };
            if next.offset > head.end {
                return Err(Damaged("elements that reach beyond their end"));
            }
            check(&list, place, next)?;
            place = next;
        }
        let is_whole = place.offset == head.end;
        is_whole.then_some(list).ok_or(Damaged("bytes behind the last element"))
    }

    /// Checks that the element between two places reads the same from both ends, and has the one
    /// form of its text.
    fn check_form(&self, place: Place, next: Place) -> Result<(), Damaged> {
        let (code, bytes) = (self.code(place.index), &self.bytes[place.offset..next.offset]);
        if size_at_end(code, bytes) != Some(bytes.len()) {
            return Err(Damaged("a length that differs from end to end"));
        }
        let element = Element::read(code, bytes);
        let is_own_form = !matches!(element, Element::Far(_))
            && element.code() == code
            && element.with_text(|text| Element::of(text) == element);
        is_own_form.then_some(()).ok_or(Damaged("an element in another form than its own"))
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.head.count
    }

    /// Returns true if there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.count == 0
    }

    /// Returns the bytes of the packed list; the memory behind them is free.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.head.byte_len()
    }

    /// Returns the bytes that it would take without gaps.
    #[inline]
    pub fn dense_len(&self) -> usize {
        self.head.dense_len()
    }

    /// Returns the bytes that it would take without gaps and with a code for each element, as after
    /// a change that ends the repetition.
    #[inline]
    pub fn full_len(&self) -> usize {
        self.head.full_len()
    }

    /// Returns the bytes that it would take, at most and without gaps, with a further row of
    /// elements before any row, or behind the last.
    #[inline]
    pub fn len_with(&self, elements: &[Element<'_>]) -> usize {
        let size: usize = elements.iter().map(|element| element.size()).sum();
        if self.repeats_for(elements) {
            return HEAD_BYTES + self.element_bytes().len() + size + self.row_len();
        }
        self.full_len() + size + elements.len()
    }

    /// Returns true if codes repeat, and go on repeating with these elements behind the last.
    #[inline]
    pub(crate) fn repeats_for(&self, elements: &[Element<'_>]) -> bool {
        let count = self.head.count;
        self.head.is_repeating()
            && count > 0
            && elements.iter().enumerate().all(|(number, element)| {
                let at = (count + number) & self.head.mask;
                let code = if at < count { self.code(at) } else { elements[at - count].code() };
                element.code() == code
            })
    }

    /// Returns the number of elements that must be added and removed together: two where two codes
    /// alternate, otherwise one.
    pub fn row_len(&self) -> usize {
        if self.head.is_repeating() { self.head.mask + 1 } else { 1 }
    }

    /// Returns the bytes of all elements.
    #[inline]
    pub fn element_bytes(&self) -> &'a [u8] {
        &self.bytes[self.head.begin..self.head.end]
    }

    /// Returns the codes that are stored.
    #[inline]
    pub fn codes(&self) -> &'a [u8] {
        &self.bytes[self.head.codes..self.head.byte_len()]
    }

    #[inline]
    pub(crate) fn code(&self, index: usize) -> u8 {
        self.bytes[self.head.codes + (index & self.head.mask)]
    }

    /// Returns the place of the first element, or the end of an empty packed list.
    #[inline]
    pub fn front(&self) -> Place {
        Place { index: 0, offset: self.head.begin }
    }

    /// Returns the place behind the last element.
    #[inline]
    pub fn end(&self) -> Place {
        Place { index: self.head.count, offset: self.head.end }
    }

    /// Returns the place of the element with a number, or the end if there is none. Lengths are
    /// summed from the nearer end.
    #[inline]
    pub fn place(&self, index: usize) -> Place {
        if index >= self.head.count {
            self.end()
        } else if index > self.head.count / 2 && !self.head.is_repeating() {
            self.backward(self.end(), index)
        } else {
            self.forward(self.front(), index)
        }
    }

    /// Returns the place of element `index`, which is not behind `from`, where each element has a
    /// code of its own.
    #[inline]
    fn backward(&self, from: Place, index: usize) -> Place {
        let codes = &self.bytes[self.head.codes + index..self.head.codes + from.index];
        let sum = if codes.len() < FEW { None } else { sum_of_sizes(codes) };
        match sum {
            Some(sum) => Place { index, offset: from.offset - sum },
            None => (index..from.index).fold(from, |place, _| self.before(place)),
        }
    }

    /// Returns the place of element `index`, which is not before `from`, nor behind the end.
    /// Lengths of short elements are summed many at a time.
    #[inline]
    pub fn forward(&self, from: Place, index: usize) -> Place {
        if self.head.is_repeating() {
            return self.forward_by(from, index - from.index);
        }
        let codes = &self.bytes[self.head.codes + from.index..self.head.codes + index];
        let sum = if codes.len() < FEW { None } else { sum_of_sizes(codes) };
        match sum {
            Some(sum) => Place { index, offset: from.offset + sum },
            None => (from.index..index).fold(from, |place, _| self.after(place)),
        }
    }

    /// Returns the place `count` elements behind `from`, where codes repeat.
    #[inline]
    fn forward_by(&self, from: Place, count: usize) -> Place {
        match self.bytes_of(from.index, count) {
            Some(bytes) => Place { index: from.index + count, offset: from.offset + bytes },
            None => (0..count).fold(from, |place, _| self.after(place)),
        }
    }

    /// Returns the bytes of `count` elements from number `from` on, where codes repeat; `None` if
    /// some are long, as their codes do not hold their lengths.
    #[inline]
    fn bytes_of(&self, from: usize, count: usize) -> Option<usize> {
        let first = if count > 0 { short_size(self.code(from))? } else { 0 };
        let second = if count > 1 { short_size(self.code(from + 1))? } else { 0 };
        Some(count.div_ceil(2) * first + count / 2 * second)
    }

    /// Returns the element at a place; `None` at the end.
    #[inline]
    pub fn at(&self, place: Place) -> Option<Element<'a>> {
        if place.index >= self.head.count {
            return None;
        }
        let next = self.after(place);
        Some(Element::read(self.code(place.index), &self.bytes[place.offset..next.offset]))
    }

    /// Returns the element with a number.
    pub fn get(&self, index: usize) -> Option<Element<'a>> {
        self.at(self.place(index))
    }

    /// Returns the last element.
    #[inline]
    pub fn last(&self) -> Option<Element<'a>> {
        self.iter().next_back()
    }

    /// Returns the place behind one that is not the end.
    #[inline]
    pub fn after(&self, place: Place) -> Place {
        let size = size_at_start(self.code(place.index), &self.bytes[place.offset..self.head.end]);
        Place { index: place.index + 1, offset: place.offset + size.unwrap_or(0) }
    }

    /// Returns the place before one that is not the front.
    #[inline]
    pub fn before(&self, place: Place) -> Place {
        let index = place.index - 1;
        let size = size_at_end(self.code(index), &self.bytes[self.head.begin..place.offset]);
        Place { index, offset: place.offset - size.unwrap_or(0) }
    }

    /// Returns the far elements among `count` elements from number `from` on.
    #[inline]
    pub fn far_ones(&self, from: usize, count: usize) -> impl Iterator<Item = Far> + use<'a> {
        let (list, codes) = (*self, self.codes());
        let is_any =
            has_far(if self.head.is_repeating() { codes } else { &codes[from..from + count] });
        is_any
            .then(|| list.iter_from(list.place(from)).take(count))
            .into_iter()
            .flatten()
            .filter_map(|element| match element {
                Element::Far(far) => Some(far),
                _ => None,
            })
    }

    /// Returns the bytes of the elements between two places, without their codes.
    #[inline]
    pub fn bytes_between(&self, from: Place, to: Place) -> usize {
        to.offset - from.offset
    }

    /// Returns all elements, from the front or from the end.
    pub fn iter(&self) -> Iter<'a> {
        self.iter_from(self.front())
    }

    /// Returns the elements before a place.
    pub fn iter_to(&self, to: Place) -> Iter<'a> {
        Iter { list: *self, front: self.front(), back: to }
    }

    /// Returns the elements from a place on.
    pub fn iter_from(&self, from: Place) -> Iter<'a> {
        Iter { list: *self, front: from, back: self.end() }
    }
}

impl<'a> IntoIterator for PackedList<'a> {
    type Item = Element<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over elements of a packed list, from both ends.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    list: PackedList<'a>,
    front: Place,
    back: Place,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        if self.front.index >= self.back.index {
            return None;
        }
        let (place, code) = (self.front, self.list.code(self.front.index));
        self.front = self.list.after(place);
        Some(Element::read(code, &self.list.bytes[place.offset..self.front.offset]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.back.index.saturating_sub(self.front.index);
        (left, Some(left))
    }
}

impl<'a> DoubleEndedIterator for Iter<'a> {
    #[inline]
    fn next_back(&mut self) -> Option<Element<'a>> {
        if self.front.index >= self.back.index {
            return None;
        }
        let end = self.back.offset;
        self.back = self.list.before(self.back);
        let code = self.list.code(self.back.index);
        Some(Element::read(code, &self.list.bytes[self.back.offset..end]))
    }
}

impl ExactSizeIterator for Iter<'_> {}

//! Reading a packed list: from either end, by number, and by looking for an element.

use crate::element::{
    Element, Far, FormBuffer, are_short, has_far, is_small_integer, short_size, size_at_end,
    size_at_start, sum_of_sizes,
};
use crate::head::{EMPTY, HEAD_BYTES, Head};
use thiserror::Error;

/// Fewer elements than these are passed one by one.
const FEW: usize = 8;
/// Texts mostly differ at their ends, which are compared first.
const LAST_BYTES: usize = 8;
/// Elements whose codes repeat take so many bytes each, on average: a packed list of shorter ones
/// would grow by too much once they get codes of their own.
pub(crate) const REPEATING_BYTES_MIN: usize = 4;

/// A packed list that is read. Its bytes were written by `PackedListMut`, or passed
/// `PackedList::checked`.
#[derive(Clone, Copy, Debug)]
pub struct PackedList<'a> {
    bytes: &'a [u8],
    head: Head,
}

/// Where an element of a packed list stands; good until the packed list is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) index: usize,
    pub(crate) offset: usize,
}

/// Bytes that are no packed list.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("damaged packed list of elements: {0}")]
pub struct Damaged(&'static str);

impl Place {
    /// The number of the element, from 0 at the front.
    pub fn index(self) -> usize {
        self.index
    }
}

impl<'a> PackedList<'a> {
    /// The packed list in `bytes`.
    ///
    /// # Panics
    /// If there is no head.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> PackedList<'a> {
        let head = Head::read(bytes).expect("a packed list has a head");
        debug_assert!(head.is_sound(bytes.len()), "{head:?} in {} bytes", bytes.len());
        PackedList { bytes, head }
    }

    /// The packed list in bytes that may hold anything: every element of it can be read, and is in
    /// the one form that its text is written in.
    ///
    /// # Errors
    /// When they were not written by `PackedListMut`.
    pub fn checked(bytes: &'a [u8]) -> Result<PackedList<'a>, Damaged> {
        PackedList::walked(bytes, |list, place, next| list.check_form(place, next))
    }

    /// The packed list in bytes that may hold anything: every element of it can be read.
    ///
    /// # Errors
    /// When it can not.
    pub fn readable(bytes: &'a [u8]) -> Result<PackedList<'a>, Damaged> {
        PackedList::walked(bytes, |_, _, _| Ok(()))
    }

    /// Walks over bytes that may hold anything; `check` is asked about each element.
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

    /// Whether the element between two places reads the same from both ends, and has the one form
    /// that its text is written in.
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

    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.head.count
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.count == 0
    }

    /// Bytes of the packed list; what lies behind them in its memory is free.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.head.byte_len()
    }

    /// Bytes that it would take without gaps.
    #[inline]
    pub fn dense_len(&self) -> usize {
        self.head.dense_len()
    }

    /// The same if each element had a code of its own, which the next change may give it.
    #[inline]
    pub fn full_len(&self) -> usize {
        self.head.full_len()
    }

    /// Bytes that it would take, at most and without gaps, with more elements: with a row of them
    /// before any row, or behind the last.
    #[inline]
    pub fn len_with(&self, elements: &[Element<'_>]) -> usize {
        let size: usize = elements.iter().map(|element| element.size()).sum();
        if self.repeats_for(elements) {
            return HEAD_BYTES + self.element_bytes().len() + size + self.row_len();
        }
        self.full_len() + size + elements.len()
    }

    /// Whether codes repeat, and go on to do so with these elements behind the last.
    #[inline]
    pub(crate) fn repeats_for(&self, elements: &[Element<'_>]) -> bool {
        let count = self.head.count;
        self.head.is_repeating()
            && count > 0
            && elements.iter().enumerate().all(|(number, element)| {
                let slot = (count + number) & self.head.mask;
                let code =
                    if slot < count { self.code(slot) } else { elements[slot - count].code() };
                element.code() == code
            })
    }

    /// Elements that come and go together only: rows of two may have codes that repeat.
    pub fn row_len(&self) -> usize {
        if self.head.is_repeating() { self.head.mask + 1 } else { 1 }
    }

    /// The bytes of all elements.
    #[inline]
    pub fn element_bytes(&self) -> &'a [u8] {
        &self.bytes[self.head.begin..self.head.end]
    }

    /// The codes that are written down.
    #[inline]
    pub fn codes(&self) -> &'a [u8] {
        &self.bytes[self.head.codes..self.head.byte_len()]
    }

    #[inline]
    pub(crate) fn code(&self, index: usize) -> u8 {
        self.bytes[self.head.codes + (index & self.head.mask)]
    }

    /// The first element's place, or the end of an empty packed list.
    #[inline]
    pub fn front(&self) -> Place {
        Place { index: 0, offset: self.head.begin }
    }

    /// The place behind the last element.
    #[inline]
    pub fn end(&self) -> Place {
        Place { index: self.head.count, offset: self.head.end }
    }

    /// The place of the element with a number, or of the end if there are not more.
    #[inline]
    pub fn place(&self, index: usize) -> Place {
        if index >= self.head.count { self.end() } else { self.forward(self.front(), index) }
    }

    /// The place of element `index`, which is not before `from`, nor behind the end. Lengths of
    /// short elements are summed many at a time.
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

    /// The place so many elements behind one, where codes repeat.
    #[inline]
    fn forward_by(&self, from: Place, count: usize) -> Place {
        match self.bytes_of(from.index, count) {
            Some(bytes) => Place { index: from.index + count, offset: from.offset + bytes },
            None => (0..count).fold(from, |place, _| self.after(place)),
        }
    }

    /// Bytes of `count` elements from number `from` on, where codes repeat; `None` if there are
    /// long ones, whose codes do not tell.
    #[inline]
    fn bytes_of(&self, from: usize, count: usize) -> Option<usize> {
        let first = if count > 0 { short_size(self.code(from))? } else { 0 };
        let second = if count > 1 { short_size(self.code(from + 1))? } else { 0 };
        Some(count.div_ceil(2) * first + count / 2 * second)
    }

    /// The element at a place; `None` at the end.
    #[inline]
    pub fn at(&self, place: Place) -> Option<Element<'a>> {
        if place.index >= self.head.count {
            return None;
        }
        let next = self.after(place);
        Some(Element::read(self.code(place.index), &self.bytes[place.offset..next.offset]))
    }

    /// The element with a number.
    pub fn get(&self, index: usize) -> Option<Element<'a>> {
        self.at(self.place(index))
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<Element<'a>> {
        self.iter().next_back()
    }

    /// Whether all elements are texts of less than 64 bytes or integers of at most 32 bits.
    pub fn is_all_short(&self) -> bool {
        are_short(self.codes())
    }

    /// How many elements are integers of at most two bytes, and how many are texts whose length
    /// does not stand in their code.
    pub fn count_unusual(&self) -> (usize, usize) {
        let count = |is_meant: fn(u8) -> bool| {
            let codes = self.codes();
            if self.head.is_repeating() {
                let times = |at: usize| (self.head.count - at).div_ceil(codes.len());
                return (0..codes.len()).filter(|at| is_meant(codes[*at])).map(times).sum();
            }
            codes.iter().filter(|code| is_meant(**code)).count()
        };
        (count(is_small_integer), count(|code| short_size(code).is_none()))
    }

    /// The place behind one that is not the end.
    #[inline]
    pub fn after(&self, place: Place) -> Place {
        let size = size_at_start(self.code(place.index), &self.bytes[place.offset..self.head.end]);
        Place { index: place.index + 1, offset: place.offset + size.unwrap_or(0) }
    }

    /// The place before one that is not the front.
    #[inline]
    pub fn before(&self, place: Place) -> Place {
        let index = place.index - 1;
        let size = size_at_end(self.code(index), &self.bytes[self.head.begin..place.offset]);
        Place { index, offset: place.offset - size.unwrap_or(0) }
    }

    /// Those of `count` elements from number `from` on that are kept elsewhere.
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

    /// Bytes of the elements between two places, without their codes.
    #[inline]
    pub fn bytes_between(&self, from: Place, to: Place) -> usize {
        to.offset - from.offset
    }

    /// The first place from `from` on, in steps of `step` elements, that holds `wanted`.
    ///
    /// # Panics
    /// If the step is zero.
    pub fn find(&self, wanted: Element<'_>, from: Place, step: usize) -> Option<Place> {
        let (code, mut form) = (wanted.code(), FormBuffer::default());
        let form = wanted.form(&mut form);
        if self.head.is_repeating() {
            return self.find_form(code, form, from, step);
        }
        let mut place = from;
        while place.index < self.head.count {
            if self.code(place.index) != code {
                let codes = &self.bytes[self.head.codes + place.index..self.head.byte_len()];
                let steps = codes.iter().step_by(step).position(|other| *other == code)?;
                place = self.forward(place, place.index + steps * step);
            }
            if self.is_at(place, form) {
                return Some(place);
            }
            let next = (place.index + step).min(self.head.count);
            while place.index < next {
                place = self.after(place);
            }
        }
        None
    }

    /// The same where codes repeat: they tell nothing, but elements lie as far from each other as
    /// the first two do.
    fn find_form(&self, code: u8, form: &[u8], from: Place, step: usize) -> Option<Place> {
        if !self.codes().contains(&code) {
            return None;
        }
        let mut place = from;
        let is_even = step & self.head.mask == 0 && from.index + step <= self.head.count;
        let step_bytes = is_even.then(|| self.bytes_of(from.index, step)).flatten();
        if let (Some(step_bytes), Some(last)) = (step_bytes, form.last_chunk::<LAST_BYTES>()) {
            if self.code(from.index) != code {
                return None;
            }
            while place.index < self.head.count {
                let end = place.offset + form.len();
                let is_like = self.bytes[..end].last_chunk() == Some(last);
                if is_like && self.is_at(place, form) {
                    return Some(place);
                }
                place = Place { index: place.index + step, offset: place.offset + step_bytes };
            }
            return None;
        }
        while place.index < self.head.count {
            if self.code(place.index) == code && self.is_at(place, form) {
                return Some(place);
            }
            place = self.forward(place, (place.index + step).min(self.head.count));
        }
        None
    }

    /// Whether the bytes at a place begin so.
    #[inline]
    fn is_at(&self, place: Place, form: &[u8]) -> bool {
        self.bytes[place.offset..self.head.end].starts_with(form)
    }

    /// All elements, from the front or from the end.
    pub fn iter(&self) -> Iter<'a> {
        self.iter_from(self.front())
    }

    /// The elements before a place.
    pub fn iter_to(&self, to: Place) -> Iter<'a> {
        Iter { list: *self, front: self.front(), back: to }
    }

    /// The elements from a place on.
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

/// Adds a packed list to `to` that holds pieces of others, one behind the other and without gaps.
/// Together they take no more than a packed list may, and are rows of `row_len` elements, of which
/// the codes are written down once if they repeat.
pub fn concat(row_len: usize, pieces: &[(PackedList<'_>, Place, Place)], to: &mut Vec<u8>) {
    let begin = to.len();
    to.extend_from_slice(&EMPTY);
    for (list, from, end) in pieces {
        to.extend_from_slice(&list.bytes[from.offset..end.offset]);
    }
    let codes = to.len();
    for (list, from, end) in pieces {
        if list.head.is_repeating() {
            to.extend((from.index..end.index).map(|index| list.code(index)));
        } else {
            let codes = list.head.codes;
            to.extend_from_slice(&list.bytes[codes + from.index..codes + end.index]);
        }
    }
    let (count, end) = (to.len() - codes, codes - begin);
    let mask = mask_of(&to[codes..], row_len, end - HEAD_BYTES);
    let head = Head { count, begin: HEAD_BYTES, end, codes: end, mask };
    to.truncate(begin + head.byte_len());
    head.write(&mut to[begin..]);
}

/// The mask of codes that are all those of elements in rows of `row_len`, which take so many bytes
/// together.
fn mask_of(codes: &[u8], row_len: usize, bytes: usize) -> usize {
    let repeats =
        |len: usize| codes[len.min(codes.len())..] == codes[..codes.len().saturating_sub(len)];
    if codes.is_empty() || bytes < REPEATING_BYTES_MIN * codes.len() {
        usize::MAX
    } else if repeats(1) {
        0
    } else if row_len == 2 && repeats(2) {
        1
    } else {
        usize::MAX
    }
}

/// Elements of a packed list, from both ends.
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

//! Reading of a packed list: from either end, by number, and by search for an element.

use crate::element::{
    Element, Far, FormBuffer, are_short, has_far, integer_size, is_small_integer, is_text,
    short_size, size_at_end, size_at_start, sum_of_sizes,
};
use crate::head::{EMPTY, HEAD_BYTES, Head};
use thiserror::Error;

/// Number of elements below which they are passed one by one.
const FEW: usize = 8;
/// Number of codes whose sums are added up with few bits each.
const SUMMED: usize = 16;
/// Number of elements that are looked at together if they have the same code; a byte counts them.
const ALIKE: usize = 32;
/// Bytes at the ends of texts that are compared first, as texts mostly differ there.
const LAST_BYTES: usize = 8;
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
                let slot = (count + number) & self.head.mask;
                let code =
                    if slot < count { self.code(slot) } else { elements[slot - count].code() };
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

    /// Returns true if there is no text of 64 to 239 bytes, no integer of more than 32 bits and no
    /// far element.
    pub fn is_all_short(&self) -> bool {
        are_short(self.codes())
    }

    /// Returns the number of integers of at most two bytes, and of texts too long for their code to
    /// hold the length.
    pub fn count_unusual(&self) -> (usize, usize) {
        let long = self.sum_over_codes(|code| u8::from(short_size(code).is_none()));
        (self.sum_over_codes(|code| u8::from(is_small_integer(code))), long)
    }

    /// Returns the sum of what `of_text` makes of the length of each text and `of_integer` of the
    /// bytes of each integer, which are none for a long text; `None` if there is a far element.
    pub fn sum_by_size(
        &self,
        of_text: impl Fn(u8) -> u8,
        of_integer: impl Fn(u8) -> u8,
    ) -> Option<usize> {
        let is_far = has_far(self.codes());
        (!is_far).then(|| {
            // Both are computed, so that many codes are at a time.
            self.sum_over_codes(|code| {
                let (text, integer) = (of_text(code), of_integer(integer_size(code)));
                if is_text(code) { text } else { integer }
            })
        })
    }

    /// Returns the sum of what `of` makes of the codes of all elements.
    #[inline]
    fn sum_over_codes(&self, of: impl Fn(u8) -> u8) -> usize {
        let codes = self.codes();
        if self.head.is_repeating() {
            let times = |at: usize| (self.head.count - at).div_ceil(codes.len());
            return (0..codes.len()).map(|at| usize::from(of(codes[at])) * times(at)).sum();
        }
        let (chunks, rest) = codes.as_chunks::<SUMMED>();
        let mut sum = 0;
        for chunk in chunks {
            sum += usize::from(chunk.iter().map(|code| u16::from(of(*code))).sum::<u16>());
        }
        sum + rest.iter().map(|code| usize::from(of(*code))).sum::<usize>()
    }

    /// Returns the number of integers of one byte that `one` means, and of those of two bytes that
    /// `two` means. Where many of one kind stand together they are looked at together.
    pub fn count_small_integers(
        &self,
        one: impl Fn(i8) -> bool,
        two: impl Fn(i16) -> bool,
    ) -> usize {
        let (mut place, mut found) = (self.front(), 0);
        while place.index < self.head.count {
            let (code, alike) = (self.code(place.index), self.alike(place.index));
            let Some(size) = short_size(code) else {
                place = self.after(place);
                continue;
            };
            let bytes = &self.bytes[place.offset..][..size * alike];
            let words = || bytes.as_chunks().0.iter().map(|word| i16::from_le_bytes(*word));
            found += usize::from(match size {
                1 if is_small_integer(code) => {
                    bytes.iter().map(|byte| u8::from(one(byte.cast_signed()))).sum::<u8>()
                }
                2 if is_small_integer(code) => words().map(|word| u8::from(two(word))).sum(),
                _ => 0,
            });
            place = Place { index: place.index + alike, offset: place.offset + bytes.len() };
        }
        found
    }

    /// Returns the number of elements from number `index` on that are known to have its code, up to
    /// `ALIKE`.
    fn alike(&self, index: usize) -> usize {
        if self.head.is_repeating() {
            return if self.head.mask == 0 { ALIKE.min(self.head.count - index) } else { 1 };
        }
        let next = self.codes()[index..].first_chunk::<ALIKE>();
        let is_alike =
            |next: &&[u8; ALIKE]| next.iter().fold(0, |all, it| all | (it ^ next[0])) == 0;
        next.filter(is_alike).map_or(1, |next| next.len())
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

    /// Returns the first place from `from` on, in steps of `step` elements, that holds `wanted`.
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

    /// Finds an element where codes repeat: they do not narrow the search, but places are a fixed
    /// number of bytes apart.
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

    /// Returns true if the bytes at a place begin with `form`.
    #[inline]
    fn is_at(&self, place: Place, form: &[u8]) -> bool {
        self.bytes[place.offset..self.head.end].starts_with(form)
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

/// Appends a packed list to `to` that holds pieces of others, one behind the other and without
/// gaps. Together they take no more than [`PACKED_BYTES_MAX`](crate::PACKED_BYTES_MAX), and are
/// rows of `row_len` elements, whose codes are stored once if they repeat.
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

/// Returns the mask for the codes of all elements, which are in rows of `row_len` and take `bytes`
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

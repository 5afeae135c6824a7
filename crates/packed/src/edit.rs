//! Changes to a packed list in place, within the memory that it was given.

use crate::element::Element;
use crate::head::{EMPTY, HEAD_BYTES, Head, PACKED_BYTES_MAX};
use crate::packed_list::{PackedList, Place, REPEATING_BYTES_MIN};
use std::ops::Range;
use thiserror::Error;

/// Divisor: gaps are closed when they are more than this part of a packed list.
const GAP_PART: usize = 4;

/// Mutable view of a packed list, whose memory may be longer than the packed list.
#[derive(Debug)]
pub struct PackedListMut<'a> {
    bytes: &'a mut [u8],
    head: Head,
}

/// Refusal of a change that does not fit; nothing has changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the packed list needs {needed} bytes of memory")]
pub struct Full {
    /// Bytes that the packed list would need.
    pub needed: usize,
}

impl<'a> PackedListMut<'a> {
    /// Returns a view of the packed list in `bytes`.
    ///
    /// # Panics
    /// If there is no head.
    pub fn new(bytes: &'a mut [u8]) -> PackedListMut<'a> {
        let head = Head::read(bytes).expect("a packed list has a head");
        debug_assert!(head.is_sound(bytes.len()), "{head:?} in {} bytes", bytes.len());
        PackedListMut { bytes, head }
    }

    /// Writes an empty packed list into `bytes`.
    ///
    /// # Panics
    /// If they have no room for a head.
    pub fn empty_in(bytes: &'a mut [u8]) -> PackedListMut<'a> {
        bytes[..HEAD_BYTES].copy_from_slice(&EMPTY);
        PackedListMut::new(bytes)
    }

    /// Returns a view for reading.
    #[inline]
    pub fn as_list(&self) -> PackedList<'_> {
        PackedList::new(self.bytes)
    }

    /// Returns the bytes of the packed list; the memory behind them is free.
    pub fn byte_len(&self) -> usize {
        self.head.byte_len()
    }

    /// Inserts an element before the one at a place.
    ///
    /// # Errors
    /// When there is no room.
    #[inline]
    pub fn insert(&mut self, at: Place, element: Element<'_>) -> Result<(), Full> {
        self.insert_row(at, &[element])
    }

    /// Inserts the elements of a row before the one at a place, one behind the other. Rows of two
    /// are removed as a whole only: elements that are to be removed alone must be inserted alone.
    ///
    /// # Errors
    /// When there is no room for all of them.
    #[inline]
    pub fn insert_row(&mut self, at: Place, row: &[Element<'_>]) -> Result<(), Full> {
        let size = row.iter().map(|element| element.size()).sum();
        let mut at = at;
        if self.head.count == 0 {
            at = self.begin_with(row, size);
        } else if self.head.is_repeating() && !self.goes_on_with(at, row) {
            at.offset -= self.spell_out(size, row.len())?;
        }
        let at = if self.head.is_repeating() {
            self.open_repeating(at, size, row.len())?
        } else {
            self.open(at, size, row.len())?
        };
        let mut offset = at.offset;
        for (number, element) in row.iter().enumerate() {
            let end = offset + element.size();
            element.write(&mut self.bytes[offset..end]);
            self.set_code(at.index + number, element.code());
            offset = end;
        }
        Ok(())
    }

    #[inline]
    fn set_code(&mut self, index: usize, code: u8) {
        self.bytes[self.head.codes + (index & self.head.mask)] = code;
    }

    /// Decides if the codes of an empty packed list repeat, given its first row. Returns the place
    /// of the row.
    fn begin_with(&mut self, row: &[Element<'_>], size: usize) -> Place {
        let is_one = row.windows(2).all(|pair| pair[0].code() == pair[1].code());
        let mask = if size < REPEATING_BYTES_MIN * row.len() || row.is_empty() {
            usize::MAX
        } else if is_one {
            0
        } else if row.len() == 2 {
            1
        } else {
            usize::MAX
        };
        let (count, offset) = (0, HEAD_BYTES);
        self.head = Head { count, begin: offset, end: offset, codes: offset, mask };
        Place { index: 0, offset }
    }

    /// Returns true if codes go on repeating with a row before the element at a place.
    #[inline]
    fn goes_on_with(&self, at: Place, row: &[Element<'_>]) -> bool {
        let is_whole = |elements: usize| elements & self.head.mask == 0;
        let is_end = at.index == self.head.count;
        (is_end || is_whole(at.index) && is_whole(self.head.count) && is_whole(row.len()))
            && self.as_list().repeats_for(row)
    }

    /// Gives each element a code of its own, before `count` elements of `size` bytes with other
    /// codes are added. Returns the number of bytes by which the elements moved to the front.
    ///
    /// # Errors
    /// When there is no room for those elements.
    #[cold]
    fn spell_out(&mut self, size: usize, count: usize) -> Result<usize, Full> {
        let (needed, room) = (self.head.full_len() + size + count, self.room());
        if needed > room {
            return Err(Full { needed });
        }
        let shift = if self.head.end + self.head.count > room { self.close_gaps() } else { 0 };
        let Head { count, codes, mask, .. } = self.head;
        let repeated = [self.bytes[codes], self.bytes[codes + (mask & (count - 1).min(1))]];
        for index in 0..count {
            self.bytes[codes + index] = repeated[index & mask];
        }
        self.set_head(Head { mask: usize::MAX, ..self.head });
        Ok(shift)
    }

    #[inline]
    fn shift(&mut self, from: Range<usize>, to: usize) {
        if from.start != to {
            self.bytes.copy_within(from, to);
        }
    }

    fn room(&self) -> usize {
        self.bytes.len().min(PACKED_BYTES_MAX)
    }

    /// Appends an element.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_back(&mut self, element: Element<'_>) -> Result<(), Full> {
        self.insert(self.as_list().end(), element)
    }

    /// Prepends an element.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_front(&mut self, element: Element<'_>) -> Result<(), Full> {
        self.insert(self.as_list().front(), element)
    }

    /// Moves the codes so that the free memory is where further elements are appended: elements of
    /// average length then move nothing.
    pub fn spread(&mut self) {
        self.close_gaps();
        let mut head = self.head;
        if head.is_repeating() {
            return;
        }
        let free = self.room() - head.byte_len();
        let cost = (head.end - head.begin) / head.count.max(1) + 1;
        head.codes += free - free / cost;
        self.bytes.copy_within(head.end..head.end + head.count, head.codes);
        self.set_head(head);
    }

    /// Replaces the element at a place.
    ///
    /// # Errors
    /// When there is no room.
    pub fn replace(&mut self, at: Place, element: Element<'_>) -> Result<(), Full> {
        let list = self.as_list();
        let (old_size, new_size) = (list.after(at).offset - at.offset, element.size());
        let Head { count, mask, .. } = self.head;
        // The only row has its codes to itself, even where codes repeat.
        let has_own_code = !self.head.is_repeating() || count <= mask + 1;
        let keeps_code = list.code(at.index) == element.code();
        if old_size == new_size && (has_own_code || keeps_code) {
            element.write(&mut self.bytes[at.offset..at.offset + new_size]);
            self.set_code(at.index, element.code());
            return Ok(());
        }
        let mut at = at;
        if self.head.is_repeating() {
            let grown = new_size.saturating_sub(old_size);
            at.offset -= self.spell_out(grown, 0)?;
            return self.replace(at, element);
        }
        let needed = list.dense_len() - old_size + new_size;
        if needed > self.room() {
            return Err(Full { needed });
        }
        let at = self.remove(at, 1);
        self.insert(at, element)
    }

    /// Removes `count` elements from a place on, or those up to the end. Returns the place of the
    /// element that follows them.
    ///
    /// # Panics
    /// If this leaves a part of a row that was inserted as two elements.
    pub fn remove(&mut self, at: Place, count: usize) -> Place {
        let end = (at.index + count).min(self.head.count);
        let next = self.as_list().forward(at, end.max(at.index));
        let (span, gone) = (next.offset - at.offset, next.index - at.index);
        let place = if self.head.is_repeating() {
            self.remove_repeating(at, span, gone)
        } else {
            self.remove_with_codes(at, span, gone)
        };
        let offset = place.offset - self.close_wide_gaps();
        Place { offset, ..place }
    }

    fn remove_with_codes(&mut self, at: Place, span: usize, gone: usize) -> Place {
        let mut head = self.head;
        head.count -= gone;
        let place = if at.index == 0 {
            head.begin += span;
            head.codes += gone;
            Place { index: 0, offset: head.begin }
        } else if at.index == head.count {
            // Nothing moves: the codes stay where they are, behind room for further elements.
            head.end -= span;
            at
        } else {
            self.bytes.copy_within(at.offset + span..head.end, at.offset);
            head.end -= span;
            let from = std::mem::replace(&mut head.codes, head.end);
            self.bytes.copy_within(from..from + at.index, head.codes);
            self.bytes.copy_within(
                from + at.index + gone..from + head.count + gone,
                head.codes + at.index,
            );
            at
        };
        self.set_head(head);
        place
    }

    fn remove_repeating(&mut self, at: Place, span: usize, gone: usize) -> Place {
        let mut head = self.head;
        let is_tail = at.index + gone == head.count;
        assert!(is_tail || gone & head.mask == 0, "rows of two are removed as such");
        let place = if at.index == 0 {
            head.begin += span;
            Place { index: 0, offset: head.begin }
        } else {
            self.bytes.copy_within(at.offset + span..head.byte_len(), at.offset);
            head.end -= span;
            head.codes = head.end;
            at
        };
        head.count -= gone;
        self.set_head(head);
        place
    }

    /// Makes room for `count` elements of `size` bytes together at a place, and counts them. Their
    /// codes are the repeated ones.
    ///
    /// ```text
    /// | head | gap | elements before | elements behind, codes | gap |
    /// ```
    fn open_repeating(&mut self, at: Place, size: usize, count: usize) -> Result<Place, Full> {
        let mut head = self.head;
        let tail = at.offset..head.byte_len();
        head.count += count;
        let (room, needed) = (self.room(), head.dense_len() + size);
        if needed > room || head.count > usize::from(u16::MAX) {
            return Err(Full { needed: needed.max(room + 1) });
        }
        let is_front = at.index == 0 && !tail.is_empty();
        head.begin = if is_front && head.begin - HEAD_BYTES >= size {
            // Removals at the front have left room.
            head.begin - size
        } else if is_front && room - needed >= size {
            // Further elements may follow at the front: they get half of the free bytes.
            HEAD_BYTES + (room - needed) / 2
        } else if head.end + size + head.code_count() > room {
            HEAD_BYTES
        } else {
            head.begin
        };
        let front = self.head.begin..at.offset;
        let at = Place { offset: head.begin + front.len(), ..at };
        head.end = at.offset + size + (self.head.end - tail.start);
        head.codes = head.end;
        let (front_to, tail_to) = (head.begin, at.offset + size);
        if tail_to > tail.start {
            self.shift(tail, tail_to);
            self.shift(front, front_to);
        } else {
            self.shift(front, front_to);
            self.shift(tail, tail_to);
        }
        self.set_head(head);
        Ok(at)
    }

    /// Makes room for `count` elements of `size` bytes together at a place, and counts them.
    fn open(&mut self, at: Place, size: usize, count: usize) -> Result<Place, Full> {
        let mut head = self.head;
        if at.index == 0 && head.begin - HEAD_BYTES >= size && head.codes - head.end >= count {
            // Removals at the front have left room.
            head.begin -= size;
            head.codes -= count;
            head.count += count;
            self.set_head(head);
            return Ok(Place { index: 0, offset: head.begin });
        }
        let room = self.room();
        let is_end = at.index == head.count;
        if is_end && head.end + size <= head.codes && head.byte_len() + count <= room {
            head.end += size;
            head.count += count;
            self.set_head(head);
            return Ok(at);
        }
        let needed = self.as_list().dense_len() + size + count;
        if needed > room {
            return Err(Full { needed });
        }
        let mut at = at;
        if at.index == 0 && head.count > 0 && room - needed >= size {
            return Ok(self.open_front(size, count, room - needed));
        }
        if head.end + size + head.count + count > room {
            at.offset -= self.close_gaps();
            head = self.head;
        }
        let (from, end) = (head.codes, head.end);
        head.end += size;
        head.codes = head.end;
        let tail = from + at.index..from + head.count;
        if head.codes >= from {
            self.bytes.copy_within(tail, head.codes + at.index + count);
            self.bytes.copy_within(from..from + at.index, head.codes);
        } else {
            self.bytes.copy_within(from..from + at.index, head.codes);
            self.bytes.copy_within(tail, head.codes + at.index + count);
        }
        self.bytes.copy_within(at.offset..end, at.offset + size);
        head.count += count;
        self.set_head(head);
        Ok(at)
    }

    /// Makes room for `count` elements of `size` bytes together at the front, and for more that may
    /// follow there: they get half of the `free` bytes, so that the others are moved seldom.
    fn open_front(&mut self, size: usize, count: usize, free: usize) -> Place {
        let mut head = self.head;
        let bytes = head.end - head.begin;
        let more = (free / 2) / (bytes / head.count + 1);
        let (begin, codes) = (head.begin, head.codes);
        head.begin = HEAD_BYTES + (free / 2 - more);
        head.end = head.begin + size + bytes;
        head.codes = head.end + more;
        let codes_from = codes..codes + head.count;
        head.count += count;
        let (bytes_to, codes_to) = (head.begin + size, head.codes + count);
        if codes_to >= codes {
            self.bytes.copy_within(codes_from, codes_to);
            self.bytes.copy_within(begin..begin + bytes, bytes_to);
        } else {
            self.bytes.copy_within(begin..begin + bytes, bytes_to);
            self.bytes.copy_within(codes_from, codes_to);
        }
        self.set_head(head);
        Place { index: 0, offset: head.begin }
    }

    fn close_wide_gaps(&mut self) -> usize {
        let gaps = self.byte_len() - self.as_list().dense_len();
        if gaps * GAP_PART > self.byte_len() { self.close_gaps() } else { 0 }
    }

    /// Moves all elements to the front of the memory. Returns the number of bytes by which they
    /// moved.
    pub fn close_gaps(&mut self) -> usize {
        let mut head = self.head;
        let shift = head.begin - HEAD_BYTES;
        self.bytes.copy_within(head.begin..head.end, HEAD_BYTES);
        head.begin = HEAD_BYTES;
        head.end -= shift;
        let from = std::mem::replace(&mut head.codes, head.end);
        self.bytes.copy_within(from..from + head.code_count(), head.codes);
        self.set_head(head);
        shift
    }

    fn set_head(&mut self, head: Head) {
        debug_assert!(head.is_sound(self.bytes.len()), "{head:?} in {} bytes", self.bytes.len());
        head.write(self.bytes);
        self.head = head;
    }
}

/// Appends an element to a packed list without gaps, and grows its vector.
pub fn push(list: &mut Vec<u8>, element: Element<'_>) {
    push_row(list, &[element]);
}

/// Appends a row of elements to a packed list without gaps, and grows its vector.
pub fn push_row(list: &mut Vec<u8>, row: &[Element<'_>]) {
    let len = PackedList::new(list).len_with(row);
    list.resize(len.max(list.len()), 0);
    let mut grown = PackedListMut::new(list);
    grown.insert_row(grown.as_list().end(), row).expect("the packed list has grown");
    let len = grown.byte_len();
    list.truncate(len);
}

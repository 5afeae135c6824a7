//! Changing a run in place, within the memory that it was given.

use crate::element::Element;
use crate::head::{EMPTY, HEAD_BYTES, Head, RUN_BYTES_MAX};
use crate::run::{Place, Run};
use thiserror::Error;

/// Gaps are closed when they are more than this part of a run.
const GAP_PART: usize = 4;

/// A run that is changed. Its memory may be longer than the run is.
#[derive(Debug)]
pub struct RunMut<'a> {
    bytes: &'a mut [u8],
    head: Head,
}

/// The change does not fit; nothing has changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the run needs {needed} bytes of memory")]
pub struct Full {
    /// Bytes that the run would take.
    pub needed: usize,
}

impl<'a> RunMut<'a> {
    /// The run in `bytes`.
    ///
    /// # Panics
    /// If there is no head.
    pub fn new(bytes: &'a mut [u8]) -> RunMut<'a> {
        let head = Head::read(bytes).expect("a run has a head");
        debug_assert!(head.is_sound(bytes.len()), "{head:?} in {} bytes", bytes.len());
        RunMut { bytes, head }
    }

    /// Makes `bytes` an empty run.
    ///
    /// # Panics
    /// If they have no room for a head.
    pub fn empty_in(bytes: &'a mut [u8]) -> RunMut<'a> {
        bytes[..HEAD_BYTES].copy_from_slice(&EMPTY);
        RunMut::new(bytes)
    }

    /// For reading.
    #[inline]
    pub fn as_run(&self) -> Run<'_> {
        Run::new(self.bytes)
    }

    /// Bytes of the run; what lies behind them in its memory is free.
    pub fn byte_len(&self) -> usize {
        self.head.byte_len()
    }

    /// Inserts an element before the one at a place.
    ///
    /// # Errors
    /// When there is no room.
    #[inline]
    pub fn insert(&mut self, at: Place, element: Element<'_>) -> Result<(), Full> {
        self.insert_all(at, &[element])
    }

    /// Inserts elements before the one at a place, one behind the other.
    ///
    /// # Errors
    /// When there is no room for all of them.
    #[inline]
    pub fn insert_all(&mut self, at: Place, elements: &[Element<'_>]) -> Result<(), Full> {
        let size = elements.iter().map(|element| element.size()).sum();
        let at = self.open(at, size, elements.len())?;
        let mut offset = at.offset;
        for (number, element) in elements.iter().enumerate() {
            let end = offset + element.size();
            element.write(&mut self.bytes[offset..end]);
            self.bytes[self.head.codes + at.index + number] = element.code();
            offset = end;
        }
        Ok(())
    }

    /// Adds an element behind the last.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_back(&mut self, element: Element<'_>) -> Result<(), Full> {
        self.insert(self.as_run().end(), element)
    }

    /// Adds an element before the first.
    ///
    /// # Errors
    /// When there is no room.
    pub fn push_front(&mut self, element: Element<'_>) -> Result<(), Full> {
        self.insert(self.as_run().front(), element)
    }

    /// Leaves what is free of the memory where elements like those that there are come next at the
    /// end, so that adding them moves nothing.
    pub fn spread(&mut self) {
        self.close_gaps();
        let mut head = self.head;
        let free = self.bytes.len().min(RUN_BYTES_MAX) - head.byte_len();
        let cost = (head.end - head.begin) / head.count.max(1) + 1;
        head.codes += free - free / cost;
        self.bytes.copy_within(head.end..head.end + head.count, head.codes);
        self.set_head(head);
    }

    /// Puts another element where one stands.
    ///
    /// # Errors
    /// When there is no room.
    pub fn replace(&mut self, at: Place, element: Element<'_>) -> Result<(), Full> {
        let run = self.as_run();
        let (old_size, new_size) = (run.after(at).offset - at.offset, element.size());
        if old_size == new_size {
            element.write(&mut self.bytes[at.offset..at.offset + new_size]);
            self.bytes[self.head.codes + at.index] = element.code();
            return Ok(());
        }
        let needed = run.dense_len() - old_size + new_size;
        if needed > self.bytes.len().min(RUN_BYTES_MAX) {
            return Err(Full { needed });
        }
        let at = self.remove(at, 1);
        self.insert(at, element)
    }

    /// Removes `count` elements from a place on, or those that there are; returns the place of the
    /// element that stands there now.
    pub fn remove(&mut self, at: Place, count: usize) -> Place {
        let mut next = at;
        while next.index < self.head.count && next.index < at.index + count {
            next = self.as_run().after(next);
        }
        let (span, gone) = (next.offset - at.offset, next.index - at.index);
        let mut head = self.head;
        head.count -= gone;
        let place = if at.index == 0 {
            head.begin += span;
            head.codes += gone;
            Place { index: 0, offset: head.begin }
        } else {
            self.bytes.copy_within(next.offset..head.end, at.offset);
            head.end -= span;
            let from = std::mem::replace(&mut head.codes, head.end);
            self.bytes.copy_within(from..from + at.index, head.codes);
            self.bytes
                .copy_within(from + next.index..from + head.count + gone, head.codes + at.index);
            at
        };
        self.set_head(head);
        let offset = place.offset - self.close_wide_gaps();
        Place { offset, ..place }
    }

    /// Makes room for `count` elements of `size` bytes together at a place, and counts them.
    fn open(&mut self, at: Place, size: usize, count: usize) -> Result<Place, Full> {
        let mut head = self.head;
        if at.index == 0 && head.begin - HEAD_BYTES >= size && head.codes - head.end >= count {
            // What has left at the front has left room.
            head.begin -= size;
            head.codes -= count;
            head.count += count;
            self.set_head(head);
            return Ok(Place { index: 0, offset: head.begin });
        }
        let room = self.bytes.len().min(RUN_BYTES_MAX);
        let is_end = at.index == head.count;
        if is_end && head.end + size <= head.codes && head.byte_len() + count <= room {
            head.end += size;
            head.count += count;
            self.set_head(head);
            return Ok(at);
        }
        let needed = self.as_run().dense_len() + size + count;
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
    /// follow there: they get half of the bytes that are free, so that it is the others' turn to
    /// move seldom.
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
        let gaps = self.byte_len() - self.as_run().dense_len();
        if gaps * GAP_PART > self.byte_len() { self.close_gaps() } else { 0 }
    }

    /// Moves all elements to the front of the memory; returns by how many bytes.
    pub fn close_gaps(&mut self) -> usize {
        let mut head = self.head;
        let shift = head.begin - HEAD_BYTES;
        self.bytes.copy_within(head.begin..head.end, HEAD_BYTES);
        head.begin = HEAD_BYTES;
        head.end -= shift;
        let from = std::mem::replace(&mut head.codes, head.end);
        self.bytes.copy_within(from..from + head.count, head.codes);
        self.set_head(head);
        shift
    }

    fn set_head(&mut self, head: Head) {
        debug_assert!(head.is_sound(self.bytes.len()), "{head:?} in {} bytes", self.bytes.len());
        head.write(self.bytes);
        self.head = head;
    }
}

//! Output queue of a client: its own replies, messages that it shares with other clients, and marks
//! behind which bytes may not leave yet.
//!
//! ```text
//! stream    ... | written | own | own | shared | own |
//!                                  ▲        ▲
//! marks                            3        7           bytes behind a mark leave once its
//!                                                       position is safe
//! ```
//! It is mostly empty: replies go from the worker's buffer to the socket, and all of this is one
//! null pointer.
//!
//! A reply goes to the socket at once, a large one 256 KB at a time, between which other
//! connections have their turn. What the socket does not take waits here. From a megabyte of that
//! on, requests of the client are deferred: they are read into its query buffer, and served when
//! the client has sent more than waits for it. A reply that would pass the client's output limit is
//! given up while it is written, and the client is closed.

mod buffer;

use buffer::{BUFFER_BYTES, Buffer};
use session::SharedBytes;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use wire::Lent;

/// Divisor of a large buffer's bytes: it keeps no more than this part unfilled, which would count.
const UNFILLED_PART: usize = 32;
/// Smallest shared message that is not copied: below this its place in the queue would take as
/// much.
const SHARED_BYTES_MIN: usize = 64;
/// Most buffers that one system call writes.
const SLICES: usize = 64;
/// Bytes written at a time, however much the socket takes: a client that reads as fast as the
/// worker writes would otherwise have it for itself until it has everything.
pub const WRITE_MAX: usize = 1 << 20;

/// Safe position of a server that has no positions: all bytes may leave.
pub const ALL_SAFE: u64 = u64::MAX;

/// Output queue of one client; takes one pointer while nothing waits.
#[derive(Debug, Default)]
pub struct Output {
    queue: Option<Box<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    buffers: VecDeque<Buffer>,
    /// Bytes of the first buffer that were written.
    written: usize,
    /// Bytes that wait to be written.
    len: usize,
    /// Fewest bytes of memory since `take_lowest`.
    lowest: usize,
    /// Bytes of memory that the buffers take, with their unused capacity, but not their places.
    room: usize,
    /// Bytes written since the queue was made, which is the place of the first waiting byte in the
    /// stream.
    passed: u64,
    /// Marks in order: both `at` and `position` rise.
    marks: VecDeque<Mark>,
    /// True if some of the buffers may be lent.
    has_loans: bool,
    /// True if the socket may take more: no event will report that it does.
    may_write_more: bool,
    /// True if the socket is full: an event has to report that it takes more.
    is_blocked: bool,
}

/// Place in the stream: bytes from `at` on wait until `position` is safe.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: u64,
    position: u64,
}

impl Output {
    /// Bytes that wait to be written.
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.len)
    }

    /// Returns the fewest bytes of memory that it took since this was last asked.
    pub fn take_lowest(&mut self) -> usize {
        let Some(queue) = &mut self.queue else { return 0 };
        let room = queue.room();
        std::mem::replace(&mut queue.lowest, room)
    }

    /// Returns the bytes of memory that it takes: as much as is allocated, however little of it is
    /// filled.
    #[inline]
    pub fn room(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.room())
    }

    /// Returns true if bytes wait, or marks stand before those to come.
    #[inline]
    pub fn has_any(&self) -> bool {
        self.queue.is_some()
    }

    /// Returns true if some bytes, or those to come, wait for a position.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.marks.is_empty())
    }

    /// Returns true if the last write ended before the socket was full, though more is to be
    /// written.
    #[inline]
    pub fn may_write_more(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.may_write_more)
    }

    /// Returns true if the last write ended since the socket was full.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.is_blocked)
    }

    /// Drops all that waits.
    pub fn clear(&mut self) {
        self.queue = None;
    }

    /// Withholds all that follows the next `ahead` bytes until `position` is safe.
    pub fn mark(&mut self, ahead: usize, position: u64) {
        self.queue().mark(ahead, position);
    }

    /// Adds the bytes of `replies` from `from` on, and leaves `replies` empty. Large replies are
    /// taken over with their memory instead of being copied.
    #[inline(never)]
    pub fn push(&mut self, replies: &mut Vec<u8>, from: usize) {
        self.queue().push(replies, from);
    }

    /// Adds a message that other clients get too, and its payload if that is a part of its own.
    pub fn share(&mut self, head: SharedBytes, payload: Option<SharedBytes>) {
        self.queue().share(head, payload);
    }

    /// Adds `replies` up to the last place where they leave something out, and what they leave out.
    /// Leaves the rest in `replies`, and nothing in `lent`.
    pub fn lend(&mut self, replies: &mut Vec<u8>, lent: &mut Lent) {
        let (queue, mut from) = (self.queue(), 0);
        for (at, bytes) in lent.take() {
            queue.copy(&replies[from..at]);
            queue.add(Buffer::lent(bytes), 0);
            queue.has_loans = true;
            from = at;
        }
        replies.drain(..from);
    }

    /// Copies up to `most` bytes of those that were lent before this was last called, the first to
    /// be sent first: who reads slowly must not keep memory of others from being used. Returns the
    /// number of bytes copied.
    pub fn copy_lent(&mut self, most: usize) -> usize {
        let Some(queue) = &mut self.queue else { return 0 };
        if queue.has_loans { queue.copy_lent(most) } else { 0 }
    }

    /// Adds what another output holds, of which nothing was written and nothing is withheld.
    pub fn append(&mut self, other: Output) {
        let buffers = other.queue.into_iter().flat_map(|queue| queue.buffers);
        buffers.for_each(|buffer| self.queue().add(buffer, 0));
    }

    /// Writes what waits and then `replies`, as much as `stream` takes, marks up to `safe` allow
    /// and is written at a time, and keeps the rest. Returns the number of bytes written; `replies`
    /// may still hold them afterwards.
    ///
    /// # Errors
    /// When the connection is broken.
    #[inline]
    pub fn send(
        &mut self,
        replies: &mut Vec<u8>,
        stream: &mut impl Write,
        safe: u64,
    ) -> io::Result<usize> {
        if self.queue.is_some() {
            self.push(replies, 0);
            return self.write_to(stream, safe, WRITE_MAX);
        }
        let taken = write_some(stream, replies)?;
        if taken < replies.len() {
            self.push(replies, taken);
            let queue = self.queue();
            queue.may_write_more = taken == WRITE_MAX;
            queue.is_blocked = !queue.may_write_more;
        }
        Ok(taken)
    }

    /// Writes as much as `stream` takes and marks up to `safe` allow, but no more than `most`.
    /// Returns the number of bytes written.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn write_to(
        &mut self,
        stream: &mut impl Write,
        safe: u64,
        most: usize,
    ) -> io::Result<usize> {
        let Some(queue) = &mut self.queue else { return Ok(0) };
        let taken = queue.write_to(stream, safe, most)?;
        if queue.len == 0 && queue.marks.is_empty() {
            self.queue = None;
        }
        Ok(taken)
    }

    fn queue(&mut self) -> &mut Queue {
        self.queue.get_or_insert_default()
    }
}

impl Queue {
    fn mark(&mut self, ahead: usize, position: u64) {
        let at = self.passed + (self.len + ahead) as u64;
        match self.marks.back_mut() {
            Some(last) if position <= last.position => {}
            Some(last) if last.at == at => last.position = position,
            _ => self.marks.push_back(Mark { at, position }),
        }
    }

    fn push(&mut self, replies: &mut Vec<u8>, from: usize) {
        if replies.len() - from < BUFFER_BYTES {
            self.copy(&replies[from..]);
            replies.clear();
            return;
        }
        let mut own = std::mem::take(replies);
        if own.capacity() - own.len() > own.len() / UNFILLED_PART {
            own.shrink_to_fit();
        }
        if self.buffers.is_empty() {
            self.written = from;
            self.add(Buffer::own(own), from);
        } else {
            own.drain(..from);
            self.add(Buffer::own(own), 0);
        }
    }

    /// Returns the bytes of memory that it takes.
    fn room(&self) -> usize {
        let places = self.buffers.capacity() * size_of::<Buffer>();
        let marks = self.marks.capacity() * size_of::<Mark>();
        size_of::<Queue>() + places + marks + self.room
    }

    fn share(&mut self, head: SharedBytes, payload: Option<SharedBytes>) {
        if payload.is_none() && head.len() < SHARED_BYTES_MIN {
            self.copy(&head);
        } else {
            self.add(Buffer::Shared(head, payload), 0);
        }
    }

    /// Adds a copy of `bytes`.
    fn copy(&mut self, bytes: &[u8]) {
        let (mut rest, mut room) = (bytes, bytes.len());
        if let Some(replies) = self.buffers.back_mut().and_then(Buffer::replies) {
            let before = replies.bytes.capacity();
            rest = replies.fill(bytes);
            self.room += replies.bytes.capacity() - before;
            self.len += bytes.len() - rest.len();
            // More will follow what has filled a buffer.
            room = BUFFER_BYTES;
        }
        if !rest.is_empty() {
            let mut own = Vec::with_capacity(room);
            own.extend_from_slice(rest);
            self.add(Buffer::own(own), 0);
        }
    }

    fn add(&mut self, buffer: Buffer, written: usize) {
        self.len += buffer.len() - written;
        self.room += buffer.room();
        self.buffers.push_back(buffer);
    }

    fn copy_lent(&mut self, most: usize) -> usize {
        let (mut at, mut copied) = (0, 0);
        self.has_loans = false;
        while copied < most
            && let Some(buffer) = self.buffers.get_mut(at)
        {
            if let Some(loan) = buffer.loan() {
                self.has_loans = true;
                if !std::mem::take(&mut loan.is_new) {
                    copied += self.copy_loan(at, most - copied);
                }
            }
            at += 1;
        }
        self.has_loans |= at < self.buffers.len();
        copied
    }

    /// Copies up to `most` bytes of the buffer at `at`, which are lent, into one before it, or in
    /// its place if that is all. Returns the number of bytes.
    fn copy_loan(&mut self, at: usize, most: usize) -> usize {
        let Some(loan) = self.buffers.get_mut(at).and_then(Buffer::loan) else { return 0 };
        self.room -= loan.left();
        // Of the first buffer something may have been written.
        loan.from += if at == 0 { std::mem::take(&mut self.written) } else { 0 };
        let len = most.min(loan.left());
        let mut copied = Vec::with_capacity(len);
        while copied.len() < len {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = loan.bytes.slices(loan.from, len - copied.len(), &mut slices);
            slices[..used].iter().for_each(|slice| copied.extend_from_slice(slice));
            loan.from += slices[..used].iter().map(|slice| slice.len()).sum::<usize>();
        }
        let left = loan.left();
        self.room += left;
        if left == 0 {
            self.room -= self.buffers.remove(at).map_or(0, |buffer| buffer.room());
        }
        let own = Buffer::own(copied);
        self.room += own.room();
        self.buffers.insert(at, own);
        len
    }

    fn write_to(&mut self, stream: &mut impl Write, safe: u64, most: usize) -> io::Result<usize> {
        let mut taken = 0;
        self.is_blocked = false;
        loop {
            let writable = self.writable(safe);
            let next = writable.min(most - taken);
            self.may_write_more = next < writable;
            if next == 0 {
                return Ok(taken);
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = self.slices(&mut slices, next);
            match stream.write_vectored(&slices[..used]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    taken += bytes;
                    self.pass(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.may_write_more = false;
                    self.is_blocked = true;
                    return Ok(taken);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Drops marks whose position is safe, and returns the bytes that may be written before the
    /// first that is left.
    fn writable(&mut self, safe: u64) -> usize {
        while self.marks.front().is_some_and(|mark| mark.position <= safe) {
            self.marks.pop_front();
        }
        let before = self.marks.front().map_or(u64::MAX, |mark| mark.at - self.passed);
        self.len.min(usize::try_from(before).unwrap_or(usize::MAX))
    }

    /// Fills `slices` with the next `most` bytes, and returns the number of slices used.
    fn slices<'q>(&'q self, slices: &mut [IoSlice<'q>; SLICES], most: usize) -> usize {
        let (mut left, mut written, mut used) = (most, self.written, 0);
        for buffer in &self.buffers {
            let filled = buffer.slices(written, left, &mut slices[used..]);
            // Only of the first one something was written.
            written = 0;
            left -= slices[used..used + filled].iter().map(|slice| slice.len()).sum::<usize>();
            used += filled;
            if left == 0 || used == SLICES {
                break;
            }
        }
        used
    }

    /// Drops the first `bytes` of those that wait, and each buffer that is written completely.
    fn pass(&mut self, bytes: usize) {
        self.len -= bytes;
        self.passed += bytes as u64;
        self.written += bytes;
        while let Some(buffer) = self.buffers.front().filter(|it| it.len() <= self.written) {
            self.written -= buffer.len();
            self.room -= buffer.room();
            self.buffers.pop_front();
        }
        if self.buffers.is_empty() {
            self.buffers = VecDeque::new();
        }
        self.lowest = self.lowest.min(self.room());
    }
}

/// Writes as much of `bytes` as `stream` takes and is written at a time, and returns how many bytes
/// that was.
///
/// # Errors
/// When the connection is broken.
#[inline]
fn write_some(stream: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    let (mut taken, bytes) = (0, &bytes[..bytes.len().min(WRITE_MAX)]);
    while taken < bytes.len() {
        match stream.write(&bytes[taken..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => taken += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests;

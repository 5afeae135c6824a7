//! Consumers of the stream, any number of them: each reads it at a position of its own.
//!
//! ```text
//!      released         a consumer        another one         whole     tail
//! ─ ─ ─ ─ ┼────────────────┼──────────────────┼───────────────┼─ ─ ─ ─ ─┼
//!   gone      until its chunk is passed as a whole     to be read
//! ```
//! A consumer pins what is at its position and behind it. `released` is the lowest of all
//! positions; where there is no consumer, all that is whole is given up. The thread that adds,
//! moves or drops a consumer computes it, under a lock for which lanes do not wait.

use super::consumers::{ConsumerId, Consumers};
use super::{Ring, split};
use crate::CHUNK_BYTES;
use std::sync::Arc;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

/// Why the stream cannot be read from a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFromError {
    /// Its bytes may be gone.
    #[error("the stream is in memory from position {0} on only")]
    Released(u64),
    /// The stream has not come that far.
    #[error("the stream ends at position {0}")]
    Ahead(u64),
}

/// A consumer of the stream, and the first position which it still needs. From there on the bytes
/// stay in memory until the consumer releases them or is dropped.
#[derive(Debug)]
#[must_use]
pub struct Consumer {
    ring: Arc<Ring>,
    id: ConsumerId,
    /// As in the list of consumers, where others see it.
    position: u64,
    whole: u64,
}

impl Ring {
    /// Adds a consumer that begins where the stream is whole at present: it gets what comes from
    /// now on, and what is being filled.
    pub fn read_from_end(self: &Arc<Ring>) -> Consumer {
        let mut consumers = self.consumers();
        let position = self.whole();
        self.add_consumer(&mut consumers, position, position)
    }

    /// Adds a consumer that begins at a position which an earlier one has reached, and which is the
    /// end of a unit.
    ///
    /// # Errors
    /// When the position is not in memory any more, or not yet.
    pub fn read_from(self: &Arc<Ring>, position: u64) -> Result<Consumer, ReadFromError> {
        let mut consumers = self.consumers();
        // The lock is held, so nothing is released before the consumer is in the list.
        let (released, tail) = (self.released(), self.tail());
        if position < released {
            return Err(ReadFromError::Released(released));
        }
        // It may be behind what looks whole at this moment: see `Ring::whole`.
        if position > tail {
            return Err(ReadFromError::Ahead(tail));
        }
        Ok(self.add_consumer(&mut consumers, position, released))
    }

    /// Adds a consumer that knows up to where the stream is whole. The first one gives up what is
    /// before it.
    fn add_consumer(
        self: &Arc<Ring>,
        consumers: &mut Consumers,
        position: u64,
        whole: u64,
    ) -> Consumer {
        let id = consumers.add(position);
        self.release_passed(consumers, whole);
        Consumer { ring: Arc::clone(self), id, position, whole }
    }
}

impl Consumer {
    /// Which of the ring's consumers it is.
    pub fn id(&self) -> ConsumerId {
        self.id
    }

    /// First position which it still needs.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Position up to which all places are full. It is the end of a unit, and only rises.
    pub fn whole(&mut self) -> u64 {
        self.whole = self.ring.whole().max(self.whole);
        self.whole
    }

    /// The first of the bytes of `from..to`, as many as lie in one chunk; empty only if there are
    /// none. They stay what they are while they are borrowed: `release` needs the consumer for
    /// itself, and so does dropping it.
    ///
    /// # Panics
    /// When not all of them are whole, or some were released.
    pub fn slice(&self, from: u64, to: u64) -> &[u8] {
        assert!(self.position <= from && from <= to && to <= self.whole, "not to be read");
        let (chunk, offset) = split(from);
        let bytes = narrow::to_usize(to - from).min(CHUNK_BYTES - offset);
        if bytes == 0 {
            return &[];
        }
        let frame = self.ring.chunks.installed(chunk).expect("whole chunks have a frame");
        // SAFETY: the bytes are full, since they are below `whole`, and the lanes that filled them
        // have released them to the loads of it. Positions are taken by addition, so none is filled
        // twice. The frame is not another chunk's meanwhile: only chunks below `released` lose
        // theirs, `released` is at or below the position of each consumer in the list, and this one
        // is in it, at or below `from`, until it is borrowed exclusively.
        unsafe { self.ring.memory.bytes(frame, offset, bytes) }
    }

    /// Needs nothing below `to` any more. Its memory is given up as far as no other consumer needs
    /// it.
    ///
    /// # Panics
    /// When not all of it is whole, or `to` is below the position.
    pub fn release(&mut self, to: u64) {
        assert!(self.position <= to && to <= self.whole, "not to be released");
        if to == self.position {
            return;
        }
        self.position = to;
        let mut consumers = self.ring.consumers();
        consumers.advance(self.id, to);
        self.ring.release_passed(&consumers, self.whole);
    }

    /// Makes the chunk behind the tail ready, so that no lane has to touch new memory while the
    /// stream flows as fast as this is called. Where a whole table was not released, it does
    /// nothing.
    pub fn prepare(&self) {
        // The stream may go on meanwhile, but the chunk is not passed, which would never give its
        // frame back: this consumer's position is below it.
        let frame = self.ring.chunks.install(split(self.ring.tail()).0 + 1);
        if let Some(frame) = frame.filter(|frame| frame.is_cold) {
            self.ring.memory.touch(frame.number);
        }
    }

    /// True once `Ring::dismiss` has asked it to end: the owner drops it then. Owners that cannot
    /// go on for ever where they are slow ask before each step.
    pub fn is_dismissed(&self) -> bool {
        self.ring.consumers().is_dismissed(self.id)
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }
}

impl Drop for Consumer {
    /// Needs nothing any more.
    fn drop(&mut self) {
        let mut consumers = self.ring.consumers();
        consumers.remove(self.id);
        self.ring.release_passed(&consumers, self.whole);
    }
}

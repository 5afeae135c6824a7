//! Context of one thread that works on the store.

use super::{Asked, Author, Lent, Pending, UnitLog};
use crate::counters::Counters;
use base::{GateMember, Millis, Pacer, Random};
use heap::{Head, Heap, OutOfSpace, Purpose};
use std::sync::Arc;

/// Appended or removed bytes after which upkeep is paid for.
const UPKEEP_BYTES: u64 = 16 << 10;

/// A thread's hot head, its place at the gate, its counts and its random generator.
#[derive(Debug)]
pub struct ThreadContext {
    number: usize,
    pub(crate) head: Head,
    pub(crate) gate: GateMember,
    /// True while the thread is alone inside the gate, which it has closed.
    pub(crate) is_alone: bool,
    /// True while the context is used in the middle of something long: nothing is waited for then.
    pub(crate) never_waits: bool,
    /// True while the thread works though it found the gate closed.
    pub(crate) is_outside: bool,
    pub(crate) counters: Arc<Counters>,
    pub(crate) paid: Paid,
    /// True if a change exceeded the budget, so that the next write has to make room.
    pub(crate) is_overdrawn: bool,
    /// Bytes that had been appended at the last call of `Store::rest`.
    pub(crate) rested_at: u64,
    /// Shards that the guard in use has locked or borrowed, if they are several.
    pub(crate) asked: Asked,
    /// Locks that commands borrow.
    pub(crate) lent: Lent,
    /// True while the thread may wait for shards though it has some: its hold may grow.
    pub(crate) has_right: bool,
    pub(crate) pending: Pending,
    /// Pacer of a thread that runs background jobs.
    pub(crate) pacer: Pacer,
    /// Client on whose behalf it works at present.
    pub author: Author,
    /// Random generator for RANDOMKEY, SPOP and the like.
    pub random: Random,
}

/// Counts of a thread when it last paid for upkeep.
#[derive(Debug, Default)]
pub(crate) struct Paid {
    /// Bytes appended.
    pub appended: u64,
    /// Live bytes, as a sum that wraps.
    pub live: u64,
}

impl ThreadContext {
    pub(crate) fn new(gate: GateMember, number: usize) -> ThreadContext {
        ThreadContext {
            number,
            head: Head::new(),
            gate,
            is_alone: false,
            never_waits: false,
            is_outside: false,
            counters: Arc::default(),
            paid: Paid::default(),
            is_overdrawn: false,
            rested_at: 0,
            asked: Asked::default(),
            lent: Lent::default(),
            has_right: false,
            pending: Pending::default(),
            pacer: Pacer::new(),
            author: Author::default(),
            random: Random::seeded(number as u64 + 1),
        }
    }

    /// Its number among the contexts of the store, which no other one in use has.
    #[inline]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns true while the thread is alone inside the gate, which it has closed.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Begins or ends that the context is used in the middle of something long of the same thread:
    /// locks are only taken together and if all are free, by `try_hold` and `try_lock`.
    pub fn set_never_waits(&mut self, never_waits: bool) {
        self.never_waits = never_waits;
    }

    /// Returns true if nothing may be waited for with this context.
    #[inline]
    pub fn never_waits(&self) -> bool {
        self.never_waits
    }

    /// Returns false while the thread works outside the gate, which it found closed.
    #[inline]
    pub fn may_touch_data(&self) -> bool {
        !self.is_outside
    }

    /// Returns true if commands borrow locks of the thread, in a unit of several.
    #[inline]
    pub fn lends_locks(&self) -> bool {
        self.lent.is_any()
    }

    /// Returns true if the thread may leave the gate, or close it: it is in no unit of several
    /// commands.
    #[inline]
    pub(crate) fn may_go_out(&self) -> bool {
        !self.lent.is_any() && !self.is_alone
    }

    /// Sets the pacer of the background jobs that follow.
    pub fn pace(&mut self, pacer: Pacer) {
        self.pacer = pacer;
    }

    /// Sets where the thread's units go while there is a journal.
    pub fn set_unit_log(&mut self, log: Box<dyn UnitLog>) {
        self.pending.log = Some(log);
    }

    /// Puts a request in RESP that changes no data into the journal, while there is one; behind the
    /// unit, if the thread is in one of several commands.
    pub fn put_aside(&mut self, request: &[u8]) {
        if self.lent.is_any() {
            self.pending.asides.push(request.to_vec());
        } else if let Some(log) = &mut self.pending.log {
            log.put_aside(request);
        }
    }

    /// Position in the journal behind the last unit of this thread.
    #[inline]
    pub fn journal_position(&self) -> u64 {
        self.pending.position
    }

    /// Number of effects in the unit of several commands at which the thread is.
    pub fn effects_so_far(&self) -> usize {
        self.pending.unit.effects.len()
    }

    /// Takes effects out of that unit again, all but the first ones: nobody is to learn of them.
    pub fn drop_effects_since(&mut self, first: usize) {
        self.pending.unit.effects.truncate(first);
    }

    /// Has the unit of several commands at which the thread is get lost at its end: nobody learns
    /// of it, and the server ends before it could be in a file.
    pub fn lose_unit(&mut self) {
        self.pending.is_lost = true;
    }

    /// Number of keys that the thread has evicted so far.
    #[inline]
    pub fn evicted(&self) -> u64 {
        self.counters.evicted.get()
    }

    /// Returns how many keys the thread has removed since their deadline had passed.
    pub fn expired(&self) -> u64 {
        self.counters.expired.get()
    }

    /// Returns true if the thread has its share of the cleaning to do, which `Store::upkeep` does.
    #[inline]
    pub fn owes_upkeep(&self) -> bool {
        let (appended, removed) = self.unpaid();
        appended.max(removed) >= UPKEEP_BYTES
    }

    /// Bytes appended, and bytes removed, since upkeep was last paid for.
    #[inline]
    pub(crate) fn unpaid(&self) -> (u64, u64) {
        let appended = self.head.appended_bytes() - self.paid.appended;
        let gained = self.counters.live_bytes.get().wrapping_sub(self.paid.live) as i64;
        (appended, (appended as i64 - gained).max(0) as u64)
    }

    /// Makes sure that a change that has begun can append `bytes`, even beyond the budget: the next
    /// `reserve` makes room for that.
    #[inline]
    pub(crate) fn ensure(
        &mut self,
        heap: &Heap,
        bytes: usize,
        now: Millis,
    ) -> Result<(), OutOfSpace> {
        match self.head.reserve(heap, bytes, Purpose::Late, now) {
            Ok(()) => Ok(()),
            Err(_) => self.overdraw(heap, bytes, now),
        }
    }

    #[cold]
    fn overdraw(&mut self, heap: &Heap, bytes: usize, now: Millis) -> Result<(), OutOfSpace> {
        self.is_overdrawn = true;
        self.head.reserve(heap, bytes, Purpose::Overdraft, now)
    }
}

//! What one thread needs to work on the store.

use crate::cleaner::Room;
use crate::counters::Counters;
use crate::store::Store;
use base::{GateLane, Millis, Pacer, Random};
use heap::{Head, Heap, OutOfSpace, Purpose};
use std::sync::Arc;

/// Looks at what others are winning, before a write is refused.
const TRIES_IN_VAIN: usize = 8;

/// A thread's hot head, its way through the gate, its counts and its chance.
#[derive(Debug)]
pub struct Lane {
    pub(crate) head: Head,
    pub(crate) gate: GateLane,
    pub(crate) counters: Arc<Counters>,
    pub(crate) paid: Paid,
    /// Whether a change took more than the budget has, for which room has to be made.
    is_overdrawn: bool,
    /// Bytes that had been appended when the lane was last asked whether it rests.
    rested_at: u64,
    /// Of a thread that works in the background.
    pub(crate) pacer: Pacer,
    /// Chance for RANDOMKEY, SPOP and the like.
    pub random: Random,
}

/// What a lane had counted when it last paid for upkeep.
#[derive(Debug, Default)]
pub(crate) struct Paid {
    /// Bytes appended.
    pub appended: u64,
    /// Live bytes, as a sum that wraps.
    pub live: u64,
}

impl Store {
    /// A lane for one more thread; `None` once 128 are in use.
    pub fn lane(&self) -> Option<Lane> {
        let gate = self.gate.lane()?;
        let counters = Arc::new(Counters::default());
        let mut lanes = self.lanes();
        lanes.push(Arc::clone(&counters));
        let random = Random::seeded(lanes.len() as u64);
        Some(Lane {
            head: Head::new(),
            gate,
            counters,
            paid: Paid::default(),
            is_overdrawn: false,
            rested_at: 0,
            pacer: Pacer::new(),
            random,
        })
    }

    /// Goes through the gate, waiting while somebody acts on everything. Between `enter` and
    /// `leave` databases keep the keyspaces that they name.
    #[inline]
    pub fn enter(&self, lane: &Lane) {
        self.gate.enter(&lane.gate);
    }

    /// Lets those go first who want to act on everything; databases may name other keyspaces
    /// afterwards. To be called between two connections.
    #[inline]
    pub fn pass(&self, lane: &Lane) {
        self.gate.pass(&lane.gate);
    }

    /// Goes out again, at the end of a batch of commands.
    #[inline]
    pub fn leave(&self, lane: &Lane) {
        self.gate.leave(&lane.gate);
    }

    /// Closes the lane's segment if nothing was appended since the last call, and the segment holds
    /// nothing or is larger than a heap of this size should have open.
    pub fn rest(&self, lane: &mut Lane) {
        let appended = lane.head.appended_bytes();
        if std::mem::replace(&mut lane.rested_at, appended) == appended {
            lane.head.rest(&self.heap);
        }
    }

    /// Makes sure that `bytes` can be appended without waiting, before any lock is taken.
    /// Cleans, and evicts where the policy allows, until there is room.
    ///
    /// # Errors
    /// When nothing can be freed any more.
    #[inline]
    pub fn reserve(
        &self,
        lane: &mut Lane,
        bytes: usize,
        now: Millis,
    ) -> Result<(), crate::access::NoSpace> {
        match lane.head.reserve(&self.heap, bytes, Purpose::Write, now) {
            Ok(()) if !lane.is_overdrawn => Ok(()),
            _ => self.reserve_slowly(lane, bytes, now),
        }
    }

    #[cold]
    fn reserve_slowly(
        &self,
        lane: &mut Lane,
        bytes: usize,
        now: Millis,
    ) -> Result<(), crate::access::NoSpace> {
        if !self.heap.could_ever_hold(bytes) {
            return Err(crate::access::NoSpace);
        }
        let mut tries_in_vain = 0;
        while !self.has_reserved(lane, bytes, now) {
            let won_before = self.space_won();
            match self.make_room(lane, now) {
                Room::Won => tries_in_vain = 0,
                Room::Returned => {}
                // What this lane won may have gone to another one, and what another won is left.
                Room::Nothing if self.space_won() != won_before => tries_in_vain = 0,
                Room::Nothing if tries_in_vain < TRIES_IN_VAIN && self.is_space_being_won() => {
                    tries_in_vain += 1;
                    std::thread::yield_now();
                }
                Room::Nothing if self.has_reserved(lane, bytes, now) => {}
                Room::Nothing => return Err(crate::access::NoSpace),
            }
        }
        Ok(())
    }

    /// Whether `bytes` can be appended, and nothing is left to make good.
    fn has_reserved(&self, lane: &mut Lane, bytes: usize, now: Millis) -> bool {
        lane.is_overdrawn &= self.heap.is_overdrawn();
        !lane.is_overdrawn && lane.head.reserve(&self.heap, bytes, Purpose::Write, now).is_ok()
    }

    /// A number that rises whenever somebody wins space.
    fn space_won(&self) -> u64 {
        self.totals().won_bytes
    }
}

impl Lane {
    /// Bytes that were appended since upkeep was last paid for.
    #[inline]
    pub(crate) fn unpaid(&self) -> u64 {
        self.head.appended_bytes() - self.paid.appended
    }

    /// Makes sure that `bytes` can be appended by a change that has begun, even where that goes
    /// beyond the budget: the next `reserve` makes room for it.
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

//! Space for a write, made before its locks are taken.

use crate::cleaner::Room;
use crate::fault::NoSpace;
use crate::shard::ThreadContext;
use crate::store::Store;
use base::Millis;
use heap::Purpose;
use std::time::Duration;

/// Vain attempts, while other threads free space, before a write is refused.
const TRIES_IN_VAIN: usize = 8;
/// Vain attempts while there are keys that may be evicted: other threads change or evict the same
/// ones, or free what was evicted, and need their time for it.
const TRIES_WITH_KEYS: usize = 1000;
/// Pause behind attempts of the second kind: a thread that others wait for may be kept from its
/// processor for milliseconds, in which it is of no use to ask a thousand times.
const PAUSE: Duration = Duration::from_micros(100);

/// Gives others their time behind an attempt in vain.
fn rest(tries_in_vain: usize) {
    if tries_in_vain <= TRIES_IN_VAIN {
        std::thread::yield_now();
    } else {
        std::thread::sleep(PAUSE);
    }
}

impl Store {
    /// Makes sure that one command or several can append `bytes` without waiting; called before any
    /// lock is taken. Cleans, and evicts where the policy allows, until there is room. While the
    /// thread lends locks it does neither: it overdraws the budget, and the next write makes room
    /// for that.
    ///
    /// # Errors
    /// When nothing can be freed any more.
    #[inline]
    pub fn reserve(
        &self,
        thread: &mut ThreadContext,
        bytes: usize,
        now: Millis,
    ) -> Result<(), NoSpace> {
        if self.reserve_at_once(thread, bytes, now) {
            Ok(())
        } else {
            self.reserve_slowly(thread, bytes, now)
        }
    }

    /// Does the same if it takes neither cleaning nor eviction; returns false otherwise.
    #[inline]
    pub fn reserve_at_once(&self, thread: &mut ThreadContext, bytes: usize, now: Millis) -> bool {
        let reserved = thread.head.reserve(&self.shards.heap, bytes, Purpose::Write, now);
        reserved.is_ok() && !thread.is_overdrawn
    }

    #[cold]
    fn reserve_slowly(
        &self,
        thread: &mut ThreadContext,
        bytes: usize,
        now: Millis,
    ) -> Result<(), NoSpace> {
        if !self.shards.heap.could_ever_hold(bytes) {
            return Err(NoSpace);
        }
        if thread.lent.is_any() {
            return thread.ensure(&self.shards.heap, bytes, now).map_err(|_| NoSpace);
        }
        let mut tries_in_vain = 0;
        while !self.has_reserved(thread, bytes, now) {
            let won_before = self.space_won();
            match self.make_room(thread, now) {
                Room::Won => tries_in_vain = 0,
                Room::Returned => {}
                // Space that this thread won may have gone to another one; space that another one
                // won is left.
                Room::Nothing if self.space_won() != won_before => tries_in_vain = 0,
                Room::Nothing if self.may_try_on(tries_in_vain) => {
                    tries_in_vain += 1;
                    rest(tries_in_vain);
                }
                Room::Nothing if self.has_reserved(thread, bytes, now) => {}
                Room::Nothing => return Err(NoSpace),
            }
        }
        Ok(())
    }

    /// Returns true if another attempt may find room, after so many in vain.
    fn may_try_on(&self, tries: usize) -> bool {
        (tries < TRIES_IN_VAIN && self.is_space_being_won())
            || (tries < TRIES_WITH_KEYS && self.has_keys_to_evict())
    }

    /// Returns true if `bytes` are reserved and nothing is overdrawn any more.
    fn has_reserved(&self, thread: &mut ThreadContext, bytes: usize, now: Millis) -> bool {
        thread.is_overdrawn &= self.shards.heap.is_overdrawn();
        !thread.is_overdrawn
            && thread.head.reserve(&self.shards.heap, bytes, Purpose::Write, now).is_ok()
    }

    /// Counter that rises whenever a thread wins space.
    fn space_won(&self) -> u64 {
        self.totals().won_bytes
    }
}

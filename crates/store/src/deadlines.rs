//! Deadlines that pass soon, as far as they are known, so that the thread that removes expired keys
//! can sleep until then.
//!
//! ```text
//! a deadline is set ─▶ earliest of its shard ─▶ next_look ──▶ earlier than `asleep_until`?
//!                       (under the shard's lock)               behind the locks: wake the sweep
//! ```
//! A sweep begins a shard anew and notes what it finds there up to the moment to which it looks
//! ahead. Later deadlines may be unknown: the next whole sweep finds them.

use base::units::SHARDS;
use base::{Millis, ShardId, Tick};
use crossbeam_utils::CachePadded;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

const NONE: u64 = u64::MAX;

/// Known deadlines.
#[derive(Debug)]
pub struct Deadlines {
    earliest: Box<[AtomicU64]>,
    sleep: CachePadded<Sleep>,
    /// When all were looked at last, or there was none; zero if nobody has told.
    swept_at: AtomicU64,
}

/// Whether the sweep has to be woken. A thread that notes a deadline writes the one word and then
/// reads the other, and one that falls asleep does so the other way round, so that one of them sees
/// the other.
#[derive(Debug)]
struct Sleep {
    next_look: AtomicU64,
    /// Zero while nobody is to be woken.
    asleep_until: AtomicU64,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        let sleep = Sleep { next_look: AtomicU64::new(NONE), asleep_until: AtomicU64::new(0) };
        let earliest = (0..SHARDS).map(|_| AtomicU64::new(NONE)).collect();
        Deadlines { earliest, sleep: CachePadded::new(sleep), swept_at: AtomicU64::new(0) }
    }
}

impl Deadlines {
    /// Notes a deadline in a shard, whose lock is held.
    #[inline]
    pub(crate) fn note(&self, shard: ShardId, deadline: Millis) {
        if deadline.0 < self.earliest[shard.index()].load(Relaxed) {
            self.note_earlier(shard, deadline);
        }
    }

    #[cold]
    fn note_earlier(&self, shard: ShardId, deadline: Millis) {
        self.earliest[shard.index()].store(deadline.0, Relaxed);
        self.sleep.next_look.fetch_min(deadline.0, SeqCst);
    }

    /// Forgets what is known of a shard. To be called before all its deadlines are looked at. What
    /// is set at the same moment may be missed by that look, which the next round makes good.
    pub(crate) fn begin_shard(&self, shard: ShardId) {
        self.earliest[shard.index()].store(NONE, Relaxed);
    }

    /// Returns true if a deadline in a shard has passed.
    pub(crate) fn is_due(&self, shard: ShardId, now: Millis) -> bool {
        self.earliest[shard.index()].load(Relaxed) <= now.0
    }

    /// Begins to find out when to look next. The swap acquires what was noted before; a store would
    /// not.
    pub(crate) fn begin_sweep(&self) {
        self.sleep.next_look.swap(NONE, SeqCst);
    }

    /// Ends a sweep that may have passed over some shards.
    pub(crate) fn end_sweep(&self) {
        let earliest = self.earliest.iter().map(|it| it.load(Relaxed)).min().unwrap_or(NONE);
        self.sleep.next_look.fetch_min(earliest, SeqCst);
    }

    /// Notes that no deadline was set before: all were looked at, or there is none yet.
    pub fn note_whole_sweep(&self, now: Millis) {
        self.swept_at.store(now.0, Relaxed);
    }

    /// Returns true if it is so long ago that all were looked at that ticks tell nothing: while
    /// expired keys were kept, or the wall clock was set.
    pub(crate) fn may_have_wrapped(&self, now: Millis) -> bool {
        let swept_at = self.swept_at.load(Relaxed);
        swept_at > 0 && now.0.abs_diff(swept_at) > Tick::LATE_MAX_MILLIS / 2
    }

    /// Returns when to look next.
    pub fn next_look(&self) -> Millis {
        Millis(self.sleep.next_look.load(SeqCst))
    }

    /// Notes that who sweeps sleeps until then. Returns false if it must not, as there is something
    /// earlier.
    pub fn fall_asleep(&self, until: Millis) -> bool {
        self.sleep.asleep_until.store(until.0, SeqCst);
        let may_sleep = self.next_look() >= until;
        if !may_sleep {
            self.wake_up();
        }
        may_sleep
    }

    /// Notes that who sweeps is awake.
    pub fn wake_up(&self) {
        self.sleep.asleep_until.store(0, SeqCst);
    }

    /// Returns true if who sweeps sleeps for too long.
    #[inline]
    pub fn oversleeps(&self) -> bool {
        self.sleep.next_look.load(SeqCst) < self.sleep.asleep_until.load(SeqCst)
    }

    /// Returns true if the caller has to wake who sweeps: nobody else does.
    pub fn call(&self) -> bool {
        self.sleep.asleep_until.swap(0, SeqCst) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::Deadlines;
    use base::{Millis, ShardId};

    #[test]
    fn a_sweep_that_sleeps_is_called_once_and_only_for_what_is_earlier() {
        let deadlines = Deadlines::default();
        assert!(!deadlines.oversleeps() && deadlines.fall_asleep(Millis(100)));
        deadlines.note(ShardId(3), Millis(100));
        assert!(!deadlines.oversleeps());
        deadlines.note(ShardId(3), Millis(90));
        deadlines.note(ShardId(200), Millis(80));
        assert!(deadlines.oversleeps() && deadlines.call() && !deadlines.call());
        assert!(!deadlines.oversleeps() && deadlines.next_look() == Millis(80));
        assert!(!deadlines.fall_asleep(Millis(81)) && deadlines.fall_asleep(Millis(80)));
    }

    #[test]
    fn a_sweep_of_some_shards_keeps_what_is_known_of_the_others() {
        let deadlines = Deadlines::default();
        for (shard, deadline) in [(0, 50), (1, 60), (2, 70)] {
            deadlines.note(ShardId(shard), Millis(deadline));
        }
        let due = |now| ShardId::all().filter(|it| deadlines.is_due(*it, Millis(now))).count();
        assert_eq!((due(49), due(60)), (0, 2));
        deadlines.begin_sweep();
        deadlines.begin_shard(ShardId(0));
        deadlines.note(ShardId(0), Millis(90));
        deadlines.end_sweep();
        assert_eq!((deadlines.next_look(), due(89)), (Millis(60), 2));
    }
}

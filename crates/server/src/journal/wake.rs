//! Rest of the writer between two rounds, and who may end it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::thread::{self, Thread};
use std::time::Duration;

/// Rest between two rounds while there are changes.
const SHORT_REST: Duration = Duration::from_millis(20);
/// The same while replicas follow, which are sent what was written.
const REPLICAS_REST: Duration = Duration::from_millis(2);
/// Rest while changes are stalled.
const WATCHFUL_REST: Duration = Duration::from_millis(1);
/// Rest after a quiet time, unless a change ends it; and while the disk fails.
const LONG_REST: Duration = Duration::from_millis(100);
/// Rounds without a change before the rests are long.
const QUIET_ROUNDS: u32 = 20;

const AWAKE: u8 = 0;
/// Depths of a rest.
const RESTING: u8 = 1;
const ASLEEP: u8 = 2;
const DEAF: u8 = 3;

/// What ends a rest before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// It will look again within milliseconds: it is woken only for what cannot wait.
    Short,
    /// It is woken by the next unit.
    Long,
    /// No unit wakes it, however many come: it could do nothing with them.
    Deaf,
}

/// What the writer knows at the end of a round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// True while there are files.
    pub is_on: bool,
    /// True while the disk fails.
    pub is_failing: bool,
    /// True if units came during the round.
    pub has_more: bool,
    pub delays_replies: bool,
    pub stalls_changes: bool,
    /// True while there are replicas.
    pub has_replicas: bool,
    /// Rounds without a unit up to now.
    pub quiet: u32,
}

impl Round {
    /// How long the rest is to be at most, and how deep; `None` if the next round begins at once.
    pub fn rest(self) -> Option<(Duration, Depth)> {
        if self.is_on && self.is_failing {
            // What waits is written when the disk is tried again, once a second.
            return Some((LONG_REST, Depth::Deaf));
        }
        if self.delays_replies && self.has_more {
            return None;
        }
        let is_short = self.quiet < QUIET_ROUNDS && !self.delays_replies && self.is_on;
        let most = match () {
            () if self.stalls_changes => WATCHFUL_REST,
            () if is_short && self.has_replicas => REPLICAS_REST,
            () if is_short => SHORT_REST,
            () => LONG_REST,
        };
        Some((most, if is_short { Depth::Short } else { Depth::Long }))
    }
}

/// Rest of one thread.
#[derive(Debug, Default)]
pub struct Rest {
    state: AtomicU8,
    thread: OnceLock<Thread>,
}

impl Rest {
    /// Makes the calling thread the one that rests.
    pub fn adopt(&self) {
        let _ = self.thread.set(thread::current());
    }

    /// Rests until the rest is ended, or the time is over; not at all if `is_news` finds something
    /// to do once others see the rest.
    pub fn rest(&self, most: Duration, depth: Depth, is_news: impl FnOnce() -> bool) {
        let state = match depth {
            Depth::Short => RESTING,
            Depth::Long => ASLEEP,
            Depth::Deaf => DEAF,
        };
        self.state.store(state, SeqCst);
        // A thread that brings news either sees the new state and wakes this one, or its news is
        // seen by `is_news` below.
        fence(SeqCst);
        if !is_news() {
            thread::park_timeout(most);
        }
        self.state.store(AWAKE, Relaxed);
    }

    /// Ends a rest after there were units: a long one, or a short one too if it is urgent.
    #[inline]
    pub fn end_if(&self, is_urgent: bool) {
        fence(SeqCst);
        match self.state.load(Relaxed) {
            AWAKE | DEAF => {}
            RESTING if !is_urgent => {}
            _ => self.end(),
        }
    }

    /// Ends any rest.
    #[cold]
    pub fn end(&self) {
        self.state.store(AWAKE, Relaxed);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rounds in which the disk does what it should, or does not.
    fn rounds(is_failing: bool) -> impl Iterator<Item = Round> {
        (0..64_u8).map(move |bits| Round {
            is_on: bits & 1 == 0,
            is_failing,
            has_more: bits & 2 != 0,
            delays_replies: bits & 4 != 0,
            stalls_changes: bits & 8 != 0,
            has_replicas: bits & 32 != 0,
            quiet: if bits & 16 == 0 { 0 } else { QUIET_ROUNDS },
        })
    }

    #[test]
    fn a_writer_that_cannot_write_rests_whatever_comes() {
        for round in rounds(true).filter(|round| round.is_on) {
            assert_eq!(round.rest(), Some((LONG_REST, Depth::Deaf)), "{round:?}");
        }
    }

    #[test]
    fn a_writer_that_can_write_goes_on_at_once_only_for_replies_that_wait() {
        for round in rounds(false) {
            let is_urgent = round.delays_replies && round.has_more;
            assert_eq!(round.rest().is_none(), is_urgent, "{round:?}");
            assert!(!matches!(round.rest(), Some((_, Depth::Deaf))), "{round:?}");
        }
    }

    /// What is left of a rest of this depth after somebody has tried to end it.
    fn state_after(depth: Depth, try_to_end: impl Fn(&Rest)) -> u8 {
        let rest = Rest::default();
        let mut state = AWAKE;
        rest.rest(LONG_REST, depth, || {
            try_to_end(&rest);
            state = rest.state.load(SeqCst);
            true
        });
        state
    }

    #[test]
    fn units_end_a_rest_by_its_depth() {
        assert_eq!(state_after(Depth::Short, |rest| rest.end_if(false)), RESTING);
        assert_eq!(state_after(Depth::Short, |rest| rest.end_if(true)), AWAKE);
        assert_eq!(state_after(Depth::Long, |rest| rest.end_if(false)), AWAKE);
        assert_eq!(state_after(Depth::Deaf, |rest| rest.end_if(true)), DEAF);
        assert_eq!(state_after(Depth::Deaf, Rest::end), AWAKE);
    }
}

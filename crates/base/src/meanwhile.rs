//! What a thread does while it waits for long: it serves others.
//!
//! ```text
//! lend(others, act)    others are lent to whatever `act` does on this thread
//!    └─▶ serve()       they are served for a moment: from a wait for a lock or the gate that has
//!                      become long, and from a script that runs for long
//! ```
//! Neither a handler nor what waits below it knows who the others are, nor do they go through all
//! the layers between: they are lent to the thread, as its stack is. While they are served they are
//! lent to nobody, so it does not happen within itself.

use crate::sync::{AtomicU32, park, park_within};
use std::cell::Cell;
use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a wait or a piece of work is long and others are served; they are again each
/// time that the work goes on for as long.
pub const PATIENCE: Duration = Duration::from_micros(250);
/// Time after which they are served again under a wait, whose thread has nothing else to do.
const BETWEEN: Duration = Duration::from_micros(100);

/// Who is served while a thread waits.
pub trait Others {
    /// Serves them for a moment, without waiting for anybody.
    fn serve(&mut self);
}

/// Pointer to the others that are lent, until `lend` returns.
type Lent = NonNull<dyn Others>;

thread_local! {
    static LENT: Cell<Option<Lent>> = const { Cell::new(None) };
}

/// Puts back what was lent before, also if the thread panics.
struct PutBack(Option<Lent>);

impl Drop for PutBack {
    fn drop(&mut self) {
        LENT.set(self.0);
    }
}

/// Lends others to what `act` does on this thread.
#[inline]
pub fn lend<T>(others: &mut dyn Others, act: impl FnOnce() -> T) -> T {
    let others: NonNull<dyn Others + '_> = NonNull::from(others);
    // SAFETY: only the lifetime is forgotten. The pointer is gone from the cell before this
    // function returns, and who takes it out of there puts it back before.
    let others = unsafe { std::mem::transmute::<NonNull<dyn Others + '_>, Lent>(others) };
    let _before = PutBack(LENT.replace(Some(others)));
    act()
}

/// Returns true if others are lent to this thread, and not being served.
#[inline]
pub fn is_lent() -> bool {
    LENT.get().is_some()
}

/// Serves the others that are lent to this thread for a moment. Returns false if there are none.
pub fn serve() -> bool {
    let Some(mut others) = LENT.take() else { return false };
    let _back = PutBack(Some(others));
    // SAFETY: `lend` borrows them exclusively until it returns, and that is below on this stack;
    // the cell is empty, so nobody else on this thread has the pointer.
    unsafe { others.as_mut() }.serve();
    true
}

/// A wait for a word to change, during which others are served.
#[derive(Debug)]
pub(crate) struct Wait {
    patience: Duration,
}

impl Wait {
    /// A wait that begins now.
    pub(crate) const fn new() -> Wait {
        Wait { patience: PATIENCE }
    }

    /// Sleeps on `word` while it is `seen`, or for a moment: then others are served, if any are
    /// lent to this thread.
    pub(crate) fn park(&mut self, word: &AtomicU32, seen: u32) {
        if !is_lent() {
            park(word, seen);
        } else if park_within(word, seen, self.patience) {
            serve();
            self.patience = BETWEEN;
        }
    }
}

/// Sleeps, and serves the others that are lent to this thread every `PATIENCE`.
pub fn sleep(time: Duration) {
    let began = Instant::now();
    loop {
        let left = time.saturating_sub(began.elapsed());
        if !is_lent() {
            return thread::sleep(left);
        }
        thread::sleep(left.min(PATIENCE));
        serve();
        if left <= PATIENCE {
            return;
        }
    }
}

/// Breaks in work that may be long, such as writing a large reply: others are served in them.
#[derive(Debug)]
pub struct Breaks {
    /// Work done at which the clock is looked at.
    next: usize,
    /// Moment since which nobody was served.
    since: Option<Instant>,
}

/// Work between two looks at the clock, in bytes of a reply: some 30 microseconds.
const BETWEEN_LOOKS: usize = 32 << 10;

impl Breaks {
    /// Returns the breaks of work of which `done` bytes are done.
    #[inline]
    pub fn from(done: usize) -> Breaks {
        Breaks { next: done.saturating_add(BETWEEN_LOOKS), since: None }
    }

    /// Serves others if nobody was served for long, now that `done` bytes are done.
    #[inline]
    pub fn reach(&mut self, done: usize) {
        if done >= self.next {
            self.look(done);
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, done: usize) {
        self.next = done.saturating_add(BETWEEN_LOOKS);
        if !is_lent() {
            return;
        }
        if self.is_long(Instant::now()) {
            serve();
            self.since = Some(Instant::now());
        }
    }

    /// Returns true if nobody was served for long at moment `now`.
    fn is_long(&mut self, now: Instant) -> bool {
        now.duration_since(*self.since.get_or_insert(now)) >= PATIENCE
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counted {
        served: u32,
        within: u32,
    }

    impl Others for Counted {
        fn serve(&mut self) {
            self.served += 1;
            self.within += u32::from(super::serve());
        }
    }

    #[test]
    fn others_are_served_while_they_are_lent_and_not_within_themselves() {
        assert!(!serve());
        let mut others = Counted::default();
        lend(&mut others, || {
            assert!(is_lent());
            assert!(serve() && serve());
        });
        assert!(!is_lent() && !serve());
        assert_eq!((others.served, others.within), (2, 0));
    }

    #[test]
    fn others_are_served_in_the_breaks_of_long_work() {
        let mut others = Counted::default();
        lend(&mut others, || {
            let mut breaks = Breaks::from(0);
            for done in 1..4 {
                breaks.reach(done * BETWEEN_LOOKS);
                thread::sleep(PATIENCE);
            }
        });
        assert_eq!(others.served, 2, "each look but the first is late enough");
    }

    #[test]
    fn nobody_is_served_while_no_more_of_the_work_is_done() {
        let mut others = Counted::default();
        lend(&mut others, || {
            let mut breaks = Breaks::from(100);
            breaks.reach(100 + BETWEEN_LOOKS);
            thread::sleep(PATIENCE);
            breaks.reach(100 + BETWEEN_LOOKS + 1);
        });
        assert_eq!(others.served, 0);
    }

    #[test]
    fn work_is_long_when_patience_has_passed_since_somebody_was_served() {
        let mut breaks = Breaks::from(0);
        let began = Instant::now();
        let just_before = began + PATIENCE - Duration::from_nanos(1);
        assert!(!breaks.is_long(began) && !breaks.is_long(just_before));
        assert!(breaks.is_long(began + PATIENCE));
        breaks.since = Some(just_before);
        assert!(!breaks.is_long(began + PATIENCE));
    }

    #[test]
    fn what_was_lent_before_is_lent_again_afterwards() {
        let (mut outer, mut inner) = (Counted::default(), Counted::default());
        lend(&mut outer, || {
            lend(&mut inner, || assert!(serve()));
            assert!(serve());
            assert!(serve());
        });
        assert_eq!((outer.served, inner.served), (2, 1));
    }

    #[test]
    fn nothing_stays_lent_behind_a_panic() {
        let mut others = Counted::default();
        let act = std::panic::AssertUnwindSafe(|| lend(&mut others, || panic!("a bug")));
        assert!(std::panic::catch_unwind(act).is_err());
        assert!(!is_lent() && !serve());
    }
}

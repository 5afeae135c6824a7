//! Patience of a closer: time for which it keeps others out.

#[cfg(not(any(loom, shuttle)))]
pub(super) use timed::Patience;

#[cfg(not(any(loom, shuttle)))]
mod timed {
    use crate::meanwhile;
    use crate::sync::relax;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Time for which a closer keeps others out at its first try.
    const FIRST: Duration = Duration::from_micros(500);
    /// Factor by which the pause after a try is longer than the try, so that others have most of
    /// the time.
    const PAUSES: u32 = 4;
    /// When it is a closer's turn, a try is first as long as this part of the time that it has
    /// waited, and a pause this part of the try before.
    const TURN_PART: u32 = 8;
    /// Time of a try after which the closer looks less often, so that it does not take the core of
    /// the threads that it waits for.
    const LONG: Duration = Duration::from_millis(1);
    const LONG_LOOK: Duration = Duration::from_micros(100);
    /// Number of checks before the closer yields its core.
    const SPINS: u32 = 1_000;

    /// Patience of one closer, which grows by an eighth with each try: a command of 200 ms is
    /// awaited in 20 tries, of which the last keeps others out for 5 ms. In the closer's turn it
    /// doubles, so that others who are always inside for 200 ms are shut out after half a second.
    #[derive(Debug)]
    pub struct Patience {
        time: Duration,
        came: Instant,
        began: Instant,
        looks: u32,
        has_turn: bool,
    }

    impl Patience {
        pub fn new() -> Patience {
            let now = Instant::now();
            Patience { time: FIRST, came: now, began: now, looks: 0, has_turn: false }
        }

        /// Begins a try.
        pub fn begin(&mut self) {
            self.began = Instant::now();
            self.looks = 0;
        }

        /// Waits for a moment. Returns false once the time of this try is over.
        pub fn wait(&mut self) -> bool {
            self.looks += 1;
            if self.looks < SPINS {
                relax();
                return true;
            }
            let elapsed = self.began.elapsed();
            if elapsed < LONG {
                thread::yield_now();
            } else {
                thread::sleep(LONG_LOOK);
            }
            elapsed < self.time
        }

        /// Time since the try began.
        pub fn elapsed(&self) -> Duration {
            self.began.elapsed()
        }

        /// Sleeps so that others can work, also those that are lent to this thread, and makes the
        /// next try longer.
        pub fn pause(&mut self, is_turn: bool) {
            if !is_turn {
                meanwhile::sleep(PAUSES * self.time);
                self.time += self.time / 8;
                return;
            }
            meanwhile::sleep(self.time / TURN_PART);
            self.time = if std::mem::replace(&mut self.has_turn, true) {
                self.time * 2
            } else {
                self.time.max(self.came.elapsed() / TURN_PART)
            };
        }
    }
}

#[cfg(any(loom, shuttle))]
pub(super) use counted::Patience;

/// Patience without a clock: the first try ends after a few checks, the second when all are
/// outside.
#[cfg(any(loom, shuttle))]
mod counted {
    use crate::sync::relax;
    use std::time::Duration;

    const LOOKS: u32 = if cfg!(loom) { 1 } else { 3 };

    #[derive(Debug)]
    pub struct Patience {
        tries: u32,
        looks: u32,
    }

    impl Patience {
        pub fn new() -> Patience {
            Patience { tries: 0, looks: 0 }
        }

        pub fn begin(&mut self) {
            self.tries += 1;
            self.looks = 0;
        }

        pub fn wait(&mut self) -> bool {
            self.looks += 1;
            relax();
            self.tries > 1 || self.looks < LOOKS
        }

        pub fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        pub fn pause(&mut self, _: bool) {
            relax();
        }
    }
}

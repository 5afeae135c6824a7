//! Patience of a closer: time for which it keeps others out.

#[cfg(not(any(loom, shuttle)))]
pub(super) use timed::Patience;

#[cfg(not(any(loom, shuttle)))]
mod timed {
    use crate::sync::relax;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Time for which a closer keeps others out at its first try.
    const FIRST: Duration = Duration::from_micros(500);
    /// Factor by which the pause after a try is longer than the try, so that others have most of
    /// the time.
    const PAUSES: u32 = 4;
    /// Number of checks before the closer yields its core.
    const SPINS: u32 = 1_000;

    /// Patience of one closer, which grows by an eighth with each try: a command of 200 ms is
    /// awaited in 20 tries, of which the last keeps others out for 5 ms.
    #[derive(Debug)]
    pub struct Patience {
        time: Duration,
        began: Instant,
        looks: u32,
    }

    impl Patience {
        pub fn new() -> Patience {
            Patience { time: FIRST, began: Instant::now(), looks: 0 }
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
            thread::yield_now();
            self.began.elapsed() < self.time
        }

        /// Time since the try began.
        pub fn elapsed(&self) -> Duration {
            self.began.elapsed()
        }

        /// Sleeps so that others can work, and makes the next try longer.
        pub fn pause(&mut self) {
            thread::sleep(PAUSES * self.time);
            self.time += self.time / 8;
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

        pub fn pause(&mut self) {
            relax();
        }
    }
}

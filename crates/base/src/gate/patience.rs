//! How long a closer keeps others out.

#[cfg(not(any(loom, shuttle)))]
pub(super) use timed::Patience;

#[cfg(not(any(loom, shuttle)))]
mod timed {
    use crate::sync::relax;
    use std::thread;
    use std::time::{Duration, Instant};

    /// For how long a closer keeps everybody out at its first try.
    const FIRST: Duration = Duration::from_micros(500);
    /// How many times as long the gate is open after a try, so that others have most of the time.
    const PAUSES: u32 = 4;
    /// Looks before the closer lets others have its core.
    const SPINS: u32 = 1_000;

    /// The patience of one closer, which grows by an eighth with each try: a command of 200 ms is
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

        /// Waits for a moment; false when patience is at its end.
        pub fn wait(&mut self) -> bool {
            self.looks += 1;
            if self.looks < SPINS {
                relax();
                return true;
            }
            thread::yield_now();
            self.began.elapsed() < self.time
        }

        /// Lets others work, and has more patience afterwards.
        pub fn pause(&mut self) {
            thread::sleep(PAUSES * self.time);
            self.time += self.time / 8;
        }
    }
}

#[cfg(any(loom, shuttle))]
pub(super) use counted::Patience;

/// Without a clock: the first try ends after a few looks, the second when everybody is outside.
#[cfg(any(loom, shuttle))]
mod counted {
    use crate::sync::relax;

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

        pub fn pause(&mut self) {
            relax();
        }
    }
}

//! Clocks: time is read in one place so that tests can hold it still.

use crate::units::{Millis, Steady};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Clock of the wall time, which its owner may set forward and back, and of the time that passes,
/// which nobody can. A still clock returns the times that it was last set to.
#[derive(Debug)]
pub enum Clock {
    /// System clocks.
    Wall,
    /// Clock set by hand, for tests.
    Still(StillClock),
}

/// Times of a clock that is set by hand.
#[derive(Debug)]
pub struct StillClock {
    wall: AtomicU64,
    steady: AtomicU64,
}

impl Clock {
    /// Returns a clock that stands still at `now`, by both of its times.
    pub fn still(now: Millis) -> Clock {
        let at = || AtomicU64::new(now.0);
        Clock::Still(StillClock { wall: at(), steady: at() })
    }

    /// Returns the present moment: for deadlines of keys, and for what people are shown.
    #[inline]
    pub fn now(&self) -> Millis {
        match self {
            Clock::Wall => wall_now(),
            Clock::Still(at) => Millis(at.wall.load(Ordering::Relaxed)),
        }
    }

    /// Returns the present moment in microseconds since the Unix epoch.
    pub fn micros(&self) -> u64 {
        match self {
            Clock::Wall => wall_micros(),
            Clock::Still(at) => at.wall.load(Ordering::Relaxed) * 1000,
        }
    }

    /// Returns the present moment by the time that passes: for intervals, timeouts and waits.
    #[inline]
    pub fn steady(&self) -> Steady {
        match self {
            Clock::Wall => steady_now(),
            Clock::Still(at) => Steady(at.steady.load(Ordering::Relaxed)),
        }
    }

    /// Advances a still clock; does nothing to the system clock.
    pub fn advance(&self, by_millis: u64) {
        if let Clock::Still(at) = self {
            at.wall.fetch_add(by_millis, Ordering::Relaxed);
            at.steady.fetch_add(by_millis, Ordering::Relaxed);
        }
    }

    /// Sets the wall time of a still clock, as somebody may do to the system's at any time; does
    /// nothing to the system clock.
    pub fn set_wall(&self, now: Millis) {
        if let Clock::Still(at) = self {
            at.wall.store(now.0, Ordering::Relaxed);
        }
    }
}

/// Returns the system's wall time.
#[inline]
pub fn wall_now() -> Millis {
    let (seconds, nanos) = since_epoch();
    Millis(seconds * 1000 + nanos / 1_000_000)
}

/// Returns the system's wall time in microseconds since the Unix epoch.
pub fn wall_micros() -> u64 {
    let (seconds, nanos) = since_epoch();
    seconds * 1_000_000 + nanos / 1000
}

/// Returns the processor time that this thread has had, in nanoseconds.
pub(crate) fn thread_nanos() -> u64 {
    let (seconds, nanos) = read(libc::CLOCK_THREAD_CPUTIME_ID);
    seconds * 1_000_000_000 + nanos
}

/// Returns the system's time that passes.
#[inline]
fn steady_now() -> Steady {
    let (seconds, nanos) = read(libc::CLOCK_MONOTONIC);
    Steady(seconds * 1000 + nanos / 1_000_000)
}

#[inline]
fn since_epoch() -> (u64, u64) {
    read(libc::CLOCK_REALTIME)
}

/// Returns the seconds of a clock, and the nanoseconds of the one that has begun. Each batch of
/// requests asks, and `SystemTime` takes twice the instructions for a difference.
#[inline]
fn read(clock: libc::clockid_t) -> (u64, u64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes no more than the structure that it is given.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time that passes, for a thread that asks far more often than milliseconds go by: it reads
/// the stopwatch anyway, and asks the clock only after a while.
#[derive(Debug)]
pub struct CoarseSteady {
    now: Steady,
    /// Reading of the stopwatch when the clock was asked, and counts until it is asked again.
    asked: u64,
    counts: u64,
}

impl CoarseSteady {
    /// Milliseconds by which the time may be too early.
    pub const LATE_MILLIS: u64 = 8;

    /// Returns the time that `clock` tells.
    pub fn new(clock: &Clock, stopwatch: &Stopwatch) -> CoarseSteady {
        let counts = match clock {
            Clock::Wall => stopwatch.counts_in(Self::LATE_MILLIS * 1_000_000),
            Clock::Still(_) => 0,
        };
        CoarseSteady { now: clock.steady(), asked: stopwatch.read(), counts }
    }

    /// Returns the time as it was told last.
    #[inline]
    pub fn now(&self) -> Steady {
        self.now
    }

    /// Follows the clock, where `count` is what the stopwatch reads now.
    #[inline]
    pub fn follow(&mut self, clock: &Clock, count: u64) {
        // A counter that was set back, as when a machine moves, is far ahead by this.
        if count.wrapping_sub(self.asked) >= self.counts {
            self.ask(clock, count);
        }
    }

    #[cold]
    fn ask(&mut self, clock: &Clock, count: u64) {
        (self.now, self.asked) = (clock.steady(), count);
    }
}

/// Stopwatch for commands, as cheap as the machine allows: the processor's time-stamp counter where
/// that runs at one rate, otherwise the system's monotonic clock.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    started: Instant,
    /// Nanoseconds per 2^32 counts; zero where the counter cannot be used.
    nanos_per_count: u64,
}

impl Stopwatch {
    /// Measures the rate of the counter, which takes a few milliseconds.
    pub fn calibrate() -> Stopwatch {
        let started = Instant::now();
        let reading = || Reading {
            before: counter::read(),
            nanos: narrow::low_u64(started.elapsed().as_nanos()),
            after: counter::read(),
        };
        let nanos_per_count = if counter::is_steady() { rate(reading) } else { 0 };
        Stopwatch { started, nanos_per_count }
    }

    /// Returns a stopwatch for tests, by which nothing takes time.
    pub fn still() -> Stopwatch {
        // Spans below 2^32 counts, which are a second or more, come to less than a nanosecond.
        Stopwatch { started: Instant::now(), nanos_per_count: 1 }
    }

    /// Returns the counter; only differences have a meaning.
    #[inline]
    pub fn read(&self) -> u64 {
        if self.nanos_per_count != 0 {
            counter::read()
        } else {
            narrow::low_u64(self.started.elapsed().as_nanos())
        }
    }

    /// Returns the counts in so many nanoseconds.
    fn counts_in(&self, nanos: u64) -> u64 {
        let counts = (u128::from(nanos) << 32).checked_div(u128::from(self.nanos_per_count));
        counts.map_or(nanos, narrow::low_u64)
    }

    /// Returns the nanoseconds between two readings.
    #[inline]
    pub fn nanos_between(&self, earlier: u64, later: u64) -> u64 {
        let counts = later.saturating_sub(earlier);
        if self.nanos_per_count == 0 {
            return counts;
        }
        narrow::low_u64((u128::from(counts) * u128::from(self.nanos_per_count)) >> 32)
    }
}

/// The system's clock, read between two readings of the counter.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before: u64,
    nanos: u64,
    after: u64,
}

impl Reading {
    /// Counts within which the clock was read: few, unless the thread lost its processor there.
    fn width(self) -> u64 {
        self.after.wrapping_sub(self.before)
    }
}

/// Returns the nanoseconds per 2^32 counts, over two milliseconds. A thread may lose its processor
/// between any two steps, for longer than that: each end is the closest of several readings.
fn rate(mut read: impl FnMut() -> Reading) -> u64 {
    const READINGS: u32 = 16;
    let mut closest = || {
        let first = read();
        (1..READINGS).map(|_| read()).fold(first, |best, reading| {
            if reading.width() < best.width() { reading } else { best }
        })
    };
    let first = closest();
    let last = loop {
        let last = closest();
        if last.nanos - first.nanos >= 2_000_000 {
            break last;
        }
        std::hint::spin_loop();
    };
    let counts = last.before.wrapping_sub(first.before).max(1);
    narrow::low_u64((u128::from(last.nanos - first.nanos) << 32) / u128::from(counts))
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod counter {
    /// Returns true if the counter keeps one rate in all power states (CPUID 8000_0007h, EDX bit
    /// 8).
    pub fn is_steady() -> bool {
        let highest = std::arch::x86_64::__cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && std::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0
    }

    #[inline]
    pub fn read() -> u64 {
        // SAFETY: every x86-64 processor has RDTSC.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
mod counter {
    pub fn is_steady() -> bool {
        false
    }

    pub fn read() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_still_clock_moves_only_by_hand() {
        let clock = Clock::still(Millis(5));
        clock.advance(7);
        assert_eq!((clock.now(), clock.steady()), (Millis(12), Steady(12)));
    }

    #[test]
    fn setting_the_wall_time_does_not_change_the_time_that_passes() {
        let clock = Clock::still(Millis(5_000));
        clock.set_wall(Millis(1));
        clock.advance(7);
        assert_eq!(
            (clock.now(), clock.micros(), clock.steady()),
            (Millis(8), 8_000, Steady(5_007))
        );
    }

    #[test]
    fn the_coarse_time_follows_the_clock() {
        let (clock, watch) = (Clock::still(Millis(5)), Stopwatch::still());
        let mut coarse = CoarseSteady::new(&clock, &watch);
        clock.advance(1);
        coarse.follow(&clock, watch.read());
        assert_eq!(coarse.now(), Steady(6));
    }

    #[test]
    fn the_coarse_time_asks_the_clock_after_a_while_and_where_the_counter_was_set_back() {
        let clock = Clock::still(Millis(5));
        let mut coarse = CoarseSteady { now: clock.steady(), asked: 1_000, counts: 100 };
        clock.advance(10);
        coarse.follow(&clock, 1_099);
        assert_eq!(coarse.now(), Steady(5));
        coarse.follow(&clock, 1_100);
        assert_eq!(coarse.now(), Steady(15));
        clock.advance(10);
        coarse.follow(&clock, 7);
        assert_eq!(coarse.now(), Steady(25));
    }

    #[test]
    fn counts_and_nanoseconds_agree() {
        let watch = Stopwatch { started: Instant::now(), nanos_per_count: 1 << 30 };
        assert_eq!((watch.counts_in(1_000), watch.nanos_between(0, 4_000)), (4_000, 1_000));
        let of_the_system = Stopwatch { nanos_per_count: 0, ..watch };
        assert_eq!(of_the_system.counts_in(1_000), 1_000);
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of steps, none of them unsafe")]
    fn a_thread_that_loses_its_processor_measures_the_same_rate() {
        // Two counts in a nanosecond; each step takes ten of them, and some steps 300 ms more.
        for lost in 0..200_u32 {
            let (mut count, mut step) = (0_u64, 0_u32);
            let mut pass = || {
                step += 1;
                let away = if step % 199 == lost { 600_000_000 } else { 0 };
                count += 10 + away;
                count
            };
            let per_count = rate(|| Reading { before: pass(), nanos: pass() / 2, after: pass() });
            let error = per_count.abs_diff(1 << 31);
            assert!(error < (1 << 31) / 1_000, "{lost}: {per_count}");
        }
    }

    #[test]
    fn a_stopwatch_never_runs_backwards() {
        let watch = Stopwatch::calibrate();
        let (a, b) = (watch.read(), watch.read());
        assert!(b >= a);
        assert!(watch.nanos_between(a, b) < 1_000_000_000);
        assert_eq!(watch.nanos_between(b + 1, b), 0);
        let still = Stopwatch::still();
        assert_eq!(still.nanos_between(still.read(), still.read()), 0);
    }
}

//! Clocks: time is read in one place so that tests can hold it still.

use crate::units::Millis;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Clock of the wall time; a still clock returns the time that it was last set to.
#[derive(Debug)]
pub enum Clock {
    /// System clock.
    Wall,
    /// Clock set by hand, for tests.
    Still(AtomicU64),
}

impl Clock {
    /// Returns a clock that stands still at `now`.
    pub fn still(now: Millis) -> Clock {
        Clock::Still(AtomicU64::new(now.0))
    }

    /// Returns the present moment.
    #[inline]
    pub fn now(&self) -> Millis {
        match self {
            Clock::Wall => wall_now(),
            Clock::Still(at) => Millis(at.load(Ordering::Relaxed)),
        }
    }

    /// Returns the present moment in microseconds since the Unix epoch.
    pub fn micros(&self) -> u64 {
        match self {
            Clock::Wall => wall_micros(),
            Clock::Still(at) => at.load(Ordering::Relaxed) * 1000,
        }
    }

    /// Advances a still clock; does nothing to the system clock.
    pub fn advance(&self, by_millis: u64) {
        if let Clock::Still(at) = self {
            at.fetch_add(by_millis, Ordering::Relaxed);
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

/// Returns the seconds since the Unix epoch, and the nanoseconds of the one that has begun. Each
/// batch of requests asks, and `SystemTime` takes twice the instructions for a difference.
#[inline]
fn since_epoch() -> (u64, u64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes no more than the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0))
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
        let nanos_per_count = if counter::is_steady() { Self::rate(started) } else { 0 };
        Stopwatch { started, nanos_per_count }
    }

    /// Returns a stopwatch for tests, by which nothing takes time.
    pub fn still() -> Stopwatch {
        // Spans below 2^32 counts, which are a second or more, come to less than a nanosecond.
        Stopwatch { started: Instant::now(), nanos_per_count: 1 }
    }

    fn rate(started: Instant) -> u64 {
        let first = counter::read();
        while started.elapsed().as_micros() < 2_000 {
            std::hint::spin_loop();
        }
        let nanos = narrow::low_u64(started.elapsed().as_nanos());
        let counts = counter::read().wrapping_sub(first).max(1);
        narrow::low_u64((u128::from(nanos) << 32) / u128::from(counts))
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
        assert_eq!(clock.now(), Millis(12));
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

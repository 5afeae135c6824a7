//! The CPU time of a process whose threads may end.

use std::time::Duration;

use anyhow::Result;

use super::{ThreadTimes, cpu_time_in_ticks, thread_times};

/// Sum of the CPU time of all threads of a process, ended ones included. It never goes backwards.
///
/// The scheduler reports the time of each live thread in nanoseconds, but that of all threads,
/// ended ones included, in whole clock ticks only. So the sum is exact while no thread ends, and
/// afterwards at most two ticks too low (one of user and one of system time, 20 ms).
#[derive(Debug)]
pub struct CpuMeter {
    pid: u32,
    /// Threads at the last reading.
    threads: Vec<ThreadTimes>,
    /// CPU time of threads that have ended.
    ended: Duration,
    sum: Duration,
}

impl CpuMeter {
    /// Creates the meter of a process, which need not exist.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        Self { pid, threads: Vec::new(), ended: Duration::ZERO, sum: Duration::ZERO }
    }

    /// Returns user and system time of the process since its start.
    ///
    /// # Errors
    /// If the process does not exist.
    pub fn read(&mut self) -> Result<Duration> {
        // Read first, so that it holds no time that live threads do not report themselves.
        let ticks = cpu_time_in_ticks(self.pid)?;
        let threads = thread_times(self.pid).unwrap_or_default();
        Ok(self.add_up(ticks, threads))
    }

    fn add_up(&mut self, ticks: Duration, threads: Vec<ThreadTimes>) -> Duration {
        let live: Duration = threads.iter().map(|times| times.on_core).sum();
        let went_on = |then: &ThreadTimes| {
            // Thread numbers are used again, by threads that start with no time.
            threads.iter().any(|now| now.thread == then.thread && now.on_core >= then.on_core)
        };
        let gone = self.threads.iter().filter(|then| !went_on(then));
        self.ended += gone.map(|then| then.on_core).sum::<Duration>();
        // Threads may also start and end between two readings.
        self.ended = self.ended.max(ticks.saturating_sub(live));
        self.threads = threads;
        self.sum = self.sum.max(live + self.ended);
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::super::cpu_time_of_this_thread;
    use super::{CpuMeter, ThreadTimes};

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Returns the meter's sums for given ticks and threads with their numbers, all in
    /// milliseconds.
    fn sums(looks: &[(u64, &[(u32, u64)])]) -> Vec<u64> {
        let mut meter = CpuMeter::new(0);
        let mut look = |(ticks, threads): &(u64, &[(u32, u64)])| {
            let times = |&(thread, on_core)| ThreadTimes {
                thread,
                on_core: millis(on_core),
                waiting: Duration::ZERO,
            };
            meter.add_up(millis(*ticks), threads.iter().map(times).collect()).as_millis() as u64
        };
        looks.iter().map(&mut look).collect()
    }

    #[test]
    fn ticks_do_not_blur_what_live_threads_tell() {
        assert_eq!(
            sums(&[(0, &[(1, 9)]), (20, &[(1, 23), (2, 2)]), (20, &[(1, 24), (2, 9)])]),
            [9, 25, 33]
        );
    }

    #[test]
    fn a_thread_that_ended_still_counts() {
        let with_two: (u64, &[(u32, u64)]) = (100, &[(1, 50), (2, 55)]);
        assert_eq!(sums(&[with_two, (100, &[(1, 51)])]), [105, 106], "what it told itself");
        assert_eq!(sums(&[with_two, (130, &[(1, 51)])]), [105, 130], "what it used since then");
        assert_eq!(sums(&[with_two, (130, &[(1, 51), (2, 7)])]), [105, 130], "its number goes on");
        assert_eq!(sums(&[with_two, (0, &[])]), [105, 105], "of the whole process");
    }

    #[test]
    fn a_thread_that_was_never_seen_counts_in_ticks() {
        assert_eq!(sums(&[(0, &[(1, 5)]), (200, &[(1, 6)]), (200, &[(1, 9)])]), [5, 200, 203]);
    }

    #[test]
    fn the_kernel_counts_as_the_meter_expects() {
        let mut meter = CpuMeter::new(std::process::id());
        let before = meter.read().unwrap();
        let burn = || {
            while cpu_time_of_this_thread() < millis(100) {
                std::hint::spin_loop();
            }
        };
        thread::spawn(burn).join().unwrap();
        let used = meter.read().unwrap() - before;
        assert!(used >= millis(60), "{used:?}");
    }

    #[test]
    fn an_absent_process_is_an_error() {
        assert!(CpuMeter::new(u32::MAX).read().is_err());
    }
}

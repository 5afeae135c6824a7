//! Memory and CPU time of a server over time, sampled by a thread of its own.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::generator::Monitor;
use crate::process;

/// One sample. Memory and CPU time are absent where the process is not known or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time since the sampler started.
    pub at: Duration,
    /// Resident memory of the server in bytes, with what its children have for themselves.
    pub resident_bytes: Option<u64>,
    /// User and system time of the server since the sampler started.
    pub cpu: Option<Duration>,
    /// Operations answered so far.
    pub operations: u64,
}

/// Distance of samples, and what is called with each when it is taken.
pub struct Watch {
    pub every: Duration,
    pub watch: Box<dyn FnMut(&Sample) + Send>,
}

impl Watch {
    /// Takes samples only.
    pub fn every(every: Duration) -> Self {
        Self { every, watch: Box::new(|_| ()) }
    }
}

/// Takes samples of a process while something is done: at its start, again and again, and at its
/// end. Returns its result and the samples in order.
pub fn sampled<T>(
    pid: u32,
    watch: Watch,
    monitor: &Monitor,
    act: impl FnOnce() -> T,
) -> (T, Vec<Sample>) {
    let Watch { every, mut watch } = watch;
    let (stop, stopped) = mpsc::channel::<()>();
    let (cpu_before, began) = (process::cpu_time(pid).ok(), Instant::now());
    let mut look = move || {
        let resident = process::memory_with_children(pid).ok();
        let resident_bytes = resident.filter(|bytes| *bytes > 0);
        let cpu = process::cpu_time(pid).ok().zip(cpu_before).map(|(now, before)| now - before);
        let (cpu, operations) = (resident_bytes.and(cpu), monitor.operations.load(Relaxed));
        let sample = Sample { at: began.elapsed(), resident_bytes, cpu, operations };
        watch(&sample);
        sample
    };
    let look_on = move || {
        let mut samples = vec![look()];
        let mut is_over = false;
        while !is_over {
            let due = began + every * samples.len() as u32;
            let wait = due.saturating_duration_since(Instant::now());
            is_over = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            samples.push(look());
        }
        samples
    };
    thread::scope(|scope| {
        let thread = scope.spawn(look_on);
        let acted = act();
        drop(stop);
        // A thread that panicked has no samples.
        (acted, thread.join().unwrap_or_default())
    })
}

/// Returns the most memory of some samples, in bytes.
pub fn most_memory(samples: &[Sample]) -> f64 {
    samples.iter().filter_map(|sample| sample.resident_bytes).max().unwrap_or(0) as f64
}

/// Returns the time in which nothing was answered from one sample to the next.
pub fn idle(samples: &[Sample]) -> Duration {
    let idle = samples.windows(2).filter(|pair| pair[0].operations == pair[1].operations);
    idle.map(|pair| pair[1].at.saturating_sub(pair[0].at)).sum()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn samples_are_in_order_and_the_last_is_taken_at_the_end() {
        let (sender, seen) = mpsc::channel();
        let watch = move |sample: &Sample| {
            // The receiver is gone after the first few samples.
            let _ = sender.send(*sample);
        };
        let watch = Watch { every: Duration::from_millis(1), watch: Box::new(watch) };
        let look = move || seen.iter().take(3).collect::<Vec<_>>();
        let (watched, samples) = sampled(std::process::id(), watch, &Monitor::default(), look);
        assert!(samples.len() > 3 && samples[..3] == watched);
        assert!(samples.is_sorted_by_key(|sample| (sample.at, sample.cpu)));
        assert!(samples.iter().all(|sample| sample.resident_bytes > Some(100_000)));
    }

    #[test]
    fn time_without_an_answer_is_idle() {
        let sample = |(at, operations): (u64, u64)| {
            let at = Duration::from_millis(100 * at);
            Sample { at, resident_bytes: None, cpu: None, operations }
        };
        let samples = |operations: [u64; 5]| (0..).zip(operations).map(sample).collect::<Vec<_>>();
        assert_eq!(idle(&samples([0, 10, 10, 10, 25])), Duration::from_millis(200));
        assert_eq!(idle(&[]), Duration::ZERO);
    }

    #[test]
    fn a_process_that_is_not_there_or_has_ended_leaves_only_the_operations() {
        let mut ended = Command::new("true").spawn().unwrap();
        while !process::has_ended(ended.id()) {
            thread::yield_now();
        }
        for pid in [0, u32::MAX, ended.id()] {
            let watch = Watch::every(Duration::from_secs(3600));
            let ((), samples) = sampled(pid, watch, &Monitor::default(), || ());
            assert_eq!(samples.len(), 2, "one at the start, one at the end");
            let is_bare =
                |it: &Sample| (it.resident_bytes, it.cpu, it.operations) == (None, None, 0);
            assert!(samples.iter().all(is_bare), "{pid:?}");
        }
        ended.wait().unwrap();
    }
}

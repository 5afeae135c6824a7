//! Memory and CPU time of a server over time, sampled by a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::generator::Monitor;
use crate::process::{self, CpuMeter};

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

/// What is called with samples of a server.
pub struct Watch {
    /// Time between two samples.
    pub every: Duration,
    /// Called with each sample when it is taken.
    pub watch: Box<dyn FnMut(&Sample) + Send>,
}

/// Thread that takes samples until it is stopped.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Sampler {
    /// Takes a sample of a process now and again and again.
    pub fn start(pid: u32, watch: Watch, monitor: Arc<Monitor>) -> Self {
        let Watch { every, mut watch } = watch;
        let (stop, stopped) = mpsc::channel();
        let cpu_time = move || CpuMeter::new(pid).read().ok();
        let (cpu_before, began) = (cpu_time(), Instant::now());
        let mut look = move || {
            let resident = process::memory_with_children(pid).ok();
            let resident_bytes = resident.filter(|bytes| *bytes > 0);
            let cpu = cpu_time().zip(cpu_before).map(|(now, before)| now - before);
            let (cpu, operations) = (resident_bytes.and(cpu), monitor.operations());
            let sample = Sample { at: began.elapsed(), resident_bytes, cpu, operations };
            watch(&sample);
            sample
        };
        let thread = thread::spawn(move || {
            let mut samples = vec![look()];
            let mut is_over = false;
            while !is_over {
                let due = began + every * samples.len() as u32;
                let wait = due.saturating_duration_since(Instant::now());
                is_over = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
                samples.push(look());
            }
            samples
        });
        Self { stop, thread }
    }

    /// Takes a last sample and returns all samples in order.
    pub fn stop(self) -> Vec<Sample> {
        drop(self.stop);
        // A thread that panicked has no samples.
        self.thread.join().unwrap_or_default()
    }
}

/// Returns the most memory of a server and its children while something is done, in bytes, and the
/// result of that.
pub fn peak_during<T>(pid: u32, act: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let watch = Watch { every: PEAK_EVERY, watch: Box::new(|_| {}) };
    let sampler = Sampler::start(pid, watch, Arc::default());
    let acted = act();
    Ok((most_memory(&sampler.stop()), acted?))
}

/// Returns the most memory of some samples.
pub fn most_memory(samples: &[Sample]) -> f64 {
    samples.iter().filter_map(|sample| sample.resident_bytes).max().unwrap_or(0) as f64
}

const PEAK_EVERY: Duration = Duration::from_millis(5);

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
        let sampler = Sampler::start(std::process::id(), watch, Arc::default());
        let watched: Vec<_> = seen.iter().take(3).collect();
        let samples = sampler.stop();
        assert!(samples.len() > 3 && samples[..3] == watched);
        assert!(samples.is_sorted_by_key(|sample| (sample.at, sample.cpu)));
        assert!(samples.iter().all(|sample| sample.resident_bytes > Some(100_000)));
    }

    #[test]
    fn a_process_that_is_not_there_or_has_ended_leaves_only_the_operations() {
        let mut ended = Command::new("true").spawn().unwrap();
        while !process::has_ended(ended.id()) {
            thread::yield_now();
        }
        for pid in [0, u32::MAX, ended.id()] {
            let watch = Watch { every: Duration::from_secs(3600), watch: Box::new(|_| {}) };
            let samples = Sampler::start(pid, watch, Arc::default()).stop();
            assert_eq!(samples.len(), 2, "one at the start, one at the end");
            let is_bare =
                |it: &Sample| (it.resident_bytes, it.cpu, it.operations) == (None, None, 0);
            assert!(samples.iter().all(is_bare), "{pid:?}");
        }
        ended.wait().unwrap();
    }
}

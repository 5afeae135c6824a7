//! Memory and CPU time of a server over time, sampled by a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::generator::Monitor;
use crate::process::{self, CpuMeter};

/// One sample. Memory and CPU time are absent where the process is not known or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time since the sampler started.
    pub at: Duration,
    /// Resident memory of the server in bytes.
    pub resident_bytes: Option<u64>,
    /// User and system time of the server since the sampler started.
    pub cpu: Option<Duration>,
    /// Operations answered so far.
    pub operations: u64,
}

/// Thread that takes samples until it is stopped.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Sampler {
    /// Takes a sample now and one after each `every`; calls `watch` with each of them.
    pub fn start(
        pid: Option<u32>,
        every: Duration,
        monitor: Arc<Monitor>,
        mut watch: impl FnMut(&Sample) + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let mut eye = Eye::open(pid, monitor);
        let began = eye.began;
        let thread = thread::spawn(move || {
            let mut samples = Vec::new();
            let mut look = || {
                let sample = eye.look();
                watch(&sample);
                samples.push(sample);
            };
            look();
            for turn in 1.. {
                let due = began + every * turn;
                let wait = due.saturating_duration_since(Instant::now());
                let is_over = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
                look();
                if is_over {
                    break;
                }
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

struct Eye {
    pid: Option<u32>,
    meter: Option<CpuMeter>,
    monitor: Arc<Monitor>,
    began: Instant,
    cpu_before: Option<Duration>,
}

impl Eye {
    fn open(pid: Option<u32>, monitor: Arc<Monitor>) -> Self {
        let mut meter = pid.map(CpuMeter::new);
        let cpu_before = read(&mut meter);
        Self { pid, meter, monitor, began: Instant::now(), cpu_before }
    }

    fn look(&mut self) -> Sample {
        // A process that has ended is listed, without memory, until its parent waits for it.
        let resident = self.pid.and_then(|pid| process::resident_bytes(pid).ok());
        let resident_bytes = resident.filter(|bytes| *bytes > 0);
        let cpu = read(&mut self.meter).zip(self.cpu_before).map(|(now, before)| now - before);
        Sample {
            at: self.began.elapsed(),
            resident_bytes,
            cpu: resident_bytes.and(cpu),
            operations: self.monitor.operations(),
        }
    }
}

fn read(meter: &mut Option<CpuMeter>) -> Option<Duration> {
    meter.as_mut().and_then(|meter| meter.read().ok())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use super::{Monitor, Sampler, process};

    #[test]
    fn samples_are_in_order_and_the_last_is_taken_at_the_end() {
        let (sender, seen) = mpsc::channel();
        let monitor = Arc::new(Monitor::default());
        let watch = move |sample: &super::Sample| {
            // The receiver is gone after the first few samples.
            let _ = sender.send(*sample);
        };
        let every = Duration::from_millis(1);
        let sampler = Sampler::start(Some(std::process::id()), every, Arc::clone(&monitor), watch);
        let watched: Vec<_> = seen.iter().take(3).collect();
        let samples = sampler.stop();
        assert!(samples.len() > 3 && samples[..3] == watched);
        assert!(samples.is_sorted_by_key(|sample| sample.at));
        assert!(samples.is_sorted_by_key(|sample| sample.cpu));
        assert!(samples.iter().all(|sample| sample.resident_bytes > Some(100_000)));
    }

    #[test]
    fn a_process_that_is_not_there_leaves_only_the_operations() {
        for pid in [None, Some(u32::MAX)] {
            let every = Duration::from_secs(3600);
            let samples = Sampler::start(pid, every, Arc::default(), |_| {}).stop();
            assert_eq!(samples.len(), 2, "one at the start, one at the end");
            assert!(samples.iter().all(|sample| sample.resident_bytes.is_none()));
            assert!(samples.iter().all(|sample| sample.cpu.is_none() && sample.operations == 0));
        }
    }

    #[test]
    fn a_process_that_has_ended_leaves_only_the_operations() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        child.kill().unwrap();
        while process::resident_bytes(child.id()).unwrap() > 0 {
            std::thread::yield_now();
        }
        let every = Duration::from_secs(3600);
        let samples = Sampler::start(Some(child.id()), every, Arc::default(), |_| {}).stop();
        assert!(samples.iter().all(|sample| sample.resident_bytes.is_none()));
        assert!(samples.iter().all(|sample| sample.cpu.is_none()));
        child.wait().unwrap();
    }
}

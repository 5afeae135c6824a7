//! One load on one server, made by several threads and sampled over time. An error ends the trial,
//! but the measurements up to then are kept.
//!
//! ```text
//! connect ──▶ warm up ──▶ measure          each on all threads, which wait for each other
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use anyhow::{Error, Result, anyhow, ensure};

use crate::generator::{
    Arrival, Drawn, Ended, Generator, Keys, Lag, Monitor, Outcome, Requests, Stop,
};
use crate::process::{self, CpuMeter};
use crate::sampler::{Sample, Sampler};
use crate::scenario::measure::Load;

/// Settings of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Process that serves; without it neither its CPU time nor its memory are known.
    pub pid: Option<u32>,
    /// Load; connections, operations and rate are those of all threads together.
    pub load: Load,
    /// Event upon which a batch is sent.
    pub arrival: Arrival,
    /// Threads that make the load.
    pub threads: usize,
    /// Number of cores of the server, which come first: threads that make load are bound to the
    /// others.
    pub server_cores: usize,
    /// Time between two samples.
    pub sample_every: Duration,
}

/// Result of a trial, finished or not.
pub struct Tried {
    /// Measurements of the generator.
    pub outcome: Outcome,
    /// Delay behind the schedule, for an open loop.
    pub lag: Option<Lag>,
    /// User and system time of the server.
    pub server_cpu: Option<Duration>,
    /// Samples of the server over time.
    pub samples: Vec<Sample>,
    /// Reason for an early end.
    pub failure: Option<Error>,
}

impl Tried {
    /// Creates the result of a trial that did not begin.
    ///
    /// # Errors
    /// As [`Outcome::empty`].
    pub fn failed(failure: Error) -> Result<Self> {
        Ok(Self {
            outcome: Outcome::empty()?,
            lag: None,
            server_cpu: None,
            samples: Vec::new(),
            failure: Some(failure),
        })
    }

    /// Returns the CPU time of the server per operation, in microseconds.
    pub fn server_us_per_operation(&self) -> Option<f64> {
        let operations = self.outcome.operations.max(1) as f64;
        self.server_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / operations)
    }

    /// Returns the average number of cores that the server used.
    pub fn server_share(&self) -> Option<f64> {
        let elapsed = self.outcome.elapsed.as_secs_f64();
        self.server_cpu.map(|cpu| cpu.as_secs_f64() / elapsed).filter(|share| share.is_finite())
    }
}

impl Trial {
    /// Runs the trial; calls `watch` with each sample when it is taken.
    ///
    /// # Errors
    /// Only if the result cannot be recorded; faults of the server are in [`Tried::failure`].
    pub fn run(&self, watch: impl FnMut(&Sample) + Send + 'static) -> Result<Tried> {
        if let Err(error) = self.check() {
            return Tried::failed(error);
        }
        let gate = Gate::new(self.threads + 1);
        let monitor = Arc::new(Monitor::default());
        thread::scope(|scope| {
            let run = |thread| self.run_thread(thread, &gate, &monitor);
            let threads: Vec<_> =
                (0..self.threads).map(|thread| scope.spawn(move || run(thread))).collect();
            gate.pass(true);
            let is_well = gate.pass(true);
            let mut meter = self.pid.map(CpuMeter::new);
            let (before, every) = (settled(&mut meter), self.sample_every);
            let sampler = Sampler::start(self.pid, every, Arc::clone(&monitor), watch);
            gate.pass(true);
            let ended: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a thread failed"))))
                .collect();
            let samples = sampler.stop();
            let mut tried = merged(ended)?;
            if is_well {
                // The CPU time of a server that has ended is only in the samples.
                let last = samples.iter().rev().find_map(|sample| sample.cpu);
                let used = before.zip(settled(&mut meter));
                let used = used.and_then(|(before, after)| after.checked_sub(before));
                let has_ended = samples.last().is_none_or(|sample| sample.cpu.is_none());
                tried.server_cpu = if has_ended { last } else { used };
                tried.samples = samples;
            }
            Ok(tried)
        })
    }

    fn check(&self) -> Result<()> {
        ensure!(self.threads > 0, "at least one thread makes load");
        ensure!(
            self.load.connections >= self.threads,
            "{} threads need as many connections",
            self.threads
        );
        Ok(())
    }

    /// Runs one thread, which passes the gate three times, whatever has happened to it.
    fn run_thread(&self, thread: usize, gate: &Gate, monitor: &Arc<Monitor>) -> Result<Ended> {
        self.pin(thread);
        let prepared = self.prepare(thread);
        let is_well = gate.pass(prepared.is_ok());
        let warmed = prepared.and_then(|mut prepared| {
            if is_well && !self.load.warm_up.is_zero() {
                let stop = Stop::After(self.load.warm_up);
                let ended = prepared.drive(self.arrival_at(thread), stop, &Arc::default())?;
                ended.failure.map_or(Ok(()), Err)?;
            }
            Ok(prepared)
        });
        gate.pass(warmed.is_ok());
        let is_well = gate.pass(true);
        let mut prepared = warmed?;
        if !is_well {
            return Ok(Ended { outcome: Outcome::empty()?, lag: None, failure: None });
        }
        let ended = prepared.drive(self.arrival_at(thread), self.stop_of(thread), monitor)?;
        if ended.failure.is_some() {
            monitor.halt();
        }
        Ok(ended)
    }

    fn prepare(&self, thread: usize) -> Result<Prepared> {
        let load = &self.load;
        let connections = share(load.connections as u64, thread, self.threads) as usize;
        let seed = load.seed.wrapping_add((thread as u64) << 32);
        let (number, threads) = (thread as u64, self.threads as u64);
        Ok(Prepared {
            generator: Generator::connect_speaking(self.port, connections, load.protocol)?,
            requests: Requests::speaking(load.protocol, &load.shape, seed)?,
            keys: Keys::for_thread(&load.keys, load.key_count, load.seed, number, threads)?,
        })
    }

    fn arrival_at(&self, thread: usize) -> Arrival {
        self.arrival.for_thread(thread, self.threads)
    }

    fn stop_of(&self, thread: usize) -> Stop {
        match self.load.stop {
            Stop::After(time) => Stop::After(time),
            Stop::Operations(count) => Stop::Operations(share(count, thread, self.threads)),
        }
    }

    fn pin(&self, thread: usize) {
        let cores = process::cores();
        let first = self.server_cores.min(cores - 1);
        process::pin_this_thread(first + thread % (cores - first));
    }
}

/// Returns the server's CPU time after a short pause: the kernel adds up the time of a running
/// thread when it leaves the core, so the server must go to sleep first.
fn settled(meter: &mut Option<CpuMeter>) -> Option<Duration> {
    thread::sleep(Duration::from_millis(2));
    meter.as_mut().and_then(|meter| meter.read().ok())
}

struct Prepared {
    generator: Generator,
    requests: Requests,
    keys: Keys,
}

impl Prepared {
    fn drive(&mut self, arrival: Arrival, stop: Stop, monitor: &Arc<Monitor>) -> Result<Ended> {
        let mut source = Drawn { requests: &mut self.requests, keys: &mut self.keys };
        self.generator.drive_to_end(&mut source, arrival, stop, monitor)
    }
}

/// Barrier at which threads wait for each other and learn whether all are well.
struct Gate {
    barrier: Barrier,
    has_failed: AtomicBool,
}

impl Gate {
    fn new(threads: usize) -> Self {
        Self { barrier: Barrier::new(threads), has_failed: AtomicBool::new(false) }
    }

    fn pass(&self, is_well: bool) -> bool {
        if !is_well {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        self.barrier.wait();
        !self.has_failed.load(Ordering::Relaxed)
    }
}

/// Merges the results of all threads; the first of several failures counts.
fn merged(ended: Vec<Result<Ended>>) -> Result<Tried> {
    let mut outcome = Outcome::empty()?;
    let mut lag: Option<Lag> = None;
    let mut failures = Vec::new();
    for ended in ended {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                failures.push(error);
                continue;
            }
        };
        outcome.merge(&ended.outcome)?;
        if let Some(more) = ended.lag {
            lag.get_or_insert_default().merge(&more);
        }
        failures.extend(ended.failure);
    }
    let failure = failures.into_iter().next();
    Ok(Tried { outcome, lag, server_cpu: None, samples: Vec::new(), failure })
}

/// Returns the part of `count` for one of several threads, as equal as possible.
fn share(count: u64, thread: usize, threads: usize) -> u64 {
    (count + (threads - 1 - thread) as u64) / threads as u64
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::{Arrival, Stop, Trial, Tried, share};
    use crate::generator::{Operation, Pace, Spacing};
    use crate::null;
    use crate::scenario::measure::Load;

    fn null_server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || null::serve(&listener, 1, &null::Replies::default()));
        port
    }

    /// Starts a server that answers each GET; returns its port and its count of GETs.
    fn counting_server() -> (u16, Arc<AtomicU64>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, count) = (stream.unwrap(), Arc::clone(&count));
                std::thread::spawn(move || answer_gets(stream, &count));
            }
        });
        (port, seen)
    }

    fn answer_gets(mut stream: TcpStream, count: &AtomicU64) {
        let mut request = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut request) {
            // Each command begins with an asterisk, and no key contains one.
            let gets = request[..length].iter().filter(|byte| **byte == b'*').count();
            count.fetch_add(gets as u64, Ordering::Relaxed);
            if stream.write_all(&b"$1\r\nv\r\n".repeat(gets)).is_err() {
                return;
            }
        }
    }

    fn trial(port: u16, operations: u64, threads: usize) -> Trial {
        let mut load = Load::new(Operation::Get, 16, 1000);
        load.connections = 7;
        load.stop = Stop::Operations(operations);
        Trial {
            port,
            pid: None,
            load,
            arrival: Arrival::Closed,
            threads,
            server_cores: 1,
            sample_every: Duration::from_millis(1),
        }
    }

    fn run(trial: &Trial) -> Tried {
        trial.run(|_| {}).unwrap()
    }

    #[test]
    fn threads_do_exactly_the_wanted_operations_between_them() {
        let port = null_server();
        for threads in [1, 2, 3, 7] {
            let tried = run(&trial(port, 12_345, threads));
            assert!(tried.failure.is_none());
            assert_eq!((tried.outcome.operations, tried.outcome.replies.bulk), (12_345, 12_345));
            assert_eq!(tried.samples.last().unwrap().operations, 12_345);
        }
    }

    #[test]
    fn what_was_warmed_up_does_not_count() {
        let (port, seen) = counting_server();
        let mut trial = trial(port, 100, 2);
        trial.load.warm_up = Duration::from_millis(5);
        let tried = run(&trial);
        assert_eq!((tried.outcome.operations, tried.outcome.replies.bulk), (100, 100));
        assert_eq!(tried.samples.last().unwrap().operations, 100);
        // Each connection sends at least one batch, however short the time is.
        let warmed_up = seen.load(Ordering::Relaxed) - 100;
        assert!(warmed_up >= 7 * 16, "{warmed_up}");
    }

    #[test]
    fn an_open_loop_is_split_too() {
        let (port, seen) = counting_server();
        let mut trial = trial(port, 960, 2);
        trial.arrival = Arrival::Open(Pace { per_second: 64e3, spacing: Spacing::Even, seed: 1 });
        let tried = run(&trial);
        assert_eq!((tried.outcome.operations, seen.load(Ordering::Relaxed)), (960, 960));
        // Half of the batches at half of the rate take as long as all at the full rate.
        let schedule = tried.lag.unwrap().schedule.as_secs_f64();
        assert!((0.014..0.016).contains(&schedule), "{schedule}");
    }

    #[test]
    fn a_server_that_is_not_there_is_a_failure() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let tried = run(&trial(port, 100, 3));
        assert!(tried.failure.unwrap().to_string().contains("cannot connect"));
        assert_eq!(tried.outcome.operations, 0);
    }

    #[test]
    fn more_threads_than_connections_are_refused() {
        let tried = run(&trial(1, 100, 8));
        assert!(tried.failure.unwrap().to_string().contains("connections"));
    }

    #[test]
    fn shares_add_up() {
        for (count, threads) in [(0, 1), (1, 3), (10, 3), (11, 3), (12, 3), (100, 7)] {
            let shares: Vec<_> = (0..threads).map(|thread| share(count, thread, threads)).collect();
            assert_eq!(shares.iter().sum::<u64>(), count);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}

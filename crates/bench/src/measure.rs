//! One measurement: a load on a running server, made by one thread or several, and its cost for the
//! server.
//!
//! ```text
//! connect ──▶ warm up ──▶ measure          each on all threads, and when the last has ended
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, ensure};

use crate::generator::{EventLoop, Load, Monitor, Outcome, Sender, Stop};
use crate::process;
use crate::replies::ReplyReader;
use crate::sampler::{Sample, Watch, sampled};
use crate::servers::Server;

/// Result of a measurement.
#[derive(Debug, Default)]
pub struct Measured {
    /// Measurements of the generator.
    pub outcome: Outcome,
    /// User and system time of the server.
    pub server_cpu: Option<Duration>,
    /// Samples of the server over time, if they were asked for.
    pub samples: Vec<Sample>,
    /// Reason for an early end; what was measured before is kept.
    pub failure: Option<Error>,
}

impl Measured {
    /// Creates the result of a measurement that did not begin.
    pub fn failed(failure: Error) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// Returns the CPU time of the server per operation, in microseconds; NaN if it is not known.
    pub fn server_us(&self) -> f64 {
        let cpu = self.server_cpu.map_or(f64::NAN, |cpu| cpu.as_secs_f64() * 1e6);
        cpu / self.outcome.operations.max(1) as f64
    }

    /// Returns the average number of cores that the server used.
    pub fn server_share(&self) -> Option<f64> {
        let elapsed = self.outcome.elapsed.as_secs_f64();
        self.server_cpu.map(|cpu| cpu.as_secs_f64() / elapsed).filter(|share| share.is_finite())
    }
}

/// Runs a load and measures its cost for the server; `watch` gets samples of it.
pub fn measure(server: &Server, load: &Load, watch: Option<Watch>) -> Result<Measured> {
    sound(server, load, try_measure(server, load, &Arc::default(), watch))
}

/// Runs a load until `act` is done on the calling thread; returns the results of both. Otherwise as
/// [`measure`].
pub fn measure_during<T>(
    server: &Server,
    load: &Load,
    act: impl FnOnce(&Monitor) -> Result<T>,
) -> Result<(Measured, T)> {
    let (load, monitor) = (Load { stop: LONGEST, ..load.clone() }, Arc::new(Monitor::default()));
    thread::scope(|scope| {
        let measured = scope.spawn(|| try_measure(server, &load, &monitor, None));
        let acted = act(&monitor);
        monitor.is_halted.store(true, Relaxed);
        let measured = measured.join().map_err(|_| anyhow!("the load failed"))?;
        let acted = acted?;
        Ok((sound(server, &load, measured)?, acted))
    })
}

fn sound(server: &Server, load: &Load, measured: Measured) -> Result<Measured> {
    let Measured { outcome, failure, .. } = measured;
    failure.map_or(Ok(()), Err).with_context(|| server.label.clone())?;
    let outcome = if load.refusals { Ok(outcome) } else { outcome.sound() };
    let outcome = outcome.with_context(|| server.label.clone())?;
    let missed = outcome.replies.nil;
    ensure!(load.misses || missed == 0, "{}: {missed} were missing", server.label);
    Ok(Measured { outcome, failure: None, ..measured })
}

/// Runs a load on all its threads. Faults of the server are in [`Measured::failure`], replies that
/// are errors in the outcome.
pub fn try_measure(
    server: &Server,
    load: &Load,
    monitor: &Arc<Monitor>,
    watch: Option<Watch>,
) -> Measured {
    let mut parts = match prepare(server, load) {
        Ok(parts) => parts,
        Err(error) => return Measured::failed(error),
    };
    let (ended, mut measured) = metered(server, monitor, watch, || {
        on_threads(server, &mut parts, |thread, (event_loop, sender)| {
            sender.restart(load.stop_of(thread), Arc::clone(monitor))?;
            let ran = event_loop.run(&mut [sender]);
            if ran.is_err() {
                monitor.is_halted.store(true, Relaxed);
            }
            Ok((sender.meter.finish(), ran.err()))
        })
    });
    for ended in ended {
        let merged = ended.and_then(|(outcome, failure)| {
            measured.outcome.merge(outcome)?;
            failure.map_or(Ok(()), Err)
        });
        measured.failure = measured.failure.take().or(merged.err());
    }
    measured
}

/// Runs a load of any kind; also returns what it cost the server, and samples.
pub fn metered<T>(
    server: &Server,
    monitor: &Monitor,
    watch: Option<Watch>,
    run: impl FnOnce() -> T,
) -> (T, Measured) {
    let before = cpu_time_at_rest(server).ok();
    let (ran, samples) = match watch {
        Some(watch) => sampled(server.pid, watch, monitor, run),
        None => (run(), Vec::new()),
    };
    let used = before.zip(cpu_time_at_rest(server).ok());
    let used = used.and_then(|(before, after)| after.checked_sub(before));
    // The CPU time of a server that has ended is only in the samples.
    let last = samples.iter().rev().find_map(|sample| sample.cpu);
    let server_cpu = used.filter(|used| !used.is_zero()).or(last);
    (ran, Measured { server_cpu, samples, ..Measured::default() })
}

/// What one thread drives.
type Part = (EventLoop, Sender);

/// Connects the threads of a load, and lets them warm up.
fn prepare(server: &Server, load: &Load) -> Result<Vec<Part>> {
    let threads = load.threads;
    let have_connections = (1..=load.connections).contains(&threads);
    ensure!(have_connections, "{threads} threads need as many connections");
    let part = |thread| -> Result<Part> {
        let mut event_loop = EventLoop::new()?;
        let protocol = load.protocol.unwrap_or(server.protocol_of_loads());
        let address = server.address_for(protocol, load.tls)?;
        let keeps = !load.fills.is_empty();
        let reader = if keeps { ReplyReader::keeping } else { ReplyReader::new };
        let count = load.connections_of(thread);
        event_loop.connect(&address, count, &load.opens, &reader(protocol))?;
        Ok((event_loop, Sender::new(protocol, load, thread)?))
    };
    let mut parts: Vec<_> = (0..threads).map(part).collect::<Result<_>>()?;
    if !load.warm_up.is_zero() {
        let warmed = on_threads(server, &mut parts, |_, (event_loop, sender)| {
            sender.restart(Stop::After(load.warm_up), Arc::default())?;
            event_loop.run(&mut [sender])
        });
        warmed.into_iter().collect::<Result<()>>()?;
    }
    Ok(parts)
}

/// Runs each part on a thread of its own, on the cores behind the server's or on the last one.
fn on_threads<T: Send>(
    server: &Server,
    parts: &mut [Part],
    run: impl Fn(usize, &mut Part) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let (cores, run) = (process::cores(), &run);
    let first = server.cores.min(cores - 1);
    thread::scope(|scope| {
        let start = |(thread, part)| {
            scope.spawn(move || {
                process::pin_this_thread(first + thread % (cores - first));
                run(thread, part)
            })
        };
        let threads: Vec<_> = parts.iter_mut().enumerate().map(start).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|ended| ended.unwrap_or_else(|_| Err(anyhow!("a thread failed")))).collect()
    })
}

/// Returns the server's CPU time after a short pause: the kernel adds up the time of a running
/// thread when it leaves the core, so the server must go to sleep first.
pub fn cpu_time_at_rest(server: &Server) -> Result<Duration> {
    thread::sleep(PAUSE_BEFORE);
    server.cpu_time()
}

const PAUSE_BEFORE: Duration = Duration::from_millis(2);
/// End of a load that something else ends before.
const LONGEST: Stop = Stop::After(Duration::from_secs(3600));

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::generator::{Arrival, KeyChoice};
    use crate::protocol::Protocol;
    use crate::{fake, null};

    fn server(port: u16) -> Server {
        Server::running(port, Some(0), Protocol::Resp)
    }

    pub fn null_server() -> Server {
        let (listener, port) = fake::listen();
        thread::spawn(move || null::serve(&listener, 1, &null::Replies::new(10, 100)));
        server(port)
    }

    /// Starts a server that waits a while before it answers each GET; also returns its count of
    /// GETs.
    fn counting_server(pause: Duration) -> (Server, Arc<AtomicU64>) {
        let seen = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&seen);
        let port = fake::serve(move |request| {
            thread::sleep(pause);
            // Each command begins with an asterisk, and no key contains one.
            let gets = request.iter().filter(|byte| **byte == b'*').count();
            count.fetch_add(gets as u64, Relaxed);
            Some(b"$1\r\nv\r\n".repeat(gets))
        });
        (server(port), seen)
    }

    fn gets(operations: u64, threads: usize) -> Load {
        Load { threads, connections: 7, ..Load::get(1000).count(operations) }
    }

    fn run(server: &Server, load: &Load) -> Measured {
        try_measure(server, load, &Arc::default(), None)
    }

    #[test]
    fn each_operation_is_done_and_answered_once_by_all_threads_together() {
        let target = null_server();
        let gets = |threads, pipeline| Load { pipeline, ..gets(12_345, threads) };
        // A batch of these is more than a socket takes.
        let large = Load::of("SET k{n:15} {?1048576}", 1000);
        let large = Load { pipeline: 20, connections: 7, ..large };
        let both = ["GET k{n}", "SET k{n} v"].map(|it| (1, it.to_owned())).to_vec();
        let mixed = Load { requests: both, ..Load::get(1000) }.count(16_000);
        for (load, values, statuses) in [
            (gets(1, 1), 12_345, 0),
            (gets(2, 16), 12_345, 0),
            (gets(3, 100), 12_345, 0),
            (gets(7, 16), 12_345, 0),
            (mixed, 8000, 8000),
            (large.count(140), 0, 140),
        ] {
            let Measured { outcome, failure, .. } = run(&target, &load);
            assert!(failure.is_none(), "{failure:?}");
            assert_eq!((outcome.replies.bulk, outcome.replies.status), (values, statuses));
            assert_eq!(outcome.operations, values + statuses);
        }
    }

    #[test]
    fn what_was_warmed_up_does_not_count() {
        let (target, seen) = counting_server(Duration::ZERO);
        let load = Load { warm_up: Duration::from_millis(5), ..gets(100, 2) };
        let measured = run(&target, &load);
        assert_eq!((measured.outcome.operations, measured.outcome.replies.bulk), (100, 100));
        // Each connection sends at least one batch, however short the time is.
        assert!(seen.load(Relaxed) >= 100 + 7 * 16);
    }

    #[test]
    fn what_was_missed_is_set() {
        // It has the keys that end with an even number.
        let port = fake::serve(|requests| {
            let text = String::from_utf8_lossy(requests);
            let answer = |request: &str| match request.contains("SET") {
                true => "+OK\r\n",
                false if request.ends_with(['0', '2', '4', '6', '8']) => "$1\r\nv\r\n",
                false => "$-1\r\n",
            };
            let requests = text.split('*').skip(1).map(|it| answer(it.trim_end()));
            Some(requests.collect::<String>().into_bytes())
        });
        let load = Load { keys: KeyChoice::Sequential, pipeline: 3, connections: 2, ..gets(30, 1) };
        let fills = vec!["SET k{n} v".to_owned()];
        let Outcome { operations, replies, .. } =
            run(&server(port), &Load { fills, ..load }).outcome;
        assert_eq!((operations, replies.bulk, replies.nil, replies.status), (30, 15, 15, 15));
    }

    #[test]
    fn an_open_loop_is_split_too() {
        let (target, seen) = counting_server(Duration::ZERO);
        let load = Load { arrival: Arrival::Even(64e3), ..gets(960, 2) };
        let measured = run(&target, &load);
        assert_eq!((measured.outcome.operations, seen.load(Relaxed)), (960, 960));
        // Half of the batches at half of the rate take as long as all at the full rate.
        let schedule = measured.outcome.lag.unwrap().schedule.as_secs_f64();
        assert!((0.014..0.016).contains(&schedule), "{schedule}");
    }

    #[test]
    fn a_run_that_is_halted_waits_for_what_is_in_flight() {
        for arrival in [Arrival::Even(1000.0), Arrival::Limited(1000.0), Arrival::Closed] {
            let (target, seen) = counting_server(Duration::from_millis(50));
            let load = Load { arrival, pipeline: 2, ..gets(0, 1) };
            let wait = |_: &Monitor| {
                thread::sleep(Duration::from_millis(20));
                Ok(())
            };
            let (measured, ()) = measure_during(&target, &load, wait).unwrap();
            assert_eq!(measured.outcome.operations, seen.load(Relaxed), "{arrival:?}");
        }
    }

    #[test]
    fn what_cannot_be_measured_is_a_failure() {
        let nobody = server(fake::listen().1);
        let null = null_server();
        for (target, load, why) in [
            (&nobody, gets(100, 3), "cannot connect"),
            (&null, gets(100, 8), "connections"),
            (&null, Load::of("LLEN k{n}", 1).count(10), "do not answer"),
        ] {
            let failure = run(target, &load).failure.unwrap();
            assert!(format!("{failure:#}").contains(why), "{failure:#}");
        }
    }
}

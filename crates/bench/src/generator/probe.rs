//! Pauses of a server as another client sees them, and the part of them that other processes
//! caused.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Batch, Client, Load, Monitor, Received, Sender, Turn};
use crate::process::{self, ThreadTimes};
use crate::protocol::Protocol;

/// One answer to the probe.
pub struct Pause {
    pub seen: Duration,
    /// Time in which client or server was ready to run and other processes had its core.
    pub taken: Duration,
    /// Operations of the load so far.
    pub operations: u64,
    /// Server threads that ran for long, with their times.
    pub ran: Vec<(String, Duration)>,
}

impl Pause {
    /// Returns the pause less the time that other processes took.
    pub fn own(&self) -> Duration {
        self.seen.saturating_sub(self.taken)
    }

    /// Returns the pause, when it was, and who had the server's core, in words.
    pub fn text(&self) -> String {
        let (own, taken, at) = (self.own(), self.taken, self.operations as f64 / 1e6);
        let ran = self.ran.iter().map(|(name, time)| format!("{name} {time:.2?}"));
        let ran = ran.collect::<Vec<_>>().join(" and ");
        format!("{own:.2?} at {at:.2} M ({taken:.2?} taken off; the server's core had {ran})")
    }
}

/// Scheduler times of client and server at one moment.
#[derive(Default)]
pub struct Moment {
    server_pid: u32,
    client: Vec<ThreadTimes>,
    server: Vec<ThreadTimes>,
}

impl Moment {
    /// Reads the times; takes some microseconds per thread.
    pub fn now(server_pid: u32) -> Result<Self> {
        let client = process::thread_times(std::process::id())?;
        Ok(Self { server_pid, client, server: process::thread_times(server_pid)? })
    }

    /// Returns the time for which client and server were kept from their cores since an earlier
    /// moment.
    pub fn taken_since(&self, before: &Self) -> Duration {
        taken(&before.client, &self.client) + taken(&before.server, &self.server)
    }

    /// Returns the server threads that ran for at least `least` since an earlier moment, with their
    /// names.
    fn ran_since(&self, before: &Self, least: Duration) -> Vec<(String, Duration)> {
        let long = |now: &ThreadTimes| {
            let then = before.server.iter().find(|then| then.thread == now.thread)?;
            let ran = now.on_core.saturating_sub(then.on_core);
            (ran >= least).then(|| (process::thread_name(self.server_pid, now.thread), ran))
        };
        self.server.iter().filter_map(long).collect()
    }
}

/// Returns the waiting time of the most delayed thread, less the time that other threads of its
/// process ran: they share the core and do not count as others.
fn taken(before: &[ThreadTimes], after: &[ThreadTimes]) -> Duration {
    let used = |now: &ThreadTimes| {
        let then = before.iter().find(|then| then.thread == now.thread);
        let (on_core, waiting) = then.map_or_else(Default::default, |t| (t.on_core, t.waiting));
        (now.waiting.saturating_sub(waiting), now.on_core.saturating_sub(on_core))
    };
    let mut threads: Vec<_> = after.iter().map(used).collect();
    threads.sort_unstable();
    let Some((waited, _)) = threads.pop() else { return Duration::ZERO };
    waited.saturating_sub(threads.into_iter().map(|(_, on_core)| on_core).sum())
}

/// Client that sends single requests, and keeps the longest pauses.
pub struct Probe {
    pub sender: Sender,
    /// Load beside which it asks again and again, and the operations of that during which it does.
    beside: Option<(Arc<Monitor>, Range<u64>)>,
    server: u32,
    asked: Instant,
    sent: Moment,
    /// Longest pauses, less the time that other processes took, longest first.
    pub longest: Vec<Pause>,
}

impl Probe {
    /// Creates the client of a load on one connection.
    pub fn new(load: Load, server: u32) -> Result<Self> {
        let sender = Sender::new(Protocol::Resp, &Load { pipeline: 1, ..load }, 0)?;
        let (asked, sent, longest) = (Instant::now(), Moment::now(server)?, Vec::new());
        Ok(Self { sender, beside: None, server, asked, sent, longest })
    }

    /// Creates a client that GETs keys of the first `during` beside a load.
    pub fn beside(load: Arc<Monitor>, during: Range<u64>, server: u32) -> Result<Self> {
        let gets = Load::get(during.start).count(u64::MAX);
        Ok(Self { beside: Some((load, during)), ..Self::new(gets, server)? })
    }
}

impl Client for Probe {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Turn> {
        if let Some((load, during)) = &self.beside {
            let (done, due) = (load.operations.load(Relaxed), self.asked + EVERY);
            if done >= during.end {
                return Ok(Turn::Over);
            }
            if due > now || done < during.start {
                return Ok(Turn::At(due.max(now + EVERY / 2)));
            }
        }
        let turn = self.sender.next(connection, now, batch)?;
        let Turn::Send(_, count) = turn else { return Ok(turn) };
        self.sent = Moment::now(self.server)?;
        self.asked = Instant::now();
        Ok(Turn::Send(self.asked, count))
    }

    fn on_replies(&mut self, connection: usize, received: &Received<'_>) -> Result<bool> {
        let seen = received.now - received.since;
        if self.longest.get(KEPT - 1).is_none_or(|least| seen > least.own()) {
            let now = Moment::now(self.server)?;
            let (taken, ran) = (now.taken_since(&self.sent), now.ran_since(&self.sent, seen / 5));
            let operations = self.beside.as_ref().map(|(load, _)| load.operations.load(Relaxed));
            let pause = Pause { seen, taken, operations: operations.unwrap_or(0), ran };
            let place = self.longest.partition_point(|other| other.own() >= pause.own());
            self.longest.insert(place, pause);
            self.longest.truncate(KEPT);
        }
        self.sender.on_replies(connection, received)
    }
}

const EVERY: Duration = Duration::from_micros(200);
const KEPT: usize = 5;

#[cfg(test)]
mod tests {
    use super::{Duration, ThreadTimes, taken};

    #[test]
    fn only_waiting_for_other_processes_is_excused() {
        // Milliseconds for which each thread ran and waited.
        let cases: [(&[(u64, u64)], u64); 4] = [
            // Another process had the core.
            (&[(1, 4), (0, 0)], 4),
            // A thread of the server had it, for 3 ms.
            (&[(1, 4), (3, 0)], 1),
            // No thread waited.
            (&[(1, 0), (0, 0)], 0),
            (&[], 0),
        ];
        for (threads, wanted) in cases {
            let after = |part: u64| -> Vec<_> {
                let times = |(thread, (on_core, waiting)): (u32, &(u64, u64))| ThreadTimes {
                    thread,
                    on_core: Duration::from_millis(7 + part * on_core),
                    waiting: Duration::from_millis(9 + part * waiting),
                };
                (0..).zip(threads).map(times).collect()
            };
            let excused = taken(&after(0), &after(1));
            assert_eq!(excused, Duration::from_millis(wanted), "{threads:?}");
        }
    }
}

//! Pauses that another client sees, and the part of them that other processes caused.

use std::time::Duration;

use anyhow::Result;

use crate::process::{self, ThreadTimes};

/// One answer to the probe.
#[derive(Clone, Default)]
pub struct Pause {
    /// Time from request to reply.
    pub seen: Duration,
    /// Time in which the client was ready to run and had no core.
    pub client_away: Duration,
    /// Time in which the server was ready to run and other processes had its core.
    pub server_away: Duration,
    /// Number of keys at that moment.
    pub keys: u64,
    /// Server threads that ran for long, with their times.
    pub ran: Vec<(String, Duration)>,
}

impl Pause {
    /// Returns the pause less the time that other processes took.
    pub fn own(&self) -> Duration {
        self.seen.saturating_sub(self.client_away + self.server_away)
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

    /// Returns the times for which client and server were kept from their cores since an earlier
    /// moment.
    pub fn away_since(&self, before: &Self) -> (Duration, Duration) {
        (away(&before.client, &self.client), away(&before.server, &self.server))
    }

    /// Returns the server threads that ran for at least `least` since an earlier moment, with their
    /// names.
    pub fn ran_since(&self, before: &Self, least: Duration) -> Vec<(String, Duration)> {
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
fn away(before: &[ThreadTimes], after: &[ThreadTimes]) -> Duration {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ThreadTimes;

    /// Returns the time away for threads that each ran and waited for so many milliseconds.
    fn away(threads: &[(u64, u64)]) -> u64 {
        let after = |thread: usize| ThreadTimes {
            thread: thread as u32,
            on_core: Duration::from_millis(7 + threads[thread].0),
            waiting: Duration::from_millis(9 + threads[thread].1),
        };
        let before = |thread: usize| ThreadTimes {
            on_core: Duration::from_millis(7),
            waiting: Duration::from_millis(9),
            ..after(thread)
        };
        let all = 0..threads.len();
        let (before, after) =
            (all.clone().map(before).collect::<Vec<_>>(), all.map(after).collect::<Vec<_>>());
        super::away(&before, &after).as_millis() as u64
    }

    #[test]
    fn only_waiting_for_other_processes_is_excused() {
        assert_eq!(away(&[(1, 4), (0, 0)]), 4, "another process had the core");
        assert_eq!(away(&[(1, 4), (3, 0)]), 1, "a thread of the server had it, for 3 ms");
        assert_eq!(away(&[(1, 0), (0, 0)]), 0, "nobody waited");
        assert_eq!(away(&[]), 0);
    }
}

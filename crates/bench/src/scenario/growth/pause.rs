//! How long another client waited for an answer, and what of that other processes caused.

use std::time::Duration;

use anyhow::Result;

use crate::process::{self, ThreadTimes};

/// One answer to the probe.
#[derive(Clone, Default)]
pub struct Pause {
    /// From question to answer.
    pub seen: Duration,
    /// Time in which the client was ready and had no core.
    pub client_away: Duration,
    /// Time in which the server was ready and other processes had its core.
    pub server_away: Duration,
    /// Number of keys at that moment.
    pub keys: u64,
    /// The server's threads that had its core for long, and how long.
    pub ran: Vec<(String, Duration)>,
}

impl Pause {
    /// What is left when the time is taken off that other processes took.
    pub fn own(&self) -> Duration {
        self.seen.saturating_sub(self.client_away + self.server_away)
    }
}

/// The scheduler's times of client and server at one moment.
#[derive(Default)]
pub struct Moment {
    server_pid: u32,
    client: Vec<ThreadTimes>,
    server: Vec<ThreadTimes>,
}

impl Moment {
    /// Reads them; takes some microseconds per thread.
    pub fn now(server_pid: u32) -> Result<Self> {
        let client = process::thread_times(std::process::id())?;
        Ok(Self { server_pid, client, server: process::thread_times(server_pid)? })
    }

    /// How long client and server were kept from their cores since an earlier moment.
    pub fn away_since(&self, before: &Self) -> (Duration, Duration) {
        (away(&before.client, &self.client), away(&before.server, &self.server))
    }

    /// The server's threads that had its core for at least `least` since an earlier moment, with
    /// their names.
    pub fn ran_since(&self, before: &Self, least: Duration) -> Vec<(String, Duration)> {
        let long = |now: &ThreadTimes| {
            let then = before.server.iter().find(|then| then.thread == now.thread)?;
            let ran = now.on_core.saturating_sub(then.on_core);
            (ran >= least).then(|| (process::thread_name(self.server_pid, now.thread), ran))
        };
        self.server.iter().filter_map(long).collect()
    }
}

/// What the most delayed thread waited, less what the other threads of its process ran meanwhile:
/// they share the core and are no excuse.
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

    /// Each thread ran and waited for so many milliseconds.
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

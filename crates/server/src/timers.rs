//! Timers of a worker: timeouts of clients that wait for keys, the end of pauses, and the check of
//! its connections a few times a second.

use crate::connection::Connection;
use base::Steady;
use session::Instance;
use std::collections::BTreeSet;

/// Milliseconds between two checks of connections for idle and slow clients.
const LOOK_OVER_MILLIS: u64 = 250;

/// Timers of one worker.
#[derive(Debug, Default)]
pub struct Timers {
    /// Deadlines of clients that wait for keys, with the client's id.
    waits: BTreeSet<(Steady, u64)>,
    /// Moment of the next check of connections.
    next_look: Steady,
    /// True while CLIENT PAUSE holds some connections back; the next check is no later than its
    /// end.
    is_any_paused: bool,
}

impl Timers {
    /// Returns the milliseconds until something is due.
    #[inline]
    pub fn millis_to_wait(&self, instance: &Instance) -> u64 {
        if self.is_quiet() {
            return LOOK_OVER_MILLIS;
        }
        let now = instance.clock.steady();
        let first = self.waits.first().map_or(u64::MAX, |(deadline, _)| deadline.since(now));
        let look = if self.is_any_paused { self.next_look.since(now) } else { LOOK_OVER_MILLIS };
        first.min(look).min(LOOK_OVER_MILLIS)
    }

    /// Registers the deadline of a client that has begun to wait.
    #[cold]
    pub fn note_wait(&mut self, connection: &mut Connection, instance: &Instance) {
        let client = &connection.session.client;
        let deadline = client.waiter().as_ref().and_then(|waiter| waiter.deadline);
        if let Some(deadline) = deadline
            && connection.gives_up_at.is_none()
        {
            connection.gives_up_at = Some(deadline);
            self.waits.insert((deadline, client.id));
            instance.waiters.count_deadline();
        }
    }

    /// Removes the deadline of a client whose wait is over.
    pub fn forget_wait(&mut self, connection: &mut Connection, instance: &Instance) {
        if let Some(deadline) = connection.gives_up_at.take() {
            self.waits.remove(&(deadline, connection.session.client.id));
            instance.waiters.discount_deadline();
        }
    }

    /// Returns true if nothing may be due but the check of connections, which can wait for some
    /// milliseconds.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.waits.is_empty() && !self.is_any_paused
    }

    /// Returns the client with the first deadline, if that has come by `now`.
    pub fn due(&self, now: Steady) -> Option<u64> {
        self.waits.first().filter(|(deadline, _)| *deadline <= now).map(|(_, client)| *client)
    }

    /// Removes the first deadline.
    pub fn forget_first(&mut self) {
        self.waits.pop_first();
    }

    /// Records that a connection is postponed: by a pause that ends at `until`, or until a notice
    /// comes.
    #[cold]
    pub fn note_pause(&mut self, until: Option<Steady>) {
        self.is_any_paused = true;
        self.next_look = until.map_or(self.next_look, |until| self.next_look.min(until));
    }

    /// Returns true if a connection was postponed by a pause since the last call.
    pub fn take_paused(&mut self) -> bool {
        std::mem::take(&mut self.is_any_paused)
    }

    /// Returns true if the check of connections is due at `now`, and schedules the next one then.
    #[inline]
    pub fn is_look_due(&mut self, now: Steady) -> bool {
        let is_due = now >= self.next_look;
        if is_due {
            self.next_look = now.after(LOOK_OVER_MILLIS);
        }
        is_due
    }

    /// Moves the next check forward to `until`, the end of a pause, if that is sooner.
    pub fn look_by(&mut self, until: Steady) {
        self.next_look = self.next_look.min(until);
    }
}

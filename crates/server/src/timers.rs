//! What a worker does in time and no event tells: clients that wait give up, pauses end, and its
//! connections are looked over a few times a second.

use crate::connection::Connection;
use base::Millis;
use command::Instance;
use std::collections::BTreeSet;

/// How often connections are looked over for idle and slow clients.
const LOOK_OVER_MILLIS: u64 = 250;

/// See the module page.
#[derive(Debug, Default)]
pub struct Timers {
    /// When clients that wait for keys give up.
    waits: BTreeSet<(Millis, u64)>,
    /// When connections are looked over next.
    next_look: Millis,
    /// CLIENT PAUSE holds some connections back, and the next look is when it ends.
    is_any_paused: bool,
}

impl Timers {
    /// Until something is due.
    #[inline]
    pub fn millis_to_wait(&self, instance: &Instance) -> u64 {
        if !self.is_any_paused && self.waits.is_empty() {
            return LOOK_OVER_MILLIS;
        }
        let now = instance.clock.now();
        let first = self.waits.first().map_or(u64::MAX, |(deadline, _)| deadline.since(now));
        let look = if self.is_any_paused { self.next_look.since(now) } else { LOOK_OVER_MILLIS };
        first.min(look).min(LOOK_OVER_MILLIS)
    }

    /// Notes when a client that has begun to wait gives up.
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

    /// Forgets when a client gives up, because its wait is over.
    pub fn forget_wait(&mut self, connection: &mut Connection, instance: &Instance) {
        if let Some(deadline) = connection.gives_up_at.take() {
            self.waits.remove(&(deadline, connection.session.client.id));
            instance.waiters.discount_deadline();
        }
    }

    /// Whether nobody gives up in time.
    #[inline]
    pub fn is_nobody_waiting(&self) -> bool {
        self.waits.is_empty()
    }

    /// The client that gives up first, if it does so by `now`.
    pub fn due(&self, now: Millis) -> Option<u64> {
        self.waits.first().filter(|(deadline, _)| *deadline <= now).map(|(_, client)| *client)
    }

    /// Forgets whoever gives up first.
    pub fn forget_first(&mut self) {
        self.waits.pop_first();
    }

    /// Notes that a connection is held back by a pause that ends at `until`.
    #[cold]
    pub fn note_pause(&mut self, until: Millis) {
        self.is_any_paused = true;
        self.next_look = self.next_look.min(until);
    }

    /// Whether a connection was held back by a pause since this was asked last.
    pub fn take_paused(&mut self) -> bool {
        std::mem::take(&mut self.is_any_paused)
    }

    /// Whether connections are to be looked over at `now`, which is then done.
    #[inline]
    pub fn is_look_due(&mut self, now: Millis) -> bool {
        let is_due = now >= self.next_look;
        if is_due {
            self.next_look = Millis(now.0 + LOOK_OVER_MILLIS);
        }
        is_due
    }

    /// Has connections looked over when a pause ends, if that is sooner.
    pub fn look_by(&mut self, until: Millis) {
        self.next_look = self.next_look.min(until);
    }
}

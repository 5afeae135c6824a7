//! What a worker does for all its connections a few times a second, and when a pause ends.

use crate::connection::Connection;
use crate::worker::Worker;
use base::Millis;
use command::Pause;
use settings::{limits, network};
use std::sync::atomic::Ordering::Relaxed;

/// How often connections are looked over for idle and slow clients.
pub const LOOK_OVER_MILLIS: u64 = 250;

impl Worker {
    /// Ends pauses, closes clients that were silent or slow for too long, and takes room back that
    /// query buffers and the lane's segment do not need.
    pub(crate) fn look_over(&mut self) {
        let now = self.now;
        if now < self.next_look {
            return;
        }
        self.next_look = Millis(now.0 + LOOK_OVER_MILLIS);
        self.instance.store.rest(&mut self.lane);
        if self.instance.clients.paused(now) == Pause::Nothing {
            self.resume_paused();
        } else {
            self.next_look = self.next_look.min(self.instance.clients.paused_until());
        }
        let timeout = u64::from(network::TIMEOUT.get(&self.instance.settings)) * 1000;
        let is_at_rest = self.instance.chores_paused.load(Relaxed);
        for at in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[at] else { continue };
            let silent = connection.silent_for(now);
            if !is_at_rest {
                connection.trim(silent);
            }
            let is_slow = crate::limits::is_too_slow(connection, &self.output_limit, now);
            let is_silent = timeout > 0 && silent > timeout && connection.may_time_out();
            if is_slow {
                self.note_output_limit();
            }
            if is_silent || is_slow {
                self.close(at);
            }
        }
    }

    /// Serves on what CLIENT PAUSE held back.
    pub(crate) fn resume_paused(&mut self) {
        if !std::mem::take(&mut self.is_any_paused) {
            return;
        }
        for at in 0..self.connections.len() {
            let paused = self.connections[at].take_if(|connection| connection.is_paused);
            if let Some(connection) = paused {
                self.serve_on(at, connection);
            }
        }
    }

    /// Whether a client has sent too much that was not served, or has too many replies waiting.
    #[inline]
    pub(crate) fn is_over_limits(&self, connection: &Connection) -> bool {
        let is_clear = connection.query.is_empty() && connection.backlog() == 0;
        !is_clear && (self.is_query_too_long(connection) || self.is_output_too_long(connection))
    }

    #[inline(never)]
    fn is_query_too_long(&self, connection: &Connection) -> bool {
        let most = limits::CLIENT_QUERY_BUFFER_LIMIT.get(&self.instance.settings);
        let is_too_long = connection.query.len() as u64 > most;
        if is_too_long {
            self.statistics.server.query_limit_closed.add(1);
            tracing::warn!("closing a client whose query buffer is over its limit");
        }
        is_too_long
    }

    #[inline(never)]
    fn is_output_too_long(&self, connection: &Connection) -> bool {
        let hard = self.output_limit.hard_bytes;
        let is_too_long = hard > 0 && connection.backlog() as u64 > hard;
        if is_too_long {
            self.note_output_limit();
        }
        is_too_long
    }

    /// Counts and logs a client that is closed for its output.
    #[cold]
    pub(crate) fn note_output_limit(&self) {
        self.statistics.server.output_limit_closed.add(1);
        tracing::warn!("closing a client whose output buffer is over its limit");
    }
}

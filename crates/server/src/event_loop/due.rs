//! What the event loop does when it is due: ends of waits and pauses, idle and slow clients.

use super::EventLoop;
use crate::accept::Acceptor;
use crate::connection::Connection;
use crate::limits::is_too_slow;
use crate::output::WRITE_MAX;
use crate::pipeline::{Pipeline, Served};
use crate::poller::Poller;
use base::Steady;
use session::{Notice, Pause, Peak, Waiter};
use settings::network;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Most bytes of replies that are copied each time, of those that clients have not read for long.
const LENT_COPIED: usize = 4 << 20;

impl<P: Poller> EventLoop<P> {
    /// Ends the waits whose deadline has passed. The answers come as mail.
    pub(super) fn end_waits(&mut self, now: Steady) {
        while let Some(client) = self.timers.due(now) {
            let at = self.connections.find(client);
            let connection = at.and_then(|at| self.connections.get_mut(at));
            // A client that is gone has removed its entry.
            debug_assert!(connection.is_some(), "a wait without a client");
            let Some(connection) = connection else {
                self.timers.forget_first();
                continue;
            };
            self.timers.forget_wait(connection, &self.instance);
            let waiter = connection.session.client.waiter().clone();
            // One that waits anew may have a later deadline by now, of which mail is on its way.
            let is_due = |waiter: &Arc<Waiter>| waiter.deadline.is_some_and(|it| it <= now);
            if let Some(waiter) = waiter.filter(is_due) {
                command::time_out(&self.instance, &waiter);
            }
        }
    }

    /// Takes over the deadline of a client that waits anew.
    pub(super) fn follow_deadline(&mut self, client: u64) {
        let at = self.connections.find(client);
        if let Some(connection) = at.and_then(|at| self.connections.get_mut(at)) {
            self.timers.forget_wait(connection, &self.instance);
            self.timers.note_wait(connection, &self.instance);
        } else {
            self.pass_on(client, Notice::Deadline(client));
        }
    }

    /// Ends pauses, closes clients that were silent or slow for too long, and frees memory that
    /// query buffers and the thread's segment do not need.
    pub(super) fn look_over(&mut self, pipeline: &mut Pipeline) {
        let now = self.instance.clock.steady();
        self.instance.store.rest(&mut pipeline.executor.thread);
        if !self.is_nested {
            self.settle_second();
        }
        for listener in self.acceptor.as_mut().map(Acceptor::take_stuck).unwrap_or_default() {
            self.accept(pipeline, listener);
        }
        if self.instance.clients.paused(now) == Pause::Nothing {
            self.resume_paused(pipeline);
        } else {
            self.timers.look_by(self.instance.clients.paused_until(now));
        }
        self.instance.send_pending_messages();
        if self.inbox.has_room() {
            self.instance.resume_messages();
        }
        self.write_encrypted(pipeline);
        let timeout = u64::from(network::TIMEOUT.get(&self.instance.settings)) * 1000;
        let is_at_rest = self.instance.background_jobs_paused.load(Relaxed);
        let (mut peak, mut copied) = (Peak::default(), 0);
        for at in 0..self.connections.entries() {
            let Some(connection) = self.connections.get_mut(at) else { continue };
            peak = peak.max(connection.session.client.buffers());
            let silent = connection.silent_for(now);
            if !is_at_rest {
                connection.trim(silent);
            }
            if copied < LENT_COPIED {
                copied += connection.copy_lent(LENT_COPIED - copied);
            }
            let limit = *connection.output_limit(&self.output_limits);
            let is_slow = is_too_slow(connection, &limit, now);
            let is_silent = timeout > 0 && silent > timeout && connection.may_time_out();
            if is_slow {
                pipeline.executor.note_output_limit(connection);
            } else if is_silent {
                pipeline.executor.statistics.server.timed_out_clients.add(1);
            }
            if is_silent || is_slow {
                self.close(at);
            }
        }
        self.instance.clients.peaks.note(now, peak);
        self.evict_clients(pipeline);
    }

    /// Writes what waits for sockets of TLS that were to take nothing for a while: no event tells
    /// of them.
    fn write_encrypted(&mut self, pipeline: &mut Pipeline) {
        if !self.instance.tls.has_refused_writes.load(Relaxed) {
            return;
        }
        for at in 0..self.connections.entries() {
            let is_blocked = |it: &mut Connection| it.stream.is_encrypted() && it.has_output();
            if self.connections.get_mut(at).is_some_and(is_blocked) {
                self.flush(pipeline, at, WRITE_MAX);
            }
        }
    }

    /// Serves waiters that a pause postponed, and then requests that were postponed, in the order
    /// in which they came: there may be room for only a few now, and for others later.
    pub(super) fn resume_paused(&mut self, pipeline: &mut Pipeline) {
        if !self.is_nested {
            self.lending(|| pipeline.executor.resume_postponed());
        }
        self.serve_postponed(pipeline);
    }

    /// Serves requests that were postponed, in the order in which they came.
    pub(super) fn serve_postponed(&mut self, pipeline: &mut Pipeline) {
        if !self.timers.take_paused() {
            return;
        }
        for at in self.connections.postponed() {
            if let Some(mut connection) = self.connections.take_if(at, Connection::is_postponed) {
                let fate = self.lending(|| pipeline.serve_on(&mut connection));
                self.put_back(pipeline, Served { at, connection, fate });
            }
        }
    }
}

//! Connections that come to a worker and go from it: new ones, and those that move between workers
//! as the load needs ([`crate::balance`]).
//!
//! A worker that is busy for most of twenty milliseconds hands connections to the one with the
//! least to do; when one worker would be enough for a second, they come back. A connection moves
//! between two batches, with nothing unread, unwritten or owed, and its client's `Place` then names
//! the new worker. A notice that comes too late is passed on. A client that stands in a list of
//! receivers stays where it is, since the list names its worker.

use super::{EventLoop, token_of};
use crate::balance::{Advice, Balance, WINDOW_MILLIS, busy_share};
use crate::connection::{Connection, Life};
use crate::front::Dialect;
use crate::mail::Mail;
use crate::pipeline::{Pipeline, Served};
use crate::poller::Poller;
use crate::stream::Stream;
use base::{Steady, process};
use command::{Table, denial};
use session::{Answer, Notice, Owner, Post, Refusal, Session};
use settings::memcached::MEMCACHED_DATABASE;
use settings::{general, network};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use wire::Reply;

/// Refusal of PSYNC for a client that stands in a list of receivers.
const STAYS: Refusal =
    Refusal::of("ERR a client that has subscribed or tracks keys cannot become a replica");
/// Milliseconds after its last request for which a connection counts as active.
const ACTIVE_MILLIS: u64 = 100;

/// A worker's part in the balance, and its present window.
#[derive(Debug)]
pub struct Seat {
    balance: Arc<Balance>,
    /// Number of the worker.
    worker: usize,
    /// Moment at which the window is over.
    next: Steady,
    /// Reading of the stopwatch at which it began.
    began: u64,
    /// Nanoseconds of loop iterations until then.
    served: u64,
    /// Processor time of the thread until then, in nanoseconds.
    ran: u64,
    /// Moment since which one worker is enough.
    calm_since: Steady,
}

impl Seat {
    /// Returns the seat of the worker with this number.
    pub fn new(balance: Arc<Balance>, worker: usize) -> Seat {
        // A single worker has nobody to measure itself against.
        let next = if balance.workers() > 1 { Steady(0) } else { Steady(u64::MAX) };
        Seat { balance, worker, next, began: 0, served: 0, ran: 0, calm_since: next }
    }

    pub(super) fn join(&self, owner: &Owner) {
        self.balance.join(self.worker, owner.clone());
    }

    /// Returns true if the window is over.
    #[inline]
    pub fn is_due(&self, now: Steady) -> bool {
        now >= self.next
    }

    /// Ends the window, of which the loop iteration that began at `began` is no part, and returns
    /// what the worker is to do.
    fn measure(&mut self, pipeline: &Pipeline, began: u64) -> Advice {
        let (executor, now) = (&pipeline.executor, pipeline.executor.steady.now());
        let elapsed = executor.stopwatch.nanos_between(self.began, began);
        let served = executor.statistics.server.iteration_nanos.get();
        let ran = narrow::low_u64(process::precise_time_of_thread().as_nanos());
        let share =
            busy_share(elapsed, served.wrapping_sub(self.served), ran.saturating_sub(self.ran));
        let is_first = self.next == Steady(0);
        (self.began, self.served, self.ran) = (began, served, ran);
        self.next = Steady(now.0 + WINDOW_MILLIS);
        if is_first {
            self.calm_since = now;
            return Advice::Keep;
        }
        if !self.balance.is_calm() {
            self.calm_since = now;
        }
        self.balance.advise(self.worker, share, (now, now.since(self.calm_since)))
    }
}

impl<P: Poller> EventLoop<P> {
    /// Moves connections to other workers if the load of this one's last window asks for it.
    /// `began` is the reading of the stopwatch at which the loop iteration began.
    #[inline]
    pub fn keep_balance(&mut self, pipeline: &Pipeline, began: u64) {
        if self.seat.is_due(pipeline.executor.steady.now()) {
            self.follow_load(pipeline, began);
        }
    }

    #[inline(never)]
    fn follow_load(&mut self, pipeline: &Pipeline, began: u64) {
        let advice = self.seat.measure(pipeline, began);
        if self.instance.moves_connections.load(Relaxed) {
            return self.shuffle(pipeline);
        }
        if general::THREADS_FIXED.get(&self.instance.settings) {
            return;
        }
        match advice {
            Advice::Keep => {}
            Advice::Gather => self.move_some(0, |_| true),
            Advice::Share { to, part } => self.share_active(pipeline, to, part),
        }
    }

    /// Hands `part` thousandths of the active connections to another worker, but never all.
    fn share_active(&mut self, pipeline: &Pipeline, to: usize, part: u32) {
        let now = pipeline.executor.steady.now();
        let is_active = |connection: &Connection| connection.silent_for(now) < ACTIVE_MILLIS;
        let active = self.connections.iter_mut().filter(|it| is_active(it)).count() as u64;
        let mut left = (active * u64::from(part)).div_ceil(1000).min(active.saturating_sub(1));
        self.move_some(to, |connection| {
            let moves = left > 0 && is_active(connection);
            left -= u64::from(moves);
            moves
        });
    }

    /// Moves each connection to a worker that chance decides, as DEBUG asks for.
    fn shuffle(&mut self, pipeline: &Pipeline) {
        let workers = self.seat.balance.workers() as u64;
        for to in 0..self.seat.balance.workers() {
            let mut chance = pipeline.executor.stopwatch.read();
            self.move_some(to, |connection| {
                // A linear congruential generator; its upper bits are the better ones.
                let step = chance ^ connection.session.client.id;
                chance = step.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                (chance >> 33).is_multiple_of(workers)
            });
        }
    }

    /// Hands those of the connections that `choose` takes to another worker, and that can leave.
    fn move_some(&mut self, to: usize, mut choose: impl FnMut(&Connection) -> bool) {
        if to == self.seat.worker {
            return;
        }
        let mail_whole = self.mail_whole;
        for at in 0..self.connections.entries() {
            let may_leave =
                |it: &Connection| it.can_move() && it.yielded_at < mail_whole && choose(it);
            if let Some(connection) = self.connections.take_if(at, may_leave) {
                self.hand_over(at, connection, to);
            }
        }
    }

    /// Hands a connection to another worker, or puts it back if its client has to stay.
    fn hand_over(&mut self, at: usize, connection: Box<Connection>, to: usize) {
        let balance = Arc::clone(&self.seat.balance);
        let Some((owner, mailbox)) = balance.worker(to) else {
            return self.connections.put(at, connection);
        };
        let client = Arc::clone(&connection.session.client);
        let (mut leaving, mut is_to_be_woken) = (Some(connection), false);
        client.hand_over(owner.clone(), || {
            if let Some(mut connection) = leaving.take() {
                self.poller.deregister(&mut connection.stream);
                self.connections.remove(at, &connection);
                is_to_be_woken = mailbox.leave_mail(Mail::Moved(connection));
            }
        });
        if is_to_be_woken {
            mailbox.wake();
        }
        match leaving {
            Some(connection) => self.connections.put(at, connection),
            None => drop(self.instance.statistics.moved_connections.fetch_add(1, Relaxed)),
        }
    }

    /// Hands a connection that has asked for the stream to the thread that serves replicas.
    #[cold]
    pub(super) fn leave(
        &mut self,
        pipeline: &mut Pipeline,
        at: usize,
        mut connection: Box<Connection>,
    ) {
        let journal = Arc::clone(&pipeline.executor.journal);
        let is_free = !connection.has_output();
        if let (true, Some(door)) = (is_free, journal.door()) {
            pipeline.executor.count_departure(&mut connection);
            let left = door.receive(connection, |connection| {
                self.poller.deregister(&mut connection.stream);
                self.connections.remove(at, connection);
            });
            match left {
                Ok(()) => return,
                Err(stays) => connection = stays,
            }
        }
        connection.session.wants_stream = None;
        connection.set_life(Life::Serving);
        let refusal = if is_free { STAYS } else { Refusal::PENDING_OUTPUT };
        let mut reply = Vec::new();
        Reply::new(&mut reply, connection.session.protocol).error(refusal.text());
        let answer = Answer { reply, position: 0, unserved: None };
        let fate = self.lending(|| pipeline.answer(&mut connection, answer));
        self.put_back(pipeline, Served { at, connection, fate });
    }

    /// Takes over a connection from another worker.
    pub(super) fn take_over(&mut self, mut connection: Box<Connection>) {
        let at = self.connections.reserve();
        connection.session.client.arrive(narrow::to_u32(at));
        connection.yielded_at = 0;
        connection.follow_limits(&self.output_limits, self.memory_max);
        let registered = self.poller.register(&mut connection.stream, token_of(at));
        self.connections.add(at, connection);
        if registered.is_err() {
            self.close(at);
        }
    }

    /// Passes a notice on to the worker that its client has moved to. That may be this one again:
    /// then the client is in the mail, ahead of the notice.
    #[cold]
    pub(super) fn pass_on(&self, client: u64, notice: Notice) {
        if let Some(client) = self.instance.clients.find(client) {
            client.notify(notice);
        }
    }

    /// Adds a connection that was admitted. `table` has the commands of the server.
    pub fn add(&mut self, mut stream: Stream, table: &'static Table) {
        let settings = &self.instance.settings;
        stream.tune(Duration::from_secs(network::TCP_KEEPALIVE.get(settings).into()));
        let at = self.connections.reserve();
        if self.poller.register(&mut stream, token_of(at)).is_err() {
            self.connections.release(at);
            self.instance.clients.dismiss();
            return;
        }
        let now = self.instance.clock.steady();
        let owner = Owner { entry: narrow::to_u32(at), ..self.owner.clone() };
        let client = self.instance.clients.add(stream.endpoint(), owner, now);
        let mut session = Session::of_connection(client, &self.instance.access);
        let names = stream.take_names();
        if !names.is_empty() {
            denial::log_in_by_certificate(&self.instance, table, &mut session, &names);
        }
        if stream.dialect == Dialect::Memcached {
            session.select(MEMCACHED_DATABASE.get(settings));
        }
        let mut connection = Box::new(Connection::new(stream, session));
        connection.follow_limits(&self.output_limits, self.memory_max);
        connection.publish_buffers();
        if connection.stream.may_hold_more() {
            self.look_again(at, &mut connection);
        }
        self.connections.add(at, connection);
    }
}

#[cfg(test)]
mod tests;

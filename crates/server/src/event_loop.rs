//! Event loop of a worker: waits for sockets, mail, new connections and time, and serves them.
//!
//! ```text
//! poller ──▶ ready ──▶ take a connection ──▶ pipeline ──▶ put it back, or close it
//! inbox  ──▶ mail  ──▶ closed, answered, messages written at the end of the loop iteration
//! timers ──▶ due   ──▶ waits that end, clients that are silent or slow
//! ```
//! It lends connections to the pipeline that it is given, one at a time or as a group, and itself
//! to the thread meanwhile. So it is entered again, with another pipeline, while a command of the
//! first takes long (`meanwhile`): events of connections that are away are then kept for the loop
//! iteration that has lent them.

mod due;
mod mail;
mod meanwhile;
mod moving;

pub use meanwhile::{MakeSecond, Second};
pub use moving::Seat;

use crate::accept::Acceptor;
use crate::connection::{Connection, Life, Lists};
use crate::connections::Connections;
use crate::limits::clients_memory_max;
use crate::mail::{Inbox, Mailbox};
use crate::output::WRITE_MAX;
use crate::pipeline::{Fate, Pipeline, Served};
use crate::poller::{Poller, Ready};
use crate::timers::Timers;
use command::forget_all;
use mio::Token;
use session::{Instance, Owner, Pause, Post};
use settings::OutputLimits;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Token of the mailbox; those of listeners follow, and then those of connections.
pub const MAILBOX: Token = Token(0);
/// First token of a connection.
pub const FIRST_CONNECTION: usize = 64;

/// Event loop of one worker.
pub struct EventLoop<P: Poller> {
    instance: Arc<Instance>,
    pub(crate) poller: P,
    /// Way to this worker from any thread, and memory of its clients.
    owner: Owner,
    inbox: Inbox,
    pub(crate) connections: Connections,
    /// Events of this loop iteration, and the number of those that were looked at.
    ready: Vec<Ready>,
    looked_at: usize,
    /// Connections that have requests not served yet, or whose sockets may hold more.
    unread: VecDeque<Ready>,
    /// How often reading the mail was begun.
    mail_reads: u64,
    /// The last of these at whose begin no mail waited that is not read by now.
    mail_whole: u64,
    /// Messages left of those that had come when a reading of the mail was begun, and its number.
    mail_left: (usize, u64),
    /// Connections that got messages in this loop iteration.
    unwritten: Vec<usize>,
    /// Connections whose output waits for positions.
    marked: Vec<usize>,
    /// Last place in the line of those that are postponed.
    last_in_line: u64,
    acceptor: Option<Acceptor>,
    /// Its part in how connections are shared among the workers.
    seat: Seat,
    timers: Timers,
    /// Limits of the output of clients, by the settings.
    output_limits: OutputLimits,
    /// Most bytes of memory of all clients, by the settings.
    memory_max: Option<u64>,
    /// Memory of the clients of this worker when that was last looked at.
    memory_checked: u64,
    /// Serves others while the pipeline is in the middle of something long.
    second: Second<P>,
    /// True while it does.
    is_nested: bool,
    /// True once the server is to stop.
    pub is_stopping: bool,
}

impl<P: Poller> EventLoop<P> {
    /// Returns an event loop without connections; `mailbox` leads to it, and clients get it as
    /// their way here.
    pub fn new(
        instance: Arc<Instance>,
        poller: P,
        (mailbox, inbox): (Mailbox, Inbox),
        acceptor: Option<Acceptor>,
        (seat, make_second): (Seat, MakeSecond),
    ) -> EventLoop<P> {
        let post: Arc<dyn Post> = Arc::new(mailbox);
        let sum = instance.clients.add_worker(Arc::clone(&post));
        let owner = Owner { post, sum, entry: 0 };
        seat.join(&owner);
        EventLoop {
            instance,
            poller,
            owner,
            inbox,
            connections: Connections::default(),
            ready: Vec::new(),
            looked_at: 0,
            unread: VecDeque::new(),
            mail_reads: 1,
            mail_whole: 1,
            mail_left: (0, 0),
            unwritten: Vec::new(),
            marked: Vec::new(),
            last_in_line: 0,
            acceptor,
            seat,
            timers: Timers::default(),
            output_limits: OutputLimits::DEFAULT,
            memory_max: None,
            memory_checked: 0,
            second: Second::new(make_second),
            is_nested: false,
            is_stopping: false,
        }
    }

    /// Waits until there is something to do. Mail that comes meanwhile ends the wait.
    ///
    /// # Errors
    /// When the poller is broken.
    #[inline]
    pub fn wait(&mut self, events: &mut P::Events) -> io::Result<()> {
        self.connections.free_left();
        let is_idle = self.unread.is_empty() && self.unwritten.is_empty();
        let may_sleep = is_idle && self.inbox.fall_asleep();
        let most = if may_sleep { self.timers.millis_to_wait(&self.instance) } else { 0 };
        let outcome = self.poller.wait(events, Duration::from_millis(most));
        if may_sleep {
            self.inbox.wake();
        }
        self.take_events(events);
        outcome
    }

    /// Takes over the events of a wait. If others are served before this iteration has looked at
    /// all of them, the poller does not report them again.
    #[inline(always)]
    fn take_events(&mut self, events: &P::Events) {
        if self.is_quiet() {
            self.ready.clear();
            self.looked_at = 0;
        }
        P::ready(events).for_each(|ready| self.ready.push(ready));
    }

    /// Returns true if no socket is ready.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.looked_at == self.ready.len()
    }

    /// Serves the connections that are ready or were not finished before, and reads the mail.
    #[inline(always)]
    pub fn serve_ready(&mut self, pipeline: &mut Pipeline) {
        // What the last request of a connection caused comes before its next one.
        self.read_mail(pipeline);
        let unread = self.unread.len();
        while let Some(ready) = self.ready.get(self.looked_at).copied() {
            self.looked_at += 1;
            self.on_ready(pipeline, ready);
        }
        // Members of the group are not in the table.
        self.serve_group(pipeline);
        if unread > 0 {
            self.read_mail(pipeline);
        }
        for _ in 0..unread {
            let Some(ready) = self.unread.pop_front() else { break };
            if ready.token.0 >= FIRST_CONNECTION
                && let Some(connection) = self.connections.get_mut(connection_at(ready.token))
            {
                connection.lists.remove(Lists::UNREAD);
            }
            self.on_ready(pipeline, ready);
        }
        self.serve_group(pipeline);
        self.read_mail(pipeline);
        self.write_messages(pipeline);
    }

    /// Does the work of the timers that are due.
    #[inline(always)]
    pub fn keep_time(&mut self, pipeline: &mut Pipeline) {
        if self.second.has_put_off {
            self.try_put_off(pipeline);
        }
        let now = if self.timers.is_quiet() {
            pipeline.executor.steady.now()
        } else {
            let now = self.instance.clock.steady();
            self.end_waits(now);
            now
        };
        if self.timers.is_look_due(now) {
            self.look_over(pipeline);
        }
    }

    /// Passes new limits on to all connections, and closes clients that are over them.
    pub fn follow_limits(&mut self, limits: &OutputLimits, pipeline: &Pipeline) {
        let memory_max = clients_memory_max(&self.instance.settings);
        (self.output_limits, self.memory_max) = (*limits, memory_max);
        for connection in self.connections.iter_mut() {
            connection.follow_limits(limits, memory_max);
        }
        self.instance.clients.evict_anew();
        self.evict_clients(pipeline);
    }

    /// Closes the largest clients while all of them take more memory than they may, if those of
    /// this worker have come to take more.
    #[inline]
    pub fn evict_if_grown(&mut self, pipeline: &Pipeline) {
        if self.memory_max.is_none() {
            return;
        }
        if self.owner.sum.get() > self.memory_checked {
            self.evict_clients(pipeline);
        } else {
            self.memory_checked = self.owner.sum.get();
        }
    }

    /// Closes the largest clients while all of them take more memory than they may.
    fn evict_clients(&mut self, pipeline: &Pipeline) {
        let Some(most) = self.memory_max else { return };
        let executor = &pipeline.executor;
        if let Some(evicted) = self.instance.clients.evict(most, executor.steady.now()) {
            self.memory_checked = self.owner.sum.get();
            executor.statistics.server.evicted_clients.add(evicted);
        }
    }

    /// Closes all connections.
    pub fn close_all(&mut self) {
        (0..self.connections.entries()).for_each(|at| self.close(at));
    }

    #[inline]
    fn on_ready(&mut self, pipeline: &mut Pipeline, ready: Ready) {
        if ready.token.0 < FIRST_CONNECTION {
            return self.accept(pipeline, ready.token);
        }
        let at = connection_at(ready.token);
        if ready.is_ending
            && let Some(connection) = self.connections.get_mut(at)
        {
            connection.stream.expect_end();
        }
        if ready.is_writable {
            // It may go on with requests that take long.
            self.serve_group(pipeline);
            self.flush(pipeline, at, WRITE_MAX);
        }
        let mail_whole = self.mail_whole;
        let is_simple = |it: &Connection| it.is_simple() && it.yielded_at < mail_whole;
        let Some(connection) = self.connections.take_if(at, is_simple) else {
            // What came before it is done before it.
            self.serve_group(pipeline);
            return self.read(pipeline, ready);
        };
        if let Some(served) = pipeline.join(at, connection) {
            self.put_back(pipeline, served);
        } else if pipeline.is_group_full() {
            self.serve_group(pipeline);
        }
    }

    #[inline]
    fn serve_group(&mut self, pipeline: &mut Pipeline) {
        if pipeline.begin_group() {
            while let Some(served) = pipeline.serve_member(self) {
                self.put_back(pipeline, served);
            }
        }
    }

    /// Continues a connection that is served alone.
    fn read(&mut self, pipeline: &mut Pipeline, ready: Ready) {
        let at = connection_at(ready.token);
        let Some(mut connection) = self.connections.take(at) else {
            // It is away; no other event will report this.
            if self.is_nested {
                self.unread.push_back(ready);
            }
            return;
        };
        connection.stream.expect_more();
        if connection.yielded_at >= self.mail_whole {
            // What its last request caused is in the mail, and comes before its next one.
            self.look_again(at, &mut connection);
            return self.connections.put(at, connection);
        }
        let fate = self.lending(|| pipeline.read(&mut connection));
        self.put_back(pipeline, Served { at, connection, fate });
    }

    /// Has a connection looked at in the next loop iteration.
    fn look_again(&mut self, at: usize, connection: &mut Connection) {
        if !connection.lists.contains(Lists::UNREAD) {
            connection.lists.insert(Lists::UNREAD);
            let ready = Ready { token: token_of(at), is_writable: false, is_ending: false };
            self.unread.push_back(ready);
        }
    }

    /// Writes up to `most` bytes of what a socket did not take before, if there are any, and drops
    /// marks that stand before nothing.
    #[inline]
    fn flush(&mut self, pipeline: &mut Pipeline, at: usize, most: usize) {
        let has_output = |connection: &Connection| connection.has_output();
        if let Some(connection) = self.connections.take_if(at, has_output) {
            self.write_backlog(pipeline, (at, connection), most);
        }
    }

    #[inline(never)]
    fn write_backlog(
        &mut self,
        pipeline: &mut Pipeline,
        (at, mut connection): (usize, Box<Connection>),
        most: usize,
    ) {
        let fate = self.lending(|| pipeline.flush(&mut connection, most));
        self.put_back(pipeline, Served { at, connection, fate });
    }

    /// Puts back a connection that was lent to a pipeline, or closes it.
    #[inline]
    fn put_back(&mut self, pipeline: &mut Pipeline, served: Served) {
        let Served { at, mut connection, fate } = served;
        if fate == Fate::Close {
            return self.drop_connection(at, *connection);
        }
        if connection.is_watch_to_change() && self.change_watch(at, &mut connection).is_err() {
            return self.drop_connection(at, *connection);
        }
        match connection.life {
            Life::Serving => {}
            Life::SliceOver if connection.is_query_deferred() => {}
            Life::SliceOver => self.look_again(at, &mut connection),
            Life::Waiting if connection.session.wants_stream.is_some() => {
                return self.leave(pipeline, at, connection);
            }
            Life::Waiting => self.timers.note_wait(&mut connection, &self.instance),
            Life::Postponed { place, .. } => self.line_up(&mut connection, place),
        }
        if connection.stream.may_hold_more() && connection.is_to_be_read() {
            self.look_again(at, &mut connection);
        }
        if connection.has_output() {
            self.list_output(at, &mut connection);
        }
        self.connections.put(at, connection);
        // Who serves in the middle of something long does not wait at the gate.
        if pipeline.is_gate_closed() && !self.is_nested {
            self.lending(|| pipeline.pass());
        }
    }

    /// Gives a connection that is postponed its place in the line, unless it has one already.
    #[cold]
    fn line_up(&mut self, connection: &mut Connection, place: u64) {
        let now = self.instance.clock.steady();
        let clients = &self.instance.clients;
        let by_pause = clients.paused(now) != Pause::Nothing;
        self.timers.note_pause(by_pause.then(|| clients.paused_until(now)));
        self.second.has_put_off |= self.is_nested;
        self.last_in_line += u64::from(place == 0);
        let place = if place == 0 { self.last_in_line } else { place };
        connection.life = Life::Postponed { by_pause, place };
    }

    /// Notes what is to be done for the output that is left.
    #[inline]
    fn list_output(&mut self, at: usize, connection: &mut Connection) {
        if connection.may_write_more() {
            connection.enter(Lists::UNWRITTEN, at, &mut self.unwritten);
        }
        if connection.is_marked() {
            connection.enter(Lists::MARKED, at, &mut self.marked);
        }
    }

    /// Begins or ends that events report when the socket takes bytes.
    ///
    /// # Errors
    /// When the system refuses.
    #[cold]
    fn change_watch(&mut self, at: usize, connection: &mut Connection) -> io::Result<()> {
        connection.lists.toggle(Lists::WATCHED);
        let watches = connection.lists.contains(Lists::WATCHED);
        self.poller.watch_writes(&mut connection.stream, token_of(at), watches)
    }

    fn accept(&mut self, pipeline: &mut Pipeline, token: Token) {
        // Mail is noticed without the event.
        if token == MAILBOX {
            return;
        }
        // Connections that have sent something do not wait for new ones.
        self.serve_group(pipeline);
        let Some(acceptor) = &mut self.acceptor else { return };
        let table = pipeline.executor.table;
        let (accepted, may_be_more) = acceptor.accept(token, &self.instance);
        if may_be_more {
            self.unread.push_back(Ready { token, is_writable: false, is_ending: false });
        }
        accepted.into_iter().for_each(|stream| self.add(stream, table));
    }

    fn close(&mut self, at: usize) {
        if let Some(connection) = self.connections.take(at) {
            self.drop_connection(at, *connection);
        }
    }

    fn drop_connection(&mut self, at: usize, mut connection: Connection) {
        self.poller.deregister(&mut connection.stream);
        connection.stream.end();
        self.timers.forget_wait(&mut connection, &self.instance);
        self.instance.waiters.forget(&connection.session.client);
        forget_all(&self.instance, &mut connection.session);
        self.connections.remove(at, &connection);
        self.instance.clients.remove(connection.session.client.id);
    }
}

fn token_of(at: usize) -> Token {
    Token(FIRST_CONNECTION + at)
}

#[inline]
fn connection_at(token: Token) -> usize {
    token.0 - FIRST_CONNECTION
}

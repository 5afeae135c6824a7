//! Path of a connection's bytes through a worker: read, parsed, executed, answered.
//!
//! ```text
//! socket ──▶ group or query ──▶ batch ──▶ executor ──▶ replies ──▶ socket or output
//! ```
//! It works on one connection at a time, or on a group, which the worker lends it, and returns
//! whether to keep or close each. It knows neither the other connections nor what the worker waits
//! for. What lends it connections is lent to the thread meanwhile, so that others can be served by
//! a second pipeline while a command takes long.
//!
//! A connection with many requests has the worker for 200 microseconds at a time; then others have
//! their turn.

use crate::batch::Batch;
use crate::connection::{Connection, Life};
use crate::executor::Executor;
pub use crate::executor::Fate;
use crate::group::{Group, Member, READ_BYTES};
use base::meanwhile::{self, Others};
use session::{Answer, ClientFlags};
use settings::{OutputLimits, limits};
use std::collections::VecDeque;
use std::io;

/// Most bytes that one read returns while a large request is being received.
const READ_BYTES_LARGE: usize = 64 << 10;
/// Most reads of a large request before other connections are served.
const READS_PER_TURN: usize = 4;

/// The same of an argument that is received into the store: about 200 microseconds.
const READS_APART_PER_TURN: usize = 16;

/// A connection that the pipeline gives back to the worker.
#[derive(Debug)]
pub struct Served {
    /// Its entry in the worker's table.
    pub at: usize,
    /// The connection itself.
    pub connection: Box<Connection>,
    /// Decision to keep or close it.
    pub fate: Fate,
}

/// What lends connections to a pipeline, and serves others while that is in the middle of something
/// long.
pub trait Lender: Others {
    /// Takes back a connection with requests that were not served.
    fn take_back(&mut self, served: Served);
}

/// Others while a member of a group is served: first come the members behind it.
struct Rest<'r> {
    members: &'r mut VecDeque<Member>,
    input: &'r [u8],
    lender: &'r mut dyn Lender,
}

impl Others for Rest<'_> {
    fn serve(&mut self) {
        while let Some(Member { at, mut connection, bytes, part }) = self.members.pop_front() {
            connection.query.keep(&self.input[bytes]);
            connection.front.go_back(part.again);
            connection.life = Life::SliceOver;
            self.lender.take_back(Served { at, connection, fate: Fate::Keep });
        }
        self.lender.serve();
    }
}

/// Pipeline of one worker: executor, buffers, and the group being served.
pub struct Pipeline {
    /// Thread context, clock, counts and replies for commands.
    pub executor: Executor,
    /// Requests of a connection that is served alone.
    batch: Batch,
    group: Group,
    /// Buffer for a read from a connection that is served alone.
    input: Vec<u8>,
    /// Room for what is encrypted; empty until there is a connection with TLS.
    ciphertext: Vec<u8>,
    /// Generation of the settings that were read last.
    settings_read: u64,
}

impl Pipeline {
    /// Returns a pipeline that has served no connection yet.
    pub fn new(executor: Executor) -> Pipeline {
        Pipeline {
            batch: Batch::new(executor.table),
            group: Group::new(executor.table),
            executor,
            input: vec![0; READ_BYTES_LARGE],
            ciphertext: Vec::new(),
            settings_read: u64::MAX,
        }
    }

    /// Begins a loop iteration. Returns the reading of the stopwatch that `leave` takes.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        let began = self.executor.stopwatch.read();
        self.executor.steady.follow(&self.executor.instance.clock, began);
        began
    }

    /// Enters the gate if it is open.
    #[inline]
    pub fn try_enter(&mut self) -> bool {
        self.executor.instance.store.try_enter(&self.executor.thread)
    }

    /// Enters the gate, waiting while it is closed.
    #[cold]
    pub fn enter(&mut self) {
        self.executor.instance.store.enter(&self.executor.thread);
    }

    /// Enters the gate if it is open, to serve others in the middle of something long. Otherwise it
    /// serves clients who need no data.
    pub fn enter_if_open(&mut self) {
        self.begin();
        let executor = &mut self.executor;
        executor.instance.store.enter_if_open(&mut executor.thread);
        executor.read_clock();
    }

    /// Ends what `enter_if_open` has begun.
    pub fn leave_meanwhile(&mut self) {
        let executor = &mut self.executor;
        executor.instance.store.leave(&executor.thread);
        executor.commands_served = 0;
    }

    /// Pays what is owed for changes that were made in the middle of something long, unless a
    /// thread closes the gate; closes its segment when it is not used.
    pub fn settle(&mut self) {
        self.enter_if_open();
        if self.executor.thread.may_touch_data() {
            self.executor.settle();
        }
        self.leave_meanwhile();
    }

    /// Returns true if a thread closes the gate.
    #[inline]
    pub fn is_gate_closed(&self) -> bool {
        self.executor.instance.store.is_gate_closed()
    }

    /// Lets a thread that wants to close the gate go first; called between two connections, inside
    /// the gate.
    #[inline]
    pub fn pass(&self) {
        self.executor.instance.store.pass(&self.executor.thread);
    }

    /// Leaves the gate, and counts the time since `began`.
    #[inline]
    pub fn leave(&mut self, began: u64) {
        let executor = &mut self.executor;
        executor.instance.store.leave(&executor.thread);
        let nanos = executor.stopwatch.nanos_between(began, executor.stopwatch.read());
        executor.statistics.server.iterations.add(1);
        executor.statistics.server.iteration_nanos.add(nanos);
        let commands = std::mem::take(&mut executor.commands_served);
        executor.instance.statistics.note_iteration(nanos, commands);
    }

    /// Reads settings whose values are not plain numbers, if any has changed. Returns the output
    /// limits that connections must know then.
    #[inline]
    pub fn follow_settings(&mut self) -> Option<OutputLimits> {
        let settings = &self.executor.instance.settings;
        let generation = settings.generation();
        if self.settings_read == generation {
            return None;
        }
        self.settings_read = generation;
        let limits = limits::CLIENT_OUTPUT_BUFFER_LIMIT.get(settings);
        self.executor.follow_limits(limits);
        self.executor.follow_observer();
        Some(limits)
    }

    /// Reads from a connection and makes it a member of the group. Returns it if there was nothing
    /// to read or if it is broken.
    #[inline]
    pub fn join(&mut self, at: usize, mut connection: Box<Connection>) -> Option<Served> {
        let Pipeline { executor, group, ciphertext, .. } = self;
        let fate = match receive(executor, &mut connection, group.room(), ciphertext) {
            Ok(Some(bytes)) => {
                let ahead = executor.ahead(&connection);
                group.add((at, connection), bytes, &ahead);
                return None;
            }
            Ok(None) => executor.fate(&connection),
            Err(error) => fate_at_end(&mut connection, &error),
        };
        Some(Served { at, connection, fate })
    }

    /// Returns true if the group must be served before another connection joins it.
    #[inline]
    pub fn is_group_full(&self) -> bool {
        self.group.is_full
    }

    /// Prefetches the keys of all members of the group. Returns false if it has none.
    #[inline]
    pub fn begin_group(&mut self) -> bool {
        if self.group.members.is_empty() {
            return false;
        }
        self.executor.read_clock();
        self.executor.prefetch_keys(&self.group.batch);
        true
    }

    /// Serves the next member of the group; `None` once all were served.
    #[inline]
    pub fn serve_member(&mut self, lender: &mut dyn Lender) -> Option<Served> {
        let Some(member) = self.group.members.pop_front() else {
            self.group.clear();
            return None;
        };
        let Member { at, mut connection, bytes, part } = member;
        let Pipeline { executor, batch, group, .. } = self;
        let Group { input: all, batch: of_group, members, .. } = group;
        let (input, first) = (&all[bytes], Some((&*of_group, &part)));
        let is_second = executor.is_second;
        let mut serve = || executor.serve(&mut connection, input, first, batch);
        let served = if is_second {
            serve()
        } else {
            meanwhile::lend(&mut Rest { members, input: all, lender }, serve)
        };
        connection.query.keep(&input[served.min(input.len())..]);
        let fate = executor.finish(&mut connection);
        Some(Served { at, connection, fate })
    }

    /// Continues a connection that has requests waiting: serves them, or reads more.
    pub fn read(&mut self, connection: &mut Connection) -> Fate {
        if connection.is_query_deferred() {
            return self.read_ahead(connection);
        }
        if connection.life == Life::SliceOver && !connection.is_receiving_apart() {
            return self.serve_on(connection);
        }
        let (reads, most) = match &connection.session.apart {
            Some(_) => (READS_APART_PER_TURN, READ_BYTES_LARGE),
            None if connection.query.len() > READ_BYTES => (READS_PER_TURN, READ_BYTES_LARGE),
            None => (1, READ_BYTES),
        };
        for _ in 0..reads {
            if connection.is_query_deferred() {
                break;
            }
            let Pipeline { executor, input, ciphertext, .. } = self;
            match receive_more(executor, connection, &mut input[..most], ciphertext) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return fate_at_end(connection, &error),
            }
            if connection.is_receiving_apart() {
                if connection.stream.may_hold_more() {
                    continue;
                }
                break;
            }
            let fate = self.serve_on(connection);
            // What the last request caused comes before the next one, which may not have come yet.
            let is_over = connection.life == Life::SliceOver || self.executor.slice_nanos == 0;
            if fate == Fate::Close || is_over || !connection.stream.may_hold_more() {
                return fate;
            }
        }
        connection.publish(self.executor.steady.now());
        self.executor.fate(connection)
    }

    /// Reads from a client whose requests are deferred: because it waits for keys, mostly to learn
    /// that it has disconnected, or because it does not read its replies. The latter is served
    /// again once it has sent as many bytes as wait for it.
    fn read_ahead(&mut self, connection: &mut Connection) -> Fate {
        for _ in 0..READS_PER_TURN {
            let is_wanted = connection.is_to_be_read() && connection.is_query_deferred();
            if !is_wanted || !connection.stream.may_hold_more() {
                break;
            }
            let Pipeline { executor, input, ciphertext, .. } = self;
            match receive_more(executor, connection, input, ciphertext) {
                Ok(true) => connection.publish(self.executor.steady.now()),
                Ok(false) => break,
                Err(error) => return fate_at_end(connection, &error),
            }
        }
        if !connection.is_query_deferred() {
            return self.serve_on(connection);
        }
        self.executor.fate(connection)
    }

    /// Writes up to `most` bytes of what a socket did not take before, and goes on serving if the
    /// connection waited for that.
    pub fn flush(&mut self, connection: &mut Connection, most: usize) -> Fate {
        // The clock must be read here too: a client may only read its replies and send nothing.
        self.executor.read_clock();
        match connection.flush(self.executor.journal.safe(), most) {
            Ok(0) => connection.publish_buffers(),
            Ok(sent) => {
                self.executor.note_sent(connection, sent);
                connection.publish(self.executor.steady.now());
            }
            Err(_) => return Fate::Close,
        }
        // One whose slice is over has its turn in the next loop iteration.
        let goes_on = connection.life == Life::Serving && !connection.is_query_deferred();
        if goes_on && !connection.query.is_empty() {
            return self.serve_on(connection);
        }
        self.executor.fate(connection)
    }

    /// Sends the answer to a client that has waited, and goes on with the requests it sent
    /// meanwhile.
    pub fn answer(&mut self, connection: &mut Connection, answer: Answer) -> Fate {
        match self.executor.answer(connection, answer) {
            Ok(()) => self.serve_on(connection),
            Err(_) => Fate::Close,
        }
    }

    /// Serves requests that wait in the query buffer, also those that were deferred.
    pub fn serve_on(&mut self, connection: &mut Connection) -> Fate {
        if connection.is_postponed() {
            connection.session.client.set_flag(ClientFlags::PAUSED, false);
            connection.session.resumes = true;
        }
        if connection.session.apart.is_some() {
            let fate = self.serve_apart(connection);
            connection.session.resumes = false;
            return fate;
        }
        self.serve_query(connection);
        connection.session.resumes = false;
        self.executor.finish(connection)
    }
}

impl Pipeline {
    fn serve_query(&mut self, connection: &mut Connection) {
        let query = std::mem::take(&mut connection.query);
        let served = self.executor.serve(connection, query.waiting(), None, &mut self.batch);
        connection.query = query;
        connection.query.drop_served(served);
    }

    /// Serves a request with an argument that was received into the store, once it is whole. If it
    /// does not run now, the argument goes back to where other requests have theirs.
    #[cold]
    #[inline(never)]
    fn serve_apart(&mut self, connection: &mut Connection) -> Fate {
        if connection.is_receiving_apart() {
            return self.executor.finish(connection);
        }
        if self.executor.is_second {
            // It waits for no shard: the first pipeline goes on.
            connection.life = Life::SliceOver;
            return self.executor.finish(connection);
        }
        if !self.executor.may_be_apart(connection) {
            self.executor.put_back(connection);
        }
        self.serve_query(connection);
        if connection.is_closing() {
            connection.session.apart = None;
        } else if !connection.front.is_unfinished() {
            self.executor.put_back(connection);
        }
        self.executor.finish(connection)
    }
}

/// Returns whether to keep or close a connection from which nothing can be read any more. Replies
/// that were only not written yet, as they are many or wait for the disk, go to the client before
/// it is closed, unless it waits: who is gone must not be served with what others could have.
#[cold]
fn fate_at_end(connection: &mut Connection, error: &io::Error) -> Fate {
    let is_later = connection.may_write_more() || connection.is_marked();
    let is_owed = is_later && connection.backlog() > 0 && !connection.is_waiting();
    if error.kind() != io::ErrorKind::UnexpectedEof || !is_owed {
        return Fate::Close;
    }
    connection.session.close_after_reply = true;
    Fate::Keep
}

/// Reads once and counts the bytes; `None` when there is nothing to read at present.
fn receive(
    executor: &Executor,
    connection: &mut Connection,
    room: &mut [u8],
    ciphertext: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    let received = connection.stream.receive(room, ciphertext)?;
    if let Some(bytes) = received {
        note_received(executor, connection, bytes);
    }
    Ok(received)
}

/// Reads once behind what waits in the query buffer. Returns false when there is nothing to read at
/// present.
fn receive_more(
    executor: &mut Executor,
    connection: &mut Connection,
    room: &mut [u8],
    ciphertext: &mut Vec<u8>,
) -> io::Result<bool> {
    let Connection { stream, query, session, .. } = connection;
    let is_apart = session.apart.as_ref().is_some_and(|apart| apart.missing() > 0);
    if is_apart && !executor.may_receive_apart() {
        stream.leave_unread();
        return Ok(false);
    }
    let received = if is_apart {
        let received = stream.receive(room, ciphertext)?;
        executor.receive_apart(connection, &room[..received.unwrap_or(0)]);
        received
    } else {
        stream.receive_with(&mut |bytes| query.keep(bytes), room, ciphertext)?
    };
    if let Some(bytes) = received {
        note_received(executor, connection, bytes);
    }
    Ok(received.is_some())
}

#[inline]
fn note_received(executor: &Executor, connection: &Connection, bytes: usize) {
    executor.statistics.server.input_bytes.add(bytes as u64);
    executor.statistics.server.reads.add(1);
    connection.note_received(bytes);
}

//! Path of a connection's bytes through a worker: read, parsed, executed, answered.
//!
//! ```text
//! socket ──▶ group or query ──▶ batch ──▶ executor ──▶ replies ──▶ socket or output
//! ```
//! It works on one connection at a time, or on a group, which the worker lends it, and returns
//! whether to keep or close each. It knows neither the other connections nor what the worker waits
//! for, so a worker whose pipeline is in the middle of a command can serve others with a second
//! one.
//!
//! A connection with many requests has the worker for 200 microseconds at a time; then others have
//! their turn.

use crate::batch::Batch;
use crate::connection::Connection;
use crate::executor::Executor;
use crate::group::{Group, Member, READ_BYTES};
use session::{Answer, ClientFlags};
use settings::{OutputLimits, limits};
use std::io::{self, Read};

/// Most bytes that one read returns while a large request is being received.
const READ_BYTES_LARGE: usize = 64 << 10;
/// Most reads of a large request before other connections are served.
const READS_PER_TURN: usize = 4;

/// Decision to keep or to close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The connection stays.
    Keep {
        /// True if its socket may hold bytes that no further event will report.
        may_hold_more: bool,
    },
    /// The connection is to be closed.
    Close,
}

/// A connection that the pipeline gives back to the worker.
#[derive(Debug)]
pub struct Served {
    /// Its slot in the worker's table.
    pub at: usize,
    /// The connection itself.
    pub connection: Box<Connection>,
    /// Decision to keep or close it.
    pub fate: Fate,
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
            settings_read: u64::MAX,
        }
    }

    /// Enters the gate. Returns the reading of the stopwatch that `leave` takes.
    #[inline]
    pub fn enter(&mut self) -> u64 {
        let began = self.executor.stopwatch.read();
        self.executor.steady.follow(&self.executor.instance.clock, began);
        self.executor.instance.store.enter(&self.executor.thread);
        began
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
        let Pipeline { executor, group, .. } = self;
        let fate = match receive(executor, &mut connection, group.room()) {
            Ok(Some(read)) => {
                let bytes = group.fill(read);
                let ahead = executor.ahead(&connection);
                let input = &group.input[bytes.clone()];
                let part = group.batch.add(&mut connection.parser, input, 0, &ahead);
                group.add(Member { at, connection, bytes, part }, ahead.most);
                return None;
            }
            Ok(None) => self.fate(&connection, false),
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
        self.group.batch.look_ahead(&self.executor.instance.store);
        true
    }

    /// Serves the next member of the group; `None` once all were served.
    #[inline]
    pub fn serve_member(&mut self) -> Option<Served> {
        let Some(member) = self.group.members.pop_front() else {
            self.group.clear();
            return None;
        };
        let Member { at, mut connection, bytes, part } = member;
        let Pipeline { executor, batch, group, .. } = self;
        let input = &group.input[bytes];
        executor.begin_slice(&mut connection);
        let served = match executor.serve_part(&group.batch, &mut connection, &part, input) {
            Some(served) => served,
            None => executor.serve_from(batch, &mut connection, input, part.parsed),
        };
        connection.query.keep(&input[served.min(input.len())..]);
        let may_hold_more = input.len() == READ_BYTES;
        let outcome = executor.finish(&mut connection);
        let fate = self.fate_after(outcome, &connection, may_hold_more);
        Some(Served { at, connection, fate })
    }

    /// Continues a connection that has requests waiting: serves them, or reads more.
    pub fn read(&mut self, connection: &mut Connection) -> Fate {
        if connection.is_query_held() {
            return self.read_ahead(connection);
        }
        if connection.is_cut {
            return self.serve_on(connection);
        }
        let mut may_hold_more = true;
        let is_large = connection.query.len() > READ_BYTES;
        let (reads, most) =
            if is_large { (READS_PER_TURN, READ_BYTES_LARGE) } else { (1, READ_BYTES) };
        for _ in 0..reads {
            if connection.is_query_held() {
                break;
            }
            match self.read_once(connection, most) {
                Ok(more) => may_hold_more = more,
                Err(error) => return fate_at_end(connection, &error),
            }
            // What the last request caused comes before the next one, which may not have come yet.
            if connection.is_cut || self.executor.slice_nanos == 0 || !may_hold_more {
                break;
            }
        }
        self.fate(connection, may_hold_more)
    }

    /// Reads from a client whose requests are held back: because it waits for keys, mostly to learn
    /// that it has disconnected, or because it does not read its replies. The latter is served
    /// again once it has sent as many bytes as wait for it.
    fn read_ahead(&mut self, connection: &mut Connection) -> Fate {
        let mut may_hold_more = true;
        for _ in 0..READS_PER_TURN {
            let is_wanted = connection.is_to_be_read() && connection.is_query_held();
            if !is_wanted || !may_hold_more {
                break;
            }
            match receive(&self.executor, connection, &mut self.input) {
                Ok(Some(bytes)) => {
                    connection.query.keep(&self.input[..bytes]);
                    connection.publish(self.executor.steady.now());
                    may_hold_more = bytes == self.input.len();
                }
                Ok(None) => may_hold_more = false,
                Err(error) => return fate_at_end(connection, &error),
            }
        }
        if !connection.is_query_held() {
            return self.serve_on(connection);
        }
        self.fate(connection, may_hold_more)
    }

    /// Reads `most` bytes once, and serves what waits together with them. Returns true if there may
    /// be more to read.
    fn read_once(&mut self, connection: &mut Connection, most: usize) -> io::Result<bool> {
        let input = &mut self.input[..most];
        let Some(bytes) = receive(&self.executor, connection, input)? else { return Ok(false) };
        connection.query.keep(&input[..bytes]);
        self.executor.read_clock();
        self.serve_waiting(connection);
        self.executor.finish(connection)?;
        Ok(bytes == most)
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
        let goes_on = !connection.is_query_held() && !connection.is_cut;
        if goes_on && !connection.query.is_empty() {
            return self.serve_on(connection);
        }
        self.fate(connection, false)
    }

    /// Sends the answer to a client that has waited, and goes on with the requests it sent
    /// meanwhile.
    pub fn answer(&mut self, connection: &mut Connection, answer: Answer) -> Fate {
        match self.executor.answer(connection, answer) {
            // While it waited its socket was read as far as it could be.
            Ok(()) => {
                let may_hold_more = std::mem::take(&mut connection.is_undrained);
                self.serve_held(connection, may_hold_more)
            }
            Err(_) => Fate::Close,
        }
    }

    /// Serves requests that were held back, before more input is read.
    pub fn serve_on(&mut self, connection: &mut Connection) -> Fate {
        self.serve_held(connection, true)
    }

    fn serve_held(&mut self, connection: &mut Connection, may_hold_more: bool) -> Fate {
        self.executor.read_clock();
        if std::mem::take(&mut connection.is_paused) {
            connection.place_in_line = 0;
            connection.session.client.set_flag(ClientFlags::PAUSED, false);
        }
        self.serve_waiting(connection);
        let outcome = self.executor.finish(connection);
        self.fate_after(outcome, connection, may_hold_more)
    }

    /// Serves what waits in the query buffer.
    fn serve_waiting(&mut self, connection: &mut Connection) {
        let query = std::mem::take(&mut connection.query);
        self.executor.begin_slice(connection);
        let served = self.executor.serve_from(&mut self.batch, connection, query.waiting(), 0);
        connection.query = query;
        connection.query.drop_served(served);
    }

    #[inline]
    fn fate_after(
        &self,
        outcome: io::Result<()>,
        connection: &Connection,
        may_hold_more: bool,
    ) -> Fate {
        match outcome {
            Ok(()) => self.fate(connection, may_hold_more),
            Err(_) => Fate::Close,
        }
    }

    /// Returns whether to keep or close a connection that is not broken.
    #[inline]
    fn fate(&self, connection: &Connection, may_hold_more: bool) -> Fate {
        let is_done = connection.session.close_after_reply && connection.backlog() == 0;
        let is_over = is_done || self.executor.is_over_limits(connection);
        if is_over { Fate::Close } else { Fate::Keep { may_hold_more } }
    }
}

/// Returns whether to keep or close a connection from which nothing can be read any more. Replies
/// that were only not written yet, as they are many or wait for the disk, go to the client before
/// it is closed, unless it waits: who is gone must not be served with what others could have.
#[cold]
fn fate_at_end(connection: &mut Connection, error: &io::Error) -> Fate {
    let is_later = connection.may_write_more() || connection.is_marked();
    let is_owed = is_later && connection.backlog() > 0 && !connection.is_waiting;
    if error.kind() != io::ErrorKind::UnexpectedEof || !is_owed {
        return Fate::Close;
    }
    connection.session.close_after_reply = true;
    Fate::Keep { may_hold_more: false }
}

/// Reads once and counts the bytes; `None` when there is nothing to read at present.
fn receive(
    executor: &Executor,
    connection: &mut Connection,
    room: &mut [u8],
) -> io::Result<Option<usize>> {
    loop {
        match connection.stream.read(room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                executor.statistics.server.input_bytes.add(bytes as u64);
                executor.statistics.server.reads.add(1);
                connection.note_received(bytes);
                return Ok(Some(bytes));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

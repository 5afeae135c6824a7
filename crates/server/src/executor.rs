//! Executor of commands: a worker's thread context, counts, clock and reply buffer; and the order
//! in which the requests of a batch are executed.

mod answers;
mod apart;
mod bounds;
mod lines;
mod look_ahead;
mod not_served;
mod postponed;
mod unanswered;

use crate::batch::{Ahead, Batch, Part, Request};
use crate::connection::{Connection, Life};
use crate::journal::Journal;
use base::{CoarseSteady, KeyspaceId, Millis, Stopwatch};
use command::{
    Call, Environment, Execution, Invocation, Observer, Row, Seen, Table, execute,
    granted_for_batch, send_monitor_lines,
};
use session::{AccessModes, Instance, Needs, ReplyMode, WorkerStatistics};
use settings::{OutputLimits, general, limits};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::ThreadContext;
use store::value::long_string::WHOLE_BYTES_MAX;
use unanswered::count_unanswered;
use wire::{Lent, Limits, Reply};

/// Bytes of replies after which they are written before the batch ends.
const REPLIES_MAX: usize = 256 << 10;
/// Nanoseconds for which one connection is served before others have their turn.
const SLICE_NANOS: u64 = 200_000;

/// Decision to keep or to close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The connection stays.
    Keep,
    /// The connection is to be closed.
    Close,
}

/// What the executors of one worker have in common.
#[derive(Clone)]
pub struct ExecutorParts {
    /// State that all clients share.
    pub instance: Arc<Instance>,
    /// The commands that they know.
    pub table: &'static Table,
    /// The journal.
    pub journal: Arc<Journal>,
    /// Statistics of the worker.
    pub statistics: Arc<WorkerStatistics>,
    /// Stopwatch for commands and loop iterations.
    pub stopwatch: Stopwatch,
}

/// Executor of one worker.
pub struct Executor {
    /// The commands that it knows.
    pub table: &'static Table,
    /// State that all clients share.
    pub instance: Arc<Instance>,
    /// Thread context for the store.
    pub thread: ThreadContext,
    /// Statistics of this worker.
    pub statistics: Arc<WorkerStatistics>,
    /// Stopwatch for commands and loop iterations.
    pub stopwatch: Stopwatch,
    /// Wall time, as read for the batch at work.
    pub now: Millis,
    /// Time that passes, as it was when this loop iteration began, or a little before.
    pub steady: CoarseSteady,
    /// Limits of the output of clients, by the settings.
    pub output_limits: OutputLimits,
    /// Limits from which on a command is worth a note.
    observer: Observer,
    /// The journal: positions for which replies wait.
    pub journal: Arc<Journal>,
    /// Position behind the last unit of this thread that was looked at.
    position: u64,
    /// True if units were put since the last batch ended.
    has_put: bool,
    /// Reading of the stopwatch when the command at work began.
    command_began: u64,
    /// Commands served in this loop iteration.
    pub commands_served: u64,
    /// How often reading the mail was begun.
    pub mail_reads: u64,
    /// True if it serves others in the middle of something long, and never waits.
    pub is_second: bool,
    /// Nanoseconds left for the connection being served.
    pub slice_nanos: u64,
    /// Replies to the connection being served.
    replies: Vec<u8>,
    /// What is left out of them, as it is sent from where it lies.
    lent: Lent,
    /// Most bytes that `replies` may grow to before the client is over its limit.
    replies_max: usize,
}

impl Executor {
    /// Returns an executor that has served no connection yet.
    pub fn new(parts: ExecutorParts, thread: ThreadContext) -> Executor {
        let ExecutorParts { instance, table, journal, statistics, stopwatch } = parts;
        Executor {
            statistics,
            table,
            thread,
            steady: CoarseSteady::new(&instance.clock, &stopwatch),
            stopwatch,
            now: Millis::default(),
            output_limits: OutputLimits::DEFAULT,
            observer: Observer::of(&instance.settings),
            journal,
            position: 0,
            has_put: false,
            command_began: 0,
            commands_served: 0,
            mail_reads: 1,
            is_second: false,
            slice_nanos: 0,
            replies: Vec::new(),
            lent: Lent::default(),
            replies_max: usize::MAX,
            instance,
        }
    }

    /// Reads the clock.
    #[inline]
    pub fn read_clock(&mut self) {
        self.now = self.instance.clock.now();
    }

    /// Returns an executor that serves others while this one is in the middle of something long, by
    /// the same thread: they share their counts.
    pub fn second(parts: ExecutorParts, mut thread: ThreadContext) -> Executor {
        thread.set_never_waits(true);
        Executor { is_second: true, ..Executor::new(parts, thread) }
    }

    /// Reads the limits from which on commands are worth a note.
    pub fn follow_observer(&mut self) {
        self.observer = Observer::of(&self.instance.settings);
    }

    /// Sets new limits of outputs.
    pub fn follow_limits(&mut self, limits: OutputLimits) {
        self.instance.pubsub.follow_limit(limits.pubsub.hard_output());
        self.output_limits = limits;
        self.replies_max = usize::MAX;
    }

    /// Returns the parameters for the next batch of a connection.
    #[inline]
    pub fn ahead(&self, connection: &Connection) -> Ahead<'_> {
        let instance = &*self.instance;
        let settings = &instance.settings;
        let authenticated = connection.session.is_authenticated();
        // A request that authenticates lifts the limits of those behind it.
        let most = if authenticated { general::PREFETCH_BATCH_MAX_SIZE.get(settings) } else { 1 };
        Ahead {
            most: most.max(1),
            limits: Limits {
                bulk_bytes_max: limits::PROTO_MAX_BULK_LEN.get(settings),
                authenticated,
                ..Limits::default()
            },
            item_bytes_max: crate::limits::item_bytes_max(settings),
            is_first: connection.session.client.commands.load(Relaxed) == 0,
            store: &instance.store,
            // Sessions name databases that exist; another would only spoil a hint.
            keyspace: instance.store.keyspace(connection.session.database).unwrap_or(KeyspaceId(0)),
        }
    }

    /// Serves a slice of a connection: the requests in `input`, of which `first` are in a batch
    /// already. Returns the offset up to which they are done.
    #[inline]
    pub fn serve(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        first: Option<(&Batch, &Part)>,
        batch: &mut Batch,
    ) -> usize {
        self.slice_nanos = SLICE_NANOS;
        connection.life = Life::Serving;
        let Some((group, part)) = first else {
            return self.serve_rest(connection, input, 0, batch);
        };
        let done = self.serve_part(connection, input, group, part);
        done.unwrap_or_else(|| self.serve_rest(connection, input, part.parsed, batch))
    }

    /// Parses and serves the requests in `input` from `served` on, a batch at a time. Returns what
    /// `serve` does.
    fn serve_rest(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        mut served: usize,
        batch: &mut Batch,
    ) -> usize {
        loop {
            self.read_clock();
            let ahead = self.ahead(connection);
            batch.clear();
            let part = batch.add(&mut connection.front, input, served, &ahead);
            self.prefetch_keys(batch);
            match self.serve_part(connection, input, batch, &part) {
                Some(done) => return done,
                None => served = part.parsed,
            }
        }
    }

    /// Serves the requests that were parsed from `input`. Returns the offset up to which it is
    /// done, or `None` when there may be more requests in it.
    fn serve_part(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        batch: &Batch,
        part: &Part,
    ) -> Option<usize> {
        self.begin_batch(connection);
        self.replies_max = connection.reply_bytes_left(&self.output_limits);
        if self.is_worth_looking(connection, part) {
            self.look_further_ahead(connection, batch, part.requests.clone(), input);
        }
        self.command_began = self.stopwatch.read();
        let (now, granted) = (self.now, self.granted());
        let mut is_deferred = connection.is_deferred(input.len());
        let (mut served, mut left) = (0, None);
        for at in part.requests.clone() {
            batch.prefetch_lock(at, &self.instance.store);
            let (request, args) = batch.request(at, input);
            if is_deferred || self.slice_nanos == 0 || connection.is_closing() {
                left = Some((request.start, batch.again(part, at)));
                break;
            }
            if let Some(line) = batch.line(part, at) {
                connection.session.line.set(line);
            }
            let mark = self.replies.len();
            let execution = self.call(connection, request, args, (granted, now));
            if execution == Execution::Done {
                served += 1;
            } else if matches!(execution, Execution::Postponed | Execution::GoesOn) {
                let again = self.put_off(connection, execution, batch.again(part, at));
                left = Some((request.start, again));
                break;
            } else {
                // A command that waits counts for the client when it is answered.
                served += usize::from(execution == Execution::Counted);
                is_deferred |= begin_wait(connection, execution);
            }
            if self.thread.journal_position() != self.position {
                self.follow_journal(connection, request.row, mark);
            }
            if connection.session.reply_mode != ReplyMode::On {
                drop_unwanted(connection, (request.row, execution), &mut self.replies, mark);
                self.lent.truncate(self.replies.len());
            }
            if self.replies.len() > REPLIES_MAX || !self.lent.is_empty() {
                self.send_early(connection);
                is_deferred |= connection.is_deferred(input.len() - request.start);
            }
            if connection.session.yields | connection.session.has_other_limits {
                self.follow_session(connection);
            }
        }
        self.finish_batch(connection, served, now);
        self.end_part(connection, part, left, input.len())
    }

    /// Sends the replies to the requests that were served. Returns whether to keep or close the
    /// connection.
    #[inline]
    pub fn finish(&mut self, connection: &mut Connection) -> Fate {
        if !connection.query.is_empty() {
            if connection.front.announced(connection.query.len()) > WHOLE_BYTES_MAX / 2 {
                self.begin_apart(connection);
            }
            connection.expect_announced();
        }
        if !self.replies.is_empty() {
            match connection.send(&mut self.replies, self.journal.safe()) {
                Ok(sent) => self.note_sent(connection, sent),
                Err(_) => return Fate::Close,
            }
        }
        connection.publish(self.steady.now());
        self.fate(connection)
    }

    /// Returns whether to keep or close a connection that is not broken.
    #[inline]
    pub fn fate(&self, connection: &Connection) -> Fate {
        let is_done = connection.session.close_after_reply && connection.backlog() == 0;
        if is_done || self.is_over_limits(connection) { Fate::Close } else { Fate::Keep }
    }

    /// Writes replies before the batch ends, as they have become many.
    #[inline(never)]
    fn send_early(&mut self, connection: &mut Connection) {
        connection.put_lent(&mut self.replies, &mut self.lent);
        match connection.send(&mut self.replies, self.journal.safe()) {
            Ok(sent) => self.note_sent(connection, sent),
            Err(_) => connection.session.close_after_reply = true,
        }
        self.replies_max = connection.reply_bytes_left(&self.output_limits);
    }

    /// Counts a write, if it has sent bytes, and the bytes.
    #[inline]
    pub fn note_sent(&self, connection: &mut Connection, sent: usize) {
        connection.note_sent(sent);
        let counts = &self.statistics.server;
        counts.writes.add(u64::from(sent > 0));
        counts.output_bytes.add(sent as u64);
    }

    /// Follows what a command has left in the session.
    #[cold]
    fn follow_session(&mut self, connection: &mut Connection) {
        if std::mem::take(&mut connection.session.yields) {
            connection.yielded_at = self.mail_reads;
            self.slice_nanos = 0;
        }
        if std::mem::take(&mut connection.session.has_other_limits) {
            self.replies_max = connection.reply_bytes_left(&self.output_limits);
        }
    }

    #[inline]
    fn call(
        &mut self,
        connection: &mut Connection,
        request: &Request,
        args: session::Args<'_>,
        (granted, now): (Needs, Millis),
    ) -> Execution {
        let (protocol, mark) = (connection.session.protocol, self.replies.len());
        let environment = Environment {
            instance: &self.instance,
            table: self.table,
            statistics: &self.statistics,
            now,
        };
        let sent = Invocation::new(request.row, args).with_hash(request.hash);
        let reply = Reply::with_limit(&mut self.replies, protocol, self.replies_max);
        let reply = reply.lending(&mut self.lent);
        let session = &mut connection.session;
        let mut call = Call::new(environment, &mut self.thread, session, sent, reply);
        let mut execution = execute(&mut call, granted);
        let ended = self.stopwatch.read();
        let nanos = self.stopwatch.nanos_between(self.command_began, ended);
        let reply_bytes = call.reply.written().len() - mark;
        let seen = Seen { nanos, reply_bytes: reply_bytes as u64 };
        let is_apart = call.session.apart.is_some();
        if execution == Execution::Done {
            if call.reply.is_lending() | is_apart {
                let reply_bytes = seen.reply_bytes + call.reply.lent_bytes();
                self.observer.count_in_pieces(&call, Seen { reply_bytes, ..seen });
            } else {
                self.observer.count(&call, seen);
            }
        } else {
            let (began, observer) = (self.command_began, &self.observer);
            (execution, connection.outstanding) =
                count_unanswered(observer, &mut call, execution, seen, began);
            connection.ran_nanos = nanos;
        }
        let (row, is_over_limit) = (call.row, call.reply.is_over_limit());
        if is_over_limit {
            self.give_up(connection, row);
        }
        if is_apart && execution != Execution::Postponed {
            // Its command has taken it, or was refused: it is no argument of the next one.
            connection.session.apart = None;
        }
        self.slice_nanos = self.slice_nanos.saturating_sub(nanos);
        self.command_began = ended;
        connection.session.client.last_command.store(narrow::to_u32(row.id) + 1, Relaxed);
        execution
    }

    /// Holds back the reply of a change, which begins behind `ahead` bytes, until it is safe.
    #[inline(never)]
    fn follow_journal(&mut self, connection: &mut Connection, row: &Row, ahead: usize) {
        let may_write = row.needs.intersects(Needs::JOURNAL_ROOM | Needs::QUEUE);
        self.position = self.thread.journal_position();
        self.has_put = true;
        if may_write {
            connection.session.last_unit = self.position;
        }
        if may_write && self.journal.delays_reply(self.position) {
            connection.mark(ahead, self.position);
        }
    }

    #[inline]
    fn begin_batch(&mut self, connection: &mut Connection) {
        self.thread.author.client = connection.session.client.id;
        connection.session.take_new_rules(&self.instance.access);
        // What was put between batches is no change of this client.
        self.position = self.thread.journal_position();
    }

    fn finish_batch(&mut self, connection: &mut Connection, commands: usize, now: Millis) {
        // What upkeep removes, no command has asked for.
        self.thread.author.client = 0;
        let has_put = std::mem::take(&mut self.has_put);
        if has_put || self.instance.store.stalls_writers() {
            self.journal.after_batch(&self.instance);
        }
        if self.thread.owes_upkeep() && !self.is_second {
            self.pay_upkeep(now);
        }
        self.instance.send_pending_messages();
        if connection.session.has_lines() {
            send_monitor_lines(&self.instance, &mut connection.session);
        }
        self.commands_served += commands as u64;
        let client = &connection.session.client;
        client.commands.store(client.commands.load(Relaxed) + commands as u64, Relaxed);
        client.database.store(narrow::to_u32(connection.session.database), Relaxed);
    }

    /// Returns true if what requests will read beyond their keys may be prefetched.
    #[inline]
    fn is_worth_looking(&self, connection: &Connection, part: &Part) -> bool {
        let is_tracking = connection.session.modes.contains(AccessModes::ENTERS_READS);
        (part.requests.len() > 1 || is_tracking) && !self.is_second
    }

    /// Returns what is granted for a batch.
    #[inline]
    fn granted(&self) -> Needs {
        let mut granted = granted_for_batch(&self.instance);
        granted.set(Needs::MAY_WAIT, !self.is_second);
        granted
    }

    /// Pays what is owed, and closes the thread's segment when it is not used. To be called of a
    /// second executor when its worker is in the middle of nothing.
    pub fn settle(&mut self) {
        self.thread.set_never_waits(false);
        if self.thread.owes_upkeep() {
            self.pay_upkeep(self.now);
        }
        self.instance.store.rest(&mut self.thread);
        self.thread.set_never_waits(true);
    }

    #[cold]
    fn pay_upkeep(&mut self, now: Millis) {
        let instance = &*self.instance;
        instance.note_eviction(&mut self.thread, |thread| instance.store.upkeep(thread, now));
    }
}

/// Lets a client wait whose command is answered later, and returns true if it does. The event loop
/// records the wait when it puts the connection back.
#[cold]
fn begin_wait(connection: &mut Connection, execution: Execution) -> bool {
    let waits = matches!(execution, Execution::ByMail | Execution::Waits);
    if waits {
        connection.set_life(Life::Waiting);
    }
    waits
}

/// Drops the reply behind `mark` to a client that wants none, unless it is a push. A command that
/// was queued or refused has pushed nothing; what EXEC has pushed stands beside its reply.
#[cold]
fn drop_unwanted(
    connection: &mut Connection,
    (row, execution): (&Row, Execution),
    replies: &mut Vec<u8>,
    mark: usize,
) {
    // A command that waits is asked about when it is answered.
    if connection.is_waiting() {
        return;
    }
    if execution == Execution::Aside || !row.spec.replies_by_push() {
        replies.truncate(mark);
    }
    let session = &mut connection.session;
    session.behind_exec.move_behind(replies);
    session.takes_reply();
}

//! Application of effects, as recovery and replicas do it.

use crate::call::{Environment, Invocation};
use crate::file_commands::{Followed, NotApplied, changes_data, follow_other};
use crate::find_row::RowMemo;
use crate::flags::Flags;
use crate::row::{Call, Row, Table, Turn, Unanswered};
use base::{Millis, PositionHash};
use heap::RECORD_OVERHEAD_MAX;
use session::{AccessModes, Args, Client, Instance, Needs, Refusal, Session, WorkerStatistics};
use std::sync::Arc;
use store::{Sought, ThreadContext};
use wire::{Protocol, Reply, Span};

/// One who executes effects on a store. Keys and fields stay there until an effect removes them,
/// whatever their deadlines: `Store::apply_journal` has to be on meanwhile. Settings are not asked,
/// nobody waits, and no limit of memory refuses an effect.
#[derive(Debug)]
pub struct Applier<'i> {
    instance: &'i Instance,
    session: Session,
    statistics: Arc<WorkerStatistics>,
    memo: RowMemo,
    reply: Vec<u8>,
}

impl<'i> Applier<'i> {
    /// Creates an applier of the commands in a table, which counts as this client.
    pub fn new(instance: &'i Instance, table: &'static Table, client: Arc<Client>) -> Applier<'i> {
        let mut session = Session::new(client, true);
        session.modes = AccessModes::IMPORT_SOURCE | AccessModes::NO_TOUCH | AccessModes::OBEYED;
        // A script of an old file asks for what its commands need, also on a replica.
        session.grants = session.grants.union(Needs::all().difference(Needs::OF_CLIENTS));
        let statistics = instance.statistics.worker();
        let memo = RowMemo::new(table);
        Applier { instance, session, statistics, memo, reply: Vec::new() }
    }

    /// Executes an effect in a database. The thread is inside the gate.
    ///
    /// # Errors
    /// When it is no command that can be executed, or is refused.
    pub fn apply(
        &mut self,
        thread: &mut ThreadContext,
        database: usize,
        args: Args<'_>,
    ) -> Result<(), Refusal> {
        let row = self.memo.find(&args);
        if !changes_data(row) {
            return Err(Refusal::naming("ERR '{}' is no effect", &[args.get(0)]));
        }
        self.session.select(database);
        let (next, now) = (Next { row, left_out: 0, hash: None }, self.instance.clock.now());
        self.run(thread, next, args, now)
    }

    /// The selected database.
    pub fn database(&self) -> usize {
        self.session.database
    }

    /// Finds out what a command of a file is, of which the first argument may be a note, and the
    /// place in the index of its first key, to be prefetched.
    #[inline]
    pub fn look(&mut self, args: Args<'_>, is_noted: bool) -> (Next, Option<Sought>) {
        let (row, left_out) = self.memo.find_noted(args, is_noted);
        let args = args.behind(left_out);
        let store = &self.instance.store;
        let keyspace = if row.first_key > 0 { store.keyspace(self.session.database) } else { None };
        let Some(keyspace) = keyspace else { return (Next { row, left_out, hash: None }, None) };
        let hash = store.hash(args.get(row.first_key));
        (Next { row, left_out, hash: Some(hash) }, Some((keyspace, hash)))
    }

    /// Executes a command of a file that was looked at, as a connection would send it: it may
    /// select the database of those that follow. What changes no data is passed over. The thread is
    /// inside the gate.
    ///
    /// # Errors
    /// See [`NotApplied`].
    pub fn follow(
        &mut self,
        thread: &mut ThreadContext,
        next: Next,
        args: Args<'_>,
        now: Millis,
    ) -> Result<Followed, NotApplied> {
        let selects = next.row.spec.flags.contains(Flags::SELECTS);
        let changes_scripts = next.row.spec.flags.contains(Flags::CHANGES_SCRIPTS);
        if !changes_data(next.row) && !selects && !changes_scripts {
            return follow_other(next.row, args);
        }
        match self.run(thread, next, args, now) {
            Ok(()) => Ok(Followed::Executed),
            Err(refusal) if selects || refusal.code() == Refusal::OUT_OF_MEMORY.code() => {
                Err(NotApplied::Impossible(refusal))
            }
            // It would have failed in any server.
            Err(refusal) if changes_scripts => Ok(Followed::Fruitless(refusal)),
            Err(refusal) => Err(NotApplied::Refused(refusal)),
        }
    }

    fn run(
        &mut self,
        thread: &mut ThreadContext,
        next: Next,
        args: Args<'_>,
        now: Millis,
    ) -> Result<(), Refusal> {
        let (row, args) = (next.row, args.behind(next.left_out));
        self.reply.clear();
        let (instance, statistics) = (self.instance, &*self.statistics);
        let environment = Environment { instance, table: row.table(), statistics, now };
        let effect = Invocation::new(row, args).with_hash(next.hash).with_turn(Turn::Only);
        let reply = Reply::new(&mut self.reply, Protocol::Resp2);
        let mut call = Call::new(environment, thread, &mut self.session, effect, reply);
        call.reserve(args.bytes() + RECORD_OVERHEAD_MAX)?;
        match (row.spec.run)(&mut call) {
            // With nothing to take, it would wait and changes nothing.
            Ok(()) | Err(Unanswered::Waits) => Ok(()),
            Err(Unanswered::Refused(refusal)) => Err(refusal),
            Err(Unanswered::ByMail | Unanswered::Part | Unanswered::GoesOn) => {
                Err(Refusal::of("ERR an effect does not wait"))
            }
        }
    }

    /// As `apply`, for arguments that are apart from each other.
    ///
    /// # Errors
    /// Those of `apply`.
    pub fn apply_words(
        &mut self,
        thread: &mut ThreadContext,
        database: usize,
        words: &[Vec<u8>],
    ) -> Result<(), Refusal> {
        self.apply(thread, database, Args::new(&words.concat(), &Span::of_joined(words)))
    }
}

/// A command that comes next.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    row: &'static Row,
    /// Arguments before its name: a note that means nothing to it.
    left_out: usize,
    hash: Option<PositionHash>,
}

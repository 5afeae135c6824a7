//! Application of a primary's stream, unit by unit, as a client of its own would send it.
//!
//! ```text
//! unit ─▶ a command        run, and clients that wait for its keys are served
//!      └▶ MULTI ... EXEC   queued and run: one hold of locks, one moment for others
//! ```
//! The primary has executed it, so nothing is refused here that settings, rights, roles or memory
//! would refuse to a client. What is refused all the same, or unknown, tells that both have parted.

use crate::call::{Environment, Invocation};
use crate::execute::execute;
use crate::file_commands::changes_data;
use crate::find_row::RowMemo;
use crate::flags::{Flags, Locks};
use crate::observer::{Observer, Seen};
use crate::row::{Call, Row, Table, Turn};
use crate::run::Execution;
use crate::waiting::serve_all;
use base::Millis;
use replication::units::{FRAME_BEGIN, FRAME_END, FRAME_GIVEN_UP};
use replication::{Unit, UnitCommand};
use session::{AccessModes, Args, Client, Instance, Needs, Session, WorkerStatistics};
use std::sync::Arc;
use store::ThreadContext;
use thiserror::Error;
use wire::{Protocol, Reply, Span};

/// Words of a request, and bytes of each, that are shown in the log.
const SHOWN_WORDS: usize = 12;
const SHOWN_BYTES: usize = 64;

const NO_DATABASE: &[u8] = b"ERR DB index is out of range";
const UNKNOWN: &[u8] = b"there is no such command, or it has a wrong number of arguments";

/// What a unit was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// True if it is data, which files must have; others are for replicas alone.
    pub is_data: bool,
    /// True if it asks for an acknowledgement.
    pub wants_acknowledgement: bool,
    /// The moment from which it counts times to live, if it has any, as servers before Redis 7 send
    /// them.
    pub lives_from: Option<Millis>,
}

/// Reason why a stream is not followed any further.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{command}' is refused: {reason}")]
pub struct Parted {
    /// Name of the command.
    pub command: String,
    /// What it would be answered.
    pub reason: String,
    /// The begin of the request, for the log.
    pub request: String,
    /// What may be done about it.
    pub kind: PartedKind,
}

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartedKind {
    /// A command that nobody knows here.
    Unknown,
    /// A command that is known, of the data as it is here.
    Refused,
    /// The choice of a database: what follows would go elsewhere.
    Database,
}

/// Who applies a stream.
pub struct Follower {
    session: Session,
    statistics: Arc<WorkerStatistics>,
    memo: RowMemo,
    table: &'static Table,
    reply: Vec<u8>,
    /// The moment at which the unit at work is executed.
    now: Millis,
}

impl Follower {
    /// Creates one that applies commands of a table, as this client.
    pub fn new(instance: &Instance, table: &'static Table, client: Arc<Client>) -> Follower {
        let mut session = Session::new(client, true);
        session.modes = AccessModes::IMPORT_SOURCE | AccessModes::NO_TOUCH | AccessModes::OBEYED;
        session.grants = session.grants.union(Needs::all().difference(Needs::OF_CLIENTS));
        let (statistics, memo) = (instance.statistics.worker(), RowMemo::new(table));
        Follower { session, statistics, memo, table, reply: Vec::new(), now: Millis::default() }
    }

    /// The client as which it counts.
    pub fn client(&self) -> &Arc<Client> {
        &self.session.client
    }

    /// Database that is selected.
    pub fn database(&self) -> usize {
        self.session.database
    }

    /// Selects a database.
    pub fn select(&mut self, database: usize) {
        self.session.select(database);
    }

    /// Serves clients that wait for what a snapshot has brought. The thread is outside the gate.
    pub fn serve_waiters(&self, instance: &Instance, thread: &mut ThreadContext) {
        if instance.waiters.count() == 0 {
            return;
        }
        let (table, now) = (self.table, instance.clock.now());
        let environment = Environment { instance, table, statistics: &self.statistics, now };
        instance.store.enter(thread);
        serve_all(environment, thread);
        instance.store.leave(thread);
    }

    /// Returns true if a unit acts on everything, so that the gate has to be closed for it.
    pub fn closes_gate(&mut self, unit: &Unit<'_>) -> bool {
        unit.commands().any(|command| {
            let row = self.memo.find(&Args::new(command.bytes, command.words));
            row.spec.locks == Locks::Gate || row.spec.runs_script.is_some()
        })
    }

    /// Applies a unit. The thread is inside the gate, or has closed it. A command that is unknown
    /// or refused is left out if `leaves_out` says so, as it is where files are loaded.
    ///
    /// # Errors
    /// When another command of it is unknown or refused. Of a frame with one that nobody knows,
    /// nothing has been applied.
    pub fn apply(
        &mut self,
        instance: &Instance,
        thread: &mut ThreadContext,
        unit: &Unit<'_>,
        leaves_out: impl Fn(&Parted) -> bool,
    ) -> Result<Followed, Parted> {
        let mut followed = Followed::default();
        self.now = instance.clock.now();
        self.session.counts_from_now.set(false);
        let pass_over = |parted| if leaves_out(&parted) { Ok(()) } else { Err(parted) };
        let is_framed = unit.is_framed && unit.commands().len() > 0;
        if is_framed {
            followed.is_data = true;
            self.frame(instance, thread, FRAME_BEGIN)?;
        }
        for command in unit.commands() {
            let run = self.run(instance, thread, command, &mut followed);
            if let Err(parted) = run.or_else(|parted| {
                followed.is_data = true;
                pass_over(parted)
            }) {
                if is_framed {
                    self.frame(instance, thread, FRAME_GIVEN_UP)?;
                }
                return Err(parted);
            }
        }
        if is_framed {
            self.frame(instance, thread, FRAME_END).or_else(pass_over)?;
        }
        followed.lives_from = self.session.counts_from_now.get().then_some(self.now);
        Ok(followed)
    }

    fn frame(
        &mut self,
        instance: &Instance,
        thread: &mut ThreadContext,
        word: &[u8],
    ) -> Result<(), Parted> {
        let span = [Span { start: 0, len: narrow::to_u32(word.len()) }];
        let args = Args::new(word, &span);
        let row = self.memo.find(&args);
        self.execute(instance, thread, row, args)
    }

    fn run(
        &mut self,
        instance: &Instance,
        thread: &mut ThreadContext,
        command: UnitCommand<'_>,
        followed: &mut Followed,
    ) -> Result<(), Parted> {
        let args = Args::new(command.bytes, command.noted.unwrap_or(command.words));
        let (row, left_out) = self.memo.find_noted(args, command.noted.is_some());
        let args = args.behind(left_out);
        let flags = row.spec.flags;
        let selects = flags.contains(Flags::SELECTS);
        if selects && !is_there(instance, &args) {
            return Err(parted(args, NO_DATABASE, PartedKind::Database));
        }
        let is_message = flags.contains(Flags::PUBSUB);
        if changes_data(row) && !is_message || selects {
            followed.is_data = true;
        } else if !is_message {
            // PING, what only replicas and their primaries say to each other, and reads.
            let is_known = row.id != self.nameless();
            let asks = args.len() > 1 && args.get(1).eq_ignore_ascii_case(b"GETACK");
            followed.wants_acknowledgement |= asks;
            return if is_known { Ok(()) } else { Err(parted(args, UNKNOWN, PartedKind::Unknown)) };
        }
        self.execute(instance, thread, row, args)
    }

    fn nameless(&self) -> usize {
        self.table.nameless().id
    }

    fn execute(
        &mut self,
        instance: &Instance,
        thread: &mut ThreadContext,
        row: &'static Row,
        args: Args<'_>,
    ) -> Result<(), Parted> {
        self.reply.clear();
        let began = instance.stopwatch.read();
        let statistics = &*self.statistics;
        let refusals = statistics.server.refusals.get();
        let environment = Environment { instance, table: self.table, statistics, now: self.now };
        let invocation = Invocation::new(row, args).with_turn(Turn::Only);
        let reply = Reply::new(&mut self.reply, Protocol::Resp2);
        let mut call = Call::new(environment, thread, &mut self.session, invocation, reply);
        let granted = Needs::empty();
        let execution = execute(&mut call, granted);
        if execution == Execution::Done {
            let nanos = instance.stopwatch.nanos_between(began, instance.stopwatch.read());
            let reply_bytes = call.reply.written().len() as u64;
            Observer::of(&instance.settings).count(&call, Seen { nanos, reply_bytes });
        }
        let is_refused = statistics.server.refusals.get() != refusals
            || matches!(execution, Execution::Postponed | Execution::Waits);
        if !is_refused {
            return Ok(());
        }
        let selects = row.spec.flags.contains(Flags::SELECTS);
        let kind = if selects { PartedKind::Database } else { PartedKind::Refused };
        Err(parted(args, self.refusal(), kind))
    }

    /// The first refusal in the reply.
    fn refusal(&self) -> &[u8] {
        let lines = self.reply.split(|byte| *byte == b'\n');
        let refusal = lines.filter_map(|line| line.strip_prefix(b"-")).next();
        refusal.map_or(b"it does not run".as_slice(), <[u8]>::trim_ascii_end)
    }
}

/// Returns true if the database that is selected exists.
fn is_there(instance: &Instance, args: &Args<'_>) -> bool {
    let number = args.integer(1).ok().and_then(|number| usize::try_from(number).ok());
    number.is_some_and(|number| number < instance.store.databases())
}

fn parted(args: Args<'_>, reason: &[u8], kind: PartedKind) -> Parted {
    let name = args.get(0);
    let words: Vec<String> = args
        .from(0)
        .take(SHOWN_WORDS)
        .map(|word| word[..word.len().min(SHOWN_BYTES)].escape_ascii().to_string())
        .collect();
    Parted {
        command: name[..name.len().min(64)].escape_ascii().to_string(),
        reason: reason[..reason.len().min(256)].escape_ascii().to_string(),
        request: words.join(" "),
        kind,
    }
}

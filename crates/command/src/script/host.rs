//! The host of a script: executes the commands that it calls, as a client would.

use super::reach::may_be_opened;
use super::rules::Rules;
use super::watch::{Look, Watch};
use crate::admission::{Purpose, Rejection, UNKNOWN_NEED, admit, is_fresh};
use crate::call::{Environment, Invocation};
use crate::denial::IN_SCRIPT;
use crate::exec::names;
use crate::find_row::{RowMemo, find_row};
use crate::flags::{Flags, Locks};
use crate::monitor_lines::note;
use crate::observer::{Observer, Seen};
use crate::rights;
use crate::row::{Call, Row, Turn};
use crate::run::{reply_with, run_row};
use crate::waiting::Gathered;
use script::{LogLevel, Protocol, Replication, Verdict};
use session::{Args, Needs, Refusal, Session};
use settings::limits::CLIENT_QUERY_BUFFER_LIMIT;
use std::sync::atomic::Ordering::Relaxed;
use store::{ShardSet, ThreadContext};
use wire::{Reply, Span};

const UNKNOWN_COMMAND: Refusal = Refusal::of("ERR Unknown command called from script");
const WRONG_ARITY: Refusal = Refusal::of("ERR Wrong number of args calling command from script");
const NOT_ALLOWED: Refusal = Refusal::of("ERR This Valkey command is not allowed from script");
const ONLY_READS: Refusal =
    Refusal::of("ERR Write commands are not allowed from read-only scripts.");
const ON_STALE_REPLICA: Refusal = Refusal::of("ERR Can not execute the command on a stale replica");
const HIDDEN_GATE: Refusal = Refusal::of(
    "ERR A script that calls this command has its name in its source or among its arguments",
);

const TOO_LARGE: Refusal =
    Refusal::of("ERR The arguments of the command exceed client-query-buffer-limit");
/// Most bytes of a request: places in it have 32 bits.
const REQUEST_BYTES_MAX: u64 = 2 << 30;
/// Most bytes around a word in a request.
const HEADER_BYTES_MAX: u64 = 32;
const NOT_ITS_KEY: Refusal =
    Refusal::of("ERR The script reaches a key that it was not expected to reach");
const ENDED: Refusal = Refusal::of("ERR The script has been ended");
/// Time of an instruction of Lua, roughly.
const NANOS_PER_INSTRUCTION: u64 = 20;

/// What was granted to a script before it began.
#[derive(Clone, Copy, Debug)]
pub struct Granted {
    /// `MEMORY`, if it may write as far as memory is concerned.
    pub needs: Needs,
    /// True if it may call commands that close the gate.
    pub closes_gate: bool,
}

/// Executes the commands of a script for the client of a session.
pub struct CommandHost<'h, 'c> {
    environment: Environment<'c>,
    thread: &'h mut ThreadContext,
    session: &'h mut Session,
    rules: Rules,
    granted: Granted,
    watch: Watch<'h>,
    request: &'h mut Vec<u8>,
    spans: &'h mut Vec<Span>,
    woken: &'h mut Gathered,
    memo: RowMemo,
    observer: Observer,
    is_monitored: bool,
    has_written: bool,
    has_error: bool,
    /// False while what the script changes is kept out of the journal.
    is_journaled: bool,
}

impl<'h, 'c> CommandHost<'h, 'c> {
    /// The host of a script that is about to begin, under the hold of its thread.
    pub fn new(
        environment: Environment<'c>,
        (thread, session): (&'h mut ThreadContext, &'h mut Session),
        (rules, granted, watch): (Rules, Granted, Watch<'h>),
        (request, spans): (&'h mut Vec<u8>, &'h mut Vec<Span>),
        woken: &'h mut Gathered,
    ) -> CommandHost<'h, 'c> {
        let instance = environment.instance;
        CommandHost {
            environment,
            thread,
            session,
            rules,
            granted,
            watch,
            request,
            spans,
            woken,
            memo: RowMemo::new(environment.table),
            observer: Observer::of(&instance.settings),
            is_monitored: instance.is_monitored(),
            has_written: false,
            has_error: false,
            is_journaled: true,
        }
    }

    /// Returns true if there was an error in the reply of the script.
    pub fn has_error(&self) -> bool {
        self.has_error
    }

    /// Returns true for a request that a client could not send either: its words may be one text
    /// many times over, so what the script may have does not bound it.
    fn is_too_large(&self, words: &[&[u8]]) -> bool {
        let of_client = CLIENT_QUERY_BUFFER_LIMIT.get(&self.environment.instance.settings);
        let bytes: u64 = words.iter().map(|word| word.len() as u64 + HEADER_BYTES_MAX).sum();
        bytes > of_client.min(REQUEST_BYTES_MAX)
    }

    /// Writes the request of a call in RESP.
    fn write_request(&mut self, words: &[&[u8]]) {
        self.request.clear();
        self.spans.clear();
        session::write_request(words, self.request, self.spans);
    }

    /// Executes the request that was written, and appends its reply. Returns the nanoseconds that
    /// it took.
    fn execute(&mut self, protocol: wire::Protocol, out: &mut Vec<u8>) -> u64 {
        let (request, spans) = (std::mem::take(self.request), std::mem::take(self.spans));
        let args = Args::new(&request, &spans);
        let row = self.memo.find(&args);
        let nanos = if std::ptr::eq(row, self.environment.table.nameless()) {
            self.refuse_misnamed(args, protocol, out);
            0
        } else {
            self.run(Invocation::new(row, args).with_turn(Turn::Only), protocol, out)
        };
        (*self.request, *self.spans) = (request, spans);
        nanos
    }

    fn run(
        &mut self,
        invocation: Invocation<'_>,
        protocol: wire::Protocol,
        out: &mut Vec<u8>,
    ) -> u64 {
        let row = invocation.row;
        let instance = self.environment.instance;
        self.session.protocol = protocol;
        if row.spec.flags.intersects(Flags::PUBSUB.union(Flags::ADMIN)) {
            instance.store.deliver_events(self.thread);
        } else {
            instance.store.deliver_events_if_many(self.thread);
        }
        let effects = (!self.is_journaled).then(|| self.thread.effects_so_far());
        let began = instance.stopwatch.read();
        let ahead = out.len();
        let reply = Reply::new(out, protocol);
        let mut call = Call::new(self.environment, self.thread, self.session, invocation, reply);
        if let Some(refusal) = refusal(&mut call, self.rules, self.granted, self.has_written) {
            let is_of_rights = refusal.text().starts_with(IN_SCRIPT.as_bytes());
            let code = if is_of_rights { "NOPERM" } else { refusal.code() };
            call.reply.error(refusal.text());
            instance.statistics.count_error(code);
            call.statistics.commands[row.id].rejected.add(1);
            return 0;
        }
        if !take_shards(&mut call) {
            debug_assert!(false, "a script reaches only keys that its proof tells");
            reply_with(&mut call, &NOT_ITS_KEY);
            return 0;
        }
        if row.spec.flags.contains(Flags::WRITE) && !self.watch.begin_to_write() {
            // The run ends before it sees this.
            reply_with(&mut call, &ENDED);
            return u64::MAX;
        }
        let is_done = run_row(&mut call);
        if row.spec.flags.contains(Flags::WRITE) && instance.waiters.count() > 0 {
            self.woken.add(&call);
        }
        let nanos = instance.stopwatch.nanos_between(began, instance.stopwatch.read());
        let reply_bytes = call.reply.written().len().saturating_sub(ahead) as u64;
        self.observer.count(&call, Seen { nanos, reply_bytes });
        if self.is_monitored {
            note(&mut call);
        }
        call.session.client.commands.fetch_add(1, Relaxed);
        self.has_written |= is_done && row.spec.flags.contains(Flags::WRITE);
        if let Some(effects) = effects {
            self.thread.drop_effects_since(effects);
        }
        nanos
    }

    /// Answers a call of a command that does not exist, or with a wrong number of arguments.
    #[cold]
    fn refuse_misnamed(&mut self, args: Args<'_>, protocol: wire::Protocol, out: &mut Vec<u8>) {
        let table = self.environment.table;
        let misnamed = find_row(table, &args).err();
        let row = misnamed.as_ref().and_then(|it| it.row);
        let refusal = match misnamed {
            Some(_) if row.is_some() => WRONG_ARITY,
            // Of a subcommand the refusal says more.
            Some(misnamed) if table.find(args.get(0)).is_some() => misnamed.refusal,
            _ => UNKNOWN_COMMAND,
        };
        let invocation = Invocation::new(row.unwrap_or(table.nameless()), args);
        let reply = Reply::new(out, protocol);
        let mut call = Call::new(self.environment, self.thread, self.session, invocation, reply);
        reply_with(&mut call, &refusal);
        if let Some(row) = row {
            call.statistics.commands[row.id].rejected.add(1);
        }
    }
}

/// Takes the shards that a command reaches, unless the run has them. Returns false if it may not.
fn take_shards(call: &mut Call<'_>) -> bool {
    let (row, store, mut shards) = (call.row, &call.instance.store, ShardSet::new());
    let names = if row.has_one_key { None } else { names(row, call.args) };
    match row.spec.locks {
        Locks::ItsKeys if row.has_one_key => {
            let hash = store.hash(call.args.get(row.first_key));
            shards.add(hash);
            call.first_hash = Some(hash);
        }
        Locks::ItsKeys if names.is_some() => {
            names.into_iter().flatten().for_each(|name| shards.add(store.hash(name)));
        }
        Locks::ItsKeys => {
            // It does not tell all its keys, as one that fails, or PFMERGE of one key. A script
            // that is proven cannot take all shards, and need not: what stands where keys may stand
            // are its own.
            store.grow(call.thread, &ShardSet::all());
        }
        Locks::AllFree => {}
        _ => shards = ShardSet::all(),
    }
    store.grow(call.thread, &shards)
}

/// Returns why a script may not call a command.
fn refusal(
    call: &mut Call<'_>,
    rules: Rules,
    granted: Granted,
    has_written: bool,
) -> Option<Refusal> {
    let flags = call.row.spec.flags;
    if flags.contains(Flags::NOSCRIPT) && !is_open_to(call) {
        return Some(NOT_ALLOWED);
    }
    let is_write = flags.contains(Flags::WRITE);
    let purpose = match is_write && !has_written {
        true => Purpose::FirstOfScript,
        false => Purpose::InScript,
    };
    if let Err(rejection) = admit(call, granted.needs, Purpose::InScript) {
        return Some(of_rejection(rejection));
    }
    if rules.only_reads && flags.intersects(Flags::WRITE.union(Flags::MAY_REPLICATE)) {
        return Some(ONLY_READS);
    }
    if call.row.needs.contains(Needs::FRESH) && !is_fresh(call) {
        return Some(ON_STALE_REPLICA);
    }
    if call.row.spec.locks == Locks::Gate && !granted.closes_gate {
        return Some(HIDDEN_GATE);
    }
    admit(call, granted.needs, purpose).err().map(of_rejection)
}

/// Returns true for what scripts may not call, while a test has them call it.
fn is_open_to(call: &Call<'_>) -> bool {
    may_be_opened(call.row) && call.instance.scripts.may_debug.load(Relaxed)
}

fn of_rejection(rejection: Rejection) -> Refusal {
    match rejection {
        Rejection::Refused(refusal) => refusal,
        _ => UNKNOWN_NEED,
    }
}

impl script::Host for CommandHost<'_, '_> {
    fn call(&mut self, call: &script::Call<'_>, reply: &mut Vec<u8>) -> u32 {
        if self.is_too_large(call.arguments) {
            let refusal = TOO_LARGE;
            self.environment.instance.statistics.count_error(refusal.code());
            Reply::new(reply, wire::Protocol::Resp2).error(refusal.text());
            return 0;
        }
        self.write_request(call.arguments);
        let protocol = match call.protocol {
            Protocol::Resp2 => wire::Protocol::Resp2,
            Protocol::Resp3 => wire::Protocol::Resp3,
        };
        let nanos = self.execute(protocol, reply);
        u32::try_from(nanos / NANOS_PER_INSTRUCTION).unwrap_or(u32::MAX)
    }

    fn poll(&mut self) -> Verdict {
        let look = self.watch.look(self.thread, self.has_written);
        match look {
            // TIME goes on, as it does in Valkey once a script is slow.
            Look::GoesOnSlowly => {
                self.session.stopped_at = Some(self.environment.instance.clock.micros());
            }
            Look::IsLost(_) => self.thread.lose_unit(),
            Look::GoesOn | Look::Ends(_) => {}
        }
        look.verdict()
    }

    fn reply_error(&mut self, text: &[u8], is_counted: bool) {
        self.has_error = true;
        if !is_counted {
            let code = Refusal::new(text);
            self.environment.instance.statistics.count_error_from_outside(code.code());
        }
    }

    fn log(&mut self, level: LogLevel, text: &[u8]) {
        session::log(level, text);
    }

    fn replicate(&mut self, to: Replication) {
        self.is_journaled = to.journal;
    }

    fn may_call(&mut self, arguments: &[&[u8]]) -> Option<bool> {
        if self.is_too_large(arguments) {
            return None;
        }
        self.write_request(arguments);
        let args = Args::new(self.request, self.spans);
        let row: &Row = match find_row(self.environment.table, &args) {
            Ok(row) => row,
            Err(misnamed) => misnamed.row?,
        };
        let Some(user) = self.session.user() else { return Some(true) };
        let databases = rights::DatabasesNow {
            selected: narrow::to_u32(self.session.database),
            count: narrow::to_u32(self.environment.instance.store.databases()),
        };
        Some(rights::permit(user, row, args, databases).is_ok())
    }
}

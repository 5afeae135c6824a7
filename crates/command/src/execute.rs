//! Execution of a request: finds the row, checks its needs against the grants, runs the handler.

use crate::args::Args;
use crate::call::{Call, Row, Table, wrong_arity};
use crate::clients::Pause;
use crate::commands::table;
use crate::exec::exec;
use crate::family::{forget_watches, is_let_in};
use crate::instance::Instance;
use crate::monitors::note_and_tell;
use crate::needs::Needs;
use crate::own_changes::{tell_behind, tell_evicted};
use crate::refusal::{Refusal, begin_of, begin_of_all};
use crate::run::{Execution, RECORD_OVERHEAD, finish, tell};
use crate::spec::Flags;
use crate::waiting;
use settings::general::HIDE_USER_DATA_FROM_LOG;

/// Reason why a command does not run.
enum Rejection {
    /// The client gets the refusal as its reply.
    Refused(Refusal),
    /// The command is held back and may run later.
    Held,
    /// The command runs, and is shown to those who run MONITOR, or its client is told which keys it
    /// changes that the client may have cached.
    Observed,
    /// The command is queued for EXEC.
    Queued,
    /// The command is EXEC, and the queue runs in its place.
    RunsQueue,
    /// The sender is no client: it gets no reply, and its connection is closed.
    NoClient,
}

/// Returns the needs that are checked once per batch, since the check is costly: `MEMORY` if there
/// is memory for more data.
pub fn granted_for_batch(instance: &Instance) -> Needs {
    if instance.has_memory() { Needs::MEMORY } else { Needs::empty() }
}

/// Cache of the row that was found last, since pipelines mostly repeat a command.
#[derive(Clone, Copy, Debug)]
pub struct RowMemo {
    name: u128,
    name_len: usize,
    words: usize,
    row: &'static Row,
}

impl Default for RowMemo {
    fn default() -> RowMemo {
        RowMemo { name: 0, name_len: 0, words: 0, row: table().nameless() }
    }
}

impl RowMemo {
    /// The cached row: the last one found, unless its name is too long or it has subcommands.
    #[inline]
    pub fn latest(&self) -> &'static Row {
        self.row
    }

    /// Finds the row of a request; a row that is always refused if the request has none.
    #[inline]
    pub fn find(&mut self, args: &Args<'_>) -> &'static Row {
        let name = args.name_bytes();
        let name_len = args.get(0).len();
        if self.name == name && self.name_len == name_len && self.words == args.len() {
            return self.row;
        }
        self.look_up(args)
    }

    /// Finds a row that is not the latest. Apart, so that the comparison is all that the batch's
    /// loop holds.
    #[inline(never)]
    fn look_up(&mut self, args: &Args<'_>) -> &'static Row {
        let (name, name_len) = (args.name_bytes(), args.get(0).len());
        let Ok(row) = find_row(args) else { return table().nameless() };
        // These bytes do not identify a longer name, or a subcommand in the next argument.
        let is_told = row.parent.is_none() && row.spec.subcommands.is_empty();
        if is_told && name_len <= size_of::<u128>() {
            *self = RowMemo { name, name_len, words: args.len(), row };
        }
        row
    }
}

/// Refusal of a request that has no row.
struct Misnamed {
    /// Row that it names, if only the number of arguments is wrong.
    row: Option<&'static Row>,
    refusal: Refusal,
}

/// Finds the row of a request, or of its subcommand if it has one.
#[inline]
fn find_row(args: &Args<'_>) -> Result<&'static Row, Misnamed> {
    let table: &'static Table = table();
    let unknown = |refusal| Misnamed { row: None, refusal };
    let row = table.find_named(args).ok_or_else(|| unknown(unknown_command(args)))?;
    let row = if row.spec.subcommands.is_empty() {
        row
    } else {
        find_child(row, args).map_err(unknown)?
    };
    if row.spec.accepts(args.len()) {
        Ok(row)
    } else {
        Err(Misnamed { row: Some(row), refusal: wrong_arity(row) })
    }
}

fn find_child(row: &'static Row, args: &Args<'_>) -> Result<&'static Row, Refusal> {
    if args.len() < 2 {
        return Ok(row);
    }
    row.find_child(args.get(1)).map_or_else(
        || {
            if row.spec.accepts(args.len()) && row.spec.arity != -2 {
                Ok(row)
            } else {
                Err(unknown_child(row, args))
            }
        },
        Ok,
    )
}

/// Runs a call and writes one reply, which is the refusal if there is one. `granted` is the result
/// of `granted_for_batch`.
pub fn execute(call: &mut Call<'_>, granted: Needs) -> Execution {
    if let Err(rejection) = admit(call, granted) {
        return reject(call, rejection);
    }
    run(call)
}

#[inline(always)]
fn run(call: &mut Call<'_>) -> Execution {
    let waiters = &call.instance.waiters;
    let may_wake = call.row.spec.flags.contains(Flags::WRITE);
    if may_wake && waiters.count() > 0 {
        return waiting::run(call);
    }
    let mark = call.reply.mark();
    let outcome = (call.row.spec.run)(call);
    let execution = finish(call, outcome, mark);
    if may_wake && waiters.count() > 0 {
        waiting::look_again(call);
    }
    execution
}

#[inline]
fn admit(call: &mut Call<'_>, granted: Needs) -> Result<(), Rejection> {
    let granted = granted | call.session.grants | call.instance.grants.get();
    if !granted.contains(call.row.needs) {
        refuse(call, granted)?;
    }
    make_room(call).map_err(Rejection::Refused)
}

/// Makes room for what the command may append.
#[inline(always)]
fn make_room(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.row.spec.flags.contains(Flags::DENYOOM) {
        call.reserve(call.args.bytes() + RECORD_OVERHEAD)?;
    }
    Ok(())
}

/// Checks the needs of a command that are not granted, in order; the first that is really missing
/// is the reason of the rejection.
#[cold]
#[inline(never)]
fn refuse(call: &mut Call<'_>, granted: Needs) -> Result<(), Rejection> {
    if let Some(rejection) = usual_rejection(call.row, granted) {
        return Err(rejection);
    }
    let mut misnamed = None;
    if call.row.needs.contains(Needs::NAMED) {
        if is_web_request(call.args.get(0)) {
            return Err(Rejection::NoClient);
        }
        let found = find_row(&call.args).err();
        call.row = found.as_ref().and_then(|it| it.row).unwrap_or(call.row);
        misnamed = found.map(|it| it.refusal);
    }
    let named = if misnamed.is_some() { Needs::NAMED } else { Needs::empty() };
    let mut needs = call.row.needs | named;
    if let Some(of_queue) = call.session.needs_of_queue() {
        if needs.contains(Needs::QUEUE) {
            needs |= of_queue;
        }
        if call.row.spec.flags.contains(Flags::NO_MULTI) && misnamed.is_none() {
            return Err(Rejection::Refused(not_in_a_transaction(call.row)));
        }
    }
    let pause = pause_in_force(call);
    for need in needs.difference(granted).iter() {
        match need {
            Needs::AUTHENTICATED => return Err(Rejection::Refused(Refusal::NO_AUTH)),
            Needs::NAMED => return misnamed.map_or(Ok(()), |it| Err(Rejection::Refused(it))),
            // Nothing is evicted in a pause, so nothing is refused for lack of memory.
            Needs::MEMORY if pause == Pause::Nothing && !call.instance.has_memory() => {
                return Err(Rejection::Refused(Refusal::OUT_OF_MEMORY));
            }
            Needs::DISK => {
                if let Some(refusal) = call.instance.refusal_of_writes() {
                    return Err(Rejection::Refused(refusal));
                }
            }
            Needs::LOADED if call.instance.loading.is_active() => {
                return Err(Rejection::Refused(Refusal::LOADING));
            }
            Needs::LET_IN if !is_let_in(call) => {
                return Err(Rejection::Refused(not_let_in(call.row)));
            }
            Needs::NO_TRANSACTION => return Err(Rejection::Queued),
            Needs::UNSUBSCRIBED => return Err(Rejection::Refused(subscribed(call.row))),
            Needs::NO_MONITOR => return Err(Rejection::Refused(MONITOR_AND_KEYS)),
            Needs::JOURNAL_ROOM | Needs::MAIL_ROOM | Needs::EVENT_ROOM | Needs::LINE_ROOM => {
                return Err(Rejection::Held);
            }
            Needs::WRITES_FLOW if pause != Pause::Nothing => return Err(Rejection::Held),
            Needs::UNPAUSED if pause == Pause::Everything => return Err(Rejection::Held),
            _ => {}
        }
    }
    match needs.difference(granted) {
        missing if missing.contains(Needs::QUEUE) => Err(Rejection::RunsQueue),
        missing if missing.intersects(Needs::UNOBSERVED) => Err(Rejection::Observed),
        _ => Ok(()),
    }
}

/// Returns the pause in force. If it is over, those whom it held back while they waited run before
/// anything is granted again.
fn pause_in_force(call: &mut Call<'_>) -> Pause {
    waiting::resume_held_back(call.instance, call.thread, call.statistics, call.now);
    call.instance.held_back()
}

/// Returns the rejection of a command that is only observed or queued, as most rejected ones are.
fn usual_rejection(row: &Row, granted: Needs) -> Option<Rejection> {
    match row.needs.difference(granted) {
        missing if Needs::UNOBSERVED.contains(missing) => Some(Rejection::Observed),
        Needs::NO_TRANSACTION if !row.spec.flags.contains(Flags::NO_MULTI) => {
            Some(Rejection::Queued)
        }
        _ => None,
    }
}

/// Finishes a request that does not run by its handler.
#[cold]
#[inline(never)]
fn reject(call: &mut Call<'_>, rejection: Rejection) -> Execution {
    tell_evicted(call);
    let execution = finish_rejected(call, rejection);
    // A transaction may have begun to track.
    if call.session.tracking.is_some() {
        tell_behind(call, execution);
    }
    execution
}

fn finish_rejected(call: &mut Call<'_>, rejection: Rejection) -> Execution {
    match rejection {
        Rejection::Held => return Execution::Held,
        Rejection::Queued => {
            let mut needs = call.row.needs;
            // PING tells of a disk that fails, but as a part of a transaction it needs none.
            needs.set(Needs::DISK, call.row.spec.flags.contains(Flags::WRITE));
            call.session.enqueue((call.row.id, needs), call.args, call.first_hash);
            call.reply.queued();
        }
        Rejection::RunsQueue => {
            let mut mark = call.reply.mark();
            let outcome = exec(call, &mut mark);
            let execution = finish(call, outcome, mark);
            show(call);
            return execution;
        }
        Rejection::Observed => {
            let room = make_room(call);
            tell_evicted(call);
            if let Err(refusal) = room {
                return finish_rejected(call, Rejection::Refused(refusal));
            }
            let execution = run(call);
            show(call);
            return execution;
        }
        Rejection::Refused(refusal) => {
            let refusal = spoiling(call, refusal);
            tell(call, &refusal);
            call.statistics.commands[call.row.id].rejected.add(1);
        }
        Rejection::NoClient => {
            let hides = HIDE_USER_DATA_FROM_LOG.get(&call.instance.settings);
            let client = call.session.client.for_log(hides);
            tracing::warn!(
                "closing a client that speaks HTTP, perhaps a web page made it do so: {client}"
            );
            call.session.close_after_reply = true;
        }
    }
    Execution::Aside
}

/// Makes EXEC run nothing since a command was refused. The refusal of EXEC itself ends the
/// transaction and says so, also where there is none.
fn spoiling(call: &mut Call<'_>, refusal: Refusal) -> Refusal {
    if call.row.spec.flags.contains(Flags::RUNS_QUEUE) {
        call.session.discard_queue();
        forget_watches(call.instance, call.session);
        show(call);
        return refusal.aborting();
    }
    call.session.spoil_queue();
    refusal
}

/// Shows a command to those who run MONITOR, after it has run.
fn show(call: &mut Call<'_>) {
    if call.instance.is_monitored() {
        note_and_tell(call);
    }
}

const MONITOR_AND_KEYS: Refusal = Refusal::of("ERR Replica can't interact with the keyspace");

#[cold]
fn not_let_in(row: &Row) -> Refusal {
    let name = row.full_name.split('|').next().unwrap_or_default();
    Refusal::new(format!(
        "ERR {} command not allowed. If the enable-{name}-command option is set to \"local\", you \
         can run it from a local connection, otherwise you need to set this option in the \
         configuration file, and then restart the server.",
        name.to_ascii_uppercase()
    ))
}

fn not_in_a_transaction(row: &Row) -> Refusal {
    Refusal::new(format!("ERR Command '{}' not allowed inside a transaction", row.full_name))
}

fn subscribed(row: &Row) -> Refusal {
    Refusal::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
         allowed in this context",
        row.full_name
    ))
}

/// Returns true for the first word of an HTTP request, which a browser may have been tricked into
/// sending.
fn is_web_request(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

#[cold]
fn unknown_command(args: &Args<'_>) -> Refusal {
    let (name, rest) = (begin_of(args.get(0)), begin_of_all(args.from(1)));
    let text = "ERR unknown command '{}', with args beginning with: {}";
    Refusal::naming(text, &[name, &rest])
}

#[cold]
fn unknown_child(row: &Row, args: &Args<'_>) -> Refusal {
    let (word, name) = (begin_of(args.get(1)), row.spec.name.as_bytes());
    Refusal::naming("ERR unknown subcommand '{}'. Try {} HELP.", &[word, name])
}

#[cfg(test)]
mod tests {
    use super::{RowMemo, find_row, table};
    use crate::args::Args;
    use crate::clients::Pause;
    use crate::needs::Needs;
    use crate::refusal::Refusal;
    use crate::testing::{STARTED, World, check};
    use std::sync::atomic::Ordering::Relaxed;
    use wire::Span;

    const UNKNOWN: &str = "-ERR unknown command 'NOSUCH', with args beginning with: ";

    fn arity_of(name: &str) -> String {
        format!("-ERR wrong number of arguments for '{name}' command")
    }

    /// Returns the counts of a command: calls, rejections, failures.
    fn counts(world: &World, name: &str) -> (u64, u64, u64) {
        let row = table().find(name.as_bytes()).expect("it exists");
        let counts = &world.statistics.commands[row.id];
        (counts.calls.get(), counts.rejected.get(), counts.failed.get())
    }

    #[test]
    fn a_stranger_hears_of_a_password_before_anything_else() {
        let no_auth = "-NOAUTH Authentication required.";
        let mut world = World::new();
        world.session.set_authenticated(false);
        world.instance.pause(Pause::Everything, STARTED.after(1000));
        let lines = ["NOSUCH", "GET", "GET k", "CONFIG NOSUCH", "CLIENT PAUSE"];
        lines.iter().for_each(|line| check(&mut world, &[(line, no_auth)]));
    }

    #[test]
    fn what_needs_no_password_is_refused_for_its_words() {
        let mut world = World::new();
        world.session.set_authenticated(false);
        for name in ["auth", "reset"] {
            let line = format!("{name}{}", if name == "reset" { " x" } else { "" });
            check(&mut world, &[(&line, &arity_of(name))]);
        }
    }

    #[test]
    fn what_could_not_run_anyway_is_not_held_back() {
        let mut world = World::new();
        world.instance.pause(Pause::Everything, STARTED.after(1000));
        check(&mut world, &[("NOSUCH", UNKNOWN.trim_end()), ("GET", &arity_of("get"))]);
        assert!(world.is_held("GET k") && world.is_held("SET k v"));
    }

    #[test]
    fn a_pause_of_writes_holds_back_what_may_change_data() {
        let mut world = World::new();
        world.instance.pause(Pause::Writes, STARTED.after(1000));
        check(&mut world, &[("GET k", "$-1"), ("PING", "+PONG")]);
        assert!(world.is_held("SET k v") && world.is_held("PFCOUNT k"));
        assert_eq!(counts(&world, "set"), (0, 0, 0));
    }

    #[test]
    fn a_pause_that_is_over_costs_no_second_look() {
        let mut world = World::new();
        world.instance.pause(Pause::Everything, STARTED);
        assert!(!world.instance.grants.get().contains(Needs::UNPAUSED));
        check(&mut world, &[("PING", "+PONG")]);
        assert_eq!(world.instance.grants.get(), Needs::OF_SERVER);
    }

    #[test]
    fn without_memory_writes_are_refused_but_not_in_a_pause() {
        let oom = String::from_utf8_lossy(Refusal::OUT_OF_MEMORY.text()).into_owned();
        let mut world = World::new();
        check(&mut world, &[("CONFIG SET maxmemory 1 maxmemory-policy noeviction", "+OK")]);
        world.instance.other_bytes.store(2, Relaxed);
        check(&mut world, &[("SET k v", &format!("-{oom}")), ("SET", &arity_of("set"))]);
        world.instance.pause(Pause::Writes, STARTED.after(1000));
        assert!(world.is_held("SET k v"));
    }

    #[test]
    fn a_rejection_counts_for_the_command_that_is_named() {
        let mut world = World::new();
        check(&mut world, &[("GET", &arity_of("get")), ("NOSUCH", UNKNOWN.trim_end())]);
        check(&mut world, &[("CONFIG", &arity_of("config"))]);
        assert_eq!(counts(&world, "get"), (0, 1, 0));
        assert_eq!(counts(&world, "config"), (0, 1, 0));
        assert_eq!(world.instance.statistics.errors()["ERR"], 3);
    }

    #[test]
    fn a_web_page_is_not_answered() {
        let mut world = World::new();
        check(&mut world, &[("POST /", "")]);
        assert!(world.session.close_after_reply);
    }

    #[test]
    fn a_remembered_row_is_the_one_that_would_be_found() {
        let requests: [&[&str]; 8] = [
            &["GET", "a"],
            &["get", "a"],
            &["GET", "a", "b"],
            &["COMMAND", "BAD"],
            &["COMMAND", "HELP"],
            &["COMMAND", "COUNT"],
            &["NOSUCH", "a"],
            &["GET", "b"],
        ];
        let mut memo = RowMemo::default();
        for words in requests {
            let request = words.concat();
            let mut start = 0;
            let spans = words.iter().map(|word| {
                let span = Span { start, len: word.len() as u32 };
                start += span.len;
                span
            });
            let spans: Vec<Span> = spans.collect();
            let args = Args::new(request.as_bytes(), &spans);
            let found = find_row(&args).map_or(table().nameless().id, |row| row.id);
            assert_eq!(memo.find(&args).id, found, "{words:?}");
        }
    }
}

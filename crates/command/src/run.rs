//! End of a run: the outcome of a handler becomes the reply.

use crate::flags::Flags;
use crate::row::{Call, Outcome, Unanswered};
use session::{Line, Refusal};
use wire::Mark;

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Execution {
    /// The request is finished, and its reply is written if it gets one.
    Done,
    /// The request is finished, and its reply comes as mail.
    ByMail,
    /// The request is finished, and its run was counted already, before the clients that waited for
    /// its keys were served.
    Counted,
    /// The request is answered without a run: it was refused, or queued for EXEC.
    Aside,
    /// The client waits, for keys or for another thread, and is answered later.
    Waits,
    /// The request is postponed, as by CLIENT PAUSE: nothing has happened, and it is to be executed
    /// later.
    Postponed,
    /// The request is finished, and is one of several parts of a line, which is counted as one
    /// command with its last part.
    Part,
    /// A part of the reply is written, and the request is to be executed once more. It is counted,
    /// and shown to MONITOR, at its end.
    GoesOn,
}

/// Runs a command of a transaction, which never waits, and writes one reply. Returns false if it
/// was refused.
pub fn run_row(call: &mut Call<'_>) -> bool {
    let mark = call.reply.mark();
    let outcome = (call.row.spec.run)(call);
    let is_refused = matches!(outcome, Err(Unanswered::Refused(_)));
    if finish(call, outcome, mark) == Execution::Waits {
        call.reply.truncate(mark);
        if call.row.spec.flags.contains(Flags::ANSWERS_NULL) {
            call.reply.null();
        } else {
            call.reply.null_array();
        }
    }
    !is_refused
}

/// Writes the reply of a refused command, which is its refusal, and counts it. Other outcomes have
/// written their reply, or get it later.
#[inline]
pub fn finish(call: &mut Call<'_>, outcome: Outcome, mark: Mark) -> Execution {
    match outcome {
        Ok(()) => Execution::Done,
        Err(Unanswered::ByMail) => Execution::ByMail,
        Err(Unanswered::Waits) => Execution::Waits,
        Err(Unanswered::Part) => Execution::Part,
        Err(Unanswered::GoesOn) => Execution::GoesOn,
        Err(Unanswered::Refused(refusal)) => {
            call.reply.truncate(mark);
            reply_with(call, &refusal);
            call.statistics.commands[call.row.id].failed.add(1);
            let is_part = call.session.line.get().is_some_and(|line| !line.is_whole());
            if is_part { Execution::Part } else { Execution::Done }
        }
    }
}

/// Writes a refusal as the reply and counts it.
#[cold]
pub fn reply_with(call: &mut Call<'_>, refusal: &Refusal) {
    match call.session.line.get() {
        Some(line) => answer_line(call, &line, refusal),
        None => call.reply.error(refusal.text()),
    }
    call.instance.statistics.count_error(refusal.code());
    call.statistics.server.refusals.add(1);
}

/// Answers a line of Memcached's protocol, of which no later part says anything then.
fn answer_line(call: &mut Call<'_>, line: &Line, refusal: &Refusal) {
    call.session.line.refuse();
    if refusal.code() == OUT_OF_MEMORY && line.request.is_first {
        call.statistics.memcached.no_memory.add(1);
    }
    if !line.request.is_quiet {
        let text = line_of(line.request.command, refusal);
        call.reply.raw(&text);
    }
}

/// Returns the line that tells a client of Memcached's protocol of a refusal.
fn line_of(command: memcached::Command, refusal: &Refusal) -> Vec<u8> {
    match refusal.code() {
        OUT_OF_MEMORY => memcached::reply::OUT_OF_MEMORY.to_vec(),
        NOT_PERMITTED => format!("CLIENT_ERROR {} not allowed\r\n", command.name()).into_bytes(),
        NOT_AUTHENTICATED => memcached::Refusal::Unauthenticated.line().to_vec(),
        _ => [b"SERVER_ERROR ", refusal.text(), b"\r\n"].concat(),
    }
}

/// Codes of refusals that have a line of their own there.
const OUT_OF_MEMORY: &str = "OOM";
const NOT_PERMITTED: &str = "NOPERM";
const NOT_AUTHENTICATED: &str = "NOAUTH";

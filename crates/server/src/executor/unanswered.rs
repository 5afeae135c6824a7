//! Commands that have no answer yet, or a part of one.

use command::{Call, Execution, Observer, Outstanding, Seen};
use session::LineParts;

/// Counts a run whose reply comes as mail, or which is a part of a line. Returns what became of the
/// request, and the command if its client waits for another thread; it is counted when it is
/// answered.
#[cold]
pub fn count_unanswered(
    observer: &Observer,
    call: &mut Call<'_>,
    execution: Execution,
    seen: Seen,
    began: u64,
) -> (Execution, Option<Box<Outstanding>>) {
    match execution {
        Execution::ByMail => {
            let reply_bytes = seen.reply_bytes + call.session.mailed_bytes as u64;
            observer.count(call, Seen { reply_bytes, ..seen });
        }
        Execution::Part | Execution::Aside => {
            return (count_part(observer, call, execution, seen), None);
        }
        Execution::GoesOn => call.statistics.commands[call.row.id].nanos.add(seen.nanos),
        Execution::Waits => return (execution, Outstanding::of(call, began)),
        Execution::Done | Execution::Counted | Execution::Postponed => {}
    }
    (execution, None)
}

/// Adds what a part of a line has taken to the others, and counts all as one command with the last,
/// if the first was let in.
fn count_part(
    observer: &Observer,
    call: &mut Call<'_>,
    execution: Execution,
    seen: Seen,
) -> Execution {
    let Some(line) = call.session.line.get().filter(|line| !line.is_whole()) else {
        return execution;
    };
    let before = call.session.line.take_parts();
    let parts = match line.request.is_first {
        true => (execution == Execution::Part).then(|| LineParts::begin(call.args.from(0))),
        false => before,
    };
    let Some(mut parts) = parts else { return Execution::Aside };
    parts.nanos += seen.nanos;
    parts.reply_bytes += seen.reply_bytes + call.reply.lent_bytes();
    let whole = Seen { nanos: parts.nanos, reply_bytes: parts.reply_bytes };
    if !line.request.is_last {
        parts.request_bytes += line.request.consumed as u64;
        parts.words += call.args.len() - line.words_left_out();
        call.session.line.keep_parts(parts);
        return Execution::Aside;
    }
    // What is written down tells of the parts before.
    call.session.line.keep_parts(parts);
    observer.count_in_pieces(call, whole);
    call.session.line.take_parts();
    Execution::Counted
}

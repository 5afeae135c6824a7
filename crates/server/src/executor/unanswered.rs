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
    let lent_bytes = call.reply.lent_bytes();
    let Some(parts) = call.session.line.parts_mut() else { return execution };
    if line.request.is_first {
        let is_let_in = execution == Execution::Part;
        *parts = is_let_in.then(|| LineParts::begin(call.args.from(0)));
    }
    let Some(sum) = parts else { return Execution::Aside };
    sum.nanos += seen.nanos;
    sum.reply_bytes += seen.reply_bytes + lent_bytes;
    if !line.request.is_last {
        sum.request_bytes += line.request.consumed as u64;
        sum.words += call.args.len() - line.words_left_out();
        return Execution::Aside;
    }
    let seen = Seen { nanos: sum.nanos, reply_bytes: sum.reply_bytes };
    observer.count_in_pieces(call, seen);
    call.session.line.parts_mut().into_iter().for_each(|parts| *parts = None);
    Execution::Counted
}

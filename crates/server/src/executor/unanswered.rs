//! Commands that have no answer yet, or a part of one.

use command::{Call, Execution, Observer, Outstanding, Seen};
use session::LineParts;

/// Counts a run whose reply comes as mail, or which is a part of a line. Returns the command if its
/// client waits for another thread; it is counted when it is answered.
#[cold]
pub fn count_unanswered(
    observer: &Observer,
    call: &mut Call<'_>,
    execution: Execution,
    seen: Seen,
    began: u64,
) -> Option<Box<Outstanding>> {
    match execution {
        Execution::ByMail => {
            let reply_bytes = seen.reply_bytes + call.session.mailed_bytes as u64;
            observer.count(call, Seen { reply_bytes, ..seen });
        }
        Execution::Part => count_part(observer, call, seen),
        Execution::GoesOn => call.statistics.commands[call.row.id].nanos.add(seen.nanos),
        Execution::Waits => return Outstanding::of(call, began),
        Execution::Done | Execution::Counted | Execution::Aside | Execution::Postponed => {}
    }
    None
}

/// Adds what a part of a line has taken to the others, and counts all as one command with the last.
fn count_part(observer: &Observer, call: &mut Call<'_>, seen: Seen) {
    let Some(line) = call.session.line else { return };
    if line.request.is_first {
        call.session.parts = Some(LineParts::default());
    }
    // Without any, the first part was not let in.
    let Some(parts) = &mut call.session.parts else { return };
    parts.nanos += seen.nanos;
    parts.reply_bytes += seen.reply_bytes;
    if line.request.is_last {
        let seen = Seen { nanos: parts.nanos, reply_bytes: parts.reply_bytes };
        observer.count_in_pieces(call, seen);
        call.session.parts = None;
    } else {
        parts.request_bytes += line.request.consumed as u64;
        parts.words += call.args.len() - line.words_left_out();
    }
}

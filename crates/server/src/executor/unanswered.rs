//! Commands that have no answer yet.

use command::{Call, Execution, Observer, Outstanding, Seen};

/// Counts a run whose reply comes as mail. Returns the command if its client waits for another
/// thread; it is counted when it is answered.
#[cold]
pub fn count_unanswered(
    observer: &Observer,
    call: &Call<'_>,
    execution: Execution,
    seen: Seen,
    began: u64,
) -> Option<Box<Outstanding>> {
    match execution {
        Execution::ByMail => {
            let reply_bytes = seen.reply_bytes + call.session.mailed_bytes as u64;
            observer.count(call, Seen { reply_bytes, ..seen });
        }
        Execution::GoesOn => call.statistics.commands[call.row.id].nanos.add(seen.nanos),
        Execution::Waits => return Outstanding::of(call, began),
        Execution::Done | Execution::Counted | Execution::Aside | Execution::Postponed => {}
    }
    None
}

//! MONITOR: every command, as it ran.

use command::{Call, Outcome, Turn, begin_monitor};
use session::Refusal;

const NOT_IN_A_TRANSACTION: Refusal =
    Refusal::of("ERR MONITOR isn't allowed for DENY BLOCKING client");

/// Shows the client every command from now on. There is no reply if that was so before.
pub(super) fn monitor(call: &mut Call<'_>) -> Outcome {
    if call.turn == Turn::Only {
        return Err(NOT_IN_A_TRANSACTION.into());
    }
    if !call.session.is_monitor() {
        begin_monitor(call.instance, call.session);
        call.reply.ok();
    }
    Ok(())
}

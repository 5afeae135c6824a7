//! WAIT and WAITAOF: until what the client wrote is acknowledged.

use command::{Call, NO_JOURNAL, Outcome, Timeout, Turn, write_counts};
use session::{Late, Refusal, Wants};
use settings::journal::APPENDONLY;
use std::sync::Arc;
use store::Kind;

const BAD_NUMLOCAL: Refusal = Refusal::of("ERR value is out of range, value must between 0 and 1");

/// Waits for replicas. There are none.
pub fn wait(call: &mut Call<'_>) -> Outcome {
    let replicas = call.args.integer(1)?;
    let timeout = Timeout::millis(call, 2)?;
    if replicas <= 0 || call.turn == Turn::Only {
        call.reply.integer(0);
        return Ok(());
    }
    begin(call, timeout, Late::Replicas)
}

/// Waits for the journal, and for replicas.
pub fn wait_aof(call: &mut Call<'_>) -> Outcome {
    let wants_sync = match call.args.integer(1)? {
        0 => false,
        1 => true,
        _ => return Err(BAD_NUMLOCAL.into()),
    };
    let wants_replicas = call.args.positive(2)? > 0;
    let timeout = Timeout::millis(call, 3)?;
    let instance = call.instance;
    if wants_sync && !APPENDONLY.get(&instance.settings) {
        return Err(NO_JOURNAL.into());
    }
    let position = call.session.last_unit;
    let is_synced = instance.journal.is_synced(position);
    let is_done = !wants_replicas && (is_synced || !wants_sync);
    if is_done || call.turn == Turn::Only {
        write_counts(&mut call.reply, is_synced);
        return Ok(());
    }
    let outcome = begin(call, timeout, Late::Synced(position));
    let waiter = call.session.client.waiter().as_ref().map(Arc::clone);
    if wants_sync && let Some(waiter) = waiter {
        command::await_sync(instance, waiter, position, wants_replicas);
    }
    outcome
}

/// Begins a wait that keys do not end.
fn begin(call: &Call<'_>, timeout: Timeout, late: Late) -> Outcome {
    let wants = Wants { kind: Kind::String, minds_loss: false };
    call.wait(timeout, wants).late(late).begin(std::iter::empty())
}

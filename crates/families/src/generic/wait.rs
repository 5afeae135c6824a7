//! WAIT and WAITAOF: until what the client wrote is acknowledged.

use command::{Call, NO_JOURNAL, Outcome, Timeout, Turn};
use session::{Late, Place, Refusal, Wanted, Wants};
use settings::journal::APPENDONLY;
use std::sync::Arc;
use store::Kind;

const BAD_NUMLOCAL: Refusal = Refusal::of("ERR value is out of range, value must between 0 and 1");

const IF_WRITABLE: &str = "if a replica is configured to be writable (which is not the default) ";

/// Waits for replicas.
pub fn wait(call: &mut Call<'_>) -> Outcome {
    is_primary(call, IF_WRITABLE)?;
    let replicas = usize::try_from(call.args.integer(1)?).unwrap_or(0);
    let timeout = Timeout::millis(call, 2)?;
    begin(call, timeout, Wanted::Replicas(replicas))
}

/// Waits for files: those of this server, and those of replicas.
pub fn wait_aof(call: &mut Call<'_>) -> Outcome {
    let wants_sync = match call.args.integer(1)? {
        0 => false,
        1 => true,
        _ => return Err(BAD_NUMLOCAL.into()),
    };
    let replicas = usize::try_from(call.args.positive(2)?).unwrap_or(usize::MAX);
    let timeout = Timeout::millis(call, 3)?;
    is_primary(call, "")?;
    if wants_sync && !APPENDONLY.get(&call.instance.settings) {
        return Err(NO_JOURNAL.into());
    }
    begin(call, timeout, Wanted::Files(replicas, wants_sync))
}

/// Refuses a wait for replicas on a replica, whose writes, `when` there are any, go nowhere.
fn is_primary(call: &Call<'_>, when: &str) -> Result<(), Refusal> {
    if !call.instance.upstream.is_replica() {
        return Ok(());
    }
    let name = call.row.spec.name;
    Err(Refusal::new(format!(
        "ERR {name} cannot be used with replica instances. Please also note that {when}writes to \
         replicas are just local and are not propagated."
    )))
}

/// Answers at once if that is there which the client waits for, or if it may not wait. Otherwise
/// begins a wait that keys do not end.
fn begin(call: &mut Call<'_>, timeout: Timeout, wanted: Wanted) -> Outcome {
    let (instance, position) = (call.instance, call.session.last_unit);
    if call.turn == Turn::Only || command::is_acknowledged(instance, position, wanted) {
        match wanted {
            Wanted::Replicas(_) => command::write_count(&mut call.reply, instance, position),
            Wanted::Files(..) => command::write_file_counts(&mut call.reply, instance, position),
        }
        return Ok(());
    }
    let late = match wanted {
        Wanted::Replicas(_) => Late::Replicas(position),
        Wanted::Files(..) => Late::Synced(position),
    };
    let wants = Wants { kind: Kind::String, minds_loss: false };
    let outcome = call.wait(timeout, wants).late(late).begin(std::iter::empty());
    let waiter = call.session.client.waiter().as_ref().map(Arc::clone);
    if let Some(waiter) = waiter {
        command::await_acknowledged(instance, Place { waiter, position, wanted });
    }
    outcome
}

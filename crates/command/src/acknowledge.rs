//! Answers to clients that wait for acknowledgements.

use session::{Instance, Late, Place, Refusal, Waiter, Wanted};
use settings::journal::APPENDONLY;
use std::sync::Arc;
use wire::Reply;

/// WAITAOF for the journal of a server that keeps none.
pub const NO_JOURNAL: Refusal =
    Refusal::of("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");

/// Enters a client that waits until a position is acknowledged.
pub fn await_acknowledged(instance: &Instance, place: Place) {
    let (position, wanted) = (place.position, place.wanted);
    instance.acknowledged.add(place);
    // In between it may have been acknowledged, or the journal turned off.
    if is_acknowledged(instance, position, wanted) || is_in_vain(instance, wanted) {
        answer_acknowledged(instance);
    }
    if wanted.replicas() > 0 {
        instance.replicas.ask_for_acknowledgements();
    }
}

/// Answers the clients whose changes were acknowledged, or never will be as the journal is off. To
/// be called when more is, and from time to time, to forget clients that do not wait any more.
pub fn answer_acknowledged(instance: &Instance) {
    if instance.acknowledged.is_empty() {
        return;
    }
    instance.acknowledged.retain(|place| {
        if place.waiter.is_over() {
            return false;
        }
        if is_in_vain(instance, place.wanted) {
            answer(instance, &place.waiter, |reply| reply.error(NO_JOURNAL.text()));
        } else if is_acknowledged(instance, place.position, place.wanted) {
            answer(instance, &place.waiter, |reply| match place.wanted {
                Wanted::Replicas(_) => write_count(reply, instance, place.position),
                Wanted::Files(..) => write_file_counts(reply, instance, place.position),
            });
        } else {
            return true;
        }
        false
    });
}

/// Returns true if a client waits for the journal of a server that keeps none.
fn is_in_vain(instance: &Instance, wanted: Wanted) -> bool {
    matches!(wanted, Wanted::Files(_, true)) && !APPENDONLY.get(&instance.settings)
}

/// Returns true if a client has at a position what it waits for.
pub fn is_acknowledged(instance: &Instance, position: u64, wanted: Wanted) -> bool {
    let replicas = &instance.replicas;
    match wanted {
        Wanted::Replicas(count) => replicas.count_acknowledged(position) >= count,
        Wanted::Files(count, local) => {
            (!local || instance.journal.is_synced(position))
                && (count == 0 || replicas.count_synced(position) >= count)
        }
    }
}

/// Answers a waiter whose time is over.
pub fn time_out(instance: &Instance, waiter: &Arc<Waiter>) -> bool {
    answer(instance, waiter, |reply| match waiter.late() {
        Late::Null | Late::Never => reply.null_array(),
        Late::Replicas(position) => write_count(reply, instance, position),
        Late::Synced(position) => write_file_counts(reply, instance, position),
    })
}

fn answer(instance: &Instance, waiter: &Arc<Waiter>, write: impl FnOnce(&mut Reply<'_>)) -> bool {
    instance.waiters.answer(&instance.clients, waiter, write)
}

/// Writes how many replicas have acknowledged a position.
pub fn write_count(reply: &mut Reply<'_>, instance: &Instance, position: u64) {
    reply.integer(instance.replicas.count_acknowledged(position) as i64);
}

/// Writes whether the files of this server have a position, and those of how many replicas.
pub fn write_file_counts(reply: &mut Reply<'_>, instance: &Instance, position: u64) {
    reply.array(2);
    reply.integer(instance.journal.is_synced(position).into());
    reply.integer(instance.replicas.count_synced(position) as i64);
}

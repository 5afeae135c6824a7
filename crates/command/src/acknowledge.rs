//! Answers to clients that wait for acknowledgements.

use session::{Instance, Late, Place, Refusal, Waiter};
use settings::journal::APPENDONLY;
use std::sync::Arc;
use wire::Reply;

/// WAITAOF for the journal of a server that keeps none.
pub const NO_JOURNAL: Refusal =
    Refusal::of("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");

/// Enters a client that waits until a position is synced, and for replicas if it wants some.
pub fn await_sync(instance: &Instance, waiter: Arc<Waiter>, position: u64, wants_replicas: bool) {
    instance.acknowledged.add(Place { waiter, position, wants_replicas });
    // In between it may have been synced, or the journal turned off.
    let is_synced = !wants_replicas && instance.journal.is_synced(position);
    if is_synced || !APPENDONLY.get(&instance.settings) {
        answer_acknowledged(instance);
    }
}

/// Answers the clients whose changes were synced, or never will be as the journal is off. To be
/// called when more is synced, and from time to time, to forget clients that do not wait any more.
pub fn answer_acknowledged(instance: &Instance) {
    if instance.acknowledged.is_empty() {
        return;
    }
    let is_off = !APPENDONLY.get(&instance.settings);
    instance.acknowledged.retain(|place| {
        if place.waiter.is_over() {
            return false;
        }
        let is_done = !place.wants_replicas && instance.journal.is_synced(place.position);
        if is_off {
            instance
                .waiters
                .answer(&instance.clients, &place.waiter, |reply| reply.error(NO_JOURNAL.text()));
        } else if is_done {
            instance
                .waiters
                .answer(&instance.clients, &place.waiter, |reply| write_counts(reply, true));
        }
        !(is_off || is_done)
    });
}

/// Answers a waiter whose time is over.
pub fn time_out(instance: &Instance, waiter: &Arc<Waiter>) -> bool {
    instance.waiters.answer(&instance.clients, waiter, |reply| match waiter.late() {
        Late::Null | Late::Never => reply.null_array(),
        Late::Replicas => reply.integer(0),
        Late::Synced(position) => write_counts(reply, instance.journal.is_synced(position)),
    })
}

/// Writes how many journals and how many replicas have acknowledged.
pub fn write_counts(reply: &mut Reply<'_>, is_synced: bool) {
    reply.array(2);
    reply.integer(is_synced.into());
    reply.integer(0);
}

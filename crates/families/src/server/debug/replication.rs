//! DEBUG subcommands that act on the stream of changes, or on the link to the primary.

use super::switches::is_on;
use command::{Call, Outcome};
use session::Refusal;
use std::sync::atomic::Ordering::Relaxed;

const NO_ID: Refusal = Refusal::of("ERR no id could be drawn");
const OF_ITS_PRIMARY: Refusal =
    Refusal::of("ERR the stream of a replica is the one of its primary");

/// Gives the stream another id. Replicas that are there stay, and need a snapshot when they come
/// back.
pub(super) fn change_id(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    if !instance.replicas.forget_history(&instance.store, call.thread) {
        return Err(NO_ID.into());
    }
    tracing::info!("Changing replication IDs after receiving DEBUG change-repl-id");
    call.reply.ok();
    Ok(())
}

/// Puts the words into the stream as they are. Files have none of it: their data would be other
/// data than that of this server.
pub(super) fn replicate(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    if instance.upstream.is_replica() {
        return Err(OF_ITS_PRIMARY.into());
    }
    if instance.replicas.may_be_reached() && instance.store.has_journal() {
        let mut request = Vec::new();
        call.args.write_request_from(2, &mut request);
        call.thread.put_aside(&request);
    }
    call.reply.ok();
    Ok(())
}

pub(super) fn close_link_late(call: &mut Call<'_>) -> Outcome {
    call.instance.upstream.closes_late.store(is_on(call.args.get(2)), Relaxed);
    call.reply.ok();
    Ok(())
}

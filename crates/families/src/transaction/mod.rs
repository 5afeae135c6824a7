//! Transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH.

mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use command::{Call, Outcome};
use session::{ClientFlags, DatabaseKey, Refusal};
use store::Interests;

fn multi(call: &mut Call<'_>) -> Outcome {
    call.session.begin_queue();
    call.reply.ok();
    Ok(())
}

fn discard(call: &mut Call<'_>) -> Outcome {
    if !call.session.discard_queue() {
        return Err(Refusal::of("ERR DISCARD without MULTI").into());
    }
    call.session.forget_watches(&call.instance.watches);
    call.reply.ok();
    Ok(())
}

fn watch(call: &mut Call<'_>) -> Outcome {
    let store = &call.instance.store;
    // Before the locks: a thread that changes one of the keys behind them marks its watchers.
    call.instance.add_interest(Interests::MARKED_KEYS);
    let mut watching = call.session.watching.take().unwrap_or_default();
    let may_wait = !call.thread.never_waits() && !call.instance.is_busy();
    for at in 1..call.args.len() {
        let key = call.key(at);
        let database_key = DatabaseKey::new(call.session.database, key.bytes, key.hash);
        let access = match may_wait {
            true => Some(store.lock(call.thread, &key, call.now)),
            false => store.try_lock(call.thread, &key, call.now),
        };
        let (client, watches) = (&call.session.client, &call.instance.watches);
        if let Some(access) = access {
            let deadline = access.deadline_of(&key);
            watches.add(&mut watching, client, database_key, deadline, call.now);
        } else {
            // A slow script has the key. It may have changed it already: for EXEC it has.
            watches.add(&mut watching, client, database_key, None, call.now);
            client.set_flag(ClientFlags::CHANGED, true);
        }
    }
    call.session.watching = Some(watching);
    call.session.note_watching();
    call.reply.ok();
    Ok(())
}

fn unwatch(call: &mut Call<'_>) -> Outcome {
    call.session.forget_watches(&call.instance.watches);
    call.reply.ok();
    Ok(())
}

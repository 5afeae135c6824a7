//! Transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH.

mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use command::{Call, Outcome};
use session::{DatabaseKey, Refusal};
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
    for at in 1..call.args.len() {
        let key = call.key(at);
        let database_key = DatabaseKey::new(call.session.database, key.bytes, key.hash);
        let access = store.lock(call.thread, &key, call.now);
        let (client, deadline) = (&call.session.client, access.deadline_of(&key));
        call.instance.watches.add(&mut watching, client, database_key, deadline, call.now);
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

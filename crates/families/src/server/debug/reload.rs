//! DEBUG RELOAD saves all data and loads it again; LOADAOF loads the append-only files.

use command::{Call, Outcome, Turn};
use session::{Refusal, Reload};

pub(super) fn reload(call: &mut Call<'_>) -> Outcome {
    not_in_a_transaction(call)?;
    let mut how = Reload { saves: true, flushes: true, merges: false };
    for at in 2..call.args.len() {
        if call.args.is(at, "MERGE") {
            how.merges = true;
        } else if call.args.is(at, "NOFLUSH") {
            how.flushes = false;
        } else if call.args.is(at, "NOSAVE") {
            how.saves = false;
        } else {
            return Err(Refusal::of(
                "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
            )
            .into());
        }
    }
    let instance = call.instance;
    instance.data_files.reload(instance, call.thread, how).map_err(Refusal::new)?;
    call.reply.ok();
    Ok(())
}

/// Refuses what waits for other threads while a transaction keeps them out.
fn not_in_a_transaction(call: &Call<'_>) -> Outcome {
    if call.turn == Turn::Only {
        let text = "ERR DEBUG RELOAD and LOADAOF are not allowed inside a transaction";
        return Err(Refusal::of(text).into());
    }
    Ok(())
}

pub(super) fn load_aof(call: &mut Call<'_>) -> Outcome {
    not_in_a_transaction(call)?;
    let instance = call.instance;
    instance.data_files.load_aof(instance, call.thread).map_err(Refusal::new)?;
    call.reply.ok();
    Ok(())
}

//! DEBUG RELOAD saves all data and loads it again; LOADAOF loads the append-only files.

use crate::call::{Call, Outcome};
use crate::instance::Reload;
use crate::refusal::Refusal;

pub(super) fn reload(call: &mut Call<'_>) -> Outcome {
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

pub(super) fn load_aof(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    instance.data_files.load_aof(instance, call.thread).map_err(Refusal::new)?;
    call.reply.ok();
    Ok(())
}

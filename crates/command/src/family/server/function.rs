//! FUNCTION: replies for a server without functions.

use crate::call::{Call, Outcome};
use crate::refusal::Refusal;

pub(super) fn flush(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    if args.len() > 3 || (args.len() == 3 && !args.is(2, "SYNC") && !args.is(2, "ASYNC")) {
        return Err(Refusal::of("ERR FUNCTION FLUSH only supports SYNC|ASYNC option").into());
    }
    call.reply.ok();
    Ok(())
}

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let mut at = 2;
    while at < args.len() {
        if args.is(at, "WITHCODE") {
            at += 1;
        } else if args.is(at, "LIBRARYNAME") {
            if at + 1 >= args.len() {
                return Err(Refusal::of("ERR library name argument was not given").into());
            }
            at += 2;
        } else {
            return Err(Refusal::naming("ERR Unknown argument {}", &[args.get(at)]).into());
        }
    }
    call.reply.array(0);
    Ok(())
}

//! One bit: GETBIT, SETBIT.

use super::{SETBIT, offset_within_limit};
use command::{Call, Outcome};
use session::Refusal;
use store::value::{bitmap, string};

pub fn getbit(call: &mut Call<'_>) -> Outcome {
    let offset = offset_within_limit(call, text::parse_i64(call.args.get(2)))?;
    let (mut access, key, reply) = call.on_key(1);
    let on = access.read_string(&key)?.is_some_and(|string| bitmap::get(&string, offset));
    reply.integer(i64::from(on));
    Ok(())
}

pub fn setbit(call: &mut Call<'_>) -> Outcome {
    let offset = offset_within_limit(call, text::parse_i64(call.args.get(2)))?;
    let on = match call.args.get(3) {
        b"0" => false,
        b"1" => true,
        _ => return Err(Refusal::of("ERR bit is not an integer or out of range").into()),
    };
    call.reserve(string::bytes_before((offset / 8) as usize + 1))?;
    let (mut access, key, reply) = call.on_key(1);
    let done = bitmap::set(&mut access, &key, offset, on)?;
    access.report_changes(done.changed.into(), SETBIT, &key);
    reply.integer(i64::from(done.old));
    Ok(())
}

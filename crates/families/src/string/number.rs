//! Counting: INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT.

use command::{Call, Outcome, effects};
use session::Refusal;
use store::value::string;
use store::{Event, Expiry};

const INCRBY: Event = Event::string("incrby");
const INCRBYFLOAT: Event = Event::string("incrbyfloat");

pub fn incr(call: &mut Call<'_>) -> Outcome {
    add(call, 1)
}

pub fn decr(call: &mut Call<'_>) -> Outcome {
    add(call, -1)
}

pub fn incrby(call: &mut Call<'_>) -> Outcome {
    let by = call.args.integer(2)?;
    add(call, by)
}

pub fn decrby(call: &mut Call<'_>) -> Outcome {
    let by = call.args.integer(2)?;
    add(call, by.checked_neg().ok_or(Refusal::of("ERR decrement would overflow"))?)
}

#[inline]
fn add(call: &mut Call<'_>, by: i64) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    reply.integer(string::add(&mut access, &key, by)?);
    access.report_changes(1, INCRBY, &key);
    Ok(())
}

pub fn incrbyfloat(call: &mut Call<'_>) -> Outcome {
    let by = call.args.get(2);
    let (mut access, key, reply) = call.on_key(1);
    let sum = string::add_float(&mut access, &key, by)?;
    access.report_changes(1, INCRBYFLOAT, &key);
    effects::set_with_attributes(&mut access, &key, sum.as_bytes(), Expiry::Keep);
    reply.bulk(sum.as_bytes());
    Ok(())
}

//! Changes inside lists: LSET, LINSERT, LREM, LTRIM.

use super::limit;
use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use store::value::list::{self, Pivot};

const INDEX_OUT_OF_RANGE: Refusal = Refusal::of("ERR index out of range");

pub fn lset(call: &mut Call<'_>) -> Outcome {
    let (args, statistics, limit) = (call.args, call.statistics, limit(call));
    let (mut access, key, reply) = call.on_key(1)?;
    // That there is no list is told before what is wrong with the number.
    list::peek(&access, &key)?.ok_or(Refusal::NO_SUCH_KEY)?;
    let index = args.integer(2)?;
    match list::set(&mut access, &key, index, args.get(3), limit)? {
        None => return Err(Refusal::NO_SUCH_KEY),
        Some(false) => return Err(INDEX_OUT_OF_RANGE),
        Some(true) => {}
    }
    statistics.count_changes(1);
    reply.ok();
    Ok(())
}

pub fn linsert(call: &mut Call<'_>) -> Outcome {
    let (args, statistics, limit) = (call.args, call.statistics, limit(call));
    let is_behind = args.is(2, "AFTER");
    if !is_behind && !args.is(2, "BEFORE") {
        return Err(Refusal::SYNTAX);
    }
    let (mut access, key, reply) = call.on_key(1)?;
    let pivot = Pivot { text: args.get(3), is_behind };
    match list::insert(&mut access, &key, pivot, args.get(4), limit)? {
        None => reply.integer(0),
        Some(None) => reply.integer(-1),
        Some(Some(len)) => {
            statistics.count_changes(1);
            reply.integer(len as i64);
        }
    }
    Ok(())
}

pub fn lrem(call: &mut Call<'_>) -> Outcome {
    let (args, statistics, limit) = (call.args, call.statistics, limit(call));
    let count = args.integer_above(2, i64::MIN)?;
    let (mut access, key, reply) = call.on_key(1)?;
    let removed = list::remove(&mut access, &key, count, args.get(3), limit)?;
    statistics.count_changes(removed);
    reply.integer(removed as i64);
    Ok(())
}

pub fn ltrim(call: &mut Call<'_>) -> Outcome {
    let (start, end) = (call.args.integer(2)?, call.args.integer(3)?);
    let (statistics, limit) = (call.statistics, limit(call));
    let (mut access, key, reply) = call.on_key(1)?;
    let removed = list::trim(&mut access, &key, start, end, limit)?;
    statistics.count_changes(removed);
    reply.ok();
    Ok(())
}

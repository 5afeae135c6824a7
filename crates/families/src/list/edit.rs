//! Changes inside lists: LSET, LINSERT, LREM, LTRIM.

use super::limit;
use command::{Call, Outcome};
use session::Refusal;
use store::Event;
use store::value::list::{self, Pivot};

const LSET: Event = Event::list("lset");
const LINSERT: Event = Event::list("linsert");
const LREM: Event = Event::list("lrem");
const LTRIM: Event = Event::list("ltrim");

const INDEX_OUT_OF_RANGE: Refusal = Refusal::of("ERR index out of range");

pub fn lset(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let (mut access, key, reply) = call.on_key(1);
    // A missing list is reported before a wrong number.
    if list::lookup_without_touch(&access, &key)?.is_none() {
        access.drop_expired(&key);
        return Err(Refusal::NO_SUCH_KEY.into());
    }
    let index = args.integer(2)?;
    match list::set(&mut access, &key, index, args.get(3), limit)? {
        None => return Err(Refusal::NO_SUCH_KEY.into()),
        Some(false) => return Err(INDEX_OUT_OF_RANGE.into()),
        Some(true) => {}
    }
    access.report_changes(1, LSET, &key);
    reply.ok();
    Ok(())
}

pub fn linsert(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let is_behind = args.is(2, "AFTER");
    if !is_behind && !args.is(2, "BEFORE") {
        return Err(Refusal::SYNTAX.into());
    }
    let (mut access, key, reply) = call.on_key(1);
    let pivot = Pivot { text: args.get(3), is_behind };
    match list::insert(&mut access, &key, pivot, args.get(4), limit)? {
        None => reply.integer(0),
        Some(None) => reply.integer(-1),
        Some(Some(len)) => {
            access.report_changes(1, LINSERT, &key);
            reply.integer(len as i64);
        }
    }
    Ok(())
}

pub fn lrem(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let count = args.integer_above(2, i64::MIN)?;
    let (mut access, key, reply) = call.on_key(1);
    let removed = list::remove(&mut access, &key, count, args.get(3), limit)?;
    access.report_removals(removed, LREM, &key);
    reply.integer(removed as i64);
    Ok(())
}

pub fn ltrim(call: &mut Call<'_>) -> Outcome {
    let (start, end) = (call.args.integer(2)?, call.args.integer(3)?);
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let removed = list::trim(&mut access, &key, start, end, limit)?;
    if removed > 0 {
        access.report_removals(removed, LTRIM, &key);
    } else if access.is_recording() && access.lookup_without_touch(&key).is_some() {
        // The event happens even if no element is removed.
        access.record_event(LTRIM, &key);
    }
    reply.ok();
    Ok(())
}

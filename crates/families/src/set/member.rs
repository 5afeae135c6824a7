//! Single members: SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER, SCARD.

use super::limit;
use command::{Call, Outcome};
use store::Event;
use store::value::set;

const SADD: Event = Event::set("sadd");
const SREM: Event = Event::set("srem");

pub fn sadd(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let (mut access, key, reply) = call.on_key(1);
    let added = set::add(&mut access, &key, args.from(2), limit)?;
    access.report_changes(added, SADD, &key);
    reply.integer(added.cast_signed());
    Ok(())
}

pub fn srem(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let removed = set::remove(&mut access, &key, args.from(2))?;
    access.report_removals(removed, SREM, &key);
    reply.integer(removed.cast_signed());
    Ok(())
}

pub fn smove(call: &mut Call<'_>) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let (mut access, keys, reply) = call.on_keys([1, 2]);
    let (from, to) = (keys[0], keys[1]);
    let is_new_set = access.is_recording() && access.lookup_without_touch(&to).is_none();
    let moved = set::move_member(&mut access, &from, &to, args.get(3), limit)?;
    if from.bytes != to.bytes
        && let Some(is_new) = moved
    {
        access.report_removals(1, SREM, &from);
        if is_new_set {
            access.put_off_new_event(&to);
        }
        access.report_changes(is_new.into(), SADD, &to);
    }
    reply.integer(moved.is_some().into());
    Ok(())
}

pub fn sismember(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let set = set::read(&mut access, &key)?;
    reply.integer(set.is_some_and(|set| set.contains(args.get(2))).into());
    Ok(())
}

pub fn smismember(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let set = set::read(&mut access, &key)?;
    reply.array(args.len() - 2);
    for text in args.from(2) {
        reply.integer(set.is_some_and(|set| set.contains(text)).into());
    }
    Ok(())
}

pub fn scard(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let set = set::read(&mut access, &key)?;
    reply.integer(set.map_or(0, |set| set.len().cast_signed()));
    Ok(())
}

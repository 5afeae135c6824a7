//! Single members: SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER, SCARD.

use super::limit;
use crate::call::{Call, Outcome};
use store::value::set;

pub fn sadd(call: &mut Call<'_>) -> Outcome {
    let (args, statistics, limit) = (call.args, call.statistics, limit(call));
    let (mut access, key, reply) = call.on_key(1)?;
    let added = set::add(&mut access, &key, args.from(2), limit)?;
    statistics.count_changes(added);
    reply.integer(added.cast_signed());
    Ok(())
}

pub fn srem(call: &mut Call<'_>) -> Outcome {
    let (args, statistics) = (call.args, call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    let removed = set::remove(&mut access, &key, args.from(2))?;
    statistics.count_changes(removed);
    reply.integer(removed.cast_signed());
    Ok(())
}

pub fn smove(call: &mut Call<'_>) -> Outcome {
    let (args, statistics, limit) = (call.args, call.statistics, limit(call));
    let (mut access, keys, reply) = call.on_keys([1, 2])?;
    let (from, to) = (keys[0], keys[1]);
    let moved = set::move_member(&mut access, &from, &to, args.get(3), limit)?;
    if from.bytes != to.bytes {
        statistics.count_changes(moved.map_or(0, |is_new| 1 + u64::from(is_new)));
    }
    reply.integer(moved.is_some().into());
    Ok(())
}

pub fn sismember(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1)?;
    let set = set::read(&mut access, &key)?;
    reply.integer(set.is_some_and(|set| set.contains(args.get(2))).into());
    Ok(())
}

pub fn smismember(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1)?;
    let set = set::read(&mut access, &key)?;
    reply.array(args.len() - 2);
    for text in args.from(2) {
        reply.integer(set.is_some_and(|set| set.contains(text)).into());
    }
    Ok(())
}

pub fn scard(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1)?;
    let set = set::read(&mut access, &key)?;
    reply.integer(set.map_or(0, |set| set.len().cast_signed()));
    Ok(())
}

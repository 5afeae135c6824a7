//! Reading: HGET, HMGET, HGETALL, HKEYS, HVALS, HLEN, HEXISTS, HSTRLEN.

use super::value_or_null;
use base::meanwhile::Breaks;
use command::{Call, Outcome};
use store::value::hash::{self, Pair};
use wire::Reply;

pub fn hget(call: &mut Call<'_>) -> Outcome {
    let field = call.args.get(2);
    let (mut access, key, reply) = call.on_key(1);
    let hash = hash::read(&mut access, &key)?;
    value_or_null(reply, hash.and_then(|hash| hash.get(field)));
    Ok(())
}

pub fn hmget(call: &mut Call<'_>) -> Outcome {
    let fields = call.args.from(2);
    let (mut access, key, reply) = call.on_key(1);
    let hash = hash::read(&mut access, &key)?;
    reply.array(fields.len());
    for field in fields {
        value_or_null(reply, hash.and_then(|hash| hash.get(field)));
    }
    Ok(())
}

pub fn hlen(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let len = hash::read(&mut access, &key)?.map_or(0, |hash| hash.len());
    reply.integer(len as i64);
    Ok(())
}

pub fn hexists(call: &mut Call<'_>) -> Outcome {
    let field = call.args.get(2);
    let (mut access, key, reply) = call.on_key(1);
    let pair = hash::read(&mut access, &key)?.and_then(|hash| hash.get(field));
    reply.integer(i64::from(pair.is_some()));
    Ok(())
}

pub fn hstrlen(call: &mut Call<'_>) -> Outcome {
    let field = call.args.get(2);
    let (mut access, key, reply) = call.on_key(1);
    let pair = hash::read(&mut access, &key)?.and_then(|hash| hash.get(field));
    reply.integer(pair.map_or(0, |pair| pair.value.text_len()) as i64);
    Ok(())
}

pub fn hgetall(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let Some(hash) = hash::read(&mut access, &key)? else {
        reply.map(0);
        return Ok(());
    };
    let mark = if hash.has_deadlines() {
        Some(reply.deferred_map())
    } else {
        reply.map(narrow::to_usize(hash.len()));
        None
    };
    let (mut written, mut breaks) = (0, Breaks::from(reply.written().len()));
    for pair in hash.iter() {
        if reply.is_over_limit() {
            break;
        }
        pair.field.with_text(|text| reply.bulk(text));
        pair.value.with_text(|text| reply.bulk(text));
        written += 1;
        breaks.reach(reply.written().len());
    }
    if let Some(mark) = mark {
        reply.close_map(mark, written);
    }
    Ok(())
}

pub fn hkeys(call: &mut Call<'_>) -> Outcome {
    each(call, |reply, pair| pair.field.with_text(|text| reply.bulk(text)))
}

pub fn hvals(call: &mut Call<'_>) -> Outcome {
    each(call, |reply, pair| pair.value.with_text(|text| reply.bulk(text)))
}

/// Replies with an array, to which `tell` writes an element for each field.
fn each(call: &mut Call<'_>, tell: impl Fn(&mut Reply<'_>, Pair<'_>)) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let Some(hash) = hash::read(&mut access, &key)? else {
        reply.array(0);
        return Ok(());
    };
    // Some of the fields may have expired.
    let mark = hash.has_deadlines().then(|| reply.deferred_array());
    if mark.is_none() {
        reply.array(narrow::to_usize(hash.len()));
    }
    let (mut written, mut breaks) = (0, Breaks::from(reply.written().len()));
    for pair in hash.iter() {
        if reply.is_over_limit() {
            break;
        }
        tell(reply, pair);
        written += 1;
        breaks.reach(reply.written().len());
    }
    if let Some(mark) = mark {
        reply.close_array(mark, written);
    }
    Ok(())
}

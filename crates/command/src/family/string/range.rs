//! Parts of a string: APPEND, SETRANGE, GETRANGE, SUBSTR.

use super::read::bulk_range;
use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use settings::limits::PROTO_MAX_BULK_LEN;
use store::value::string;

pub fn append(call: &mut Call<'_>) -> Outcome {
    let (tail, statistics) = (call.args.get(2), call.statistics);
    let len_max = PROTO_MAX_BULK_LEN.get(&call.instance.settings);
    let (mut access, key, reply) = call.on_key(1)?;
    let len = string::append(&mut access, &key, tail, len_max)?;
    statistics.count_changes(1);
    reply.integer(len as i64);
    Ok(())
}

pub fn setrange(call: &mut Call<'_>) -> Outcome {
    let (patch, statistics) = (call.args.get(3), call.statistics);
    let at = usize::try_from(call.args.integer(2)?)
        .map_err(|_| Refusal::of("ERR offset is out of range"))?;
    let len_max = PROTO_MAX_BULK_LEN.get(&call.instance.settings);
    if !patch.is_empty() && at as u64 <= len_max {
        call.reserve(string::bytes_before(at + patch.len()))?;
    }
    let (mut access, key, reply) = call.on_key(1)?;
    let len = string::set_range(&mut access, &key, at, patch, len_max)?;
    statistics.count_changes(u64::from(!patch.is_empty()));
    reply.integer(len as i64);
    Ok(())
}

pub fn getrange(call: &mut Call<'_>) -> Outcome {
    let (start, end) = (call.args.integer(2)?, call.args.integer(3)?);
    let (mut access, key, reply) = call.on_key(1)?;
    match access.read_string(&key)? {
        Some(string) => bulk_range(reply, &string, string::range(string.len(), start, end)),
        None => reply.bulk(b""),
    }
    Ok(())
}

//! Parts of a string: APPEND, SETRANGE, GETRANGE, SUBSTR.

use super::read::bulk_range;
use command::{Call, Outcome};
use session::Refusal;
use store::Event;
use store::value::string;

pub(crate) const APPEND: Event = Event::string("append");
const SETRANGE: Event = Event::string("setrange");

pub fn append(call: &mut Call<'_>) -> Outcome {
    let tail = call.args.get(2);
    let len_max = call.bulk_bytes_max();
    let (mut access, key, reply) = call.on_key(1);
    let len = string::append(&mut access, &key, tail, len_max)?;
    access.report_changes(1, APPEND, &key);
    reply.integer(len as i64);
    Ok(())
}

pub fn setrange(call: &mut Call<'_>) -> Outcome {
    let patch = call.args.get(3);
    let at = usize::try_from(call.args.integer(2)?)
        .map_err(|_| Refusal::of("ERR offset is out of range"))?;
    let len_max = call.bulk_bytes_max();
    if !patch.is_empty() && at as u64 <= len_max {
        call.reserve(string::bytes_before(at + patch.len()))?;
    }
    let (mut access, key, reply) = call.on_key(1);
    let len = string::set_range(&mut access, &key, at, patch, len_max)?;
    access.report_changes(u64::from(!patch.is_empty()), SETRANGE, &key);
    reply.integer(len as i64);
    Ok(())
}

pub fn getrange(call: &mut Call<'_>) -> Outcome {
    let (start, end) = (call.args.integer(2)?, call.args.integer(3)?);
    let (mut access, key, reply) = call.on_key(1);
    match access.read_string(&key)? {
        Some(string) => bulk_range(reply, &string, string::range(string.len(), start, end)),
        None => reply.bulk(b""),
    }
    Ok(())
}

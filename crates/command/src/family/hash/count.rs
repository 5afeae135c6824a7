//! Counting in a field: HINCRBY, HINCRBYFLOAT.

use super::limit;
use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use store::value::hash::{self, HashMut};
use text::FloatError;

pub fn hincrby(call: &mut Call<'_>) -> Outcome {
    let (field, by) = (call.args.get(2), call.args.integer(3)?);
    let (limit, statistics) = (limit(call), call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    let sum = hash::add(&mut hash, field, by)?;
    statistics.count_changes(1);
    reply.integer(sum);
    Ok(())
}

pub fn hincrbyfloat(call: &mut Call<'_>) -> Outcome {
    let (field, by) = (call.args.get(2), call.args.get(3));
    text::add_floats(b"0", by).map_err(|error| match error {
        FloatError::NotAFloat => Refusal::NOT_FLOAT,
        FloatError::NotFinite => Refusal::of("ERR value is NaN or Infinity"),
    })?;
    let (limit, statistics) = (limit(call), call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    let sum = hash::add_float(&mut hash, field, by)?;
    statistics.count_changes(1);
    reply.bulk(sum.as_bytes());
    Ok(())
}

//! Counting in a field: HINCRBY, HINCRBYFLOAT.

use super::{limit, record_field_effect};
use command::{Call, Outcome};
use session::Refusal;
use store::Event;
use store::value::hash::{self, HashMut};
use text::{FloatError, IntegerText};

const HINCRBY: Event = Event::hash("hincrby");
const HINCRBYFLOAT: Event = Event::hash("hincrbyfloat");

pub fn hincrby(call: &mut Call<'_>) -> Outcome {
    let (field, by) = (call.args.get(2), call.args.integer(3)?);
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    let has_deadlines = hash.has_deadlines();
    let sum = hash::add(&mut hash, field, by)?;
    access.report_changes(1, HINCRBY, &key);
    if has_deadlines {
        record_field_effect(&mut access, &key, field, IntegerText::new().format(sum));
    }
    reply.integer(sum);
    Ok(())
}

pub fn hincrbyfloat(call: &mut Call<'_>) -> Outcome {
    let (field, by) = (call.args.get(2), call.args.get(3));
    text::add_floats(b"0", by).map_err(|error| match error {
        FloatError::NotAFloat => Refusal::NOT_FLOAT,
        FloatError::NotFinite => Refusal::of("ERR value is NaN or Infinity"),
    })?;
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let mut hash = HashMut::open(&mut access, &key, limit)?;
    let sum = hash::add_float(&mut hash, field, by)?;
    access.report_changes(1, HINCRBYFLOAT, &key);
    record_field_effect(&mut access, &key, field, sum.as_bytes());
    reply.bulk(sum.as_bytes());
    Ok(())
}

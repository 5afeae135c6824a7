//! HRANDFIELD.

use base::Random;
use command::{Call, Outcome};
use session::Refusal;
use store::value::hash::{self, Hash, Pair};
use wire::{Protocol, Reply};

const OUT_OF_RANGE: Refusal = Refusal::of(
    "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
);

pub fn hrandfield(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 2 {
        return several(call);
    }
    let mut random = Random::from_seed(call.thread.random.next());
    let (mut access, key, reply) = call.on_key(1);
    let hash = hash::read(&mut access, &key)?;
    match hash.and_then(|hash| hash::random_field(&hash, &mut random)) {
        Some(pair) => pair.field.with_text(|text| reply.bulk(text)),
        None => reply.null(),
    }
    Ok(())
}

fn several(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let count = args.integer(2)?;
    if count == i64::MIN {
        return Err(OUT_OF_RANGE.into());
    }
    let with_values = args.is(3, "WITHVALUES");
    if args.len() > 4 || (args.len() == 4 && !with_values) {
        return Err(Refusal::SYNTAX.into());
    }
    if with_values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(Refusal::of("ERR value is out of range").into());
    }
    let mut random = Random::from_seed(call.thread.random.next());
    let (mut access, key, reply) = call.on_key(1);
    match hash::read(&mut access, &key)?.filter(|_| count != 0) {
        None => reply.array(0),
        Some(hash) => reply_with_fields(reply, &hash, count, with_values, &mut random),
    }
    Ok(())
}

/// Replies with `count` different fields; for a negative count, with as many fields that may
/// repeat.
fn reply_with_fields(
    reply: &mut Reply<'_>,
    hash: &Hash<'_>,
    count: i64,
    with_values: bool,
    random: &mut Random,
) {
    let (mark, mut written) = (reply.deferred_array(), 0);
    let is_nested = with_values && reply.protocol() == Protocol::Resp3;
    let mut one = |reply: &mut Reply<'_>, pair: Pair<'_>| {
        if is_nested {
            reply.array(2);
        }
        pair.field.with_text(|text| reply.bulk(text));
        if with_values {
            pair.value.with_text(|text| reply.bulk(text));
        }
        written += 1;
    };
    if count > 0 {
        hash::random_fields(hash, count.unsigned_abs(), random, |pair| one(reply, pair));
    } else {
        for _ in 0..count.unsigned_abs() {
            let Some(pair) = hash::random_field(hash, random).filter(|_| !reply.is_over_limit())
            else {
                break;
            };
            one(reply, pair);
        }
    }
    let width = if with_values && !is_nested { 2 } else { 1 };
    reply.close_array(mark, written * width);
}

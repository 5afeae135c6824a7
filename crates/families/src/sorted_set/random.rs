//! Random members: ZRANDMEMBER.

use super::Shown;
use command::{Call, Outcome, element};
use session::Refusal;
use store::value::sorted_set;

const OUT_OF_RANGE: Refusal = Refusal::of("ERR value is out of range");

pub fn zrandmember(call: &mut Call<'_>) -> Outcome {
    if call.args.len() > 2 {
        return many(call);
    }
    let (mut access, key, reply) = call.on_key(1);
    let mut random = access.chance();
    let set = sorted_set::read(&mut access, &key)?;
    let drawn = set.and_then(|set| set.get(random.below(set.len())));
    element::bulk_or_null(reply, drawn.map(|(member, _)| member));
    Ok(())
}

fn many(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let count = args.integer_above(2, i64::MIN)?;
    let has_scores = match args.len() {
        3 => false,
        4 if args.is(3, "WITHSCORES") => true,
        _ => return Err(Refusal::SYNTAX.into()),
    };
    if has_scores && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(OUT_OF_RANGE.into());
    }
    let (mut access, key, reply) = call.on_key(1);
    let mut random = access.chance();
    let Some(set) = sorted_set::read(&mut access, &key)? else {
        reply.array(0);
        return Ok(());
    };
    let shown = Shown::new(reply, has_scores);
    if count < 0 {
        let times = count.unsigned_abs();
        shown.begin(reply, times);
        for (member, score) in (0..times).map_while(|_| set.get(random.below(set.len()))) {
            shown.write(reply, member, score);
            if reply.is_over_limit() {
                break;
            }
        }
        return Ok(());
    }
    let count = count.unsigned_abs().min(set.len());
    shown.begin(reply, count);
    sorted_set::draw(&set, count, &mut random, |member, score| shown.write(reply, member, score));
    Ok(())
}

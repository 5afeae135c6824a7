//! Blocking commands on sorted sets: BZPOPMIN, BZPOPMAX, BZMPOP.

use super::Shown;
use super::pop::{ManyPop, take};
use command::{Call, Outcome, Timeout};
use session::Wants;
use store::Kind;
use store::value::sorted_set::End;

const A_SORTED_SET: Wants = Wants { kind: Kind::SortedSet, minds_loss: false };

pub fn bzpopmin(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Min)
}

pub fn bzpopmax(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Max)
}

fn pop(call: &mut Call<'_>, end: End) -> Outcome {
    let last = call.args.len() - 1;
    let wait = call.wait(Timeout::seconds(call, last)?, A_SORTED_SET);
    let (mut access, keys, reply) = call.on_keys(1..last);
    for key in &keys {
        let is_there = take(&mut access, key, end, None, |_, pairs| {
            reply.array(3);
            reply.bulk(key.bytes);
            pairs.for_each(|(member, score)| Shown::Flat.write(reply, member, score));
        })?;
        if is_there {
            return Ok(());
        }
    }
    wait.begin(1..last)
}

pub fn bzmpop(call: &mut Call<'_>) -> Outcome {
    let asked = ManyPop::parse(call, 2)?;
    let wait = call.wait(Timeout::seconds(call, 1)?, A_SORTED_SET);
    let (mut access, keys, reply) = call.on_keys(asked.keys());
    if !asked.pop(&mut access, &keys, reply)? {
        return wait.begin(asked.keys());
    }
    Ok(())
}

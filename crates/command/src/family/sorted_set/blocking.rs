//! What waits for sorted sets: BZPOPMIN, BZPOPMAX, BZMPOP.

use super::Shown;
use super::pop::ManyPop;
use crate::call::{Call, Outcome};
use crate::waiting::{Timeout, Wants};
use store::Kind;
use store::value::sorted_set::{self, End};

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
    let statistics = call.statistics;
    let (mut access, keys, reply) = call.on_keys(1..last)?;
    for key in &keys {
        let popped = sorted_set::pop(&mut access, key, end, 1, |_, pairs| {
            reply.array(3);
            reply.bulk(key.bytes);
            pairs.for_each(|(member, score)| Shown::Flat.write(reply, member, score));
        })?;
        if let Some(popped) = popped {
            statistics.count_changes(popped);
            return Ok(());
        }
    }
    wait.begin(1..last);
    Ok(())
}

pub fn bzmpop(call: &mut Call<'_>) -> Outcome {
    let asked = ManyPop::parse(call, 2)?;
    let wait = call.wait(Timeout::seconds(call, 1)?, A_SORTED_SET);
    let statistics = call.statistics;
    let (mut access, keys, reply) = call.on_keys(asked.keys())?;
    match asked.pop(&mut access, &keys, reply)? {
        Some(popped) => statistics.count_changes(popped),
        None => wait.begin(asked.keys()),
    }
    Ok(())
}

//! Removing members: ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.

use super::range::{lex_range, score_range};
use crate::call::{Call, Outcome};
use store::value::sorted_set::{self, Pick};

pub fn zrem(call: &mut Call<'_>) -> Outcome {
    let (args, statistics) = (call.args, call.statistics);
    let (mut access, key, reply) = call.on_key(1)?;
    let removed = sorted_set::remove(&mut access, &key, args.from(2))?;
    statistics.count_changes(removed);
    reply.integer(removed as i64);
    Ok(())
}

pub fn zremrangebyrank(call: &mut Call<'_>) -> Outcome {
    let (from, to) = (call.args.integer(2)?, call.args.integer(3)?);
    remove(call, &Pick::Ranks(from, to))
}

pub fn zremrangebyscore(call: &mut Call<'_>) -> Outcome {
    let range = score_range(call.args.get(2), call.args.get(3))?;
    remove(call, &Pick::Scores(range))
}

pub fn zremrangebylex(call: &mut Call<'_>) -> Outcome {
    let range = lex_range(call.args.get(2), call.args.get(3))?;
    remove(call, &Pick::Members(range))
}

fn remove(call: &mut Call<'_>, pick: &Pick<'_>) -> Outcome {
    let statistics = call.statistics;
    let (mut access, key, reply) = call.on_key(1)?;
    let removed = sorted_set::remove_picked(&mut access, &key, pick)?;
    statistics.count_changes(removed);
    reply.integer(removed as i64);
    Ok(())
}

//! Removing members: ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.

use super::range::{lex_range, score_range};
use command::{Call, Outcome, Pieces};
use store::value::sorted_set::{self, Pick};
use store::{Access, Event, Key};

const ZREM: Event = Event::sorted_set("zrem");
const ZREMRANGEBYRANK: Event = Event::sorted_set("zremrangebyrank");
const ZREMRANGEBYSCORE: Event = Event::sorted_set("zremrangebyscore");
const ZREMRANGEBYLEX: Event = Event::sorted_set("zremrangebylex");

pub fn zrem(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let removed = sorted_set::remove(&mut access, &key, args.from(2))?;
    access.report_removals(removed, ZREM, &key);
    reply.integer(removed as i64);
    Ok(())
}

pub fn zremrangebyrank(call: &mut Call<'_>) -> Outcome {
    let (from, to) = (call.args.integer(2)?, call.args.integer(3)?);
    remove(call, &Pick::Ranks(from, to), ZREMRANGEBYRANK)
}

pub fn zremrangebyscore(call: &mut Call<'_>) -> Outcome {
    let range = score_range(call.args.get(2), call.args.get(3))?;
    remove(call, &Pick::Scores(range), ZREMRANGEBYSCORE)
}

pub fn zremrangebylex(call: &mut Call<'_>) -> Outcome {
    let range = lex_range(call.args.get(2), call.args.get(3))?;
    remove(call, &Pick::Members(range), ZREMRANGEBYLEX)
}

fn remove(call: &mut Call<'_>, pick: &Pick<'_>, event: Event) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let gone = members_in(&access, &key, pick);
    let removed = sorted_set::remove_picked(&mut access, &key, pick)?;
    access.report_removals(removed, event, &key);
    access.record_effects(&key, gone);
    reply.integer(removed as i64);
    Ok(())
}

/// Returns the removal of the members in a range of members. Among members with several scores,
/// others may find other ones there.
fn members_in(access: &Access<'_>, key: &Key<'_>, pick: &Pick<'_>) -> Pieces {
    let is_needed = access.is_recording() && matches!(pick, Pick::Members(_));
    let mut gone = Pieces::new(is_needed, &[b"ZREM", key.bytes]);
    if !is_needed {
        return gone;
    }
    if let Ok(Some(set)) = sorted_set::lookup_without_touch(access, key) {
        set.each_while(set.span(pick, false), false, |member, _| {
            gone.add_element(member);
            true
        });
    }
    gone
}

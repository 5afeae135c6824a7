//! From one list to another: LMOVE, RPOPLPUSH.

use super::{end, limit, popped, pushed};
use command::{Call, Outcome};
use session::Refusal;
use store::value::list::{self, End, ListLimit};
use store::{Access, Key};
use wire::Reply;

pub fn lmove(call: &mut Call<'_>) -> Outcome {
    let (from, to) = (end(call, 3)?, end(call, 4)?);
    move_one(call, from, to)
}

pub fn rpoplpush(call: &mut Call<'_>) -> Outcome {
    move_one(call, End::Back, End::Front)
}

fn move_one(call: &mut Call<'_>, from: End, to: End) -> Outcome {
    let limit = limit(call);
    let (mut access, keys, reply) = call.on_keys([1, 2]);
    if !transfer(&mut access, (&keys[0], from), (&keys[1], to), limit, reply)? {
        reply.null();
    }
    Ok(())
}

/// Moves one element from an end of a list to an end of another, or of the same, and replies with
/// it. Returns false, without a reply, if there is no such list.
pub fn transfer(
    access: &mut Access<'_>,
    (source, from): (&Key<'_>, End),
    (target, to): (&Key<'_>, End),
    limit: ListLimit,
    reply: &mut Reply<'_>,
) -> Result<bool, Refusal> {
    let show = |text: &[u8]| reply.bulk(text);
    let is_moved = list::move_between(access, (source, from), (target, to), limit, show)?;
    if is_moved {
        access.report_changes(1, pushed(to), target);
        access.record_event(popped(from), source);
        access.record_del_if_gone(source);
    }
    Ok(is_moved)
}

//! From one list to another: LMOVE, RPOPLPUSH.

use super::{end, limit};
use crate::call::{Call, Outcome};
use crate::element;
use crate::refusal::Refusal;
use smallvec::SmallVec;
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
    let (statistics, limit) = (call.statistics, limit(call));
    let (mut access, keys, reply) = call.on_keys([1, 2])?;
    if transfer(&mut access, (&keys[0], from), (&keys[1], to), limit, reply)? {
        statistics.count_changes(1);
    } else {
        reply.null();
    }
    Ok(())
}

/// Moves one element from an end of a list to an end of another, or of the same, and replies with
/// it. False, without a reply, if there is no such list.
pub fn transfer(
    access: &mut Access<'_>,
    (source, from): (&Key<'_>, End),
    (target, to): (&Key<'_>, End),
    limit: ListLimit,
    reply: &mut Reply<'_>,
) -> Result<bool, Refusal> {
    let Some(list) = list::peek(access, source)? else { return Ok(false) };
    let mut moved: SmallVec<[u8; 128]> = SmallVec::new();
    if let Some(element) = list.end(from) {
        element.with_text(|text| moved.extend_from_slice(text));
    }
    // Pushed first: if there is no room for it, nothing has happened. At the same end of the same
    // list it is pushed upon itself, and one of the two goes.
    list::push(access, target, to, std::iter::once(&moved[..]), limit, false)?;
    list::pop(access, source, from, 1, limit, |it| element::bulk(reply, it))?;
    Ok(true)
}

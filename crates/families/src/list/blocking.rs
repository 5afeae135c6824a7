//! Blocking commands on lists: BLPOP, BRPOP, BLMOVE, BRPOPLPUSH, BLMPOP.

use super::ends::ManyPop;
use super::moves::transfer;
use super::{end, limit, popped, record_pop_effect};
use command::{Call, Outcome, Timeout, effects, element};
use session::Wants;
use store::Kind;
use store::value::list::{self, End};

const A_LIST: Wants = Wants { kind: Kind::List, minds_loss: false };

pub fn blpop(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Front)
}

pub fn brpop(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Back)
}

fn pop(call: &mut Call<'_>, end: End) -> Outcome {
    let last = call.args.len() - 1;
    let wait = call.wait(Timeout::seconds(call, last)?, A_LIST);
    let limit = limit(call);
    let (mut access, keys, reply) = call.on_keys(1..last);
    for key in &keys {
        if list::lookup_without_touch(&access, key)?.is_some() {
            reply.array(2);
            reply.bulk(key.bytes);
            list::pop(&mut access, key, end, 1, limit, |it| element::bulk(reply, it))?;
            access.report_removals(1, popped(end), key);
            record_pop_effect(&mut access, key, end, None);
            return Ok(());
        }
    }
    wait.begin(1..last)
}

pub fn blmove(call: &mut Call<'_>) -> Outcome {
    let (from, to) = (end(call, 3)?, end(call, 4)?);
    move_one(call, from, to, 5)
}

pub fn brpoplpush(call: &mut Call<'_>) -> Outcome {
    move_one(call, End::Back, End::Front, 3)
}

fn move_one(call: &mut Call<'_>, from: End, to: End, timeout_at: usize) -> Outcome {
    let wait = call.wait(Timeout::seconds(call, timeout_at)?, A_LIST);
    let limit = limit(call);
    let (mut access, keys, reply) = call.on_keys([1, 2]);
    if !transfer(&mut access, (&keys[0], from), (&keys[1], to), limit, reply)? {
        return wait.begin(std::iter::once(1));
    }
    let (source, target) = (keys[0].bytes, keys[1].bytes);
    effects::words(&mut access, &keys[0], &[b"LMOVE", source, target, side(from), side(to)]);
    Ok(())
}

/// Word for an end of a list.
fn side(end: End) -> &'static [u8] {
    if end == End::Front { b"LEFT" } else { b"RIGHT" }
}

pub fn blmpop(call: &mut Call<'_>) -> Outcome {
    let asked = ManyPop::parse(call, 2)?;
    let wait = call.wait(Timeout::seconds(call, 1)?, A_LIST);
    let limit = limit(call);
    let (mut access, keys, reply) = call.on_keys(asked.keys());
    if !asked.pop(&mut access, &keys, limit, reply)? {
        return wait.begin(asked.keys());
    }
    Ok(())
}

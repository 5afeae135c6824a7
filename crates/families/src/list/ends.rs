//! Pushing and popping at the ends of lists: LPUSH, RPUSH, LPUSHX, RPUSHX, LPOP, RPOP, LMPOP.

use super::{end, limit, popped, pushed, record_pop_effect};
use command::{Call, Outcome, element};
use session::Refusal;
use store::Access;
use store::Key;
use store::value::list::{self, End, ListLimit};
use wire::Reply;

pub fn lpush(call: &mut Call<'_>) -> Outcome {
    push(call, End::Front, false)
}

pub fn rpush(call: &mut Call<'_>) -> Outcome {
    push(call, End::Back, false)
}

pub fn lpushx(call: &mut Call<'_>) -> Outcome {
    push(call, End::Front, true)
}

pub fn rpushx(call: &mut Call<'_>) -> Outcome {
    push(call, End::Back, true)
}

#[inline]
fn push(call: &mut Call<'_>, end: End, only_existing: bool) -> Outcome {
    let (args, limit) = (call.args, limit(call));
    let (mut access, key, reply) = call.on_key(1);
    let len = list::push(&mut access, &key, end, args.from(2), limit, only_existing)?;
    if len > 0 {
        access.report_changes(args.len() as u64 - 2, pushed(end), &key);
    }
    reply.integer(len as i64);
    Ok(())
}

pub fn lpop(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Front)
}

pub fn rpop(call: &mut Call<'_>) -> Outcome {
    pop(call, End::Back)
}

fn pop(call: &mut Call<'_>, end: End) -> Outcome {
    match call.args.len() {
        2 => pop_one(call, end),
        3 => pop_some(call, end),
        _ => Err(call.wrong_arity().into()),
    }
}

#[inline]
fn pop_one(call: &mut Call<'_>, end: End) -> Outcome {
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let mut show = |popped: store::Element<'_>| element::bulk(reply, popped);
    if list::pop(&mut access, &key, end, 1, limit, &mut show)?.is_some() {
        access.report_removals(1, popped(end), &key);
    } else {
        reply.null();
    }
    Ok(())
}

fn pop_some(call: &mut Call<'_>, end: End) -> Outcome {
    let count = call.args.positive(2)?;
    let limit = limit(call);
    let (mut access, key, reply) = call.on_key(1);
    let Some(len) = list::lookup_without_touch(&access, &key)?.map(|list| list.len()) else {
        access.drop_expired(&key);
        reply.null_array();
        return Ok(());
    };
    let taken = count.min(len);
    reply.array(narrow::to_usize(taken));
    list::pop(&mut access, &key, end, taken, limit, |popped| element::bulk(reply, popped))?;
    access.report_removals(taken, popped(end), &key);
    Ok(())
}

pub fn lmpop(call: &mut Call<'_>) -> Outcome {
    let asked = ManyPop::parse(call, 1)?;
    let limit = limit(call);
    let (mut access, keys, reply) = call.on_keys(asked.keys());
    if !asked.pop(&mut access, &keys, limit, reply)? {
        reply.null_array();
    }
    Ok(())
}

/// Arguments of LMPOP and BLMPOP.
pub struct ManyPop {
    first_key: usize,
    key_count: usize,
    end: End,
    count: u64,
}

impl ManyPop {
    /// Reads the arguments from the number of keys on, which stands at `at`.
    pub fn parse(call: &Call<'_>, at: usize) -> Result<ManyPop, Refusal> {
        let args = call.args;
        let key_count = args.at_least_one(at, "ERR numkeys should be greater than 0")?;
        let first_key = at + 1;
        let end_at = first_key.saturating_add(narrow::to_usize(key_count));
        if end_at >= args.len() {
            return Err(Refusal::SYNTAX);
        }
        let end = end(call, end_at)?;
        let count = match args.len() - end_at {
            1 => 1,
            3 if args.is(end_at + 1, "COUNT") => {
                args.at_least_one(end_at + 2, "ERR count should be greater than 0")?
            }
            _ if args.is(end_at + 1, "COUNT") && args.len() > end_at + 2 => {
                args.at_least_one(end_at + 2, "ERR count should be greater than 0")?;
                return Err(Refusal::SYNTAX);
            }
            _ => return Err(Refusal::SYNTAX),
        };
        Ok(ManyPop { first_key, key_count: narrow::to_usize(key_count), end, count })
    }

    /// Positions of the keys.
    pub fn keys(&self) -> std::ops::Range<usize> {
        self.first_key..self.first_key + self.key_count
    }

    /// Pops from the first list that exists, and replies with its key and the elements. Returns
    /// false, without a reply, if there is no list.
    pub fn pop(
        &self,
        access: &mut Access<'_>,
        keys: &[Key<'_>],
        limit: ListLimit,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Refusal> {
        for key in keys {
            let Some(len) = list::lookup_without_touch(access, key)?.map(|list| list.len()) else {
                continue;
            };
            let taken = self.count.min(len);
            reply.array(2);
            reply.bulk(key.bytes);
            reply.array(narrow::to_usize(taken));
            let show = |popped: store::Element<'_>| element::bulk(reply, popped);
            list::pop(access, key, self.end, taken, limit, show)?;
            access.report_removals(taken, popped(self.end), key);
            record_pop_effect(access, key, self.end, Some(taken));
            return Ok(true);
        }
        Ok(false)
    }
}

//! Several sets: SINTER, SUNION, SDIFF, their forms that store, and SINTERCARD.

use super::limit;
use command::element::bulk;
use command::{Call, Outcome};
use session::{Args, Refusal};
use store::Event;
use store::value::set::{self, Flow, Operation};

const SINTERSTORE: Event = Event::set("sinterstore");
const SUNIONSTORE: Event = Event::set("sunionstore");
const SDIFFSTORE: Event = Event::set("sdiffstore");

pub fn sinter(call: &mut Call<'_>) -> Outcome {
    reply_with(call, Operation::Intersection)
}

pub fn sunion(call: &mut Call<'_>) -> Outcome {
    reply_with(call, Operation::Union)
}

pub fn sdiff(call: &mut Call<'_>) -> Outcome {
    reply_with(call, Operation::Difference)
}

fn reply_with(call: &mut Call<'_>, operation: Operation) -> Outcome {
    let (mut access, keys, reply) = call.on_keys(1..call.args.len());
    let sets = set::read_all(&mut access, &keys)?;
    let mark = reply.deferred_set();
    let mut len = 0;
    set::combine(operation, &sets, |_, member| {
        bulk(reply, member);
        len += 1;
        if reply.is_over_limit() { Flow::Break(()) } else { Flow::Continue(()) }
    });
    reply.close_set(mark, len);
    Ok(())
}

pub fn sinterstore(call: &mut Call<'_>) -> Outcome {
    store_with(call, Operation::Intersection)
}

pub fn sunionstore(call: &mut Call<'_>) -> Outcome {
    store_with(call, Operation::Union)
}

pub fn sdiffstore(call: &mut Call<'_>) -> Outcome {
    store_with(call, Operation::Difference)
}

fn store_with(call: &mut Call<'_>, operation: Operation) -> Outcome {
    let limit = limit(call);
    let (mut access, keys, reply) = call.on_keys(1..call.args.len());
    let Some((target, sources)) = keys.split_first() else { return Err(Refusal::SYNTAX.into()) };
    let stored = set::store(&mut access, target, operation, sources, limit)?;
    let event = match operation {
        _ if stored.len == 0 => Event::DEL,
        Operation::Intersection => SINTERSTORE,
        Operation::Union => SUNIONSTORE,
        Operation::Difference => SDIFFSTORE,
    };
    access.report_changes(stored.is_change.into(), event, target);
    reply.integer(stored.len.cast_signed());
    Ok(())
}

pub fn sintercard(call: &mut Call<'_>) -> Outcome {
    let (count, limit) = parse_card(call.args)?;
    let (mut access, keys, reply) = call.on_keys(2..2 + count);
    let sets = set::read_all(&mut access, &keys)?;
    let mut len = 0_u64;
    set::combine(Operation::Intersection, &sets, |_, _| {
        len += 1;
        if len == limit { Flow::Break(()) } else { Flow::Continue(()) }
    });
    reply.integer(len.cast_signed());
    Ok(())
}

/// Reads the number of keys, and the number of members up to which is counted; zero for all.
fn parse_card(args: Args<'_>) -> Result<(usize, u64), Refusal> {
    let count = args.at_least_one(1, "ERR numkeys should be greater than 0")?;
    let count = usize::try_from(count).ok().filter(|count| *count <= args.len() - 2);
    let count =
        count.ok_or(Refusal::of("ERR Number of keys can't be greater than number of args"))?;
    let (mut at, mut limit) = (2 + count, 0);
    while at < args.len() {
        if !args.is(at, "LIMIT") || at + 1 == args.len() {
            return Err(Refusal::SYNTAX);
        }
        limit = args.positive_or(at + 1, "ERR LIMIT can't be negative")?;
        at += 2;
    }
    Ok((count, limit))
}

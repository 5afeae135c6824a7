//! XACK and XPENDING.

use super::{add, id, no_group, refusal_of};
use command::{Call, Outcome};
use session::{Args, Refusal};
use store::value::stream::group::{Group, GroupError, Pending, acknowledge};
use store::value::stream::{self, Id};
use wire::Reply;

pub fn xack(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let name = args.get(2);
    stream::read(&mut access, &key)?;
    // Wrong ids are refused before anything is done, but only if there is a group.
    let ids = add::ids(args, 3);
    let known = ids.as_deref().unwrap_or(&[]).iter().copied();
    let count = match acknowledge(&mut access, &key, name, known) {
        Err(GroupError::NoStream | GroupError::NoGroup) => 0,
        Err(error) => return Err(refusal_of(error, || no_group(key.bytes, name)).into()),
        Ok(count) => {
            access.report_changes_silently(count);
            ids?;
            count
        }
    };
    reply.integer(count as i64);
    Ok(())
}

/// Filter of the pending entries that XPENDING shows.
struct Filter<'c> {
    idle_min: i64,
    from: Id,
    to: Id,
    count: usize,
    consumer: Option<&'c [u8]>,
}

impl<'c> Filter<'c> {
    fn parse(args: Args<'c>) -> Result<Option<Filter<'c>>, Refusal> {
        if args.len() == 3 {
            return Ok(None);
        }
        if !(6..=9).contains(&args.len()) {
            return Err(Refusal::SYNTAX);
        }
        let (mut at, mut idle_min) = (3, 0);
        if args.is(3, "IDLE") {
            idle_min = args.integer(4)?;
            if args.len() < 8 {
                return Err(Refusal::SYNTAX);
            }
            at = 5;
        }
        let count = usize::try_from(args.integer(at + 2)?).unwrap_or(0);
        let (from, to) = (id::parse_start(args.get(at))?, id::parse_end(args.get(at + 1))?);
        let consumer = (at + 3 < args.len()).then(|| args.get(at + 3));
        Ok(Some(Filter { idle_min, from, to, count, consumer }))
    }
}

pub fn xpending(call: &mut Call<'_>) -> Outcome {
    let (args, now) = (call.args, call.now.0);
    let filter = Filter::parse(args)?;
    let (mut access, key, reply) = call.on_key(1);
    let name = args.get(2);
    let stream = stream::read(&mut access, &key)?;
    let group = stream.as_ref().and_then(|stream| stream.groups().get(name));
    let group = group.ok_or_else(|| no_group(key.bytes, name))?;
    match filter {
        None => summarize(reply, &group),
        Some(filter) => list(reply, &group, filter, now),
    }
    Ok(())
}

fn summarize(reply: &mut Reply<'_>, group: &Group<'_>) {
    reply.array(4);
    reply.integer(group.pending_len() as i64);
    let first = group.pending(Id::MIN).next();
    let (Some(first), Some(last)) = (first, group.last_pending()) else {
        reply.null();
        reply.null();
        return reply.null_array();
    };
    id::write(reply, first.id);
    id::write(reply, last);
    let (mark, mut len) = (reply.deferred_array(), 0);
    for consumer in group.consumers() {
        let pending = consumer.pending_len();
        if pending > 0 {
            reply.array(2);
            consumer.name.with_text(|name| reply.bulk(name));
            reply.bulk_integer(pending as i64);
            len += 1;
        }
    }
    reply.close_array(mark, len);
}

fn list(reply: &mut Reply<'_>, group: &Group<'_>, filter: Filter<'_>, now: u64) {
    match filter.consumer {
        None => list_of(reply, group, group.pending(filter.from), &filter, now),
        Some(name) => match group.consumer(name) {
            Some(consumer) => {
                list_of(reply, group, consumer.pending(filter.from), &filter, now);
            }
            None => reply.array(0),
        },
    }
}

fn list_of(
    reply: &mut Reply<'_>,
    group: &Group<'_>,
    pending: impl Iterator<Item = Pending>,
    filter: &Filter<'_>,
    now: u64,
) {
    let (mark, mut len) = (reply.deferred_array(), 0);
    let idle = |pending: &Pending| now.wrapping_sub(pending.delivered()) as i64;
    let shown = pending
        .take_while(|pending| pending.id <= filter.to)
        .filter(|pending| filter.idle_min == 0 || idle(pending) >= filter.idle_min)
        .take(filter.count);
    for pending in shown {
        reply.array(4);
        id::write(reply, pending.id);
        group.owner(&pending).with_text(|name| reply.bulk(name));
        reply.integer(idle(&pending).max(0));
        reply.integer(pending.deliveries() as i64);
        len += 1;
        if reply.is_over_limit() {
            break;
        }
    }
    reply.close_array(mark, len);
}

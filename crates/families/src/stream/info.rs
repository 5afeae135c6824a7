//! XINFO.

use super::{entries, id, no_group_in};
use command::{Call, Outcome};
use session::Refusal;
use store::value::stream::group::{Consumer, Group, Pending};
use store::value::stream::{self, Id, Stream};
use wire::Reply;

/// Number of entries, and of pending ones, that FULL shows unless COUNT is given.
const COUNT_DEFAULT: u64 = 10;

pub fn stream(call: &mut Call<'_>) -> Outcome {
    let count = full_count(call);
    let (mut access, key, reply) = call.on_key(2);
    let stream = stream::read(&mut access, &key)?.ok_or(Refusal::NO_SUCH_KEY)?;
    match count? {
        None => brief(reply, &stream),
        Some(count) => full(reply, &stream, count),
    }
    Ok(())
}

/// Reads the number of entries that FULL shows; `None` without FULL.
fn full_count(call: &Call<'_>) -> Result<Option<u64>, Refusal> {
    let args = call.args;
    match args.len() {
        3 => Ok(None),
        4 if args.is(3, "FULL") => Ok(Some(COUNT_DEFAULT)),
        6 if args.is(3, "FULL") && args.is(4, "COUNT") => {
            Ok(Some(u64::try_from(args.integer(5)?).unwrap_or(COUNT_DEFAULT)))
        }
        _ => Err(call.wrong_subcommand()),
    }
}

fn facts(reply: &mut Reply<'_>, stream: &Stream<'_>) {
    let number = |reply: &mut Reply<'_>, name: &str, value: u64| {
        reply.bulk(name.as_bytes());
        reply.integer(value as i64);
    };
    let id = |reply: &mut Reply<'_>, name: &str, id: Id| {
        reply.bulk(name.as_bytes());
        id::write(reply, id);
    };
    number(reply, "length", stream.len());
    number(reply, "radix-tree-keys", stream.nodes());
    // A radix tree has one node more than keys, at the least.
    number(reply, "radix-tree-nodes", stream.nodes() + 1);
    id(reply, "last-generated-id", stream.last_id());
    id(reply, "max-deleted-entry-id", stream.max_deleted_id());
    number(reply, "entries-added", stream.added());
    let first = stream.first().map_or(Id::MIN, |entry| entry.id);
    id(reply, "recorded-first-entry-id", first);
}

fn brief(reply: &mut Reply<'_>, stream: &Stream<'_>) {
    reply.map(10);
    facts(reply, stream);
    reply.bulk(b"groups");
    reply.integer(stream.groups().len() as i64);
    for (name, entry) in [("first-entry", stream.first()), ("last-entry", stream.last())] {
        reply.bulk(name.as_bytes());
        match entry {
            Some(entry) => entries::write(reply, entry),
            None => reply.null(),
        }
    }
}

fn full(reply: &mut Reply<'_>, stream: &Stream<'_>, count: u64) {
    reply.map(9);
    facts(reply, stream);
    reply.bulk(b"entries");
    entries::write_all(reply, stream.range(Id::MIN, Id::MAX), count);
    reply.bulk(b"groups");
    reply.array(stream.groups().len());
    for group in stream.groups().iter() {
        full_group(reply, &group, count);
    }
}

fn full_group(reply: &mut Reply<'_>, group: &Group<'_>, count: u64) {
    reply.map(7);
    reply.bulk(b"name");
    group.name.with_text(|name| reply.bulk(name));
    progress(reply, group);
    reply.bulk(b"pel-count");
    reply.integer(group.pending_len() as i64);
    reply.bulk(b"pending");
    write_pending(reply, group.pending(Id::MIN), count, Some(group));
    reply.bulk(b"consumers");
    reply.array(group.consumers_len());
    for consumer in group.consumers() {
        full_consumer(reply, &consumer, count);
    }
}

/// Writes the progress of a group.
fn progress(reply: &mut Reply<'_>, group: &Group<'_>) {
    reply.bulk(b"last-delivered-id");
    id::write(reply, group.last_id());
    for (name, value) in [("entries-read", group.entries_read()), ("lag", group.lag())] {
        reply.bulk(name.as_bytes());
        match value {
            Some(value) => reply.integer(value),
            None => reply.null(),
        }
    }
}

fn full_consumer(reply: &mut Reply<'_>, consumer: &Consumer<'_>, count: u64) {
    reply.map(5);
    reply.bulk(b"name");
    consumer.name.with_text(|name| reply.bulk(name));
    reply.bulk(b"seen-time");
    reply.integer(consumer.seen() as i64);
    reply.bulk(b"active-time");
    reply.integer(consumer.active().map_or(-1, |active| active as i64));
    reply.bulk(b"pel-count");
    reply.integer(consumer.pending_len() as i64);
    reply.bulk(b"pending");
    write_pending(reply, consumer.pending(Id::MIN), count, None);
}

/// Writes pending entries, with their owners if these are to be looked up in a group.
fn write_pending(
    reply: &mut Reply<'_>,
    pending: impl Iterator<Item = Pending>,
    count: u64,
    owners: Option<&Group<'_>>,
) {
    let most = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    let (mark, mut len) = (reply.deferred_array(), 0);
    for pending in pending.take(most) {
        reply.array(if owners.is_some() { 4 } else { 3 });
        id::write(reply, pending.id);
        if let Some(group) = owners {
            group.owner(&pending).with_text(|name| reply.bulk(name));
        }
        reply.integer(pending.delivered() as i64);
        reply.integer(pending.deliveries() as i64);
        len += 1;
    }
    reply.close_array(mark, len);
}

pub fn groups(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(2);
    let stream = stream::read(&mut access, &key)?.ok_or(Refusal::NO_SUCH_KEY)?;
    reply.array(stream.groups().len());
    for group in stream.groups().iter() {
        reply.map(6);
        reply.bulk(b"name");
        group.name.with_text(|name| reply.bulk(name));
        reply.bulk(b"consumers");
        reply.integer(group.consumers_len() as i64);
        reply.bulk(b"pending");
        reply.integer(group.pending_len() as i64);
        progress(reply, &group);
    }
    Ok(())
}

pub fn consumers(call: &mut Call<'_>) -> Outcome {
    let (name, now) = (call.args.get(3), call.now.0);
    let (mut access, key, reply) = call.on_key(2);
    let stream = stream::read(&mut access, &key)?.ok_or(Refusal::NO_SUCH_KEY)?;
    let group = stream.groups().get(name).ok_or_else(|| no_group_in(key.bytes, name))?;
    reply.array(group.consumers_len());
    for consumer in group.consumers() {
        reply.map(4);
        reply.bulk(b"name");
        consumer.name.with_text(|name| reply.bulk(name));
        reply.bulk(b"pending");
        reply.integer(consumer.pending_len() as i64);
        reply.bulk(b"idle");
        reply.integer(now.saturating_sub(consumer.seen()) as i64);
        reply.bulk(b"inactive");
        reply.integer(consumer.active().map_or(-1, |active| now.wrapping_sub(active) as i64));
    }
    Ok(())
}

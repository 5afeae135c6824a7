//! Messages: PUBLISH and SUBSCRIBE with their kin, PUBSUB.

mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use crate::call::{Call, Outcome, Turn, Unanswered};
use crate::clients::Notice;
use crate::instance::Instance;
use crate::needs::Needs;
use crate::pubsub::Topic;
use crate::refusal::Refusal;
use crate::session::Session;
use wire::Reply;

const NOT_IN_A_TRANSACTION: Refusal =
    Refusal::of("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");

/// Publishes a message, to those who have subscribed to channels or to shard channels.
fn publish(call: &mut Call<'_>, topic: Topic) -> Outcome {
    let (name, payload) = (call.args.get(1), call.args.get(2));
    let left = call.instance.pubsub.publish(topic, name, payload);
    left.sleepers.iter().for_each(|post| post.wake());
    if left.is_behind {
        call.instance.hold(Needs::MAIL_ROOM);
    }
    call.session.yield_if_told();
    call.reply.integer(i64::try_from(left.receivers).unwrap_or(i64::MAX));
    Ok(())
}

fn subscribe(call: &mut Call<'_>, topic: Topic) -> Outcome {
    if topic == Topic::ShardChannel && call.turn == Turn::Only {
        return Err(NOT_IN_A_TRANSACTION.into());
    }
    let Call { instance, session, args, reply, .. } = call;
    let protocol = session.protocol;
    for name in args.from(1) {
        let subscriptions = session.subscriptions.get_or_insert_default();
        if !subscriptions.contains(topic, name) {
            let name = instance.pubsub.subscribe(topic, name, &session.client, protocol);
            subscriptions.add(topic, name);
        }
        confirm(reply, words(topic).0, Some(name), subscriptions.told_count(topic));
    }
    session.note_subscriptions();
    Ok(())
}

/// Ends subscriptions: those named, or all. The confirmations come as mail, so that they are behind
/// what was published before.
fn unsubscribe(call: &mut Call<'_>, topic: Topic) -> Outcome {
    let Call { instance, session, args, reply, .. } = call;
    let mut bytes = Vec::new();
    let mut confirmations = Reply::new(&mut bytes, session.protocol);
    let is_any = match args.len() {
        1 => unsubscribe_from_all(instance, session, topic, &mut confirmations),
        _ => args.from(1).fold(false, |is_any, name| {
            unsubscribe_from(instance, session, topic, name, &mut confirmations) | is_any
        }),
    };
    session.note_subscriptions();
    if !is_any || call.turn == Turn::Only {
        reply.raw(&bytes);
        return Ok(());
    }
    let client = &session.client;
    client.notify(Notice::Message(client.id, bytes.into()));
    client.notify(Notice::Answer(client.id, Vec::new(), 0));
    Err(Unanswered::Waits)
}

/// Ends a subscription and confirms it; returns true if there was one.
fn unsubscribe_from(
    instance: &Instance,
    session: &mut Session,
    topic: Topic,
    name: &[u8],
    confirmations: &mut Reply<'_>,
) -> bool {
    let subscriptions = session.subscriptions.get_or_insert_default();
    let is_there = subscriptions.remove(topic, name);
    if is_there {
        instance.pubsub.unsubscribe(topic, name, &session.client);
    }
    confirm(confirmations, words(topic).1, Some(name), subscriptions.told_count(topic));
    is_there
}

/// Ends all subscriptions of a kind; without any, that is what it confirms. Returns true if there
/// was one.
fn unsubscribe_from_all(
    instance: &Instance,
    session: &mut Session,
    topic: Topic,
    confirmations: &mut Reply<'_>,
) -> bool {
    let subscriptions = session.subscriptions.get_or_insert_default();
    let names = subscriptions.names(topic);
    if names.is_empty() {
        confirm(confirmations, words(topic).1, None, subscriptions.told_count(topic));
    }
    for name in &names {
        unsubscribe_from(instance, session, topic, name, confirmations);
    }
    !names.is_empty()
}

/// Ends all subscriptions of a client, without a word.
pub fn forget_subscriptions(instance: &Instance, session: &mut Session) {
    let Some(subscriptions) = session.subscriptions.take() else { return };
    for topic in [Topic::Channel, Topic::Pattern, Topic::ShardChannel] {
        for name in subscriptions.names(topic) {
            instance.pubsub.unsubscribe(topic, &name, &session.client);
        }
    }
    session.note_subscriptions();
}

/// Words of the confirmations that a subscription has begun and has ended.
fn words(topic: Topic) -> (&'static str, &'static str) {
    match topic {
        Topic::Channel => ("subscribe", "unsubscribe"),
        Topic::Pattern => ("psubscribe", "punsubscribe"),
        Topic::ShardChannel => ("ssubscribe", "sunsubscribe"),
    }
}

fn confirm(reply: &mut Reply<'_>, word: &str, name: Option<&[u8]>, count: usize) {
    reply.push(3);
    reply.bulk(word.as_bytes());
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
}

/// Lists the channels, or shard channels, that match a pattern, or all.
fn list(call: &mut Call<'_>, topic: Topic) -> Outcome {
    let pattern = (call.args.len() == 3).then(|| call.args.get(2));
    if call.args.len() > 3 {
        return Err(call.wrong_subcommand().into());
    }
    let names = call.instance.pubsub.names(topic, pattern);
    call.reply.array(names.len());
    names.iter().for_each(|name| call.reply.bulk(name));
    Ok(())
}

/// Tells how many clients have subscribed to each of the channels, or shard channels.
fn count_subscribers(call: &mut Call<'_>, topic: Topic) -> Outcome {
    let Call { instance, args, reply, .. } = call;
    reply.array(2 * (args.len() - 2));
    for name in args.from(2) {
        let count = instance.pubsub.subscribers(topic, name);
        reply.bulk(name);
        reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
    }
    Ok(())
}

fn count_patterns(call: &mut Call<'_>) -> Outcome {
    let count = call.instance.pubsub.count(Topic::Pattern);
    call.reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(())
}

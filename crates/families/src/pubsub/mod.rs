//! Messages: PUBLISH and SUBSCRIBE with their kin, PUBSUB.

mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use command::{Call, Outcome, Row, Turn, Unanswered};
use session::{Answer, Name, Needs, Notice, Refusal, Topic};
use users::{AskedChannel, User};
use wire::Reply;

const NOT_IN_A_TRANSACTION: Refusal =
    Refusal::of("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");

/// Publishes a message to the subscribers of channels or of shard channels.
fn publish(call: &mut Call<'_>, topic: Topic) -> Outcome {
    let (name, payload) = (call.args.get(1), call.args.get(2));
    let (instance, author) = (call.instance, call.session.client.id);
    let has_replicas = !instance.replicas.is_empty() && instance.store.has_journal();
    let mut request = Vec::new();
    if has_replicas {
        call.args.write_request(&mut request);
    }
    let mut put = || call.thread.put_aside(&request);
    let put = has_replicas.then_some(&mut put as &mut dyn FnMut());
    let left = instance.pubsub.publish_with(topic, (name, payload), author, put);
    left.sleepers.iter().for_each(|post| post.wake());
    if left.is_behind {
        call.instance.clients.grants.withdraw(Needs::MAIL_ROOM);
    }
    call.session.yield_if_subscriber();
    call.reply.integer(i64::try_from(left.receivers).unwrap_or(i64::MAX));
    Ok(())
}

fn subscribe(call: &mut Call<'_>, topic: Topic) -> Outcome {
    if topic == Topic::ShardChannel && call.turn == Turn::Only {
        return Err(NOT_IN_A_TRANSACTION.into());
    }
    let Call { instance, session, args, row, reply, .. } = call;
    let protocol = session.protocol;
    for name in args.from(1) {
        let subscriptions = session.subscriptions.get_or_insert_default();
        if !subscriptions.contains(topic, name) {
            let name = instance.pubsub.subscribe(topic, name, &session.client, protocol);
            subscriptions.add(topic, name);
        }
        confirm(reply, row, Some(name), subscriptions.confirmed_count(topic));
    }
    session.note_subscriptions();
    if session.users_version() != instance.access.version() {
        close_if_lost(call);
    }
    Ok(())
}

/// Closes a client that has lost a channel while it subscribed to it: who took it away may have
/// looked at the subscribers before.
#[cold]
fn close_if_lost(call: &mut Call<'_>) {
    let Call { instance, session, .. } = call;
    session.follow_users(&instance.access);
    let (Some(user), Some(subscriptions)) = (session.user(), &session.subscriptions) else {
        return;
    };
    let topics = [Topic::Channel, Topic::Pattern, Topic::ShardChannel];
    let has_lost = |topic: Topic| {
        subscriptions.names(topic).iter().any(|name| !may_subscribe(user, topic, name))
    };
    if topics.into_iter().any(has_lost) {
        session.client.kill();
    }
}

/// Returns true if a user may use a channel or a pattern.
pub(crate) fn may_subscribe(user: &User, topic: Topic, name: &[u8]) -> bool {
    let is_pattern = topic == Topic::Pattern;
    user.may_use_channel(&AskedChannel { position: 0, channel: name, is_pattern })
}

/// Ends subscriptions: those named, or all. The confirmations come as mail, so that they are behind
/// what was published before; inside a transaction the reply of EXEC does.
fn unsubscribe(call: &mut Call<'_>, topic: Topic) -> Outcome {
    let Call { instance, session, args, row, reply, .. } = call;
    let mut bytes = Vec::new();
    let mut confirmations = Reply::new(&mut bytes, session.protocol);
    let subscriptions = session.subscriptions.get_or_insert_default();
    let names: Vec<Name> = match args.len() {
        1 => subscriptions.names(topic),
        _ => args.from(1).map(Name::from).collect(),
    };
    let mut has_ended = false;
    for name in &names {
        if subscriptions.remove(topic, name) {
            instance.pubsub.unsubscribe(topic, name, &session.client);
            has_ended = true;
        }
        confirm(&mut confirmations, row, Some(name), subscriptions.confirmed_count(topic));
    }
    if names.is_empty() {
        confirm(&mut confirmations, row, None, subscriptions.confirmed_count(topic));
    }
    session.note_subscriptions();
    if !has_ended || call.turn == Turn::Only {
        session.answers_by_mail |= has_ended;
        reply.raw(&bytes);
        return Ok(());
    }
    session.mailed_bytes = bytes.len();
    let client = &session.client;
    client.notify(Notice::Message(client.id, bytes.into()));
    let answer = Answer { reply: Vec::new(), position: 0, unserved: None };
    client.notify(Notice::Answer(client.id, answer));
    Err(Unanswered::ByMail)
}

/// Confirms that a subscription has begun or ended, in the name of the command.
fn confirm(reply: &mut Reply<'_>, row: &Row, name: Option<&[u8]>, count: usize) {
    reply.push(3);
    reply.bulk(row.full_name.as_bytes());
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

//! Closing clients that lost what they use: their user, or a channel. They are in no list from then
//! on. All this is done behind the change: a client that logs in or subscribes meanwhile sees it.

use crate::closing::{close_all, is_subscriber};
use crate::pubsub::may_subscribe;
use crate::replication::may_be_replica;
use command::Call;
use session::{Client, Instance, Topic};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use users::User;

/// Closes all clients of some users.
pub(super) fn close_all_of(instance: &Instance, names: &HashSet<&[u8]>) {
    let is_one =
        |client: &Client| client.info().user.as_deref().is_some_and(|name| names.contains(name));
    let clients = instance.clients.list();
    close_all(instance, clients.into_iter().filter(|client| is_one(client)));
}

/// Closes the subscribers among the clients of a user that may not use all their channels any more.
pub(super) fn close_subscribers_that_lost(instance: &Instance, user: &Arc<User>) {
    if user.may_use_all_channels() || !has_subscribers(instance) {
        return;
    }
    let clients = instance.clients.list().into_iter();
    let own = clients.filter(|it| it.info().user.as_ref() == Some(user.name()));
    close_those_that_lost(instance, own.map(|client| (client, Arc::clone(user))));
}

/// Closes the replicas that came as a user, if the user may not be one any more.
pub(super) fn close_replicas_that_lost(call: &Call<'_>, user: &User) {
    if may_be_replica(call.row.table(), user) {
        return;
    }
    let all = call.instance.replicas.all();
    let clients = all.iter().map(|replica| Arc::clone(&replica.client));
    let own = clients.filter(|it| it.info().user.as_ref() == Some(user.name()));
    close_all(call.instance, own);
}

/// Closes all clients that lost their user, a channel that they have subscribed to, or the right to
/// be a replica.
pub(super) fn close_all_that_lost(call: &Call<'_>) {
    let instance = call.instance;
    let mut users = HashMap::new();
    let (mut left, mut gone) = (Vec::new(), Vec::new());
    for replica in instance.replicas.all() {
        let name = replica.client.info().user.clone();
        if let Some(found) = name.and_then(|name| instance.access.find(&name)) {
            close_replicas_that_lost(call, &found.user);
        }
    }
    for client in instance.clients.list() {
        let Some(name) = client.info().user.clone() else { continue };
        let find = || instance.access.find(&name).map(|found| found.user);
        match users.entry(Arc::clone(&name)).or_insert_with(find) {
            Some(user) if user.may_use_all_channels() => {}
            Some(user) => left.push((client, Arc::clone(user))),
            None => gone.push(client),
        }
    }
    close_all(instance, gone.into_iter());
    if has_subscribers(instance) {
        close_those_that_lost(instance, left.into_iter());
    }
}

fn has_subscribers(instance: &Instance) -> bool {
    let topics = [Topic::Channel, Topic::Pattern, Topic::ShardChannel];
    topics.into_iter().any(|topic| instance.pubsub.count(topic) > 0)
}

/// Closes those clients that have subscribed to what their users may not use.
fn close_those_that_lost(
    instance: &Instance,
    clients: impl Iterator<Item = (Arc<Client>, Arc<User>)>,
) {
    let clients = clients.filter(|(client, _)| is_subscriber(client));
    let clients: HashMap<u64, _> = clients.map(|it| (it.0.id, it)).collect();
    if clients.is_empty() {
        return;
    }
    let mut lost = HashMap::new();
    instance.pubsub.each_subscriber(|topic, name, id| {
        if let Some((client, user)) = clients.get(&id)
            && !may_subscribe(user, topic, name)
        {
            lost.insert(id, Arc::clone(client));
        }
    });
    close_all(instance, lost.into_values());
}

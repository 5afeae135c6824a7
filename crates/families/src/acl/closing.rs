//! Closing clients that lost what they use: their user, or a channel.

use crate::pubsub::may_subscribe;
use session::{Client, ClientFlags, Instance};
use std::collections::HashMap;
use std::sync::Arc;
use users::User;

/// Closes all clients of a user. They are in no list from then on.
pub(super) fn close_all_of(instance: &Instance, name: &[u8]) {
    clients_of(instance, name).for_each(|client| _ = client.kill());
}

/// Closes the subscribers among the clients of a user that may not use all their channels any more.
/// To be called behind the change: who subscribes meanwhile sees it.
pub(super) fn close_subscribers_that_lost(instance: &Instance, user: &User) {
    if user.may_use_all_channels() {
        return;
    }
    let subscribers = clients_of(instance, user.name());
    let subscribers = subscribers.filter(|it| it.flags().contains(ClientFlags::PUBSUB));
    let subscribers: HashMap<u64, Arc<Client>> = subscribers.map(|it| (it.id, it)).collect();
    if subscribers.is_empty() {
        return;
    }
    instance.pubsub.each_subscriber(
        |topic, name| !may_subscribe(user, topic, name),
        |client| subscribers.get(&client).into_iter().for_each(|it| _ = it.kill()),
    );
}

fn clients_of(instance: &Instance, name: &[u8]) -> impl Iterator<Item = Arc<Client>> {
    let is_one = |client: &Arc<Client>| client.info().user.as_deref() == Some(name);
    instance.clients.list().into_iter().filter(is_one)
}

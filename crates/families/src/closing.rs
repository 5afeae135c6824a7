//! Closing other clients, which end their subscriptions at once.

use session::{Client, ClientFlags, Instance};
use std::collections::HashMap;
use std::sync::Arc;

/// Closes clients, and ends their subscriptions: a message that is published behind that counts and
/// reaches none of them, though their workers have not closed them yet. Returns the number of those
/// that were not to be closed already.
pub(crate) fn close_all(instance: &Instance, clients: impl Iterator<Item = Arc<Client>>) -> i64 {
    let (mut count, mut closed) = (0, HashMap::new());
    for client in clients {
        count += i64::from(client.kill());
        if is_subscriber(&client) {
            closed.insert(client.id, client);
        }
    }
    if closed.is_empty() {
        return count;
    }
    let mut ended = Vec::new();
    instance.pubsub.each_subscriber(|topic, name, id| {
        if let Some(client) = closed.get(&id) {
            ended.push((topic, name.to_vec(), client));
        }
    });
    for (topic, name, client) in ended {
        instance.pubsub.unsubscribe(topic, &name, client);
    }
    count
}

/// Returns true if a client has subscribed to anything.
pub(crate) fn is_subscriber(client: &Client) -> bool {
    client.flags().contains(ClientFlags::PUBSUB)
}

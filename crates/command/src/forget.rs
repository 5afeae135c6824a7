//! What is left of a client that goes, or begins anew.

use crate::monitor_lines::end_monitor;
use session::{ClientFlags, Instance, Session, Topic};
use std::sync::atomic::Ordering::Relaxed;

/// Removes a client from all tables: what it watches, has subscribed to, caches, or wants to see.
/// Its connection ends, or begins anew.
pub fn forget_all(instance: &Instance, session: &mut Session) {
    session.forget_watches(&instance.watches);
    forget_subscriptions(instance, session);
    forget_tracking(instance, session);
    end_monitor(instance, session);
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

/// Ends the tracking of a client.
pub fn forget_tracking(instance: &Instance, session: &mut Session) {
    let Some(tracking) = session.set_tracking(None) else { return };
    let client = &session.client;
    for prefix in &tracking.prefixes {
        instance.tracking.remove_prefix(prefix, client.id);
    }
    instance.tracking.end(client.id);
    let flags = [ClientFlags::TRACKING, ClientFlags::TRACKING_BROKEN, ClientFlags::BROADCAST];
    flags.iter().for_each(|flag| client.set_flag(*flag, false));
    client.redirection.store(-1, Relaxed);
    client.prefix_bytes.store(0, Relaxed);
    session.memory_changed = true;
}

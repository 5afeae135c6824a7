//! Connected clients.

use super::text::Text;
use command::Call;
use session::{ClientFlags, Holder, Pause};

pub(super) fn clients(text: &mut Text, call: &mut Call<'_>) {
    let clients = &call.instance.clients;
    let now = call.instance.clock.steady();
    let (mut peak, mut postponed, mut watching) = (clients.peaks.largest(now), 0, 0);
    let mut subscribed: u64 = 0;
    for client in clients.list() {
        peak = peak.max(client.buffers());
        watching += u64::from(client.watches() > 0);
        subscribed += u64::from(client.flags().contains(ClientFlags::PUBSUB));
        postponed += u64::from(client.flags().contains(ClientFlags::PAUSED));
    }
    let waiters = &call.instance.waiters;
    let paused = clients.paused(now);
    let (reason, actions) = match paused {
        Pause::Nothing => ("none", "none"),
        Pause::Writes => match clients.holder() {
            Some(Holder::End) => ("shutdown_in_progress", "write"),
            Some(Holder::Failover) => ("failover_in_progress", "write"),
            None => ("client_pause", "write"),
        },
        Pause::Everything => ("client_pause", "all"),
    };
    let is_paused = paused != Pause::Nothing;
    let left = if is_paused { clients.paused_until(now).since(now) } else { 0 };
    text.fields(&[
        ("connected_clients", &clients.count()),
        ("cluster_connections", &0),
        ("maxclients", &settings::network::MAXCLIENTS.get(&call.instance.settings)),
        ("client_recent_max_input_buffer", &peak.input),
        ("client_recent_max_output_buffer", &peak.output),
        ("blocked_clients", &(waiters.count() + postponed)),
        ("tracking_clients", &call.instance.tracking.count()),
        ("pubsub_clients", &subscribed),
        ("watching_clients", &watching),
        ("clients_in_timeout_table", &waiters.deadlines()),
        ("total_watched_keys", &call.instance.watches.keys()),
        ("total_blocking_keys", &waiters.keys()),
        ("total_blocking_keys_on_nokey", &waiters.keys_that_may_be_lost()),
        ("paused_reason", &reason),
        ("paused_actions", &actions),
        ("paused_timeout_milliseconds", &left),
    ]);
}

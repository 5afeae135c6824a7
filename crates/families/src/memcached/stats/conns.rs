//! `stats conns`: where the server listens, and who is connected, at whatever port.

use super::lines::Lines;
use ::settings::memcached::{
    MEMCACHED_BIND, MEMCACHED_PORT, MEMCACHED_TLS_PORT, MEMCACHED_UNIX_SOCKET,
};
use ::settings::network::BIND;
use command::Call;
use session::{Client, ClientFlags};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn conns(call: &mut Call<'_>) {
    let mut lines = Lines::default();
    let now = call.instance.clock.steady();
    let uptime = now.since(call.instance.identity.started) / 1000;
    // Descriptors of listening sockets are not told. Those of clients are above these numbers, as
    // there are as many others at least.
    for (number, address) in (1..).zip(listening(call)) {
        lines.put(format_args!("{number}:addr"), address);
        lines.put(format_args!("{number}:state"), "conn_listening");
        lines.put(format_args!("{number}:secs_since_last_cmd"), uptime);
    }
    for client in call.instance.clients.list() {
        let idle = now.since(base::Steady(client.last_interaction.load(Relaxed))) / 1000;
        let is_asking = client.id == call.session.client.id;
        let is_unix = client.flags().contains(ClientFlags::UNIX_SOCKET);
        let fd = client.fd;
        lines.put(format_args!("{fd}:addr"), with_kind(&client.address, is_unix));
        lines.put(format_args!("{fd}:listen_addr"), with_kind(&client.local_address, is_unix));
        lines.put(format_args!("{fd}:state"), state_of(&client, is_asking));
        lines.put(format_args!("{fd}:secs_since_last_cmd"), idle);
    }
    lines.answer(call);
}

/// Returns where clients of the protocol may connect.
fn listening(call: &Call<'_>) -> Vec<String> {
    let settings = &call.instance.settings;
    let own = MEMCACHED_BIND.get(settings);
    let addresses = if own.is_empty() { BIND.get(settings) } else { own };
    let mut all = Vec::new();
    for port in [MEMCACHED_PORT.get(settings), MEMCACHED_TLS_PORT.get(settings)] {
        let with_port = |address: &String| {
            let kind = if address.contains(':') { "tcp6" } else { "tcp" };
            match address.trim_start_matches('-') {
                "*" => format!("{kind}:0.0.0.0:{port}"),
                "::*" => format!("{kind}:[::]:{port}"),
                address if address.contains(':') => format!("{kind}:[{address}]:{port}"),
                address => format!("{kind}:{address}:{port}"),
            }
        };
        all.extend(addresses.iter().filter(|_| port != 0).map(with_port));
    }
    let path = MEMCACHED_UNIX_SOCKET.get(settings);
    all.extend((!path.is_empty()).then(|| format!("unix:{path}")));
    all
}

fn with_kind(address: &str, is_unix: bool) -> String {
    let kind = match address {
        _ if is_unix => "unix",
        address if address.starts_with('[') => "tcp6",
        _ => "tcp",
    };
    format!("{kind}:{}", if is_unix { address.trim_end_matches(":0") } else { address })
}

/// Returns what a client is at, in Memcached's words.
fn state_of(client: &Client, is_asking: bool) -> &'static str {
    let waits = |bytes: u64| bytes > 0;
    if is_asking {
        "conn_parse_cmd"
    } else if waits(client.output_bytes.load(Relaxed)) {
        "conn_mwrite"
    } else if waits(client.query_bytes.load(Relaxed) + client.argument_bytes.load(Relaxed)) {
        "conn_nread"
    } else if client.commands.load(Relaxed) == 0 {
        "conn_new_cmd"
    } else {
        "conn_read"
    }
}

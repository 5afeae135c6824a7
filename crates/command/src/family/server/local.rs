//! Check for clients on this machine, to whom some things are restricted.

use crate::clients::{Client, ClientFlags};
use settings::DebugAccess;
use std::net::IpAddr;

/// Returns true if the client came through a unix socket or the loopback interface.
pub(super) fn is_local(client: &Client) -> bool {
    if client.flags().contains(ClientFlags::UNIX_SOCKET) {
        return true;
    }
    let host = client.address.rsplit_once(':').map_or("", |(host, _)| host);
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Returns true if a setting lets the client in.
pub(super) fn is_allowed(access: DebugAccess, client: &Client) -> bool {
    match access {
        DebugAccess::Yes => true,
        DebugAccess::Local => is_local(client),
        DebugAccess::No => false,
    }
}

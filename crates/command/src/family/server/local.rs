//! Check for clients on this machine, to whom some things are restricted.

use crate::call::Call;
use crate::clients::{Client, ClientFlags};
use crate::spec::LetsIn;
use settings::DebugAccess;
use settings::network::ENABLE_DEBUG_COMMAND;
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

/// Returns true if settings let the client run the command.
pub fn is_let_in(call: &Call<'_>) -> bool {
    match call.row.spec.lets_in {
        LetsIn::Everybody => true,
        LetsIn::Debuggers => match ENABLE_DEBUG_COMMAND.get(&call.instance.settings) {
            DebugAccess::Yes => true,
            DebugAccess::Local => is_local(&call.session.client),
            DebugAccess::No => false,
        },
        LetsIn::Nobody => false,
    }
}

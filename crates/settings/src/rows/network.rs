//! Settings of the network: addresses, connections, access.

use crate::choice::DebugAccess;
use crate::row::{addresses, bytes, integer, octal, one_of, text, yes_no};
use std::sync::Arc;

super::declare::rows! { from 0;
    BIND: Arc<[String]> = addresses("bind", &["*", "-::*"], 16,
        "Addresses to listen on, separated by spaces. `*` is every IPv4 address, `::*` every IPv6 \
         address; an address with a leading `-` may be missing on this machine.");
    PORT: u16 = integer("port", 0..=65535, 6379,
        "TCP port. 0 turns TCP off.");
    UNIX_SOCKET: Arc<str> = text("unixsocket", "",
        "Path of a Unix socket to listen on. Empty: none.").at_start();
    UNIX_SOCKET_PERM: u32 = octal("unixsocketperm", 0..=0o777, 0,
        "Permissions of the Unix socket, octal. 0 leaves what the system gives it.").at_start();
    UNIX_SOCKET_GROUP: Arc<str> = text("unixsocketgroup", "",
        "Group of the Unix socket, a name of `/etc/group`. Empty: that of the process.").at_start();
    TCP_BACKLOG: i32 = integer("tcp-backlog", 0..=2147483647, 511,
        "Connections that may wait to be accepted. The system may lower it.").at_start();
    TCP_KEEPALIVE: u32 = integer("tcp-keepalive", 0..=2147483647, 300,
        "Seconds without traffic before the system probes whether the peer is alive. 0: never.");
    TIMEOUT: u32 = integer("timeout", 0..=2147483647, 0,
        "Seconds after which an idle client is disconnected. 0: never.");
    MAXCLIENTS: u32 = integer("maxclients", 1..=4294967295, 10000,
        "Most clients connected at a time. A start lowers it to what the limit of open files \
         leaves.");
    PROTECTED_MODE: bool = yes_no("protected-mode", true,
        "Refuse clients from other machines while no password is set.");
    REQUIREPASS: Arc<[u8]> = bytes("requirepass",
        "Password that clients must give with AUTH or HELLO. Empty: none.").sensitive();
    ENABLE_DEBUG_COMMAND: DebugAccess = one_of("enable-debug-command", DebugAccess::NAMES,
        DebugAccess::No as usize,
        "Who may use the DEBUG command.").at_start();
    ENABLE_PROTECTED_CONFIGS: DebugAccess = one_of("enable-protected-configs", DebugAccess::NAMES,
        DebugAccess::No as usize,
        "Who may change protected settings with CONFIG SET.").at_start();
}

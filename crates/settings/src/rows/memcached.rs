//! Settings of Memcached's protocol: where it listens, and what its clients may.

use crate::row::{addresses, integer, memory, text};
use std::sync::Arc;

super::declare::rows! { from super::replication::END;
    MEMCACHED_PORT: u16 = integer("memcached-port", 0..=65535, 0,
        "TCP port of Memcached's text and meta protocol. 0: none.");
    MEMCACHED_TLS_PORT: u16 = integer("memcached-tls-port", 0..=65535, 0,
        "TCP port of Memcached's protocol inside TLS. 0: none.");
    MEMCACHED_UNIX_SOCKET: Arc<str> = text("memcached-unixsocket", "",
        "Path of a Unix socket for Memcached's protocol, with the permissions and the group of \
         `unixsocket`. Empty: none.").at_start();
    MEMCACHED_BIND: Arc<[String]> = addresses("memcached-bind", &[], 16,
        "Addresses to listen on for Memcached's protocol, as in `bind`. Empty: those of `bind`.");
    MEMCACHED_DATABASE: usize = integer("memcached-database", 0..=i32::MAX as i128, 0,
        "Number of the database that clients of Memcached's protocol see.").at_start();
    MEMCACHED_MAX_ITEM_SIZE: u64 = memory("memcached-max-item-size", 0..=i64::MAX as i128, 0,
        "Most bytes of a value that a client of Memcached's protocol may set. 0: as many as \
         `proto-max-bulk-len`.");
}

//! Listening sockets, as `bind`, `port` and `unixsocket` ask for them.

use crate::front::Dialect;
use mio::net::{TcpListener, UnixListener};
use settings::general::DATABASES;
use settings::memcached::{
    MEMCACHED_BIND, MEMCACHED_DATABASE, MEMCACHED_PORT, MEMCACHED_TLS_PORT, MEMCACHED_UNIX_SOCKET,
};
use settings::memory::{MAXMEMORY, MAXMEMORY_POLICY};
use settings::tls::TLS_PORT;
use settings::{MaxmemoryPolicy, Settings, network};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Listening socket that clients connect to.
#[derive(Debug)]
pub enum Listener {
    /// TCP socket.
    Tcp(TcpListener),
    /// TCP socket of TLS.
    Tls(TcpListener),
    /// Unix socket.
    Unix(UnixListener),
}

/// Reason why the server cannot listen; the operator must change the setting or free the address.
#[derive(Debug, Error)]
pub enum ListenError {
    /// An address of `bind` is not an address of this machine, or taken.
    #[error("Could not create server TCP listening socket {address}: bind: {error}")]
    Tcp {
        /// Name of the port's kind, `tcp` or `tls`.
        kind: &'static str,
        /// Value of the setting.
        address: String,
        /// Error of the system call.
        error: io::Error,
    },
    /// The socket at the path of `unixsocket` cannot be made.
    #[error("Failed opening Unix socket {}: {error}", path.display())]
    Unix {
        /// Value of the setting.
        path: PathBuf,
        /// Error of the system call.
        error: io::Error,
    },
    /// Neither a port nor a path.
    #[error("Configured to not listen anywhere, exiting.")]
    Nowhere,
    /// Clients of Memcached's protocol are to see a database that does not exist.
    #[error("`memcached-database` is {0}, and there are {1} databases, from 0 on (`databases`)")]
    NoDatabase(usize, usize),
}

/// Address or path that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// One entry of `bind`, and the port.
    Tcp(String, u16, Dialect),
    /// One entry of `bind`, and the port of TLS.
    Tls(String, u16, Dialect),
    /// Path of a Unix socket.
    Unix(PathBuf, Dialect),
}

impl ListenAddress {
    /// What is spoken there.
    pub fn dialect(&self) -> Dialect {
        match self {
            ListenAddress::Tcp(_, _, dialect)
            | ListenAddress::Tls(_, _, dialect)
            | ListenAddress::Unix(_, dialect) => *dialect,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp(word, port, _) => write!(f, "{word} port {port}"),
            ListenAddress::Tls(word, port, _) => write!(f, "{word} port {port} with TLS"),
            ListenAddress::Unix(path, _) => path.display().fmt(f),
        }
    }
}

/// Returns the addresses that the settings ask for.
pub fn addresses(settings: &Settings) -> Vec<ListenAddress> {
    let bind = network::BIND.get(settings);
    let (port, tls_port) = (network::PORT.get(settings), TLS_PORT.get(settings));
    let path = network::UNIX_SOCKET.get(settings);
    let mut addresses = Vec::new();
    add_addresses(&mut addresses, Dialect::Resp, (&bind, port, tls_port), &path);
    let of_memcached = MEMCACHED_BIND.get(settings);
    let bind = if of_memcached.is_empty() { bind } else { of_memcached };
    let (port, tls_port) = (MEMCACHED_PORT.get(settings), MEMCACHED_TLS_PORT.get(settings));
    let path = MEMCACHED_UNIX_SOCKET.get(settings);
    add_addresses(&mut addresses, Dialect::Memcached, (&bind, port, tls_port), &path);
    addresses
}

/// Logs where Memcached's protocol is spoken, if it is, and what is to be known before.
pub fn log_memcached(settings: &Settings) {
    let mut addresses = addresses(settings);
    addresses.retain(|address| address.dialect() == Dialect::Memcached);
    if addresses.is_empty() {
        return;
    }
    let named: Vec<String> = addresses.iter().map(ListenAddress::to_string).collect();
    tracing::info!("Memcached's protocol is spoken at {}", named.join(", "));
    let evicts = MAXMEMORY_POLICY.get(settings) != MaxmemoryPolicy::NoEviction;
    if MAXMEMORY.get(settings) == 0 || !evicts {
        tracing::warn!(
            "Memcached's protocol: without `maxmemory` and a `maxmemory-policy` that evicts, \
             items are refused where memory ends"
        );
    }
}

fn add_addresses(
    addresses: &mut Vec<ListenAddress>,
    dialect: Dialect,
    (bind, port, tls_port): (&[String], u16, u16),
    path: &str,
) {
    let of_tcp = bind.iter().filter(|_| port != 0);
    addresses.extend(of_tcp.map(|word| ListenAddress::Tcp(word.clone(), port, dialect)));
    let of_tls = bind.iter().filter(|_| tls_port != 0);
    addresses.extend(of_tls.map(|word| ListenAddress::Tls(word.clone(), tls_port, dialect)));
    if !path.is_empty() {
        addresses.push(ListenAddress::Unix(path.into(), dialect));
    }
}

/// Opens all sockets that the settings ask for.
///
/// # Errors
/// See `ListenError`.
pub fn listen(settings: &Settings) -> Result<Vec<(ListenAddress, Listener)>, ListenError> {
    let (database, databases) = (MEMCACHED_DATABASE.get(settings), DATABASES.get(settings));
    if database >= databases {
        return Err(ListenError::NoDatabase(database, databases));
    }
    let mut listeners = Vec::new();
    for address in addresses(settings) {
        let opened = open(&address, settings)?;
        listeners.extend(opened.map(|listener| (address, listener)));
    }
    if listeners.is_empty() { Err(ListenError::Nowhere) } else { Ok(listeners) }
}

/// Returns the kinds of these listeners, each once, as readers of the log wait for them.
pub fn kinds(listeners: &[(ListenAddress, Listener)]) -> Vec<&'static str> {
    let is_there = |wanted: fn(&Listener) -> bool| listeners.iter().any(|(_, it)| wanted(it));
    let tcp = is_there(|it| matches!(it, Listener::Tcp(_))).then_some("tcp");
    let tls = is_there(|it| matches!(it, Listener::Tls(_))).then_some("tls");
    let unix = is_there(|it| matches!(it, Listener::Unix(_))).then_some("unix");
    tcp.into_iter().chain(unix).chain(tls).collect()
}

/// Opens one socket; `None` for an address that may be missing on this machine and is.
///
/// # Errors
/// See `ListenError`.
pub fn open(address: &ListenAddress, settings: &Settings) -> Result<Option<Listener>, ListenError> {
    match address {
        ListenAddress::Tcp(word, port, _) => {
            let socket = listen_tcp(word, *port, settings);
            let opened = socket.map_err(|(name, error)| tcp_error("tcp", name, error));
            Ok(opened?.map(Listener::Tcp))
        }
        ListenAddress::Tls(word, port, _) => {
            let socket = listen_tcp(word, *port, settings);
            let opened = socket.map_err(|(name, error)| tcp_error("tls", name, error));
            Ok(opened?.map(Listener::Tls))
        }
        ListenAddress::Unix(path, _) => {
            let open = || open_unix(path, settings);
            open().map(Some).map_err(|error| ListenError::Unix { path: path.clone(), error })
        }
    }
}

impl ListenError {
    /// Returns the error of a system call as one about an address.
    pub fn of(address: &ListenAddress, error: io::Error) -> ListenError {
        match address {
            ListenAddress::Tcp(word, port, _) => tcp_error("tcp", format!("{word}:{port}"), error),
            ListenAddress::Tls(word, port, _) => tcp_error("tls", format!("{word}:{port}"), error),
            ListenAddress::Unix(path, _) => ListenError::Unix { path: path.clone(), error },
        }
    }
}

fn tcp_error(kind: &'static str, address: String, error: io::Error) -> ListenError {
    ListenError::Tcp { kind, address, error }
}

/// Opens one address of `bind`; one with a leading `-` may be missing on this machine. An error
/// comes with the address.
fn listen_tcp(
    word: &str,
    port: u16,
    settings: &Settings,
) -> Result<Option<TcpListener>, (String, io::Error)> {
    let backlog = network::TCP_BACKLOG.get(settings);
    let (is_optional, host) = word.strip_prefix('-').map_or((false, word), |host| (true, host));
    let opened = resolve(host, port).and_then(|address| open_tcp(address, backlog));
    match opened {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if is_optional && is_missing(&error) => Ok(None),
        Err(error) => Err((format!("{host}:{port}"), error)),
    }
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let ip = match host {
        "*" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        "::*" => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        host => {
            let found = (host, port).to_socket_addrs()?.next();
            return found.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into());
        }
    };
    Ok(SocketAddr::new(ip, port))
}

fn is_missing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let missing =
        [Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT, Errno::PROTONOSUPPORT, Errno::OPNOTSUPP];
    missing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn open_tcp(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(TcpListener::from_std(socket.into()))
}

fn open_unix(path: &Path, settings: &Settings) -> io::Result<Listener> {
    // A socket left by a server that was killed would be in the way.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    let permissions = network::UNIX_SOCKET_PERM.get(settings);
    if permissions != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(permissions))?;
    }
    let group = network::UNIX_SOCKET_GROUP.get(settings);
    if !group.is_empty() {
        let groups = std::fs::read_to_string("/etc/group")?;
        let id = group_id(&groups, &group).ok_or_else(|| {
            io::Error::other(format!("`unixsocketgroup`: /etc/group has no group '{group}'"))
        })?;
        std::os::unix::fs::chown(path, None, Some(id))?;
    }
    Ok(Listener::Unix(listener))
}

/// Finds the number of a group in the text of `/etc/group`.
fn group_id(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(name);
        is_it.then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\ncacheusers:x:12:a,b\ncache:x:7:\nbad:x:y:\nshort\n";
        assert_eq!(group_id(groups, "cache"), Some(7));
        assert_eq!(group_id(groups, "root"), Some(0));
        for name in ["", "cach", "bad", "short", "x", "7"] {
            assert_eq!(group_id(groups, name), None, "{name}");
        }
    }
}

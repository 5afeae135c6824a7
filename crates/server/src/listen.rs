//! Listening sockets, as `bind`, `port` and `unixsocket` ask for them.

use mio::net::{TcpListener, UnixListener};
use settings::{Settings, network};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use thiserror::Error;

/// Listening socket that clients connect to.
#[derive(Debug)]
pub enum Listener {
    /// TCP socket.
    Tcp(TcpListener),
    /// Unix socket.
    Unix(UnixListener),
}

/// Reason why the server cannot listen; the operator must change the setting or free the address.
#[derive(Debug, Error)]
pub enum ListenError {
    /// An address of `bind` is not an address of this machine, or taken.
    #[error("Could not create server TCP listening socket {address}: {error}")]
    Tcp {
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
}

/// Address or path that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// One entry of `bind`, and the port.
    Tcp(String, u16),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

/// Returns the addresses that the settings ask for.
pub fn addresses(settings: &Settings) -> Vec<ListenAddress> {
    let port = network::PORT.get(settings);
    let addresses = network::BIND.get(settings);
    let of_tcp = addresses.iter().filter(|_| port != 0);
    let mut addresses: Vec<ListenAddress> =
        of_tcp.map(|word| ListenAddress::Tcp(word.clone(), port)).collect();
    let path = network::UNIX_SOCKET.get(settings);
    if !path.is_empty() {
        addresses.push(ListenAddress::Unix(path.as_ref().into()));
    }
    addresses
}

/// Opens all sockets that the settings ask for.
///
/// # Errors
/// See `ListenError`.
pub fn listen(settings: &Settings) -> Result<Vec<(ListenAddress, Listener)>, ListenError> {
    let mut listeners = Vec::new();
    for address in addresses(settings) {
        let opened = open(&address, settings)?;
        listeners.extend(opened.map(|listener| (address, listener)));
    }
    if listeners.is_empty() { Err(ListenError::Nowhere) } else { Ok(listeners) }
}

/// Opens one socket; `None` for an address that may be missing on this machine and is.
///
/// # Errors
/// See `ListenError`.
pub fn open(address: &ListenAddress, settings: &Settings) -> Result<Option<Listener>, ListenError> {
    match address {
        ListenAddress::Tcp(word, port) => {
            listen_tcp(word, *port, network::TCP_BACKLOG.get(settings))
        }
        ListenAddress::Unix(path) => {
            listen_unix(path.clone(), network::UNIX_SOCKET_PERM.get(settings)).map(Some)
        }
    }
}

impl ListenError {
    /// Returns the error of a system call as one about an address.
    pub fn of(address: &ListenAddress, error: io::Error) -> ListenError {
        match address {
            ListenAddress::Tcp(word, port) => {
                ListenError::Tcp { address: format!("{word}:{port}"), error }
            }
            ListenAddress::Unix(path) => ListenError::Unix { path: path.clone(), error },
        }
    }
}

/// Opens one address of `bind`; one with a leading `-` may be missing on this machine.
fn listen_tcp(word: &str, port: u16, backlog: i32) -> Result<Option<Listener>, ListenError> {
    let (is_optional, host) = word.strip_prefix('-').map_or((false, word), |host| (true, host));
    let opened = resolve(host, port).and_then(|address| open_tcp(address, backlog));
    match opened {
        Ok(listener) => Ok(Some(Listener::Tcp(listener))),
        Err(error) if is_optional && is_missing(&error) => Ok(None),
        Err(error) => Err(ListenError::Tcp { address: format!("{host}:{port}"), error }),
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

fn listen_unix(path: PathBuf, permissions: u32) -> Result<Listener, ListenError> {
    // A socket left by a server that was killed would be in the way.
    let _ = std::fs::remove_file(&path);
    let open = || {
        let listener = UnixListener::bind(&path)?;
        if permissions != 0 {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(permissions))?;
        }
        Ok(Listener::Unix(listener))
    };
    open().map_err(|error| ListenError::Unix { path: path.clone(), error })
}

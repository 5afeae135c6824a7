//! `supervised`: the service manager that has started the server is notified when clients may come,
//! and when the server ends.

use settings::{Settings, Supervised, general};
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Variable in which systemd names the socket for notices.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Message to the service manager.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// Clients are served from now on.
    Ready,
    /// The server ends.
    Stopping,
}

/// Returns true if a service manager looks after this process, which then is to stay in front.
pub(crate) fn is_there(settings: &Settings) -> bool {
    let has_socket = std::env::var_os(SOCKET).is_some();
    matches!(general::SUPERVISED.get(settings), Supervised::Systemd | Supervised::Auto)
        && has_socket
}

/// Returns what INFO tells of it.
pub(crate) fn name(settings: &Settings) -> &'static str {
    if is_there(settings) { "systemd" } else { "no" }
}

/// Logs what of the setting cannot be done.
pub(crate) fn warn(settings: &Settings) {
    match general::SUPERVISED.get(settings) {
        Supervised::Systemd if !is_there(settings) => {
            tracing::warn!("systemd supervision error: NOTIFY_SOCKET not found!");
        }
        Supervised::Upstart => tracing::warn!("`supervised upstart` has no effect: use systemd"),
        _ => {}
    }
}

/// Notifies the service manager, if there is one.
pub(crate) fn notify(settings: &Settings, notice: Notice) {
    if !is_there(settings) {
        return;
    }
    let text: &[u8] = match notice {
        Notice::Ready => b"STATUS=Ready to accept connections\nREADY=1\n",
        Notice::Stopping => b"STOPPING=1\n",
    };
    let name = std::env::var_os(SOCKET).unwrap_or_default();
    if let Err(error) = send(&name, text) {
        tracing::warn!("telling the service manager at {}: {error}", name.display());
    }
}

fn send(name: &OsStr, text: &[u8]) -> io::Result<()> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(hidden) => SocketAddr::from_abstract_name(hidden)?,
        None => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(text, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_arrive_at_sockets_with_and_without_a_path() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notify");
        let hidden = format!("@varve-test-{}", std::process::id());
        let with_path = UnixDatagram::bind(&path).expect("bound");
        let address = SocketAddr::from_abstract_name(&hidden[1..]).expect("an address");
        let without = UnixDatagram::bind_addr(&address).expect("bound");
        for (socket, name) in [(with_path, path.as_os_str()), (without, OsStr::new(&hidden))] {
            send(name, b"READY=1\n").expect("sent");
            let mut text = [0; 64];
            let len = socket.recv(&mut text).expect("received");
            assert_eq!(&text[..len], b"READY=1\n");
        }
        assert!(send(OsStr::new("/nosuch/notify"), b"READY=1\n").is_err());
    }
}

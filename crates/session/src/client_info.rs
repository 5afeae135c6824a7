//! What is known of a client from outside: its addresses, and what it has reported about itself.

use std::sync::Arc;

/// Facts that a client has reported about itself.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// Name, set by CLIENT SETNAME.
    pub name: String,
    /// Library name, set by CLIENT SETINFO LIB-NAME.
    pub library: String,
    /// Library version, set by CLIENT SETINFO LIB-VER.
    pub library_version: String,
    /// Capabilities, set by CLIENT CAPA; a letter each.
    pub capabilities: String,
    /// Name of its user; `None` for a client that is nobody's, which may do everything.
    pub user: Option<Arc<[u8]>>,
}

impl ClientInfo {
    /// Returns the bytes of memory of all texts.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.name, &self.library, &self.library_version, &self.capabilities];
        texts.iter().map(|text| text.capacity()).sum()
    }
}

/// Addresses and socket of a new connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Peer's address, or the path of the unix socket.
    pub address: String,
    /// Server's address, or the path of the unix socket.
    pub local_address: String,
    /// File descriptor.
    pub fd: i32,
    /// True if it came through a unix socket.
    pub is_unix: bool,
}

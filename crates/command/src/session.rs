//! What a connection remembers from one command to the next.

use crate::clients::{Client, ClientFlags};
use crate::needs::Needs;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::Access;
use wire::Protocol;

/// Which replies a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReplyMode {
    /// All.
    #[default]
    On,
    /// None.
    Off,
    /// None for the command that asks for it and the one after.
    SkipNext,
    /// None for this one.
    Skip,
}

/// The protocol state of one connection; its worker alone touches it.
#[derive(Debug)]
pub struct Session {
    /// What others can see of this client.
    pub client: Arc<Client>,
    /// The database that SELECT chose.
    pub database: usize,
    /// RESP2 or RESP3.
    pub protocol: Protocol,
    /// What of a command's needs holds for this client.
    pub(crate) grants: Needs,
    /// Accesses leave no trace in the history of keys.
    pub no_touch: bool,
    /// Which replies it gets.
    pub reply_mode: ReplyMode,
    /// Close the connection once the replies are written.
    pub close_after_reply: bool,
    /// A client that loads data and sees keys whose deadline has passed.
    pub import_source: bool,
}

impl Session {
    /// The session of a client that has just connected.
    pub fn new(client: Arc<Client>, authenticated: bool) -> Session {
        let mut session = Session {
            client,
            database: 0,
            protocol: Protocol::Resp2,
            grants: Needs::OF_SESSION,
            no_touch: false,
            reply_mode: ReplyMode::On,
            close_after_reply: false,
            import_source: false,
        };
        session.set_authenticated(authenticated);
        session
    }

    /// Whether the client has shown a password, or needs none.
    #[inline]
    pub fn is_authenticated(&self) -> bool {
        self.grants.contains(Needs::AUTHENTICATED)
    }

    /// Notes whether the client has shown a password, or needs none.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.grants.set(Needs::AUTHENTICATED, authenticated);
    }

    /// Chooses a database, for others to see too.
    #[inline]
    pub fn select(&mut self, database: usize) {
        self.database = database;
        self.client.database.store(u32::try_from(database).unwrap_or(u32::MAX), Relaxed);
    }

    /// Speaks another version of the protocol from now on.
    pub fn speak(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        let version = if protocol == Protocol::Resp3 { 3 } else { 2 };
        self.client.protocol.store(version, Relaxed);
    }

    /// Closes the connection once the replies are written.
    pub fn close(&mut self) {
        self.close_after_reply = true;
        self.client.set_flag(ClientFlags::CLOSING, true);
    }

    /// Has an access treat keys as the client asked: it leaves no trace, or sees what has expired.
    #[cold]
    pub fn mark(&self, access: &mut Access<'_>) {
        if self.no_touch {
            access.do_not_touch();
        }
        if self.import_source {
            access.show_expired();
        }
    }

    /// Makes the session as it was when the client connected, but for what the client's library
    /// told of itself.
    pub fn reset(&mut self, authenticated: bool) {
        self.select(0);
        self.speak(Protocol::Resp2);
        self.set_authenticated(authenticated);
        self.no_touch = false;
        self.import_source = false;
        if self.reply_mode == ReplyMode::Off {
            self.reply_mode = ReplyMode::On;
        }
        self.client.info().name.clear();
        let cleared = [ClientFlags::NO_EVICT, ClientFlags::NO_TOUCH, ClientFlags::IMPORT_SOURCE];
        cleared.iter().for_each(|flag| self.client.set_flag(*flag, false));
    }
}

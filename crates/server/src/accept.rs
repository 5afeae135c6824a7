//! Acceptor of connections, which gives each to the worker that is to have it, or has it
//! established first.

use crate::balance::Balance;
use crate::front::Dialect;
use crate::listeners::{Accepted, Listeners};
use crate::mail::Mail;
use crate::stream::{self, Stream};
use crate::tls::Handshakes;
use mio::Token;
use mio::net::TcpStream;
use session::Instance;
use settings::tls::MAX_NEW_TLS_CONNECTIONS;
use settings::{general, network};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Most connections accepted for one event.
const ACCEPTS_PER_TURN: usize = 1000;

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";
const PROTECTED: &[u8] = b"-DENIED Varve is running in protected mode because no password is set \
for the default user. In this mode connections are only accepted from the loopback interface. \
To connect from another machine, set a password (`requirepass` in the configuration file or with \
CONFIG SET on this machine), or turn the mode off with `protected-mode no`.\r\n";

/// The same for a client of Memcached's protocol.
const PROTECTED_FROM_MEMCACHED: &[u8] = b"SERVER_ERROR DENIED connections from other machines \
need a password for the default user (`requirepass`), or `protected-mode no`\r\n";

/// Listeners, and the workers that share the accepted connections.
#[derive(Debug)]
pub struct Acceptor {
    listeners: Arc<Listeners>,
    /// The workers; the first is the one that accepts.
    balance: Arc<Balance>,
    /// Establishes connections with TLS.
    handshakes: Arc<Handshakes>,
    /// Listeners whose connections could not be accepted: no event tells when they can.
    stuck: Vec<Token>,
}

impl Acceptor {
    /// Returns an acceptor that gives connections of `listeners` to workers as `balance` says; the
    /// first worker is the one that accepts.
    pub fn new(
        listeners: Arc<Listeners>,
        balance: Arc<Balance>,
        handshakes: Arc<Handshakes>,
    ) -> Acceptor {
        Acceptor { listeners, balance, handshakes, stuck: Vec::new() }
    }

    /// Accepts connections that wait at a listener. Returns those that the accepting worker keeps,
    /// and true if more may wait, of which no event will tell.
    pub fn accept(&mut self, token: Token, instance: &Instance) -> (Vec<Stream>, bool) {
        let (mut own, mut encrypted) = (Vec::new(), 0);
        for _ in 0..ACCEPTS_PER_TURN {
            match self.listeners.accept(token) {
                Ok(None) => return (own, false),
                Ok(Some(Accepted::Plain(stream))) => own.extend(self.deal(stream, instance)),
                Ok(Some(Accepted::Tls(socket, dialect))) => {
                    self.establish(socket, dialect, instance);
                    encrypted += 1;
                    if encrypted == MAX_NEW_TLS_CONNECTIONS.get(&instance.settings) {
                        return (own, true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return (own, false),
                // Its client has given up.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!("accepting a client connection: {error}");
                    self.stuck.push(token);
                    return (own, false);
                }
            }
        }
        (own, true)
    }

    /// Returns the listeners whose connections could not be accepted, to be tried again, as the
    /// process may have free file descriptors by now.
    pub fn take_stuck(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.stuck)
    }

    /// Returns true if one more client may connect. One that is only about to may have to give its
    /// place.
    fn admit(&self, instance: &Instance) -> bool {
        instance.clients.admit(network::MAXCLIENTS.get(&instance.settings).into())
            || self.handshakes.give_way()
    }

    /// Rejects a connection, gives it to another worker, or returns it for the accepting worker.
    fn deal(&mut self, mut stream: Stream, instance: &Instance) -> Option<Stream> {
        if is_protected(instance) && !stream.is_local() {
            instance.statistics.rejected_connections.fetch_add(1, Relaxed);
            let _ = stream.write(match stream.dialect {
                Dialect::Resp => PROTECTED,
                Dialect::Memcached => PROTECTED_FROM_MEMCACHED,
            });
            return None;
        }
        if !self.admit(instance) {
            instance.statistics.rejected_connections.fetch_add(1, Relaxed);
            let _ = stream.write(match stream.dialect {
                Dialect::Resp => TOO_MANY,
                Dialect::Memcached => memcached::reply::TOO_MANY_CONNECTIONS,
            });
            return None;
        }
        instance.statistics.connections.fetch_add(1, Relaxed);
        let worker = self.balance.deal(general::THREADS_FIXED.get(&instance.settings));
        if worker == 0 {
            return Some(stream);
        }
        self.balance.mailbox(worker).send(Mail::Accepted(stream));
        None
    }

    /// Has a connection established, or rejects it, to which nothing can be said yet. Memcached
    /// says even so, before TLS begins, that there are too many.
    fn establish(&self, mut socket: TcpStream, dialect: Dialect, instance: &Instance) {
        let is_refused = is_protected(instance) && !stream::is_local(&socket);
        if is_refused || !self.admit(instance) {
            instance.statistics.rejected_connections.fetch_add(1, Relaxed);
            if !is_refused && dialect == Dialect::Memcached {
                let _ = socket.write(memcached::reply::TOO_MANY_CONNECTIONS);
            }
            return;
        }
        self.handshakes.begin(socket, dialect);
    }
}

/// Returns true if only clients of this machine may connect.
fn is_protected(instance: &Instance) -> bool {
    network::PROTECTED_MODE.get(&instance.settings)
        && instance.access.default_user().user.takes_any_password()
}

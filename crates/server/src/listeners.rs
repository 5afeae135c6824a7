//! Listening sockets, which CONFIG SET may change while clients connect.

use crate::front::Dialect;
use crate::listen::{ListenAddress, ListenError, Listener, addresses, open};
use crate::stream::Stream;
use base::mutex::{Mutex, MutexGuard};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use settings::Settings;
use std::io;

/// Sockets by address; the nth waits at token n + 1 of the event loop that accepts.
type Open = Vec<Option<(ListenAddress, Listener)>>;

/// A connection that a client has made.
#[derive(Debug)]
pub enum Accepted {
    /// One that can be served.
    Plain(Stream),
    /// One of TLS that is not established.
    Tls(TcpStream, Dialect),
}

/// Open listening sockets, registered with the event loop that accepts.
#[derive(Debug)]
pub struct Listeners {
    open: Mutex<Open>,
    registry: Registry,
}

impl Listeners {
    /// Registers `opened` with the event loop of `registry`.
    ///
    /// # Errors
    /// When the event loop refuses.
    pub fn new(
        opened: Vec<(ListenAddress, Listener)>,
        registry: Registry,
    ) -> io::Result<Listeners> {
        let listeners = Listeners { open: Mutex::default(), registry };
        let mut open = listeners.open();
        opened
            .into_iter()
            .try_for_each(|(address, socket)| listeners.add(&mut open, address, socket))?;
        drop(open);
        Ok(listeners)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// Accepts one connection that waits at the socket of `token`; `None` if it was closed.
    ///
    /// # Errors
    /// The error of the system call; also when no connection waits (`WouldBlock`).
    pub fn accept(&self, token: Token) -> io::Result<Option<Accepted>> {
        let open = self.open();
        let Some(Some((address, listener))) = open.get(token.0.wrapping_sub(1)) else {
            return Ok(None);
        };
        let plain = |stream: Stream| Accepted::Plain(stream.speaking(address.dialect()));
        Ok(Some(match listener {
            Listener::Tcp(socket) => plain(socket.accept()?.0.into()),
            Listener::Unix(socket) => plain(socket.accept()?.0.into()),
            Listener::Tls(socket) => Accepted::Tls(socket.accept()?.0, address.dialect()),
        }))
    }

    /// Closes all sockets: connections are refused from now on.
    pub fn close(&self) {
        self.open().iter_mut().for_each(|entry| *entry = None);
    }

    /// Closes the sockets that the settings do not ask for, and then opens those that are missing:
    /// in this order, as one address may block another. Connections stay open.
    ///
    /// # Errors
    /// When a socket cannot be opened; what was closed or opened before stays so.
    pub fn follow(&self, settings: &Settings) -> Result<(), ListenError> {
        let wanted = addresses(settings);
        let mut open = self.open();
        for entry in open.iter_mut() {
            if entry.as_ref().is_some_and(|(address, _)| !wanted.contains(address)) {
                *entry = None;
            }
        }
        for address in wanted {
            let is_open = open.iter().flatten().any(|(other, _)| *other == address);
            if !is_open && let Some(socket) = self::open(&address, settings)? {
                self.add(&mut open, address.clone(), socket)
                    .map_err(|error| ListenError::of(&address, error))?;
            }
        }
        Ok(())
    }

    fn add(&self, open: &mut Open, address: ListenAddress, mut socket: Listener) -> io::Result<()> {
        let free = open.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            open.push(None);
            open.len() - 1
        });
        let (token, interest) = (Token(at + 1), Interest::READABLE);
        match &mut socket {
            Listener::Tcp(socket) | Listener::Tls(socket) => {
                self.registry.register(socket, token, interest)?;
            }
            Listener::Unix(socket) => self.registry.register(socket, token, interest)?,
        }
        open[at] = Some((address, socket));
        Ok(())
    }
}

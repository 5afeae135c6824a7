//! Source of events of sockets for an event loop: the system, or in tests a script.

use crate::stream::Stream;
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::time::Duration;

/// Event of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Token of the socket.
    pub token: Token,
    /// True if the socket takes bytes again.
    pub is_writable: bool,
    /// True if the peer sends nothing beyond what the socket holds.
    pub is_ending: bool,
}

/// Source of edge-triggered events: a socket is reported when it becomes ready, not for as long as
/// it is.
pub trait Poller {
    /// Buffer for the events of one wait. It is apart from the poller, so that the loop can be
    /// changed while it goes through them.
    type Events;

    /// Returns a buffer for `most` events.
    fn room(most: usize) -> Self::Events;

    /// Waits until a socket is ready, the loop is woken or `most` has passed.
    ///
    /// # Errors
    /// When the poller is broken. An interrupted wait is no error and has no events.
    fn wait(&mut self, events: &mut Self::Events, most: Duration) -> io::Result<()>;

    /// Returns the events of the last wait.
    fn ready(events: &Self::Events) -> impl Iterator<Item = Ready>;

    /// Registers a client's socket, whose events then carry `token`. They report what can be read.
    ///
    /// # Errors
    /// When the system refuses.
    fn register(&mut self, stream: &mut Stream, token: Token) -> io::Result<()>;

    /// Begins to report when the socket takes bytes, or ends that. Nothing is missed: what the
    /// socket is ready for at this moment is reported.
    ///
    /// # Errors
    /// When the system refuses.
    fn watch_writes(&mut self, stream: &mut Stream, token: Token, watches: bool) -> io::Result<()>;

    /// Undoes `register`.
    fn deregister(&mut self, stream: &mut Stream);
}

impl Poller for Poll {
    type Events = Events;

    fn room(most: usize) -> Events {
        Events::with_capacity(most)
    }

    #[inline]
    fn wait(&mut self, events: &mut Events, most: Duration) -> io::Result<()> {
        match self.poll(events, Some(most)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    #[inline]
    fn ready(events: &Events) -> impl Iterator<Item = Ready> {
        events.iter().map(|event| Ready {
            token: event.token(),
            is_writable: event.is_writable(),
            is_ending: event.is_read_closed(),
        })
    }

    fn register(&mut self, stream: &mut Stream, token: Token) -> io::Result<()> {
        self.registry().register(stream, token, Interest::READABLE)
    }

    #[cold]
    fn watch_writes(&mut self, stream: &mut Stream, token: Token, watches: bool) -> io::Result<()> {
        let writable = watches.then_some(Interest::WRITABLE);
        let interest = writable.map_or(Interest::READABLE, |it| it | Interest::READABLE);
        self.registry().reregister(stream, token, interest)
    }

    fn deregister(&mut self, stream: &mut Stream) {
        // Fails only for a socket that the poll has forgotten already.
        let _ = self.registry().deregister(stream);
    }
}

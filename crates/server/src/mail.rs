//! What threads tell a worker: a channel, and a waker for its event loop.

use crate::stream::Stream;
use command::Notice;
use crossbeam_channel::{Receiver, Sender, unbounded};
use mio::Waker;
use std::sync::Arc;

/// One message to a worker.
#[derive(Debug)]
pub enum Mail {
    /// A connection to look after.
    Accepted(Stream),
    /// Something about one of its clients.
    Notice(Notice),
    /// The server ends.
    Stop,
}

/// The way to one worker.
#[derive(Clone, Debug)]
pub struct Mailbox {
    sender: Sender<Mail>,
    waker: Arc<Waker>,
}

impl Mailbox {
    /// A mailbox and its worker's end.
    pub fn new(waker: Waker) -> (Mailbox, Receiver<Mail>) {
        let (sender, receiver) = unbounded();
        (Mailbox { sender, waker: Arc::new(waker) }, receiver)
    }

    /// Delivers a message and wakes the worker. A worker that has ended gets nothing.
    pub fn send(&self, mail: Mail) {
        if self.sender.send(mail).is_ok() {
            // A waker that fails belongs to a loop that is gone.
            let _ = self.waker.wake();
        }
    }
}

//! Notices from other threads to a worker, and the mailbox that takes them.

use crate::letter::Letter;
use crate::message::SharedBytes;
use crate::waiter::Waiter;
use std::sync::Arc;

/// Message from another thread to one worker.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Close the client with this id.
    Close(u64),
    /// Close the client with this id, which was sent more than its output may hold.
    Flooded(u64),
    /// Give the client with this id, which has waited, its reply.
    Answer(u64, Answer),
    /// Send the client with this id a message that is shared with other clients.
    Message(u64, SharedBytes),
    /// Send messages to clients.
    Letter(Letter),
    /// Look again at replies that wait for positions: more is safe.
    Safe,
    /// Look at paused connections again.
    Unpaused,
    /// Look again at the deadline of the client with this id: it waits anew.
    Deadline(u64),
}

impl Notice {
    /// The client that it is about, if it is one.
    pub fn client(&self) -> Option<u64> {
        match self {
            Notice::Close(client)
            | Notice::Flooded(client)
            | Notice::Answer(client, _)
            | Notice::Message(client, _)
            | Notice::Deadline(client) => Some(*client),
            Notice::Letter(_) | Notice::Safe | Notice::Unpaused => None,
        }
    }
}

/// Reply to a client that has waited.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Reply in wire format; empty if what it waited for was sent as a message.
    pub reply: Vec<u8>,
    /// Position of the journal that must be safe before the reply leaves.
    pub position: u64,
    /// The waiter, if its command did not run again, so that nobody has counted it yet.
    pub unserved: Option<Arc<Waiter>>,
}

/// Mailbox of a worker, usable from any thread.
pub trait Post: Send + Sync {
    /// Leaves a notice in the mailbox. Returns true if the worker may sleep: then the caller has to
    /// wake it, as soon as the caller holds no locks. Another sender may wake it earlier.
    fn leave(&self, notice: Notice) -> bool;

    /// Delivers a notice, and wakes the worker if it may sleep.
    fn send(&self, notice: Notice) {
        if self.leave(notice) {
            self.wake();
        }
    }

    /// Wakes the worker, which may cost a system call.
    fn wake(&self);

    /// Returns true if the worker has more unread letters than its limit.
    fn is_behind(&self) -> bool;

    /// Returns true if the worker has so many unread letters that a publisher must count the bytes
    /// for each receiver, and close receivers that pass the limit of their output.
    fn is_flooded(&self) -> bool {
        false
    }
}

/// Mailbox that drops all notices, for clients without a connection.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Post for Nowhere {
    fn leave(&self, _: Notice) -> bool {
        false
    }

    fn wake(&self) {}

    fn is_behind(&self) -> bool {
        false
    }
}

//! Letters: messages on their way to one worker, with the clients that it is to give them to.

use crate::message::Message;
use smallvec::SmallVec;
use std::sync::Arc;
use wire::Protocol;

/// Client that receives messages, as its worker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Id of the client.
    pub client: u64,
    /// Entry of its connection in the worker's table.
    pub entry: u32,
    /// Version of the protocol that it spoke when it subscribed.
    pub(crate) protocol: Protocol,
}

/// A message and its receivers.
type Addressed = (Arc<Message>, Arc<[Receiver]>);

/// Messages for clients of one worker, in order.
#[derive(Clone, Debug)]
pub struct Letter {
    author: u64,
    messages: SmallVec<[Addressed; 1]>,
}

impl Letter {
    /// A letter without messages, caused by the client with this id; zero stands for none.
    pub(crate) fn by(author: u64) -> Letter {
        Letter { author, messages: SmallVec::new() }
    }

    /// Returns the id of the client that caused it; zero if none did, or it makes no difference.
    pub fn author(&self) -> u64 {
        self.author
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, message: &Arc<Message>, receivers: &Arc<[Receiver]>) {
        self.messages.push((Arc::clone(message), Arc::clone(receivers)));
    }

    /// Returns the messages, each with its receivers.
    pub fn messages(&self) -> impl Iterator<Item = (&Message, &[Receiver])> {
        self.messages.iter().map(|(message, receivers)| (&**message, &**receivers))
    }

    /// Returns the bytes of memory of the messages, and of their places behind the first.
    pub fn room(&self) -> usize {
        let is_alone = !self.messages.spilled();
        let places = if is_alone { 0 } else { self.messages.capacity() * size_of::<Addressed>() };
        places + self.messages.iter().map(|(message, _)| message.room()).sum::<usize>()
    }
}

//! What threads tell a worker: a channel, and a waker for its event loop.
//!
//! What may wait there is bounded by the clients that there are: a client is closed once, and
//! answered once for each time it waits; and one message that pauses are over does for all.

use crate::stream::Stream;
use command::Notice;
use crossbeam_channel::{Receiver, Sender, unbounded};
use mio::Waker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

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

impl Mail {
    /// Bytes that it takes while it waits.
    fn bytes(&self) -> u64 {
        let reply = match self {
            Mail::Notice(Notice::Answer(_, reply)) => reply.capacity(),
            _ => 0,
        };
        (size_of::<Mail>() + reply) as u64
    }
}

/// The way to one worker.
#[derive(Clone, Debug)]
pub struct Mailbox {
    sender: Sender<Mail>,
    waker: Arc<Waker>,
    /// Bytes of what waits in all mailboxes.
    bytes: Arc<AtomicU64>,
    /// Whether an `Unpaused` waits already.
    is_unpaused: Arc<AtomicBool>,
}

/// A worker's end of its mailbox.
#[derive(Debug)]
pub struct Inbox {
    receiver: Receiver<Mail>,
    bytes: Arc<AtomicU64>,
    is_unpaused: Arc<AtomicBool>,
}

impl Mailbox {
    /// A mailbox and its worker's end, which count what waits in `bytes`.
    pub fn new(waker: Waker, bytes: Arc<AtomicU64>) -> (Mailbox, Inbox) {
        let (sender, receiver) = unbounded();
        let is_unpaused = Arc::new(AtomicBool::new(false));
        let inbox =
            Inbox { receiver, bytes: Arc::clone(&bytes), is_unpaused: Arc::clone(&is_unpaused) };
        (Mailbox { sender, waker: Arc::new(waker), bytes, is_unpaused }, inbox)
    }

    /// Delivers a message and wakes the worker. A worker that has ended gets nothing.
    pub fn send(&self, mail: Mail) {
        let is_unpaused = matches!(mail, Mail::Notice(Notice::Unpaused));
        if is_unpaused && self.is_unpaused.swap(true, SeqCst) {
            return;
        }
        let bytes = mail.bytes();
        self.bytes.fetch_add(bytes, Relaxed);
        if self.sender.send(mail).is_ok() {
            // A waker that fails belongs to a loop that is gone.
            let _ = self.waker.wake();
        } else {
            self.bytes.fetch_sub(bytes, Relaxed);
        }
    }
}

impl Inbox {
    /// The message that came first, if one waits.
    pub fn next(&self) -> Option<Mail> {
        let mail = self.receiver.try_recv().ok()?;
        self.bytes.fetch_sub(mail.bytes(), Relaxed);
        if matches!(mail, Mail::Notice(Notice::Unpaused)) {
            // Whoever ends a pause from now on wants another look.
            self.is_unpaused.store(false, SeqCst);
        }
        Some(mail)
    }
}

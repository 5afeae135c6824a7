//! The way to the thread that serves replicas.

use crate::connection::Connection;
use crate::mail::{Mail, Mailbox};
use session::Owner;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

/// What other threads ask of the sender.
#[derive(Debug)]
pub struct Door {
    mailbox: Mailbox,
    owner: Owner,
    wants_acknowledgements: AtomicBool,
    has_parted: AtomicBool,
}

impl Door {
    /// The door behind which the owner of this mailbox is.
    pub fn new(mailbox: Mailbox, owner: Owner) -> Door {
        Door {
            mailbox,
            owner,
            wants_acknowledgements: AtomicBool::new(false),
            has_parted: AtomicBool::new(false),
        }
    }

    /// Hands a connection over, unless its client has to stay with its worker. `let_go` has the
    /// worker forget the connection.
    pub fn receive(
        &self,
        connection: Box<Connection>,
        let_go: impl FnOnce(&mut Connection),
    ) -> Result<(), Box<Connection>> {
        let client = Arc::clone(&connection.session.client);
        let mut leaving = Some(connection);
        client.hand_over(self.owner.clone(), || {
            if let Some(mut connection) = leaving.take() {
                let_go(&mut connection);
                self.mailbox.send(Mail::Moved(connection));
            }
        });
        leaving.map_or(Ok(()), Err)
    }

    /// Wakes the sender if it sleeps: there is more to be sent.
    #[inline]
    pub fn nudge(&self) {
        self.mailbox.nudge();
    }

    /// Wakes the sender, though it may only rest for a millisecond.
    pub fn wake(&self) {
        self.mailbox.wake_at_once();
    }

    /// Tells that the data is not what the stream says any more.
    pub fn part(&self) {
        self.has_parted.store(true, Release);
        self.wake();
    }

    /// True once after `part`.
    pub fn take_parting(&self) -> bool {
        self.has_parted.load(Acquire) && self.has_parted.swap(false, Acquire)
    }

    /// Asks for acknowledgements of all replicas.
    pub fn ask_for_acknowledgements(&self) {
        self.wants_acknowledgements.store(true, Release);
        self.wake();
    }

    /// True once after `ask_for_acknowledgements`.
    pub fn take_wish(&self) -> bool {
        self.wants_acknowledgements.load(Acquire)
            && self.wants_acknowledgements.swap(false, Acquire)
    }
}

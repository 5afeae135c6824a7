//! The way to the thread that serves replicas.

use crate::connection::Connection;
use crate::mail::{Mail, Mailbox};
use crate::stream_in_files::StreamInFiles;
use base::mutex::Mutex;
use crossbeam_channel::{Sender, bounded};
use session::Owner;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::time::Duration;

/// Longest wait for the sender to keep the stream.
const KEPT_WITHIN: Duration = Duration::from_secs(1);

/// What other threads ask of the sender.
#[derive(Debug)]
pub struct Door {
    mailbox: Mailbox,
    owner: Owner,
    wants_acknowledgements: AtomicBool,
    has_parted: AtomicBool,
    lets_go: AtomicBool,
    keeps: AtomicBool,
    /// The stream from before a start, for replicas of that time, if there were some.
    in_files: Mutex<Option<StreamInFiles>>,
    /// Who waits until the sender has parted, and who until it keeps the stream.
    parted: Mutex<Option<Sender<()>>>,
    kept: Mutex<Option<Sender<()>>>,
}

impl Door {
    /// The door behind which the owner of this mailbox is.
    pub fn new(mailbox: Mailbox, owner: Owner) -> Door {
        Door {
            mailbox,
            owner,
            wants_acknowledgements: AtomicBool::new(false),
            has_parted: AtomicBool::new(false),
            lets_go: AtomicBool::new(false),
            keeps: AtomicBool::new(false),
            in_files: Mutex::default(),
            parted: Mutex::default(),
            kept: Mutex::default(),
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

    /// Tells the same, and waits until all replicas are let go and nothing is kept for them. The
    /// thread is outside the gate.
    pub fn part_and_wait(&self) {
        let (done, is_done) = bounded(1);
        *self.parted.lock() = Some(done);
        self.part();
        // An error is ignored: the sender has ended, and with it all replicas.
        let _ = is_done.recv();
    }

    /// Tells that replicas have been let go.
    pub fn end_parting(&self) {
        tell(&self.parted);
    }

    /// Tells that the stream is kept.
    pub fn end_keeping(&self) {
        tell(&self.kept);
    }

    /// Has all replicas come back, so that they hear of the present id.
    pub fn let_go(&self) {
        self.lets_go.store(true, Release);
        self.wake();
    }

    /// True from `let_go` until replicas have been let go.
    pub fn lets_go(&self) -> bool {
        self.lets_go.load(Acquire)
    }

    /// Has the stream kept from now on, for replicas that know it from before a start.
    pub fn keep(&self) {
        self.keeps.store(true, Release);
        self.wake();
    }

    /// Has the stream kept from now on, and waits until it is; for replicas from before a start, if
    /// there were some, with what files have of it. The thread is outside the gate.
    pub fn keep_and_wait(&self, in_files: Option<StreamInFiles>) {
        *self.in_files.lock() = in_files;
        let (done, is_done) = bounded(1);
        *self.kept.lock() = Some(done);
        self.keep();
        // It has ended, or is kept from its processor: then it begins with what comes later.
        let _ = is_done.recv_timeout(KEPT_WITHIN);
    }

    /// What `keep_and_wait` has brought.
    pub fn take_stream_in_files(&self) -> Option<StreamInFiles> {
        self.in_files.lock().take()
    }

    /// True once after `keep`.
    pub fn take_keeping(&self) -> bool {
        self.keeps.load(Acquire) && self.keeps.swap(false, Acquire)
    }

    /// True once after `let_go`.
    pub fn take_letting_go(&self) -> bool {
        self.lets_go.load(Acquire) && self.lets_go.swap(false, Acquire)
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

/// Tells who waits, if somebody does. One who does not any more is ignored.
fn tell(waiting: &Mutex<Option<Sender<()>>>) {
    if let Some(done) = waiting.lock().take() {
        let _ = done.send(());
    }
}

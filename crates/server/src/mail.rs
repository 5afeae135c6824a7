//! Messages from any thread to a worker: a channel, and a waker for its event loop, which is called
//! only while the loop sleeps or is about to sleep.
//!
//! The number of clients bounds what may wait: a client is closed once, and answered once for each
//! time it waits; and one message that pauses are over is enough for all. Letters, which carry what
//! clients publish, are bounded by holding publishers back while a worker has many of them to read,
//! and by closing clients that a single command sends more than their outputs may hold.

use crate::connection::Connection;
use crate::stream::Stream;
use base::WakeState;
use crossbeam_channel::{Receiver, Sender, unbounded};
use session::{Notice, Post};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};

/// Bytes of letters that may wait in a mailbox before publishers are postponed.
const LETTERS_MAX: u64 = 8 << 20;
/// Bytes of letters beyond which what a command sends to each client is counted: it was not held
/// back, so it sends all this by itself.
const FLOOD: u64 = 4 * LETTERS_MAX;

/// Message to a worker.
#[derive(Debug)]
pub enum Mail {
    /// An accepted connection for the worker to own.
    Accepted(Stream),
    /// A connection that another worker hands over.
    Moved(Box<Connection>),
    /// A notice about one of its clients, or about all.
    Notice(Notice),
    /// The server stops.
    Stop,
}

impl Mail {
    /// Returns the bytes of memory that the message takes while it waits.
    fn bytes(&self) -> u64 {
        let more = match self {
            Mail::Notice(Notice::Answer(_, answer)) => answer.reply.capacity(),
            Mail::Notice(Notice::Message(_, message)) => message.len(),
            Mail::Notice(Notice::Letter(letter)) => letter.room(),
            _ => 0,
        };
        (size_of::<Mail>() + more) as u64
    }

    fn is_letter(&self) -> bool {
        matches!(self, Mail::Notice(Notice::Letter(_)))
    }
}

/// Sending end of a worker's mailbox.
#[derive(Clone, Debug)]
pub struct Mailbox {
    sender: Sender<Mail>,
    shared: Arc<Shared>,
}

/// Receiving end of a worker's mailbox.
#[derive(Debug)]
pub struct Inbox {
    receiver: Receiver<Mail>,
    /// Messages that were deferred; they are older than those in the channel.
    deferred: VecDeque<Mail>,
    /// True if messages that had arrived were left for later.
    has_rest: bool,
    shared: Arc<Shared>,
}

struct Shared {
    state: WakeState,
    /// Ends the sleep of the event loop, or keeps it from the next one.
    wake: Box<dyn Fn() + Send + Sync>,
    /// Bytes of the messages that wait in all mailboxes.
    bytes: Arc<AtomicU64>,
    /// Bytes of the letters that wait in this one.
    letters: AtomicU64,
    /// True while an `Unpaused` waits.
    is_unpaused: AtomicBool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Mailbox {
    /// Returns both ends of a mailbox. They add the size of waiting messages to `bytes`, and call
    /// `wake` when mail comes to a worker that may sleep.
    pub fn new(wake: impl Fn() + Send + Sync + 'static, bytes: Arc<AtomicU64>) -> (Mailbox, Inbox) {
        let (sender, receiver) = unbounded();
        let shared = Arc::new(Shared {
            state: WakeState::new(),
            wake: Box::new(wake),
            bytes,
            letters: AtomicU64::new(0),
            is_unpaused: AtomicBool::new(false),
        });
        let inbox = Inbox {
            receiver,
            deferred: VecDeque::new(),
            has_rest: false,
            shared: Arc::clone(&shared),
        };
        (Mailbox { sender, shared }, inbox)
    }

    /// Delivers a message, and wakes the worker if it may sleep. A message to a worker that has
    /// ended is dropped.
    pub fn send(&self, mail: Mail) {
        if self.put(mail) && self.shared.state.notify() {
            (self.shared.wake)();
        }
    }

    /// Delivers a message. Returns true if the caller must call `wake`, for which it may take its
    /// time.
    pub fn leave_mail(&self, mail: Mail) -> bool {
        self.put(mail) && self.shared.state.notify_later()
    }

    /// Wakes the thread if it sleeps, as there is something to do that is no mail.
    #[inline]
    pub fn nudge(&self) {
        // What there is to do is seen by a thread that this one does not see asleep.
        fence(SeqCst);
        if self.shared.state.is_asleep() && self.shared.state.notify() {
            (self.shared.wake)();
        }
    }

    /// Ends the wait of the event loop, whether it sleeps or rests.
    pub fn wake_at_once(&self) {
        (self.shared.wake)();
    }

    /// Returns true if the worker sleeps, so that it would begin at once with what it gets.
    pub fn is_asleep(&self) -> bool {
        self.shared.state.is_asleep()
    }

    /// Puts a message into the mailbox. Returns false if it is not needed.
    fn put(&self, mail: Mail) -> bool {
        let shared = &*self.shared;
        let is_unpaused = matches!(mail, Mail::Notice(Notice::Unpaused));
        if is_unpaused && shared.is_unpaused.swap(true, SeqCst) {
            return false;
        }
        let (bytes, is_letter) = (mail.bytes(), mail.is_letter());
        shared.count(bytes, is_letter);
        let outcome = self.sender.send(mail);
        if outcome.is_err() {
            shared.discount(bytes, is_letter);
        }
        outcome.is_ok()
    }
}

impl Post for Mailbox {
    fn leave(&self, notice: Notice) -> bool {
        self.leave_mail(Mail::Notice(notice))
    }

    fn send(&self, notice: Notice) {
        Mailbox::send(self, Mail::Notice(notice));
    }

    fn wake(&self) {
        (self.shared.wake)();
    }

    fn is_behind(&self) -> bool {
        self.shared.letters.load(Relaxed) > LETTERS_MAX
    }

    fn is_flooded(&self) -> bool {
        self.shared.letters.load(Relaxed) > FLOOD
    }
}

impl Shared {
    fn count(&self, bytes: u64, is_letter: bool) {
        self.bytes.fetch_add(bytes, Relaxed);
        if is_letter {
            self.letters.fetch_add(bytes, Relaxed);
        }
    }

    fn discount(&self, bytes: u64, is_letter: bool) {
        self.bytes.fetch_sub(bytes, Relaxed);
        if is_letter {
            self.letters.fetch_sub(bytes, Relaxed);
        }
    }
}

impl Inbox {
    /// Tells senders that the worker is about to sleep. Returns false if mail waits, so that it
    /// must not.
    #[inline]
    pub fn fall_asleep(&self) -> bool {
        self.deferred.is_empty() && !self.has_rest && self.shared.state.fall_asleep()
    }

    /// Tells senders that the worker is awake.
    #[inline]
    pub fn wake(&self) {
        self.shared.state.wake();
    }

    /// Returns the number of messages to read now; those that come later keep the worker from
    /// sleeping.
    #[inline(always)]
    pub fn arrived(&mut self) -> usize {
        let is_noticed = self.shared.state.take_notice();
        if is_noticed | self.has_rest { self.waiting() } else { self.deferred.len() }
    }

    /// Returns the number of messages that wait.
    #[inline(never)]
    fn waiting(&mut self) -> usize {
        self.has_rest = false;
        self.deferred.len() + self.receiver.len()
    }

    /// Leaves what has arrived and was not read for the next time, which keeps the worker from
    /// sleeping.
    pub fn leave_rest(&mut self) {
        self.has_rest = true;
    }

    /// Returns true if publishers need not be postponed for the letters that wait.
    pub fn has_room(&self) -> bool {
        self.shared.letters.load(Relaxed) < LETTERS_MAX / 2
    }

    /// Removes and returns the oldest message; `None` if none waits.
    pub fn next(&mut self) -> Option<Mail> {
        let mail = self.deferred.pop_front().or_else(|| self.receiver.try_recv().ok())?;
        self.shared.discount(mail.bytes(), mail.is_letter());
        if matches!(mail, Mail::Notice(Notice::Unpaused)) {
            // A pause that ends from now on needs a message of its own.
            self.shared.is_unpaused.store(false, SeqCst);
        }
        Some(mail)
    }

    /// Returns the oldest message, which stays.
    pub fn first(&mut self) -> Option<&Mail> {
        if self.deferred.is_empty() {
            self.deferred.extend(self.receiver.try_recv().ok());
        }
        self.deferred.front()
    }

    /// Removes and returns the messages that `choose` takes, in order; the others are deferred, in
    /// order too.
    pub fn pick(&mut self, choose: impl Fn(&Mail) -> bool) -> Vec<Mail> {
        let mut picked = Vec::new();
        if self.shared.state.take_notice() | std::mem::take(&mut self.has_rest) {
            while let Ok(mail) = self.receiver.try_recv() {
                if choose(&mail) {
                    self.shared.discount(mail.bytes(), mail.is_letter());
                    picked.push(mail);
                } else {
                    self.deferred.push_back(mail);
                }
            }
        }
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::{Inbox, Mail, Mailbox};
    use session::Notice;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::sync::mpsc::sync_channel;
    use std::thread;

    struct Post {
        mailbox: Mailbox,
        inbox: Inbox,
        /// Calls of the waker.
        wakes: Arc<AtomicU64>,
        bytes: Arc<AtomicU64>,
    }

    fn post() -> Post {
        let (wakes, bytes) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counter = Arc::clone(&wakes);
        let wake = move || {
            counter.fetch_add(1, SeqCst);
        };
        let (mailbox, inbox) = Mailbox::new(wake, Arc::clone(&bytes));
        Post { mailbox, inbox, wakes, bytes }
    }

    #[test]
    fn a_sender_wakes_a_worker_that_was_only_left_mail() {
        let post = post();
        assert!(post.inbox.fall_asleep());
        assert!(session::Post::leave(&post.mailbox, Notice::Safe));
        assert_eq!(post.wakes.load(SeqCst), 0, "whoever has left it wakes the worker later");
        post.mailbox.send(Mail::Notice(Notice::Safe));
        assert_eq!(post.wakes.load(SeqCst), 1);
        post.mailbox.send(Mail::Notice(Notice::Safe));
        assert_eq!(post.wakes.load(SeqCst), 1);
    }

    #[test]
    fn mail_to_a_worker_that_is_awake_costs_no_system_call() {
        let mut post = post();
        for client in 0..100 {
            post.mailbox.send(Mail::Notice(Notice::Close(client)));
        }
        assert_eq!(post.wakes.load(SeqCst), 0);
        assert!(!post.inbox.fall_asleep(), "there is mail");
        assert_eq!(post.inbox.arrived(), 100);
    }

    #[test]
    fn mail_to_a_worker_that_sleeps_wakes_it_once() {
        let mut post = post();
        assert!(post.inbox.fall_asleep());
        for client in 0..100 {
            post.mailbox.send(Mail::Notice(Notice::Close(client)));
        }
        post.inbox.wake();
        assert_eq!((post.wakes.load(SeqCst), post.inbox.arrived()), (1, 100));
    }

    #[test]
    fn what_waits_is_counted_and_an_unpaused_waits_once() {
        let mut post = post();
        let message = Arc::new(vec![0; 1000]);
        post.mailbox.send(Mail::Notice(Notice::Message(1, message)));
        post.mailbox.send(Mail::Notice(Notice::Unpaused));
        post.mailbox.send(Mail::Notice(Notice::Unpaused));
        assert_eq!(post.bytes.load(SeqCst), 1000 + 2 * size_of::<Mail>() as u64);
        assert_eq!(post.inbox.arrived(), 2);
        while post.inbox.next().is_some() {}
        assert_eq!(post.bytes.load(SeqCst), 0);
    }

    #[test]
    fn mail_that_is_put_off_comes_before_what_came_later_and_keeps_the_worker_awake() {
        let mut post = post();
        post.mailbox.send(Mail::Notice(Notice::Close(1)));
        post.mailbox.send(Mail::Stop);
        post.mailbox.send(Mail::Notice(Notice::Close(2)));
        let picked = post.inbox.pick(|mail| matches!(mail, Mail::Stop));
        assert_eq!(picked.len(), 1);
        assert!(!post.inbox.fall_asleep());
        post.mailbox.send(Mail::Notice(Notice::Close(3)));
        let order: Vec<Mail> = (0..post.inbox.arrived()).map_while(|_| post.inbox.next()).collect();
        let closed = |mail: &Mail| match mail {
            Mail::Notice(Notice::Close(client)) => *client,
            _ => 0,
        };
        assert_eq!(order.iter().map(closed).collect::<Vec<u64>>(), [1, 2, 3]);
        assert_eq!(post.bytes.load(SeqCst), 0);
        assert!(post.inbox.fall_asleep());
    }

    /// Prints how many calls of the waker the messages cost, with `--nocapture`.
    #[test]
    fn every_message_arrives_whoever_sends_and_however_often_the_worker_sleeps() {
        const SENDERS: u64 = 4;
        const MESSAGES: u64 = 20_000;
        let (called, calls) = sync_channel(1 << 20);
        let wakes = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&wakes);
        let wake = move || {
            counter.fetch_add(1, SeqCst);
            called.send(()).expect("the worker is there");
        };
        let (mailbox, mut inbox) = Mailbox::new(wake, Arc::default());
        let mut sums = [0; SENDERS as usize];
        thread::scope(|scope| {
            for sender in 0..SENDERS {
                let mailbox = mailbox.clone();
                scope.spawn(move || {
                    for number in 0..MESSAGES {
                        mailbox.send(Mail::Notice(Notice::Close(sender * MESSAGES + number)));
                        thread::yield_now();
                    }
                });
            }
            let mut received = 0;
            while received < SENDERS * MESSAGES {
                if inbox.fall_asleep() {
                    calls.recv().expect("the waker is there");
                    inbox.wake();
                }
                for _ in 0..inbox.arrived() {
                    let Some(Mail::Notice(Notice::Close(client))) = inbox.next() else {
                        panic!("less mail than had arrived");
                    };
                    let (sender, number) = (client / MESSAGES, client % MESSAGES);
                    assert_eq!(sums[sender as usize], number, "one sender's mail stays in order");
                    sums[sender as usize] += 1;
                    received += 1;
                }
            }
        });
        let wakes = wakes.load(SeqCst);
        println!("{} messages, {wakes} calls of the waker", SENDERS * MESSAGES);
        assert!(wakes <= SENDERS * MESSAGES);
    }
}

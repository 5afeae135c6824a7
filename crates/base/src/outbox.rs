//! What is put down under locks and sent later, by a thread that holds none, behind replies that go
//! ahead of it.
//!
//! ```text
//! a client that has waited is served          another thread changes what it has read
//! under the locks   reply begun, key read     under the locks   change, message put down
//! without locks     reply sent, reply ended   without locks     messages taken, sent
//! ```
//! The client must not hear that the key is not valid any more, and get its reply with the old
//! value afterwards. So nothing is taken while replies are begun and not ended.
//!
//! Messages are numbered, so that those of one thread are sent in the order in which it put them
//! down, whatever their keys. Another thread may take the first of them while the others are still
//! put down; so threads send one after the other.

use crate::mutex::{Mutex, MutexGuard};
use crate::sync::{AtomicBool, AtomicU32, Ordering::SeqCst};
use crate::units::PositionHash;
use std::sync::atomic::AtomicU64;

/// Number of lists, so that threads that change different keys seldom meet.
const LISTS: usize = if cfg!(loom) { 1 } else { 16 };

/// Messages that were put down.
#[derive(Debug)]
pub struct Outbox<T> {
    /// Messages with their numbers, which rise in each list.
    lists: [Mutex<Vec<(u64, T)>>; LISTS],
    next: AtomicU64,
    has_some: AtomicBool,
    /// Replies that are begun and not ended.
    replies: AtomicU32,
    /// Held from when messages are taken until they are sent.
    sending: Mutex<()>,
}

impl<T> Default for Outbox<T> {
    fn default() -> Outbox<T> {
        Outbox {
            lists: std::array::from_fn(|_| Mutex::new(Vec::new())),
            // Zero is ahead of all.
            next: AtomicU64::new(1),
            has_some: AtomicBool::new(false),
            replies: AtomicU32::new(0),
            sending: Mutex::new(()),
        }
    }
}

impl<T> Outbox<T> {
    /// Returns true if there is something.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.has_some.load(SeqCst)
    }

    /// Puts a message down about a key, whose lock is held.
    pub fn add(&self, hash: PositionHash, message: T) {
        let mut list = lock(&self.lists[hash.shard().index() % LISTS]);
        list.push((self.next.fetch_add(1, SeqCst), message));
        drop(list);
        self.has_some.store(true, SeqCst);
    }

    /// Begins a reply that goes ahead of what is put down from now on; before the locks of its keys
    /// are given up.
    pub fn begin_reply(&self) {
        self.replies.fetch_add(1, SeqCst);
    }

    /// Ends a reply that is on its way. What it has withheld is to be taken afterwards.
    pub fn end_reply(&self) {
        self.replies.fetch_sub(1, SeqCst);
    }

    /// Takes all messages out, and sends them behind those that another thread took before. None
    /// are taken while a reply goes ahead.
    pub fn send<R>(&self, send: impl FnOnce(Vec<T>) -> R) -> R {
        let _sending = self.sending.lock();
        send(self.take())
    }

    fn take(&self) -> Vec<T> {
        loop {
            self.has_some.store(false, SeqCst);
            // One that is put down meanwhile stays: it may follow one in a list that was looked at
            // before.
            let end = self.next.load(SeqCst);
            let mut taken: Vec<(u64, T)> =
                self.lists.iter().flat_map(|list| take_before(&mut lock(list), end)).collect();
            // Looked at behind what was taken: a reply from before the change of a key that was
            // read for it is counted by now, or is on its way.
            if taken.is_empty() || self.replies.load(SeqCst) == 0 {
                taken.sort_by_key(|(number, _)| *number);
                return taken.into_iter().map(|(_, message)| message).collect();
            }
            taken.sort_by_key(|(number, _)| *number);
            self.put_ahead(taken);
            if self.replies.load(SeqCst) > 0 {
                return Vec::new();
            }
        }
    }

    /// Puts messages down ahead of others, about any key.
    pub fn put_back(&self, messages: Vec<T>) {
        self.put_ahead(messages.into_iter().map(|message| (0, message)).collect());
    }

    fn put_ahead(&self, mut messages: Vec<(u64, T)>) {
        let mut list = lock(&self.lists[0]);
        messages.append(&mut list);
        *list = messages;
        drop(list);
        self.has_some.store(true, SeqCst);
    }
}

/// Takes the messages with numbers below `end` out of a list.
fn take_before<T>(list: &mut Vec<(u64, T)>, end: u64) -> Vec<(u64, T)> {
    if list.last().is_none_or(|(number, _)| *number < end) {
        return std::mem::take(list);
    }
    let behind = list.partition_point(|(number, _)| *number < end);
    list.drain(..behind).collect()
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Outbox;
    use crate::units::PositionHash;

    #[test]
    fn a_reply_that_is_begun_withholds_messages() {
        let outbox = Outbox::default();
        outbox.begin_reply();
        outbox.add(PositionHash(1 << 56), "second");
        outbox.put_back(vec!["first"]);
        assert!(outbox.take().is_empty() && outbox.has_some());
        outbox.end_reply();
        assert_eq!((outbox.take(), outbox.has_some()), (vec!["first", "second"], false));
    }

    #[test]
    fn messages_are_taken_in_the_order_in_which_they_were_put_down() {
        let outbox = Outbox::default();
        let shards = [7, 200, 3, 16, 0, 255, 8];
        shards.iter().for_each(|shard| outbox.add(PositionHash(shard << 56), *shard));
        outbox.begin_reply();
        assert!(outbox.take().is_empty());
        outbox.add(PositionHash(1 << 56), 1);
        outbox.end_reply();
        outbox.put_back(vec![9]);
        assert_eq!(outbox.take(), [9, 7, 200, 3, 16, 0, 255, 8, 1]);
    }
}

/// What both checkers try: one client is served while another changes the key that it reads, and a
/// third thread comes to the end of its work.
#[cfg(all(test, any(loom, shuttle)))]
mod race {
    use super::Outbox;
    use crate::mutex::Mutex;
    use crate::units::PositionHash;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Sent {
        Reply { is_old: bool },
        Invalid,
        InvalidToo,
    }

    pub struct Race {
        outbox: Outbox<Sent>,
        is_changed: Mutex<bool>,
        sent: Mutex<Vec<Sent>>,
    }

    impl Race {
        pub fn new() -> Race {
            let (is_changed, sent) = (Mutex::new(false), Mutex::new(Vec::new()));
            Race { outbox: Outbox::default(), is_changed, sent }
        }

        fn send(&self, sent: Sent) {
            self.sent.lock().push(sent);
        }

        pub fn send_all(&self) {
            self.outbox.send(|all| all.into_iter().for_each(|sent| self.send(sent)));
        }

        pub fn serve(&self) {
            let is_changed = self.is_changed.lock();
            self.outbox.begin_reply();
            let reply = Sent::Reply { is_old: !*is_changed };
            drop(is_changed);
            self.send(reply);
            self.outbox.end_reply();
            self.send_all();
        }

        pub fn change(&self) {
            let mut is_changed = self.is_changed.lock();
            *is_changed = true;
            self.outbox.add(PositionHash(0), Sent::Invalid);
            drop(is_changed);
            self.send_all();
        }

        /// Two keys are changed by one command.
        pub fn change_two(&self) {
            self.outbox.add(PositionHash(0), Sent::Invalid);
            self.outbox.add(PositionHash(1 << 56), Sent::InvalidToo);
            self.send_all();
        }

        /// Both were sent, in the order of the command.
        pub fn check_two(&self) {
            assert_eq!(*self.sent.lock(), [Sent::Invalid, Sent::InvalidToo]);
        }

        /// Both were sent, and an old value never comes behind the news.
        pub fn check(&self) {
            let sent = self.sent.lock();
            let is_fine = match sent[..] {
                [Sent::Reply { .. }, Sent::Invalid] => true,
                [Sent::Invalid, Sent::Reply { is_old }] => !is_old,
                _ => false,
            };
            assert!(is_fine, "{sent:?}");
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::race::Race;
    use loom::sync::Arc;

    #[test]
    fn no_client_learns_that_a_value_is_old_before_it_has_it() {
        loom::model(|| {
            let race = Arc::new(Race::new());
            let others = [Race::change, Race::send_all].map(|act| {
                let race = Arc::clone(&race);
                loom::thread::spawn(move || act(&race))
            });
            race.serve();
            others.into_iter().for_each(|other| other.join().unwrap());
            race.check();
        });
    }

    #[test]
    fn what_one_command_puts_down_is_sent_in_its_order_whoever_sends_it() {
        loom::model(|| {
            let race = Arc::new(Race::new());
            let other = Arc::clone(&race);
            let other = loom::thread::spawn(move || other.send_all());
            race.change_two();
            other.join().unwrap();
            race.check_two();
        });
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests {
    use super::race::Race;
    use std::sync::Arc;

    #[test]
    fn no_client_learns_that_a_value_is_old_before_it_has_it() {
        shuttle::check_random(
            || {
                let race = Arc::new(Race::new());
                let others = [Race::change, Race::send_all].map(|act| {
                    let race = Arc::clone(&race);
                    shuttle::thread::spawn(move || act(&race))
                });
                race.serve();
                others.into_iter().for_each(|other| other.join().unwrap());
                race.check();
            },
            10_000,
        );
    }

    #[test]
    fn what_one_command_puts_down_is_sent_in_its_order_whoever_sends_it() {
        shuttle::check_random(
            || {
                let race = Arc::new(Race::new());
                let other = Arc::clone(&race);
                let other = shuttle::thread::spawn(move || other.send_all());
                race.change_two();
                other.join().unwrap();
                race.check_two();
            },
            5_000,
        );
    }
}

//! Keyspace notifications: what happens to keys, as messages.
//!
//! ```text
//! a change ──▶ unit ──▶ Listener::unit, under the locks ──▶ letters in mailboxes
//!                                                     └───▶ sleepers, woken behind the locks
//! ```
//! Events of one key come in the order in which they happened, whichever threads made them, since
//! their letters are left under the lock of the key.

use crate::notice::Post;
use crate::pubsub::{PubSub, Topic};
use crate::receivers::Left;
use base::mutex::{Mutex, MutexGuard};
use settings::EventClasses;
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use store::{Author, EventClass, KeyEvent, Listener, Unit};

/// Listener that publishes events.
pub struct Notifications {
    pubsub: Arc<PubSub>,
    /// Bits of the classes that are published.
    classes: AtomicU32,
    /// True if there is something for a thread without locks to do.
    has_left: AtomicBool,
    left: Mutex<Later>,
}

/// What is left for a thread without locks.
#[derive(Default)]
struct Later {
    sleepers: Vec<Arc<dyn Post>>,
    is_behind: bool,
}

impl fmt::Debug for Notifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifications").field("classes", &self.classes).finish_non_exhaustive()
    }
}

impl Notifications {
    /// Notifications that are published by `pubsub`; none so far.
    pub fn of(pubsub: Arc<PubSub>) -> Notifications {
        Notifications {
            pubsub,
            classes: AtomicU32::new(0),
            has_left: AtomicBool::new(false),
            left: Mutex::default(),
        }
    }

    /// Publishes events of these classes from now on. Returns false if there are none.
    pub fn follow(&self, classes: EventClasses) -> bool {
        self.classes.store(classes.bits(), Relaxed);
        classes.has(b'K') || classes.has(b'E')
    }

    /// Returns true if workers are to be woken.
    #[inline]
    pub fn has_left(&self) -> bool {
        self.has_left.load(Relaxed)
    }

    /// Wakes workers that have mail; to be called without locks. Returns true if one of them has
    /// more than it is to have.
    #[cold]
    pub fn wake_workers(&self) -> bool {
        self.has_left.store(false, Relaxed);
        let later = std::mem::take(&mut *self.later());
        later.sleepers.iter().for_each(|post| post.wake());
        later.is_behind
    }

    fn later(&self) -> MutexGuard<'_, Later> {
        self.left.lock()
    }

    fn publish(&self, classes: EventClasses, happened: &KeyEvent, author: u64) {
        let KeyEvent { event, database, key } = happened;
        if !classes.has(letter(event.class)) {
            return;
        }
        let name = event.name.as_bytes();
        for (kind, word, tail, payload) in
            [(b'K', "keyspace", &key[..], name), (b'E', "keyevent", name, &key[..])]
        {
            if classes.has(kind) {
                let mut channel = Vec::with_capacity(32 + tail.len());
                // Writing to a vector cannot fail.
                let _ = write!(channel, "__{word}@{database}__:");
                channel.extend_from_slice(tail);
                self.note(self.pubsub.publish(Topic::Channel, &channel, payload, author));
            }
        }
    }

    fn note(&self, left: Left) {
        if left.is_behind || !left.sleepers.is_empty() {
            let mut later = self.later();
            for post in left.sleepers {
                if !later.sleepers.iter().any(|known| Arc::ptr_eq(known, &post)) {
                    later.sleepers.push(post);
                }
            }
            later.is_behind |= left.is_behind;
            self.has_left.store(true, Relaxed);
        }
    }
}

/// Returns the letter of a class.
fn letter(class: EventClass) -> u8 {
    match class {
        EventClass::Generic => b'g',
        EventClass::String => b'$',
        EventClass::List => b'l',
        EventClass::Set => b's',
        EventClass::SortedSet => b'z',
        EventClass::Hash => b'h',
        EventClass::Stream => b't',
        EventClass::Expired => b'x',
        EventClass::Evicted => b'e',
        EventClass::New => b'n',
        EventClass::Miss => b'm',
    }
}

impl Listener for Notifications {
    fn unit(&self, unit: &Unit, author: Author) {
        if unit.events.is_empty() || self.pubsub.is_idle() {
            return;
        }
        let classes = EventClasses::of_bits(self.classes.load(Relaxed));
        unit.events.iter().for_each(|happened| self.publish(classes, happened, author.client));
    }
}

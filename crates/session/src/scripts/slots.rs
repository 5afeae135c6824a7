//! Interpreters, one for each thread that runs scripts: made at its first script, and given back
//! when it was not used for a while.

use base::Millis;
use base::gate::MEMBERS_MAX;
use base::mutex::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Interpreters of all threads.
pub struct Slots<T> {
    slots: Box<[Slot<T>]>,
    /// How often all of them were to be made anew: those of before are not used again.
    age: AtomicUsize,
}

/// Place of one thread.
struct Slot<T> {
    /// Its interpreter, unless that is at work.
    own: Mutex<Option<Rested<T>>>,
    /// Bytes that the interpreter took at the end of its last work; zero for none.
    bytes: AtomicUsize,
}

/// Interpreter that rests.
struct Rested<T> {
    own: Box<T>,
    age: usize,
    since: Millis,
}

/// Interpreter that was taken, to be put back.
pub struct Taken<T> {
    /// The interpreter.
    pub own: Box<T>,
    age: usize,
}

/// What rests between two scripts.
pub trait Resting {
    /// Bytes of memory that it takes.
    fn bytes(&self) -> usize;
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        let slot = |_| Slot { own: Mutex::new(None), bytes: AtomicUsize::new(0) };
        Slots { slots: (0..MEMBERS_MAX).map(slot).collect(), age: AtomicUsize::new(0) }
    }
}

impl<T> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("bytes", &self.bytes()).finish()
    }
}

impl<T> Slots<T> {
    /// Bytes of memory that they take, as of their last scripts.
    pub fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.bytes.load(Relaxed)).sum()
    }
}

impl<T: Resting> Slots<T> {
    /// Takes the interpreter of a thread; makes one if it has none.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn take<E>(
        &self,
        thread: usize,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Taken<T>, E> {
        if let Some(Rested { own, age, .. }) = self.slots[thread].own.lock().take() {
            return Ok(Taken { own, age });
        }
        let age = self.age.load(Relaxed);
        Ok(Taken { own: Box::new(make()?), age })
    }

    /// Puts the interpreter of a thread back.
    pub fn put_back(&self, thread: usize, Taken { own, age }: Taken<T>, now: Millis) {
        let slot = &self.slots[thread];
        if age != self.age.load(Relaxed) {
            slot.bytes.store(0, Relaxed);
            return;
        }
        slot.bytes.store(own.bytes(), Relaxed);
        *slot.own.lock() = Some(Rested { own, age, since: now });
    }

    /// Gives all interpreters back: those at work when that has ended.
    pub fn clear(&self) {
        self.age.fetch_add(1, Relaxed);
        self.give_back(|_| true);
    }

    /// Gives those back that have rested since before `moment`, if there are any.
    pub fn give_back_unused(&self, moment: Millis) {
        if self.bytes() > 0 {
            self.give_back(|since| since < moment);
        }
    }

    fn give_back(&self, is_dropped: impl Fn(Millis) -> bool) {
        for slot in &self.slots {
            let dropped = slot.own.lock().take_if(|rested| is_dropped(rested.since));
            if dropped.is_some() {
                slot.bytes.store(0, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(usize);

    impl Resting for Fake {
        fn bytes(&self) -> usize {
            self.0
        }
    }

    fn taken(all: &Slots<Fake>, thread: usize) -> Taken<Fake> {
        all.take(thread, || Ok::<_, ()>(Fake(7))).expect("it is made")
    }

    #[test]
    fn an_interpreter_is_made_once_and_given_back_when_it_rests() {
        let all = Slots::default();
        all.put_back(3, taken(&all, 3), Millis(50));
        assert_eq!(all.bytes(), 7);
        let again = all.take(3, || Err(())).expect("it is there");
        all.put_back(3, again, Millis(60));
        all.give_back_unused(Millis(60));
        assert_eq!(all.bytes(), 7);
        all.give_back_unused(Millis(61));
        assert_eq!(all.bytes(), 0);
    }

    #[test]
    fn an_interpreter_that_is_to_be_made_anew_is_not_used_again() {
        let all = Slots::default();
        let at_work = taken(&all, 0);
        all.clear();
        all.put_back(0, at_work, Millis(1));
        assert_eq!(all.bytes(), 0);
        all.put_back(0, taken(&all, 0), Millis(1));
        assert_eq!(all.bytes(), 7);
    }
}

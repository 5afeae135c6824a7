//! Locks of shards: a command takes all that it needs, or none.
//!
//! ```text
//! one     waits for it
//! several tries all ──▶ waits for the first that was taken, with none in hand ──▶ tries all ...
//!                       after three rounds, with the right to wait: one after the other
//! some, and more as they become known: with the right to wait, from the first on
//! ```
//! No thread waits for a lock while holding another, but the one that has the right to wait. The
//! others give back what they hold without waiting for anything, so whatever it waits for becomes
//! free. A thread that wants the right does not wait for it while another one has it, which may be
//! for long: it goes on trying.
//!
//! Locks can be lent: a thread that holds some for several commands in a row lends each command
//! those that it asks for, instead of waiting for itself.

use base::units::SHARDS;
use base::{Lock, LockGuard, PositionHash, ShardId};
use crossbeam_utils::CachePadded;
use std::mem::ManuallyDrop;

const TRIES: usize = if cfg!(loom) { 1 } else { 3 };
/// Number of locks; under loom three, as many as interleavings can be explored for.
const LOCKS: usize = if cfg!(loom) { 3 } else { SHARDS };

/// A set of shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardSet {
    words: [u64; SHARDS / 64],
}

impl ShardSet {
    /// No shard.
    pub fn new() -> ShardSet {
        ShardSet::default()
    }

    /// Every shard.
    pub fn all() -> ShardSet {
        ShardSet { words: [u64::MAX; SHARDS / 64] }
    }

    /// Adds the shard in which `hash` stands.
    #[inline]
    pub fn add(&mut self, hash: PositionHash) {
        self.add_shard(hash.shard());
    }

    /// Adds a shard.
    #[inline]
    pub fn add_shard(&mut self, shard: ShardId) {
        self.words[shard.index() / 64] |= 1 << (shard.index() % 64);
    }

    /// Returns true if `shard` is in the set.
    #[inline]
    pub fn has(&self, shard: ShardId) -> bool {
        self.words[shard.index() / 64] >> (shard.index() % 64) & 1 == 1
    }

    /// Adds all shards of another set.
    pub fn add_all(&mut self, other: &ShardSet) {
        self.words.iter_mut().zip(other.words).for_each(|(word, more)| *word |= more);
    }

    /// Returns the shards that are not in `other`.
    pub(super) fn without(mut self, other: &ShardSet) -> ShardSet {
        self.words.iter_mut().zip(other.words).for_each(|(word, other)| *word &= !other);
        self
    }

    /// Returns true if all shards of `other` are in the set.
    pub fn has_all(&self, other: &ShardSet) -> bool {
        self.words.iter().zip(other.words).all(|(word, wanted)| wanted & !word == 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ShardId> {
        (0_usize..).zip(self.words).flat_map(|(at, word)| {
            let rests = std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
            let bits = rests.take_while(|rest| *rest != 0).map(u64::trailing_zeros);
            bits.map(move |bit| ShardId(narrow::to_u8(at * 64 + bit as usize)))
        })
    }
}

/// Locks that a guard gives back. Guards are moved, so a set of several shards is kept beside the
/// guard, in the thread context.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    One(ShardId),
    Many,
    /// Borrowed from the thread's hold, which keeps them.
    Lent,
}

/// The shards that a thread holds for several commands in a row; set by its hold alone.
#[derive(Debug, Default)]
pub(crate) struct Lent(pub(super) Option<ShardSet>);

/// Shards of the guard in use, if they are several; empty otherwise. Written where guards are made
/// and dropped, and nowhere else, since a guard releases the locks that stand here.
#[derive(Debug, Default)]
pub(crate) struct Asked(pub(super) ShardSet);

impl Asked {
    /// Notes the shards of a guard that is about to be made.
    ///
    /// # Panics
    /// If another guard of the thread has several.
    pub(super) fn begin(&mut self, set: ShardSet) {
        assert!(self.0 == ShardSet::new(), "a thread has one guard at a time");
        self.0 = set;
    }
}

impl Lent {
    /// Returns true if commands have to borrow their locks.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.0.is_some()
    }
}

/// One lock per shard, each in a cache line of its own.
#[derive(Debug)]
pub(super) struct Locks {
    shards: Box<[CachePadded<Lock>; LOCKS]>,
    /// The right to wait for a shard while holding others.
    right: CachePadded<Lock>,
}

/// Locks of several shards, given back on drop.
#[derive(Debug)]
pub(super) struct Many<'a> {
    locks: &'a Locks,
    set: ShardSet,
}

impl Locks {
    pub fn new() -> Locks {
        let shards = Box::new(std::array::from_fn(|_| CachePadded::new(Lock::new())));
        Locks { shards, right: CachePadded::new(Lock::new()) }
    }

    #[inline]
    pub fn one(&self, shard: ShardId) -> LockGuard<'_> {
        self.shards[shard.index()].lock()
    }

    /// Takes the lock of a shard if it is free.
    pub fn try_one(&self, shard: ShardId) -> Option<LockGuard<'_>> {
        self.shards[shard.index()].try_lock()
    }

    /// Prefetches the lock of a shard.
    #[inline]
    pub fn prefetch(&self, shard: ShardId) {
        self.shards[shard.index()].prefetch();
    }

    pub fn many(&self, set: &ShardSet) -> Many<'_> {
        for tries in 1.. {
            match self.try_all(set) {
                Ok(held) => return held,
                Err(contended) => self.shards[contended.index()].wait_until_free(),
            }
            if tries >= TRIES
                && let Some(_right) = self.right.try_lock()
            {
                let mut held = Many { locks: self, set: ShardSet::new() };
                held.add(set);
                return held;
            }
        }
        unreachable!("the tries do not end")
    }

    /// Takes the right to wait, and then all locks of the set. The caller gives the right back with
    /// [`Locks::release_right`].
    pub fn many_with_right(&self, set: &ShardSet) -> Many<'_> {
        self.right.lock().leave_locked();
        let mut held = Many { locks: self, set: ShardSet::new() };
        held.add(set);
        held
    }

    /// Takes further locks, of which the caller, who has the right to wait, holds none.
    pub fn more(&self, set: &ShardSet) -> Many<'_> {
        let mut held = Many { locks: self, set: ShardSet::new() };
        held.add(set);
        held
    }

    /// Gives the right to wait back.
    ///
    /// # Safety
    /// The caller has it, from [`Locks::many_with_right`].
    pub unsafe fn release_right(&self) {
        // SAFETY: as the caller promises.
        unsafe { self.right.unlock() };
    }

    /// Takes all locks of the set, or none and returns the first that was not free.
    pub fn try_all(&self, set: &ShardSet) -> Result<Many<'_>, ShardId> {
        let mut held = Many { locks: self, set: ShardSet::new() };
        for shard in set.iter() {
            held.keep(shard, self.shards[shard.index()].try_lock().ok_or(shard)?);
        }
        Ok(held)
    }

    /// Gives one lock back.
    ///
    /// # Safety
    /// The caller holds it, and its lock guard was left locked.
    #[inline(always)]
    pub unsafe fn release(&self, shard: ShardId) {
        // SAFETY: as the caller promises.
        unsafe { self.shards[shard.index()].unlock() };
    }

    /// Gives the locks of a set back.
    ///
    /// # Safety
    /// The caller holds all of them, and their lock guards were left locked.
    pub unsafe fn release_all(&self, set: &ShardSet) {
        // SAFETY: as the caller promises.
        set.iter().for_each(|shard| unsafe { self.release(shard) });
    }
}

impl Many<'_> {
    /// Takes more locks, waiting for each: for the thread that has the right to wait.
    fn add(&mut self, set: &ShardSet) {
        let locks = self.locks;
        set.iter().for_each(|shard| self.keep(shard, locks.one(shard)));
    }

    fn keep(&mut self, shard: ShardId, guard: LockGuard<'_>) {
        guard.leave_locked();
        self.set.add_shard(shard);
    }

    /// Leaves the locks held; the caller releases them.
    pub fn leave_locked(self) {
        let _held = ManuallyDrop::new(self);
    }
}

impl Drop for Many<'_> {
    fn drop(&mut self) {
        // SAFETY: `keep` left the guard of each.
        unsafe { self.locks.release_all(&self.set) };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_want_overlapping_sets_all_get_through() {
        let locks = Locks::new();
        let rounds = if cfg!(miri) { 5 } else { 2_000 };
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let locks = &locks;
                scope.spawn(move || {
                    let mut random = base::Random::from_seed(thread);
                    for _ in 0..rounds {
                        let mut set = ShardSet::new();
                        for _ in 0..5 {
                            set.add(PositionHash(random.below(8) << 56));
                        }
                        drop(locks.many(&set));
                    }
                });
            }
        });
    }

    #[test]
    fn a_contended_set_is_given_up_whole() {
        let locks = Locks::new();
        let held = locks.one(ShardId(7));
        let mut set = ShardSet::new();
        [3_u64, 7, 9].into_iter().for_each(|shard| set.add(PositionHash(shard << 56)));
        assert_eq!(locks.try_all(&set).expect_err("7 is held"), ShardId(7));
        assert!(locks.shards[3].try_lock().is_some());
        drop(held);
        assert!(locks.try_all(&set).is_ok());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[derive(Clone)]
    struct Guarded {
        locks: Arc<Locks>,
        busy: Arc<[AtomicBool; LOCKS]>,
    }

    impl Guarded {
        fn new() -> Guarded {
            let busy = std::array::from_fn(|_| AtomicBool::new(false));
            Guarded { locks: Arc::new(Locks::new()), busy: Arc::new(busy) }
        }

        /// Holds the locks of `shards`, and finds that nobody else does.
        fn hold(&self, shards: &[u8]) {
            let mut set = ShardSet::new();
            shards.iter().for_each(|shard| set.add(PositionHash(u64::from(*shard) << 56)));
            let _held = match shards {
                [one] => (Some(self.locks.one(ShardId(*one))), None),
                _ => (None, Some(self.locks.many(&set))),
            };
            let busy = |shard: &u8| &self.busy[usize::from(*shard)];
            shards.iter().for_each(|shard| assert!(!busy(shard).swap(true, Relaxed)));
            shards.iter().for_each(|shard| busy(shard).store(false, Relaxed));
        }
    }

    /// Each thread takes its sets one after the other; all get through.
    fn all_get_through(threads: &'static [&'static [&'static [u8]]]) {
        loom::model(move || {
            let guarded = Guarded::new();
            let work = |sets: &'static [&'static [u8]]| {
                let guarded = guarded.clone();
                loom::thread::spawn(move || sets.iter().for_each(|set| guarded.hold(set)))
            };
            let spawned: Vec<_> = threads[1..].iter().map(|sets| work(sets)).collect();
            threads[0].iter().for_each(|set| guarded.hold(set));
            spawned.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    #[test]
    fn two_overlapping_sets_exclude_each_other_and_both_get_through() {
        all_get_through(&[&[&[0, 1, 2]], &[&[1, 2]]]);
    }

    #[test]
    fn a_set_and_the_holders_of_its_single_shards_all_get_through() {
        all_get_through(&[&[&[0, 1]], &[&[1], &[0]]]);
    }

    #[test]
    fn sets_taken_one_after_the_other_all_get_through() {
        all_get_through(&[&[&[0, 1], &[1, 2]], &[&[0, 2], &[0, 1]]]);
    }

    /// Counts of what was done under the locks of two shards.
    struct Counted {
        locks: Locks,
        counts: [UnsafeCell<u32>; 2],
    }

    // SAFETY: a count is used by the holder of the lock of its shard; loom finds all others.
    unsafe impl Sync for Counted {}

    impl Counted {
        /// Counts, under a lock that the thread holds; returns the count from before.
        fn count(&self, shard: u8) -> u32 {
            // SAFETY: the thread holds the lock.
            self.counts[usize::from(shard)].with_mut(|count| unsafe {
                *count += 1;
                *count - 1
            })
        }

        /// Runs commands of one shard each with locks that are taken at the begin and lent to them.
        fn run_unit(&self, commands: &[u8]) {
            let mut set = ShardSet::new();
            commands.iter().for_each(|shard| set.add_shard(ShardId(*shard)));
            self.locks.many(&set).leave_locked();
            let mut expected = [None; 2];
            for shard in commands {
                let before = self.count(*shard);
                let expected = &mut expected[usize::from(*shard)];
                assert_eq!(before, expected.unwrap_or(before), "another thread was in between");
                *expected = Some(before + 1);
            }
            // SAFETY: they were left locked above.
            unsafe { self.locks.release_all(&set) };
        }
    }

    #[test]
    fn commands_that_borrow_the_locks_of_a_unit_have_no_other_thread_between_them() {
        loom::model(|| {
            let counts = std::array::from_fn(|_| UnsafeCell::new(0));
            let counted = Arc::new(Counted { locks: Locks::new(), counts });
            let other = Arc::clone(&counted);
            let thread = loom::thread::spawn(move || {
                let held = other.locks.one(ShardId(1));
                other.count(1);
                drop(held);
                other.run_unit(&[1, 0]);
            });
            counted.run_unit(&[0, 1, 0, 1]);
            thread.join().unwrap();
            assert_eq!([0, 1].map(|shard| counted.count(shard)), [3, 4]);
        });
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests;

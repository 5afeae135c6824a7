//! All who take several shards, at random.

use super::*;
use shuttle::rand::{Rng, thread_rng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SHARDS_USED: usize = 6;

struct Guarded {
    locks: Locks,
    busy: [AtomicBool; SHARDS_USED],
}

impl Guarded {
    fn new() -> Guarded {
        Guarded { locks: Locks::new(), busy: std::array::from_fn(|_| AtomicBool::new(false)) }
    }

    /// Holds one lock or several, and finds that nobody else does.
    fn hold_some(&self) {
        let shards: Vec<usize> =
            (0..SHARDS_USED).filter(|_| thread_rng().gen_range(0..2) == 0).collect();
        let mut set = ShardSet::new();
        shards.iter().for_each(|shard| set.add(PositionHash((*shard as u64) << 56)));
        let _held = match shards[..] {
            [one] => (Some(self.locks.one(ShardId(one as u8))), None),
            _ => (None, Some(self.locks.many(&set))),
        };
        self.use_for_a_while(&shards);
    }

    /// Takes some shards one after the other, in any order, with the right to wait.
    fn grow_to_some(&self) {
        let mut held = ShardSet::new();
        self.locks.many_with_right(&held).leave_locked();
        for _ in 0..3 {
            let shard = thread_rng().gen_range(0..SHARDS_USED);
            let mut more = ShardSet::new();
            more.add(PositionHash((shard as u64) << 56));
            if !held.has_all(&more) {
                self.locks.more(&more).leave_locked();
                assert!(!self.busy[shard].swap(true, Relaxed));
                held.add_all(&more);
            }
            shuttle::thread::yield_now();
        }
        held.iter().for_each(|shard| self.busy[shard.index()].store(false, Relaxed));
        // SAFETY: they were left locked above, and the right too.
        unsafe {
            self.locks.release_all(&held);
            self.locks.release_right();
        }
    }
}

impl Guarded {
    /// Holds exactly these shards, and finds that nobody else does.
    fn hold(&self, shards: &[usize]) {
        let mut set = ShardSet::new();
        shards.iter().for_each(|shard| set.add(PositionHash((*shard as u64) << 56)));
        let _held = self.locks.many(&set);
        self.use_for_a_while(shards);
    }

    fn use_for_a_while(&self, shards: &[usize]) {
        shards.iter().for_each(|shard| assert!(!self.busy[*shard].swap(true, Relaxed)));
        shuttle::thread::yield_now();
        shards.iter().for_each(|shard| self.busy[*shard].store(false, Relaxed));
    }

    /// Looks into one shard after the other, as a cleaner does for each record of a segment.
    fn clean(&self) {
        for _ in 0..3 {
            let shard = thread_rng().gen_range(0..SHARDS_USED);
            let _held = self.locks.one(ShardId(shard as u8));
            self.use_for_a_while(&[shard]);
        }
    }
}

/// All who take shards at once: two scripts that learn their keys as they go, a proven script
/// and a transaction, whose shards are known before; a BLMOVE that begins anew with its
/// destination; a cleaner that waits for shards with its mutex in hand, and a writer that waits
/// for the cleaner with no shard in hand. A wait for the cleaner under a shard would end here
/// in a deadlock.
#[test]
fn scripts_transactions_blocked_moves_and_the_cleaner_all_get_through() {
    shuttle::check_random(
        || {
            let guarded = Arc::new(Guarded::new());
            let cleaner = Arc::new(shuttle::sync::Mutex::new(()));
            let mut works: Vec<Box<dyn FnOnce(&Guarded) + Send>> = Vec::new();
            works.push(Box::new(Guarded::grow_to_some));
            works.push(Box::new(Guarded::grow_to_some));
            works.push(Box::new(|guarded| (0..2).for_each(|_| guarded.hold(&[1, 4]))));
            works.push(Box::new(|guarded| guarded.hold_some()));
            works.push(Box::new(|guarded| {
                guarded.hold(&[2]);
                guarded.hold(&[2, 0]);
            }));
            let mutex = Arc::clone(&cleaner);
            works.push(Box::new(move |guarded| {
                let _cleaning = mutex.lock().unwrap();
                guarded.clean();
            }));
            works.push(Box::new(move |guarded| {
                guarded.hold(&[3]);
                let _cleaning = cleaner.lock().unwrap();
                guarded.clean();
            }));
            let start = |work: Box<dyn FnOnce(&Guarded) + Send>| {
                let guarded = Arc::clone(&guarded);
                shuttle::thread::spawn(move || work(&guarded))
            };
            let threads: Vec<_> = works.into_iter().map(start).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        },
        3_000,
    );
}

/// Writers to a key that serve the clients waiting for it. Which locks they need is known only
/// once the line of the key stands still, so they begin anew with more. The state of a waiting
/// client is taken under the locks, or by its timeout without any.
#[test]
fn units_that_learn_of_more_keys_begin_anew_and_all_get_through() {
    shuttle::check_random(
        || {
            let guarded = Arc::new(Guarded::new());
            let states: Arc<[shuttle::sync::Mutex<()>; 3]> =
                Arc::new(std::array::from_fn(|_| shuttle::sync::Mutex::new(())));
            let unit = |own: usize| {
                let (guarded, states) = (Arc::clone(&guarded), Arc::clone(&states));
                shuttle::thread::spawn(move || {
                    // The client that waits for a key moves what arrives to the next key.
                    let mut shards = vec![own];
                    while shards.len() < 3 {
                        let mut set = ShardSet::new();
                        let hash = |shard: &usize| PositionHash((*shard as u64) << 56);
                        shards.iter().for_each(|shard| set.add(hash(shard)));
                        let held = guarded.locks.many(&set);
                        let is_known = thread_rng().gen_range(0..2) == 0;
                        if is_known {
                            for shard in &shards {
                                assert!(!guarded.busy[*shard].swap(true, Relaxed));
                            }
                            let state = states[own].lock().unwrap();
                            shuttle::thread::yield_now();
                            drop(state);
                            for shard in &shards {
                                guarded.busy[*shard].store(false, Relaxed);
                            }
                        }
                        drop(held);
                        shards.push((shards[shards.len() - 1] + 1) % 3);
                    }
                })
            };
            let timeout = |own: usize| {
                let states = Arc::clone(&states);
                shuttle::thread::spawn(move || drop(states[own].lock().unwrap()))
            };
            let threads: Vec<_> = (0..3).map(unit).chain((0..3).map(timeout)).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        },
        3_000,
    );
}

/// Units that learn of their shards as they go, beside others that know theirs.
#[test]
fn units_that_grow_with_the_right_to_wait_and_all_others_get_through() {
    shuttle::check_random(
        || {
            let guarded = Arc::new(Guarded::new());
            let hold = |_| {
                let guarded = Arc::clone(&guarded);
                shuttle::thread::spawn(move || (0..2).for_each(|_| guarded.hold_some()))
            };
            let grow = |_| {
                let guarded = Arc::clone(&guarded);
                shuttle::thread::spawn(move || guarded.grow_to_some())
            };
            let threads: Vec<_> = (0..3).map(hold).chain((0..2).map(grow)).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        },
        3_000,
    );
}

#[test]
fn many_threads_with_sets_of_any_size_exclude_each_other_and_all_get_through() {
    shuttle::check_random(
        || {
            let guarded = Arc::new(Guarded::new());
            let spawn = |_| {
                let guarded = Arc::clone(&guarded);
                shuttle::thread::spawn(move || (0..3).for_each(|_| guarded.hold_some()))
            };
            let threads: Vec<_> = (0..5).map(spawn).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        },
        3_000,
    );
}

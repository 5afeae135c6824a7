//! Holding locks: for one command, for a background job, or for several commands in a row.

use super::collections::CollectionId;
use super::locks::{Held, Lent, ShardSet};
use super::shards::Shards;
use super::thread_context::ThreadContext;
use base::ShardId;

impl Shards {
    /// Takes the lock of one shard, for a thread that lends none. The guard made of it gives the
    /// lock back.
    #[inline(always)]
    pub(super) fn hold_one(&self, shard: ShardId) -> Held {
        self.locks.one(shard).leave_locked();
        Held::One(shard)
    }

    /// Takes or borrows the lock of one shard, for a command.
    #[inline(always)]
    pub(super) fn hold_one_of(&self, thread: &mut ThreadContext, shard: ShardId) -> Held {
        if thread.lent.is_any() {
            let mut one = ShardSet::new();
            one.add_shard(shard);
            return self.borrow(thread, one);
        }
        debug_assert!(!thread.never_waits, "who must not wait tries");
        self.hold_one(shard)
    }

    /// As `hold_one_of`, without waiting: `None` if the lock is taken at present, or is not among
    /// those that the thread lends.
    pub(super) fn try_hold_one_of(
        &self,
        thread: &mut ThreadContext,
        shard: ShardId,
    ) -> Option<Held> {
        if let Some(lent) = &thread.lent.0 {
            return lent.has(shard).then(|| self.hold_one_of(thread, shard));
        }
        self.locks.try_one(shard)?.leave_locked();
        Some(Held::One(shard))
    }

    /// Takes or borrows the locks of several shards, for a command.
    pub(super) fn hold_many_of(&self, thread: &mut ThreadContext, set: ShardSet) -> Held {
        if thread.lent.is_any() {
            return self.borrow(thread, set);
        }
        debug_assert!(!thread.never_waits, "who must not wait tries");
        thread.asked.begin(set);
        self.locks.many(&set).leave_locked();
        Held::Many
    }

    /// Borrows those of the thread's locks that a command asks for. A thread that lends locks has
    /// asked for all keys before. A shard that was missed all the same is waited for; that is a
    /// bug, since two threads that do so may wait for each other.
    #[cold]
    fn borrow(&self, thread: &mut ThreadContext, set: ShardSet) -> Held {
        let lent = thread.lent.0.get_or_insert_default();
        let missed = set.without(lent);
        if missed != ShardSet::new() {
            debug_assert!(false, "a command of a unit reaches only keys that the unit has locked");
            self.locks.many(&missed).leave_locked();
            lent.add_all(&missed);
        }
        thread.asked.begin(set);
        Held::Lent
    }

    /// Locks the shard of the key that owns a collection; `None` if the collection is closed. A
    /// thread that lends locks lends all of them.
    pub(super) fn hold_owner(&self, thread: &mut ThreadContext, id: CollectionId) -> Option<Held> {
        loop {
            let shard = self.collections.owner(id).shard();
            if thread.lent.is_any() {
                let has_owner = self.collections.has_owner(id);
                return has_owner.then(|| self.hold_one_of(thread, shard));
            }
            debug_assert!(!thread.never_waits, "who must not wait tries");
            let lock = self.locks.one(shard);
            // An owner gives up or hands over a collection under the lock of its shard.
            if !self.collections.has_owner(id) {
                return None;
            }
            if self.collections.owner(id).shard() == shard {
                lock.leave_locked();
                return Some(Held::One(shard));
            }
        }
    }
}

/// Locks that a thread holds for several commands in a row. Those commands work with the context of
/// the thread, which it lends, and borrow the locks; what they change is one unit.
#[derive(Debug)]
pub struct Hold<'a> {
    shards: &'a Shards,
    thread: &'a mut ThreadContext,
}

impl Shards {
    /// Takes the locks of some shards for several commands; the thread must not lend any yet.
    pub fn hold<'a>(&'a self, thread: &'a mut ThreadContext, set: ShardSet) -> Hold<'a> {
        assert!(!thread.lent.is_any(), "a hold is not taken within a hold");
        debug_assert!(!thread.never_waits, "who must not wait tries");
        self.locks.many(&set).leave_locked();
        thread.lent = Lent(Some(set));
        Hold { shards: self, thread }
    }

    /// As `hold`, with the right to wait for further shards: `grow` takes them as they become
    /// known.
    pub fn hold_to_grow<'a>(&'a self, thread: &'a mut ThreadContext, set: ShardSet) -> Hold<'a> {
        assert!(!thread.lent.is_any(), "a hold is not taken within a hold");
        debug_assert!(!thread.never_waits, "who must not wait tries");
        self.locks.many_with_right(&set).leave_locked();
        thread.lent = Lent(Some(set));
        thread.has_right = true;
        Hold { shards: self, thread }
    }

    /// Takes shards for the unit at which a thread is, unless it has them. Returns false if it
    /// lacks some and may not wait for them.
    pub fn grow(&self, thread: &mut ThreadContext, set: &ShardSet) -> bool {
        let Some(lent) = &mut thread.lent.0 else { return false };
        if lent.has_all(set) {
            return true;
        }
        if thread.has_right {
            let missed = set.without(lent);
            self.locks.more(&missed).leave_locked();
            lent.add_all(&missed);
        }
        thread.has_right
    }

    /// As `hold`, without waiting: `None` if one of the locks is taken at present.
    pub fn try_hold<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        set: ShardSet,
    ) -> Option<Hold<'a>> {
        assert!(!thread.lent.is_any(), "a hold is not taken within a hold");
        self.locks.try_all(&set).ok()?.leave_locked();
        thread.lent = Lent(Some(set));
        Some(Hold { shards: self, thread })
    }
}

impl Hold<'_> {
    /// The shards that it has by now.
    pub fn held(&self) -> ShardSet {
        self.thread.lent.0.unwrap_or_default()
    }

    /// The context in which the commands of the unit work.
    pub fn thread(&mut self) -> &mut ThreadContext {
        self.thread
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let held = self.thread.lent.0.take().unwrap_or_default();
        if std::mem::take(&mut self.thread.pending.is_lost) {
            self.thread.pending.unit.clear();
        }
        self.shards.deliver_unit(&mut self.thread.pending, self.thread.author);
        self.thread.pending.put_asides();
        // SAFETY: they were taken for this hold, or for a command under it, and were left locked.
        unsafe { self.shards.locks.release_all(&held) };
        if std::mem::take(&mut self.thread.has_right) {
            // SAFETY: it was taken for this hold.
            unsafe { self.shards.locks.release_right() };
        }
    }
}

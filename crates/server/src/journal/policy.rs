//! What `appendfsync` asks for, and the replies that wait for it.

use super::shared::Journal;
use crate::output::ALL_SAFE;
use base::mutex::MutexGuard;
use journal::writer::SyncPolicy;
use session::{Instance, Notice};
use settings::general::DIR;
use settings::journal::{APPENDFSYNC, APPENDONLY, NO_APPENDFSYNC_ON_REWRITE};
use settings::{AppendFsync, Settings};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// When what was written is synced at present.
pub fn sync_policy(instance: &Instance) -> SyncPolicy {
    let settings = &instance.settings;
    let is_rewriting = instance.journal.is_rewriting.load(Relaxed);
    match APPENDFSYNC.get(settings) {
        AppendFsync::No => SyncPolicy::No,
        _ if is_rewriting && NO_APPENDFSYNC_ON_REWRITE.get(settings) => SyncPolicy::No,
        AppendFsync::Always => SyncPolicy::Always,
        AppendFsync::EverySecond => SyncPolicy::EverySecond,
    }
}

impl Journal {
    /// Says whether the journal is to be on. The writer owns the files from then on, so the caller
    /// checks before whether they are fit for it.
    pub fn want(&self, on: bool, settings: &Settings) {
        let _deciding = self.deciding();
        if on && !self.asked.on.load(Relaxed) {
            let (new, mut directory) = (DIR.get(settings), self.directory());
            // The writer may not even have closed its files since the journal was turned off.
            let has_moved = directory.as_ref().is_some_and(|old| *old != new);
            self.asked.reopen.fetch_or(has_moved, Relaxed);
            *directory = Some(new);
            self.asked.at_once.store(true, Relaxed);
        }
        self.asked.on.store(on, Release);
    }

    /// Returns true if `dir` may be what it is now: a journal that is on stays where it was turned
    /// on, and the next start would look for it where it is not.
    pub fn allows_directory(&self, settings: &Settings) -> bool {
        let _deciding = self.deciding();
        let stays_on = self.asked.on.load(Acquire) && APPENDONLY.get(settings);
        !stays_on || self.directory().as_ref() == Some(&DIR.get(settings))
    }

    fn directory(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.directory.lock()
    }

    /// Follows a change of the settings: what they promise holds when this returns, but for a base
    /// that is written first.
    pub fn follow_settings(&self, instance: &Instance) {
        let deciding = self.deciding();
        let state = &instance.journal;
        if !state.is_on.load(Relaxed) || self.asked.reopen.load(Relaxed) {
            let is_at_work = state.rewrites().began.is_some();
            let is_wanted = self.asked.on.load(Acquire);
            state.is_rewriting.store(is_at_work || is_wanted, Relaxed);
        }
        drop(deciding);
        self.follow_policy(instance);
        self.rest.end();
    }

    /// Decides whether the journal, which is on or being turned on, is to be turned off. If so, a
    /// later wish to have it on begins it anew.
    pub fn begin_to_close(&self, instance: &Instance) -> bool {
        let _deciding = self.deciding();
        let is_wanted = self.asked.on.load(Acquire);
        let closes = self.asked.reopen.swap(false, Relaxed) || !is_wanted;
        if closes {
            if !is_wanted {
                *self.directory() = None;
            }
            self.is_closing.store(true, Release);
            instance.journal.is_on.store(false, Relaxed);
            // A base that was needed, or asked for, was one for these files, unless it was asked
            // for when they were about to end.
            let is_for_later = self.asked.behind_end.swap(false, Relaxed) && !is_wanted;
            self.asked.rewrite.store(is_for_later, Release);
            if !is_for_later {
                instance.journal.is_scheduled.store(false, Release);
            }
            if instance.journal.is_rewriting.load(Relaxed) {
                instance.journal.cancel_rewrite();
            }
            instance.journal.is_rewriting.store(is_wanted || is_for_later, Relaxed);
        }
        closes
    }

    pub(super) fn deciding(&self) -> MutexGuard<'_, ()> {
        self.policy.lock()
    }

    /// Lets replies up to `position` leave, unless they have just ceased to wait: then all may.
    /// Returns the position up to which they could leave before.
    pub fn move_safe(&self, position: u64) -> u64 {
        // In one order with `delays_reply`: who is not seen to wait sees what is safe.
        let moved = |before| (before != ALL_SAFE).then_some(position);
        let (Ok(before) | Err(before)) = self.safe.fetch_update(SeqCst, SeqCst, moved);
        before
    }

    /// Has replies wait for syncs, or not, as the settings say. Holds when it returns.
    pub fn follow_policy(&self, instance: &Instance) {
        let _deciding = self.deciding();
        if self.is_closing.load(Acquire) {
            return;
        }
        let is_on = instance.journal.is_on.load(Relaxed);
        let holds = is_on && sync_policy(instance) == SyncPolicy::Always;
        if holds == self.delays_replies.load(Relaxed) {
            return;
        }
        if holds {
            self.safe.store(instance.journal.safe.load(Relaxed), Release);
            self.delays_replies.store(true, Release);
        } else {
            self.delays_replies.store(false, Release);
            self.safe.store(ALL_SAFE, Release);
            self.awaited.store(0, Relaxed);
            instance.clients.notify_workers(&Notice::Safe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::testing::instance;

    #[test]
    fn a_base_that_is_asked_for_before_the_files_have_ended_is_written_behind_their_end() {
        let (journal, instance) = (Journal::new().expect("address space"), instance());
        for (asks, is_written) in [(false, false), (true, true)] {
            journal.want(true, &instance.settings);
            journal.ask_for_rewrite();
            journal.want(false, &instance.settings);
            if asks {
                journal.ask_for_rewrite();
            }
            assert!(journal.begin_to_close(&instance));
            assert_eq!(journal.asked.rewrite.load(Relaxed), is_written);
            assert_eq!(instance.journal.is_rewriting.load(Relaxed), is_written);
        }
    }
}

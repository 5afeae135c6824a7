//! What `appendfsync` asks for, and the replies that wait for it.

use super::shared::Journal;
use crate::output::ALL_SAFE;
use command::{Instance, Notice};
use journal::writer::SyncPolicy;
use settings::AppendFsync;
use settings::journal::{APPENDFSYNC, NO_APPENDFSYNC_ON_REWRITE};
use std::sync::PoisonError;
use std::sync::atomic::{Ordering::Relaxed, Ordering::Release};

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
    /// Follows a change of the settings: what they promise holds when this returns, but for a base
    /// that is written first.
    pub fn follow_settings(&self, instance: &Instance) {
        self.note_settings(instance);
        self.follow_policy(instance);
    }

    /// Has replies wait for syncs, or not, as the settings say. Holds when it returns.
    pub fn follow_policy(&self, instance: &Instance) {
        let _one_at_a_time = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        let is_on = instance.journal.is_on.load(Relaxed);
        let holds = is_on && sync_policy(instance) == SyncPolicy::Always;
        if holds == self.holds_replies.load(Relaxed) {
            return;
        }
        if holds {
            self.safe.store(instance.journal.safe.load(Relaxed), Release);
            self.holds_replies.store(true, Release);
        } else {
            self.holds_replies.store(false, Release);
            self.safe.store(ALL_SAFE, Release);
            self.awaited.store(0, Relaxed);
            instance.clients.tell_workers(&Notice::Safe);
        }
    }
}

//! The log of what users were denied: ACL LOG and the counts of INFO.

use base::Millis;
use base::mutex::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Newest entries among which one that is equal is looked for.
const LOOKED_AT: usize = 10;
/// Milliseconds within which equal refusals are one entry.
const SAME_MILLIS: u64 = 60_000;
/// Most bytes of an object or of a name that are kept: a client chooses both, before it logs in.
const NAME_BYTES_MAX: usize = 1024;

/// Reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeniedFor {
    /// A wrong name or password.
    Login,
    /// The command.
    Command,
    /// A key.
    Key,
    /// A channel.
    Channel,
    /// A database.
    Database,
    /// A certificate that names nobody.
    Certificate,
}

impl DeniedFor {
    /// All reasons, with what ACL LOG calls them.
    pub const NAMES: [(DeniedFor, &'static str); 6] = [
        (DeniedFor::Login, "auth"),
        (DeniedFor::Command, "command"),
        (DeniedFor::Key, "key"),
        (DeniedFor::Channel, "channel"),
        (DeniedFor::Database, "database"),
        (DeniedFor::Certificate, "tls-cert"),
    ];

    /// What ACL LOG calls it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// Where a command was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeniedWithin {
    /// As a client has sent it.
    TopLevel,
    /// While it was queued, or by EXEC.
    Transaction,
    /// Where a script called it.
    Script,
}

impl DeniedWithin {
    /// What ACL LOG calls it.
    pub fn name(self) -> &'static str {
        match self {
            DeniedWithin::TopLevel => "toplevel",
            DeniedWithin::Transaction => "multi",
            DeniedWithin::Script => "lua",
        }
    }
}

/// A refusal, or several that are equal.
#[derive(Clone, Debug)]
pub struct AclLogEntry {
    /// How many they are.
    pub count: u64,
    /// Why it was denied.
    pub reason: DeniedFor,
    /// Where.
    pub context: DeniedWithin,
    /// The command, key, channel or database, or the request that was to log in.
    pub object: Arc<[u8]>,
    /// The user, or the name that was given.
    pub user: Arc<[u8]>,
    /// The newest client, as CLIENT LIST shows it.
    pub client: Arc<[u8]>,
    /// Number of the entry since the start.
    pub id: u64,
    /// When the first one was.
    pub created: Millis,
    /// When the newest one was.
    pub updated: Millis,
}

/// A refusal that just was.
#[derive(Clone, Copy, Debug)]
pub struct DeniedNow<'d> {
    /// Why.
    pub reason: DeniedFor,
    /// Where.
    pub context: DeniedWithin,
    /// What.
    pub object: &'d [u8],
    /// The user, or the name that was given.
    pub user: &'d [u8],
}

/// The log, and counts of all refusals since the start.
#[derive(Debug, Default)]
pub struct AclLog {
    counts: [AtomicU64; DeniedFor::NAMES.len()],
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// The newest first.
    newest: VecDeque<AclLogEntry>,
    ids: u64,
}

impl AclLog {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock()
    }

    /// Counts a refusal, and enters it into a log of so many entries at most. `client` is
    /// called for the line of the client only if that is entered.
    pub fn add(
        &self,
        denied: DeniedNow<'_>,
        (now, most): (Millis, usize),
        client: impl FnOnce() -> Vec<u8>,
    ) {
        self.counts[denied.reason as usize].fetch_add(1, Relaxed);
        if most == 0 {
            return self.entries().newest.clear();
        }
        let client = client().into();
        let begin = |text: &'_ [u8]| Arc::<[u8]>::from(&text[..text.len().min(NAME_BYTES_MAX)]);
        let (object, user) = (begin(denied.object), begin(denied.user));
        let mut entries = self.entries();
        let is_same = |it: &AclLogEntry| {
            let of_now = (denied.reason, denied.context, &object, &user);
            (it.reason, it.context, &it.object, &it.user) == of_now
                && it.updated.0.abs_diff(now.0) <= SAME_MILLIS
        };
        let same = entries.newest.iter().take(LOOKED_AT).position(is_same);
        let entry = match same.and_then(|at| entries.newest.remove(at)) {
            Some(entry) => AclLogEntry { count: entry.count + 1, client, updated: now, ..entry },
            None => {
                let id = entries.ids;
                entries.ids += 1;
                let DeniedNow { reason, context, .. } = denied;
                let (count, created, updated) = (1, now, now);
                AclLogEntry { count, reason, context, object, user, client, id, created, updated }
            }
        };
        entries.newest.push_front(entry);
        entries.newest.truncate(most);
    }

    /// Returns the newest entries, so many at most, the newest first.
    pub fn newest(&self, most: usize) -> Vec<AclLogEntry> {
        self.entries().newest.iter().take(most).cloned().collect()
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.entries().newest.clear();
    }

    /// Returns how often something was denied for a reason.
    pub fn count(&self, reason: DeniedFor) -> u64 {
        self.counts[reason as usize].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deny(log: &AclLog, object: &[u8], at: u64, most: usize) {
        let (reason, context) = (DeniedFor::Key, DeniedWithin::TopLevel);
        let denied = DeniedNow { reason, context, object, user: b"ann" };
        log.add(denied, (Millis(at), most), || format!("at {at}").into_bytes());
    }

    fn shown(log: &AclLog) -> Vec<(Vec<u8>, u64, u64, u64)> {
        let shown = |it: AclLogEntry| (it.object.to_vec(), it.count, it.created.0, it.updated.0);
        log.newest(100).into_iter().map(shown).collect()
    }

    #[test]
    fn equal_refusals_within_a_minute_are_one_entry_that_becomes_the_newest() {
        let log = AclLog::default();
        deny(&log, b"a", 1_000, 128);
        deny(&log, b"b", 2_000, 128);
        deny(&log, b"a", 61_000, 128);
        assert_eq!(
            shown(&log),
            [(b"a".to_vec(), 2, 1_000, 61_000), (b"b".to_vec(), 1, 2_000, 2_000)]
        );
        assert_eq!(*log.newest(1)[0].client, *b"at 61000");
        deny(&log, b"b", 62_001, 128);
        assert_eq!(shown(&log)[0], (b"b".to_vec(), 1, 62_001, 62_001));
        assert_eq!(log.newest(9).iter().map(|it| it.id).collect::<Vec<_>>(), [2, 0, 1]);
    }

    #[test]
    fn an_equal_one_is_looked_for_among_the_ten_newest() {
        let log = AclLog::default();
        (0..11).for_each(|at| deny(&log, &[at], 5, 128));
        deny(&log, &[1], 5, 128);
        deny(&log, &[0], 5, 128);
        assert_eq!(log.newest(2).iter().map(|it| it.count).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_log_keeps_the_newest_entries_and_counts_all() {
        let log = AclLog::default();
        (0..5).for_each(|at| deny(&log, &[at], 5, 3));
        assert_eq!(shown(&log).len(), 3);
        deny(&log, b"x", 5, 0);
        assert_eq!((shown(&log).len(), log.count(DeniedFor::Key)), (0, 6));
    }

    #[test]
    fn names_that_clients_choose_are_kept_up_to_a_bound() {
        let log = AclLog::default();
        deny(&log, &[b'x'; 5_000], 5, 3);
        assert_eq!(log.newest(1)[0].object.len(), NAME_BYTES_MAX);
    }
}

//! Walks over all keys of a database: SCAN, KEYS, RANDOMKEY.

use crate::key::Kind;
use crate::lane::Lane;
use crate::store::Store;
use base::{KeyspaceId, Location, Millis, ShardId};
use index::{Entry, Index, Position};

/// Lines without a key that one SCAN call passes for each key it was asked for.
const LINES_PER_KEY: usize = 100;
/// Tries at a random key that has not expired.
const RANDOM_TRIES: usize = 100;

/// Which keys a walk reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanFilter<'a> {
    /// A pattern that the key has to match.
    pub pattern: Option<&'a [u8]>,
    /// The kind of value that it has to hold.
    pub kind: Option<Kind>,
}

impl Store {
    /// Visits keys from `cursor` on until about `count` were looked at; returns the cursor to go
    /// on from, zero at the end. Keys that stay throughout are visited at least once.
    pub fn scan(
        &self,
        keyspace: KeyspaceId,
        cursor: u64,
        count: usize,
        filter: ScanFilter<'_>,
        now: Millis,
        mut visit: impl FnMut(&[u8]),
    ) -> u64 {
        self.scan_with_expired(keyspace, cursor, count, filter, now, |key, is_there| {
            if is_there {
                visit(key);
            }
        })
    }

    /// As `scan`, but visits keys past their deadline too; the visitor is told which are there.
    pub fn scan_with_expired(
        &self,
        keyspace: KeyspaceId,
        cursor: u64,
        count: usize,
        filter: ScanFilter<'_>,
        now: Millis,
        mut visit: impl FnMut(&[u8], bool),
    ) -> u64 {
        let mut from = Position::from_cursor(cursor);
        let (mut seen, mut lines) = (0, 0);
        while seen < count && lines < count.saturating_mul(LINES_PER_KEY) {
            let shard = from.hash().shard();
            let index = self.indexes.get(keyspace, shard);
            let next = if index.is_empty() {
                None
            } else {
                let _held = self.hold_one(shard);
                lines += 1;
                index.scan_line(&self.blocks, from, |_, entry| {
                    seen += 1;
                    if let Some((key, is_there)) = self.matching(entry, filter, now) {
                        visit(key, is_there);
                    }
                })
            };
            match next.or_else(|| from.next_shard()) {
                Some(next) => from = next,
                None => return 0,
            }
        }
        from.cursor()
    }

    /// Visits every key of a database that matches, a line of the index at a time, as long as
    /// `visit` answers true; it may see some more after that.
    pub fn each_key(
        &self,
        keyspace: KeyspaceId,
        filter: ScanFilter<'_>,
        now: Millis,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) {
        let (mut cursor, mut is_wanted) = (0, true);
        loop {
            let visit = |key: &[u8]| is_wanted &= visit(key);
            cursor = self.scan(keyspace, cursor, 1024, filter, now, visit);
            if cursor == 0 || !is_wanted {
                return;
            }
        }
    }

    /// A random key of a database, every one about as likely.
    pub fn random_key(
        &self,
        lane: &mut Lane,
        keyspace: KeyspaceId,
        now: Millis,
    ) -> Option<Vec<u8>> {
        for _ in 0..RANDOM_TRIES {
            let shard = self.random_shard(lane, keyspace)?;
            let _held = self.hold_one(shard);
            let index = self.indexes.get(keyspace, shard);
            let found = index.random(&self.blocks, shard.0, &mut lane.random);
            let key = found.and_then(|(_, entry)| self.matching(entry, ScanFilter::default(), now));
            if let Some((key, true)) = key {
                return Some(key.to_vec());
            }
        }
        None
    }

    /// A random shard of a keyspace, the more likely the more keys it has; `None` without keys.
    pub(crate) fn random_shard(&self, lane: &mut Lane, keyspace: KeyspaceId) -> Option<ShardId> {
        let keys: u64 = self.indexes.of_keyspace(keyspace).map(Index::len).sum();
        let mut nth = lane.random.below(keys.max(1));
        ShardId::all().find(|shard| {
            let len = self.indexes.get(keyspace, *shard).len();
            let is_here = nth < len;
            nth = nth.saturating_sub(len);
            is_here
        })
    }

    /// The key of an entry, if it matches, and whether it is there, for it may have expired. The
    /// shard is locked.
    fn matching(&self, entry: Entry, filter: ScanFilter<'_>, now: Millis) -> Option<(&[u8], bool)> {
        if filter.kind.is_some_and(|kind| kind != Kind::of(entry.kind())) {
            return None;
        }
        // SAFETY: the caller holds the lock of the shard in whose index the entry stands.
        let record = unsafe { self.heap.record(Location::from_bits(entry.location().bits())) };
        // SAFETY: as above.
        let deadline = if entry.has_deadline() { unsafe { record.deadline() } } else { None };
        let is_there = deadline.is_none_or(|deadline| deadline > now);
        let matches = || filter.pattern.is_none_or(|it| text::glob_match(it, record.key(), false));
        matches().then(|| (record.key(), is_there))
    }
}

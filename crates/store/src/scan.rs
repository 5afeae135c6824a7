//! Walks over the keys of a database: SCAN, KEYS, RANDOMKEY, and how long keys have left.

use crate::key::Kind;
use crate::shard::{ThreadContext, ValueRef};
use crate::store::Store;
use base::{KeyspaceId, Millis, Random, ShardId};
use index::Position;

/// Buckets without a key that one SCAN call passes for each key it was asked for.
const BUCKETS_PER_KEY: usize = 100;
/// Attempts to find a random key that has not expired.
const RANDOM_TRIES: usize = 100;
/// Number of keys with deadlines from which the mean time left is estimated.
const TIME_SAMPLES: u64 = 64;
/// Most blocks of the index in which they are looked for.
const TIME_BLOCKS: u64 = 1024;

/// Filter for the keys that a walk reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanFilter<'a> {
    /// Pattern that the key must match.
    pub pattern: Option<&'a [u8]>,
    /// Kind of value that the key must hold.
    pub kind: Option<Kind>,
}

/// Keyspace, time and filter of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'a> {
    /// Keyspace of the database.
    pub keyspace: KeyspaceId,
    /// Time by which keys have expired.
    pub now: Millis,
    /// Filter for the keys that are reported.
    pub filter: ScanFilter<'a>,
}

impl Scanned<'_> {
    /// Returns true if a key is present, false if it has expired; `None` if it does not match.
    fn sees(self, value: ValueRef<'_>) -> Option<bool> {
        let Scanned { now, filter, .. } = self;
        if filter.kind.is_some_and(|kind| kind != value.kind()) {
            return None;
        }
        let is_there = value.deadline().is_none_or(|deadline| deadline > now);
        let matches = filter.pattern.is_none_or(|it| text::glob_match(it, value.key(), false));
        matches.then_some(is_there)
    }
}

impl Store {
    /// Visits keys from `cursor` on until about `count` were looked at; returns the cursor to go
    /// on from, zero at the end. Keys that stay throughout are visited at least once.
    pub fn scan(
        &self,
        thread: &mut ThreadContext,
        scanned: Scanned<'_>,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8]),
    ) -> u64 {
        self.scan_with_expired(thread, scanned, cursor, count, |key, is_there| {
            if is_there {
                visit(key);
            }
        })
    }

    /// As `scan`, but visits keys past their deadline too; the visitor gets true for those that are
    /// present.
    pub fn scan_with_expired(
        &self,
        thread: &mut ThreadContext,
        scanned: Scanned<'_>,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8], bool),
    ) -> u64 {
        self.walk(thread, scanned, cursor, count, |value, is_there| visit(value.key(), is_there))
    }

    /// As `scan`, but visits the values too. Their shard is locked meanwhile.
    pub fn scan_values(
        &self,
        thread: &mut ThreadContext,
        scanned: Scanned<'_>,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(ValueRef<'_>),
    ) -> u64 {
        self.walk(thread, scanned, cursor, count, |value, is_there| {
            if is_there {
                visit(value);
            }
        })
    }

    /// Does what `scan_with_expired` does.
    fn walk(
        &self,
        thread: &mut ThreadContext,
        scanned: Scanned<'_>,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(ValueRef<'_>, bool),
    ) -> u64 {
        let Scanned { keyspace, now, .. } = scanned;
        let mut from = Position::from_cursor(cursor);
        let (mut seen, mut buckets) = (0, 0);
        while seen < count && buckets < count.saturating_mul(BUCKETS_PER_KEY) {
            let shard = from.hash().shard();
            let next = if self.shards.counts(keyspace, shard).is_empty() {
                None
            } else {
                buckets += 1;
                let guard = self.shards.lock_quietly(thread, shard, now);
                guard.scan_bucket(keyspace, from, |value| {
                    seen += 1;
                    if let Some(is_there) = scanned.sees(value) {
                        visit(value, is_there);
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

    /// Visits every key of a database that matches, as long as `visit` returns true; it may see
    /// some more after that.
    pub fn each_key(
        &self,
        thread: &mut ThreadContext,
        scanned: Scanned<'_>,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) {
        let (mut cursor, mut is_wanted) = (0, true);
        loop {
            let visit = |key: &[u8]| is_wanted &= visit(key);
            cursor = self.scan(thread, scanned, cursor, 1024, visit);
            if cursor == 0 || !is_wanted {
                return;
            }
        }
    }

    /// Estimates the mean time, in milliseconds, until the deadlines of those keys that have one
    /// and are not past it; zero without any. Of few such keys it looks at each, of many at those
    /// that follow on a random position: they lie in the order of their hashes. Where they are few
    /// among very many keys it does not find all. Shards that are locked at present are left out.
    pub fn mean_time_left(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        now: Millis,
    ) -> u64 {
        let first = narrow::low_u8(thread.random.below(256));
        let (mut looks, mut steps, mut sum, mut count) = (0, 0, 0_u64, 0);
        for shard in (0..=u8::MAX).map(|number| ShardId(first.wrapping_add(number))) {
            let has_deadlines = || self.shards.counts(keyspace, shard).with_deadline() > 0;
            let mut at = Some(Position::of_shard(shard)).filter(|_| has_deadlines());
            while let Some(from) = at
                && looks < TIME_SAMPLES
                && steps < TIME_BLOCKS
            {
                steps += 1;
                let tried = self.shards.try_lock_quietly(thread, shard, now);
                let Some(mut guard) = tried else { break };
                at = guard.visit_volatile(keyspace, from, |key| {
                    looks += 1;
                    let left = key.value().deadline().map_or(0, |deadline| deadline.since(now));
                    sum = sum.saturating_add(left);
                    count += u64::from(left > 0);
                });
            }
        }
        sum.checked_div(count).unwrap_or(0)
    }

    /// Returns a random key of a database, each about as likely. Calls `expired` with those that it
    /// comes upon past their deadline.
    pub fn random_key(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        now: Millis,
        mut expired: impl FnMut(&[u8]),
    ) -> Option<Vec<u8>> {
        let any = Scanned { keyspace, now, filter: ScanFilter::default() };
        let mut random = Random::from_seed(thread.random.next());
        for _ in 0..RANDOM_TRIES {
            let shard = self.shards.random_shard(&mut random, keyspace)?;
            let guard = self.shards.lock_quietly(thread, shard, now);
            let found = guard.random_value(keyspace, shard, &mut random);
            match found.map(|value| (value.key(), any.sees(value))) {
                Some((key, Some(true))) => return Some(key.to_vec()),
                Some((key, _)) => expired(key),
                None => {}
            }
        }
        None
    }
}

//! The cleaner: moves the live records out of a segment, or drops the coldest, and recycles it.
//!
//! ```text
//! victim   | live | dead | live | live | dead |      one shard locked at a time, per record
//!             │             │      └─ cold: evicted
//!             ▼             ▼
//! survivors | live | live | ...
//! ```
//! Workers pay for it in steps between their commands, in proportion to what they append; a rest
//! is used by the chores. Deleting a key frees nothing until its segment is cleaned, so eviction
//! happens here, in the victim at hand, and not by looking at what is used.

mod crew;
mod nodes;
mod room;

pub(crate) use crew::Cleaners;
use room::REAPED_AT_ONCE;
pub(crate) use room::Room;

use crate::access::tree_of;
use crate::ahead::Sought;
use crate::eviction::{Candidate, Quantile};
use crate::key::{Key, Label};
use crate::lane::{Lane, Paid};
use crate::reaper::RECORD_COST;
use crate::store::Store;
use crate::weight::weight_of;
use base::{KeyspaceId, Location, Millis, PositionHash};
use heap::{Draft, Head, Purpose, Record, SPARE_PART, Trim, Victim, Weight};
use index::{Entry, Index, Slot};
use smallvec::SmallVec;

/// Records whose index lines are fetched together.
const BATCH: usize = 16;
/// Share of a victim's live records that is evicted: with one half, a byte is moved for each
/// byte that is written at full utilisation.
const EVICTED_SHARE: f32 = 0.5;
/// Above this share of live bytes a victim is better evicted from than cleaned.
const EVICT_ABOVE: f64 = 0.92;
/// The share of live bytes that cleaning keeps up while there are writes.
const UTILISATION_BUSY: f64 = 0.905;
/// The one that it keeps up while keys are only removed.
const UTILISATION_REMOVING: f64 = 0.6;
/// And the one it reaches at rest.
const UTILISATION_REST: f64 = 0.97;
/// Cleaning a segment of which less is dead is not worth it at rest.
const DEAD_SHARE_MIN: f64 = 0.02;
/// Upkeep is paid for after so many appended bytes.
const UPKEEP_BYTES: u64 = 16 << 10;

/// One cleaner: a victim, and the head of its survivors.
#[derive(Debug, Default)]
struct Cleaner {
    survivors: Head,
    victim: Option<Victim>,
    evicts: bool,
    /// Whether records are moved without spare bytes.
    trims: bool,
    coldest: Quantile,
}

/// A record that was copied out of a victim, where it dies with it.
struct Moved {
    to: Location,
    extent: usize,
    before: Weight,
    after: Weight,
}

impl Cleaner {
    /// Appends a copy of a record to the survivors; `None` if there is no room for it.
    ///
    /// # Safety
    /// The lock of the record's shard is held.
    unsafe fn copy_out(
        &mut self,
        store: &Store,
        record: &Record<'_>,
        keyspace: KeyspaceId,
        now: Millis,
    ) -> Option<Moved> {
        // SAFETY: as the caller says.
        let (value, label, deadline, before) =
            unsafe { (record.value(), record.label(), record.deadline(), weight_of(record)) };
        let (is_node, value_len) = (record.is_node(), value.len());
        let grows = is_node || Label(label).grows();
        let spare = if self.trims { 0 } else { value_len / SPARE_PART };
        let room = value_len + spare.min(before.spare as usize);
        let key = record.key();
        let draft = Draft { is_node, grows, keyspace, label, key, value_len, room, deadline };
        let fill = |to: &mut [u8]| to.copy_from_slice(value);
        let to = self.survivors.append(&store.heap, &draft, Purpose::Survivors, now, fill).ok()?;
        Some(Moved { to, extent: draft.extent(), before, after: draft.weight() })
    }
}

impl Moved {
    /// Live bytes that there are more than before.
    fn gained(&self) -> i64 {
        i64::from(self.after.live) - i64::from(self.before.live)
    }

    fn count(&self, lane: &Lane) {
        lane.counters.lose(self.before);
        lane.counters.gain(self.after);
        lane.counters.moved_bytes.add(self.extent as u64);
        lane.counters.moved_records.add(1);
    }
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Moving what is alive together.
    Clean(Trim),
    /// Dropping what is coldest.
    Evict,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Records were walked over, of so many bytes.
    Walked(u64),
    /// No segment is worth cleaning.
    NoVictim,
    /// There is no room for survivors.
    Stuck,
}

impl Store {
    /// A worker's share of the cleaning after a batch of commands. The lane is inside the gate.
    #[inline]
    pub fn upkeep(&self, lane: &mut Lane, now: Millis) {
        let appended = lane.unpaid();
        let gained = lane.counters.live_bytes.get().wrapping_sub(lane.paid.live) as i64;
        let removed = (appended as i64 - gained).max(0) as u64;
        if appended.max(removed) >= UPKEEP_BYTES {
            lane.paid = Paid {
                appended: lane.paid.appended + appended,
                live: lane.counters.live_bytes.get(),
            };
            self.pay_upkeep(lane, appended, removed, now);
        }
    }

    #[cold]
    fn pay_upkeep(&self, lane: &mut Lane, appended: u64, removed: u64, now: Millis) {
        self.pay_reaper(lane, appended);
        let for_appended = appended as f64 * self.pace();
        let for_removed = removed as f64 * self.pace_of_removal();
        let mut work = for_appended.max(for_removed) as u64;
        while work > 0 {
            let goal = self.goal_of_writers();
            if goal == Goal::Evict && self.reap_removed(lane) {
                work = work.saturating_sub(REAPED_AT_ONCE as u64 * RECORD_COST);
                continue;
            }
            let Some(mut cleaner) = self.free_cleaner() else { return };
            match self.step(lane, &mut cleaner, goal, now) {
                Step::Walked(bytes) => work = work.saturating_sub(bytes.max(1)),
                Step::NoVictim | Step::Stuck => return,
            }
        }
    }

    /// Bytes of segments to walk over for each byte appended.
    fn pace(&self) -> f64 {
        let head_bytes = f64::from(self.heap.head_bytes());
        let mut pace = 0.0;
        if self.heap.budget() != u64::MAX {
            let pooled = self.heap.pooled_bytes() as f64;
            let free = self.heap.budget() as f64 + pooled - self.heap.committed_bytes() as f64;
            let low = 6.0 * head_bytes;
            pace = ((low - free) / low * 8.0).clamp(0.0, 8.0);
        }
        if let Some(utilisation) = self.utilisation() {
            pace = pace.max(((UTILISATION_BUSY - utilisation) * 250.0).clamp(0.0, 12.0));
        }
        pace
    }

    /// Bytes of segments to walk over for each byte removed. The emptier the segments, the less
    /// has to be moved out of them, so that removal alone can be left until then.
    fn pace_of_removal(&self) -> f64 {
        self.utilisation().map_or(0.0, |utilisation| {
            ((UTILISATION_REMOVING - utilisation) * 40.0).clamp(0.0, 4.0)
        })
    }

    /// The share of live bytes and of room that they may want; `None` in a heap so small that its
    /// last segments decide about it.
    fn utilisation(&self) -> Option<f64> {
        let in_use = self.heap.bytes_in_use();
        (in_use > 4 * u64::from(self.heap.segment_limit())).then(|| {
            let live = self.live_bytes();
            let spare = self.spare_bytes().min(live / SPARE_PART as u64);
            (live + spare) as f64 / in_use as f64
        })
    }

    /// What those who write clean for.
    fn goal_of_writers(&self) -> Goal {
        // Another thread may have pooled more meanwhile than was committed before.
        let committed = self.heap.committed_bytes().saturating_sub(self.heap.pooled_bytes());
        let free = self.heap.budget().saturating_sub(committed);
        if free >= 6 * u64::from(self.heap.head_bytes()) {
            Goal::Clean(Trim::Nothing)
        } else if self.is_full_of_life() {
            Goal::Evict
        } else {
            Goal::Clean(Trim::All)
        }
    }

    /// Whether space is better won by eviction than by moving what is alive.
    fn is_full_of_life(&self) -> bool {
        let in_use = self.heap.bytes_in_use();
        self.may_evict() && self.live_bytes() as f64 > EVICT_ABOVE * in_use as f64
    }

    fn may_evict(&self) -> bool {
        self.budget.maxmemory() != 0 && self.has_candidates()
    }

    /// Cleaning at rest, about `bytes` of it; false when there is nothing worth doing.
    pub fn clean_at_rest(&self, lane: &mut Lane, bytes: u64, now: Millis) -> bool {
        if self.finish_victims(lane, now) {
            return true;
        }
        let in_use = self.heap.bytes_in_use();
        let is_small = in_use < 2 * u64::from(self.heap.segment_limit());
        if is_small || self.live_bytes() as f64 > UTILISATION_REST * in_use as f64 {
            return false;
        }
        let mut work = bytes;
        while work > 0 {
            let Some(mut cleaner) = self.free_cleaner() else { return false };
            match self.step(lane, &mut cleaner, Goal::Clean(Trim::Idle), now) {
                Step::Walked(bytes) => work = work.saturating_sub(bytes.max(1)),
                Step::NoVictim | Step::Stuck => return false,
            }
        }
        true
    }

    /// Settles the next records of the cleaner's victim, choosing one if it has none.
    fn step(&self, lane: &mut Lane, cleaner: &mut Cleaner, goal: Goal, now: Millis) -> Step {
        if cleaner.victim.is_none() {
            cleaner.evicts = goal == Goal::Evict;
            cleaner.victim = match goal {
                Goal::Evict => self.heap.choose_oldest(now),
                Goal::Clean(trim) => {
                    self.heap.choose_victim(self.budget.reclaim(), DEAD_SHARE_MIN, trim, now)
                }
            };
        }
        let Some(mut victim) = cleaner.victim.take() else { return Step::NoVictim };
        cleaner.trims = victim.trims();
        let mut batch: SmallVec<[(Location, Record<'_>, Key<'_>); BATCH]> = SmallVec::new();
        while batch.len() < BATCH
            && let Some((at, record)) = victim.next(&self.heap)
        {
            batch.push((at, record, self.owner_of(&record)));
        }
        let sought: SmallVec<[Sought; BATCH]> = batch
            .iter()
            .filter(|(_, record, _)| !record.is_node())
            .map(|(_, _, key)| (key.keyspace, key.hash))
            .collect();
        self.look_at_all_lines(&sought);
        let (mut walked, moved_before) = (0, lane.counters.moved_bytes.get());
        for (at, record, key) in &batch {
            let is_settled = if record.is_node() {
                self.settle_node(lane, cleaner, *at, record, now)
            } else {
                self.settle(lane, cleaner, *at, record, key, now)
            };
            if !is_settled {
                victim.go_back_to(*at);
                cleaner.victim = Some(victim);
                return Step::Stuck;
            }
            walked += u64::from(record.extent());
        }
        let moved = lane.counters.moved_bytes.get() - moved_before;
        lane.counters.won_bytes.add(walked.saturating_sub(moved));
        if victim.is_walked() {
            // SAFETY: each record was looked at under its owner's lock, and moved or found dead.
            unsafe { self.heap.recycle_victim(victim) };
            lane.counters.cleaned_segments.add(1);
        } else {
            cleaner.victim = Some(victim);
        }
        Step::Walked(walked)
    }

    /// The key of a record; of a node it is not the key of the value.
    fn owner_of<'h>(&self, record: &Record<'h>) -> Key<'h> {
        let (keyspace, bytes) = (record.keyspace(), record.key());
        if record.is_node() {
            return Key { bytes, hash: PositionHash(0), keyspace };
        }
        self.key(keyspace, bytes)
    }

    /// Moves or drops one record if it is alive; false when there is no room for it.
    fn settle(
        &self,
        lane: &mut Lane,
        cleaner: &mut Cleaner,
        at: Location,
        record: &Record<'_>,
        key: &Key<'_>,
        now: Millis,
    ) -> bool {
        let shard = key.hash.shard();
        let _held = self.hold_one(shard);
        let index = self.indexes.get(key.keyspace, shard);
        let same = |entry: Entry| entry.location() == at;
        let Some((slot, entry)) = index.find(&self.blocks, key.hash, same) else { return true };
        // SAFETY: the shard is locked, and its index names the record.
        let (deadline, live) = unsafe { (record.deadline(), record.live_bytes()) };
        if self.budget.dying() > 0 && self.keyspaces.is_dying(key.keyspace) {
            self.budget.reaped(u64::from(live));
            self.drop_entry(lane, index, slot, record);
        } else if entry.has_deadline()
            && deadline.is_some_and(|deadline| deadline <= now)
            && !self.keeps_expired()
        {
            lane.counters.expired.add(1);
            lane.counters.expired_by_sweep.add(1);
            self.drop_entry(lane, index, slot, record);
        } else if cleaner.evicts && self.is_cold(lane, cleaner, (entry, 1.0), deadline, now) {
            self.evict_entry(lane, index, slot, record);
        } else if !self.relocate(lane, cleaner, record, key, index, (slot, entry), now) {
            // The budget may have shrunk below what is in use, so that nothing can be moved.
            let candidate = Candidate { access: entry.access(), deadline };
            if self.budget.eviction().coldness(candidate, now).is_none() {
                return false;
            }
            self.evict_entry(lane, index, slot, record);
        }
        true
    }

    fn evict_entry(&self, lane: &Lane, index: &Index, slot: Slot, record: &Record<'_>) {
        lane.counters.evicted.add(1);
        let bytes = self.drop_entry(lane, index, slot, record);
        lane.counters.evicted_bytes.add(bytes);
    }

    fn is_cold(
        &self,
        lane: &mut Lane,
        cleaner: &mut Cleaner,
        (entry, part): (Entry, f32),
        deadline: Option<Millis>,
        now: Millis,
    ) -> bool {
        let candidate = Candidate { access: entry.access(), deadline };
        self.budget.eviction().coldness(candidate, now).is_some_and(|coldness| {
            cleaner.coldest.is_among_coldest(coldness, part, EVICTED_SHARE, &mut lane.random)
        })
    }

    /// Takes an entry out, and leaves the nodes of a tree to the reaper. The record dies with the
    /// victim, which needs no burial. Returns the bytes of the value.
    fn drop_entry(&self, lane: &Lane, index: &Index, slot: Slot, record: &Record<'_>) -> u64 {
        // SAFETY: the shard is locked, and its index named the record.
        let (weight, tree) = unsafe { (weight_of(record), tree_of(record)) };
        index.remove(&self.blocks, slot);
        index.add_bytes(-i64::from(weight.live));
        lane.counters.lose(weight);
        let nodes = tree.map_or(0, |id| self.retire_collection(index, record.keyspace(), id));
        u64::from(weight.live) + nodes
    }

    #[expect(clippy::too_many_arguments, reason = "one record on its way")]
    fn relocate(
        &self,
        lane: &Lane,
        cleaner: &mut Cleaner,
        record: &Record<'_>,
        key: &Key<'_>,
        index: &Index,
        (slot, entry): (Slot, Entry),
        now: Millis,
    ) -> bool {
        // SAFETY: the shard is locked, and its index names the record.
        let moved = unsafe { cleaner.copy_out(self, record, key.keyspace, now) };
        let Some(moved) = moved else { return false };
        index.update(&self.blocks, slot, entry.at(moved.to), None);
        index.add_bytes(moved.gained());
        moved.count(lane);
        true
    }
}

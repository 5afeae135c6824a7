//! A segment that is being cleaned: walked record by record, then recycled.

use crate::profit::{ReclaimPolicy, Standing, Trim};
use crate::record::Record;
use crate::segment::SegmentState;
use crate::{Heap, SegmentFacts};
use base::{Location, Millis, SegmentId};
use std::sync::atomic::Ordering;

/// Right to clean one segment. Its holder moves the live records away, then calls `recycle_victim`.
#[derive(Debug)]
pub struct Victim {
    id: SegmentId,
    at: u32,
    end: u32,
    trims: bool,
}

impl Heap {
    /// Chooses the sealed segment with the highest profit and reserves it for the caller. Only
    /// segments qualify of whose bytes at least the share `dead_share_min` is dead, or growth room
    /// to be trimmed.
    pub fn choose_victim(
        &self,
        policy: ReclaimPolicy,
        dead_share_min: f64,
        trim: Trim,
        now: Millis,
    ) -> Option<Victim> {
        self.choose(
            trim,
            |standing| {
                let standing = &standing.without_growth_room(trim);
                // What was left unwritten at the end is not won by moving the rest: the same
                // large records would leave it unwritten again.
                let written = f64::from((standing.live_bytes + standing.dead_bytes).max(1));
                let dead_share = f64::from(standing.dead_bytes) / written;
                (dead_share >= dead_share_min).then(|| policy.profit(standing, now))
            },
            now,
        )
    }

    /// Chooses the sealed segment that was opened first, for eviction in order of age.
    pub fn choose_oldest(&self, now: Millis) -> Option<Victim> {
        self.choose(Trim::All, |standing| Some(standing.age_millis as f64), now)
    }

    fn choose(
        &self,
        trim: Trim,
        rank: impl Fn(&Standing) -> Option<f64>,
        now: Millis,
    ) -> Option<Victim> {
        loop {
            let highest = self.pool().highest_used();
            let sealed = (0..highest)
                .map(SegmentId)
                .filter(|id| self.segment(*id).state() == SegmentState::Sealed);
            let ranked = sealed.filter_map(|id| Some((id, rank(&self.segment(id).standing(now))?)));
            let best = ranked.max_by(|a, b| a.1.total_cmp(&b.1))?.0;
            // Another cleaner may have been faster: look again.
            if self.segment(best).advance(SegmentState::Sealed, SegmentState::Cleaning) {
                let end = self.segment(best).written.load(Ordering::Relaxed);
                let trims = trim.applies_to(&self.segment(best).standing(now));
                return Some(Victim { id: best, at: 0, end, trims });
            }
        }
    }

    /// Notes the owner of a dedicated record, so that it can be found again by age.
    pub fn note_owner(&self, at: Location, owner: Owner) {
        let segment = self.segment(at.segment());
        segment.owner_space.store(owner.space, Ordering::Relaxed);
        segment.owner.store(owner.name, Ordering::Relaxed);
    }

    /// Dedicated records with the owners noted, oldest first. They may be gone by the time they are
    /// looked at.
    pub fn dedicated_by_age(&self) -> Vec<(Location, Owner)> {
        let highest = self.pool().highest_used();
        let all = (0..highest).map(SegmentId);
        let dedicated = all.filter(|id| self.segment(*id).state() == SegmentState::Dedicated);
        let mut found: Vec<_> = dedicated.map(|id| (self.segment(id), id)).collect();
        found.sort_by_key(|(segment, _)| segment.born.load(Ordering::Relaxed));
        let owner = |(segment, id): (&crate::segment::Segment, SegmentId)| {
            let name = segment.owner.load(Ordering::Relaxed);
            let space = segment.owner_space.load(Ordering::Relaxed);
            (Location::new(id, 0), Owner { name, space })
        };
        found.into_iter().map(owner).collect()
    }

    /// Puts an emptied victim into the pool.
    ///
    /// # Safety
    /// Nothing refers to the victim's records any more: the caller has looked at each of them
    /// under its owner's lock, and moved it or found it dead.
    pub unsafe fn recycle_victim(&self, victim: Victim) {
        debug_assert!(victim.is_walked());
        self.recycle(victim.id);
    }
}

/// Owner of a record, as two words that only the store interprets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Name of the owner.
    pub name: u64,
    /// Space in which the name is unique.
    pub space: u32,
}

impl Victim {
    /// Returns the next record, dead or alive, and its location.
    pub fn next<'h>(&mut self, heap: &'h Heap) -> Option<(Location, Record<'h>)> {
        if self.is_walked() {
            return None;
        }
        let at = Location::new(self.id, self.at);
        // SAFETY: records lie end to end up to `end`, and the segment stays while it is ours.
        let record = unsafe { heap.record(at) };
        self.at += record.extent();
        Some((at, record))
    }

    /// Goes back, so that the record at `at` and those after it are handed out once more.
    pub fn go_back_to(&mut self, at: Location) {
        debug_assert!(at.segment() == self.id && at.offset() < self.at);
        self.at = at.offset();
    }

    /// Returns true if records are moved without growth room.
    pub fn trims(&self) -> bool {
        self.trims
    }

    /// Returns true if every record was handed out.
    pub fn is_walked(&self) -> bool {
        self.at >= self.end
    }

    /// Facts about the segment.
    pub fn facts(&self, heap: &Heap) -> Option<SegmentFacts> {
        heap.segment(self.id).facts(self.id)
    }
}

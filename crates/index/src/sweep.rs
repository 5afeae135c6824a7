//! Sweeps of background jobs over buckets: deadlines, and access history.

use crate::block::SlotAt;
use crate::blocks::Blocks;
use crate::bucket::{Bucket, Entry, SLOTS};
use crate::scan::Position;
use crate::table::{BlockRef, EntrySlot, Index, SHARD_BITS, block_tick, set_block_tick};
use base::{Location, Tick};

/// Buckets whose records are prefetched ahead of those that are looked at.
const AHEAD: usize = 4;

/// Visitor of a sweep over deadlines.
pub trait DeadlineVisitor {
    /// Prefetches the record at `at`, which will be visited soon.
    fn prefetch(&self, at: Location);

    /// Returns the tick of the earliest deadline of the record that an entry names and of the parts
    /// of its value, or `None` if that of the record has passed: the entry is removed then.
    fn visit(&mut self, slot: EntrySlot, entry: Entry) -> Option<Tick>;
}

impl Index {
    /// Visits all entries with deadlines in the buckets that are due, or in all with a tick where
    /// `due` is none, as where ticks are too old to tell anything: from the one on in which `from`
    /// lies to the end of its block, until `buckets_max` buckets were visited. Returns where to go
    /// on: in the same block, at the next one, or `None` when that is beyond this shard.
    pub fn sweep_deadlines(
        &self,
        blocks: &Blocks,
        from: Position,
        due: Option<Tick>,
        buckets_max: usize,
        visitor: &mut impl DeadlineVisitor,
    ) -> Option<Position> {
        let found = self.block_ref(blocks, from.hash())?;
        let next = next_block(from, found.depth());
        let is_visited = |tick: Tick| due.is_none_or(|now| tick.is_due(now));
        if !block_tick(blocks, found.frame()).is_some_and(is_visited) {
            return next;
        }
        let block = blocks.block(found.frame(), found.size());
        let is_due = |bucket: &u32| block.bucket(*bucket).tick().is_some_and(is_visited);
        let begin = block.home(found.position(from.hash()));
        let due: Vec<u32> = (begin..block.len()).filter(is_due).take(buckets_max).collect();
        let prefetch = |bucket: u32, visitor: &mut _| prefetch_bucket(block, bucket, visitor);
        due.iter().take(AHEAD).for_each(|bucket| prefetch(*bucket, visitor));
        for (at, bucket) in due.iter().enumerate() {
            if let Some(ahead) = due.get(at + AHEAD) {
                prefetch(*ahead, visitor);
            }
            self.sweep_bucket(blocks, found, *bucket, visitor);
        }
        let behind = due.last().map_or(begin, |last| last + 1);
        if due.len() == buckets_max && behind < block.len() {
            return from.in_block(found, block.lowest_position(behind));
        }
        let ticks = (0..block.len()).filter_map(|bucket| block.bucket(bucket).tick());
        set_block_tick(blocks, found.frame(), ticks.reduce(Tick::earlier));
        next
    }

    fn sweep_bucket(
        &self,
        blocks: &Blocks,
        found: BlockRef,
        number: u32,
        visitor: &mut impl DeadlineVisitor,
    ) {
        let block = blocks.block(found.frame(), found.size());
        let bucket = block.bucket(number);
        let mut earliest: Option<Tick> = None;
        for slot in (0..SLOTS).filter(|slot| bucket.codes().of(*slot) != 0) {
            let entry = bucket.entry(slot);
            if !entry.is_timed() {
                continue;
            }
            let at = SlotAt { bucket: number, slot };
            match visitor.visit(EntrySlot::new(found, at), entry) {
                Some(tick) => earliest = Some(earliest.map_or(tick, |it| it.earlier(tick))),
                None => {
                    block.remove(at);
                    self.count_out(blocks, found.frame(), entry);
                }
            }
        }
        bucket.set_tick(earliest);
    }

    /// Visits the entries with deadlines of the first bucket, from that of `from` on, in which such
    /// entries lie, wherever they are at home. Returns the begin of the next bucket or, where the
    /// block has none, of the next block; `None` when that is beyond this shard.
    ///
    /// Blocks and buckets without a tick are passed over. An entry is missed only if the index was
    /// changed between two calls.
    pub fn scan_deadlines(
        &self,
        blocks: &Blocks,
        from: Position,
        visit: impl FnMut(Entry),
    ) -> Option<Position> {
        let found = self.block_ref(blocks, from.hash())?;
        let block = blocks.block(found.frame(), found.size());
        let has_deadlines = |bucket: &u32| {
            let bucket = block.bucket(*bucket);
            bucket.tick().is_some() && with_deadline(bucket).next().is_some()
        };
        let begin = block.home(found.position(from.hash()));
        let timed = block_tick(blocks, found.frame())
            .and_then(|_| (begin..block.len()).find(has_deadlines));
        let Some(number) = timed else { return next_block(from, found.depth()) };
        with_deadline(block.bucket(number)).for_each(visit);
        from.in_block(found, block.lowest_position(number + 1))
    }

    /// Ages the access bits of every entry in the block in which `from` lies. Returns where the
    /// next block begins, or `None` when that is beyond this shard.
    pub fn sweep_access(
        &self,
        blocks: &Blocks,
        from: Position,
        mut age: impl FnMut(u8) -> u8,
    ) -> Option<Position> {
        let found = self.block_ref(blocks, from.hash())?;
        let block = blocks.block(found.frame(), found.size());
        for bucket in (0..block.len()).map(|number| block.bucket(number)) {
            for slot in bucket.codes().occupied() {
                let access = bucket.entry(slot).access();
                let aged = age(access);
                if aged != access {
                    bucket.set_access(slot, aged);
                }
            }
        }
        next_block(from, found.depth())
    }
}

/// Entries of a bucket with deadlines of their own.
fn with_deadline(bucket: &Bucket) -> impl Iterator<Item = Entry> {
    let entries = bucket.codes().occupied().map(|slot| bucket.entry(slot));
    entries.filter(|entry| entry.has_deadline())
}

fn prefetch_bucket(
    block: crate::block::Block<'_>,
    bucket: u32,
    visitor: &mut impl DeadlineVisitor,
) {
    let bucket = block.bucket(bucket);
    let entries = bucket.codes().occupied().map(|slot| bucket.entry(slot));
    entries.filter(|entry| entry.is_timed()).for_each(|entry| visitor.prefetch(entry.location()));
}

fn next_block(from: Position, depth: u32) -> Option<Position> {
    let width = SHARD_BITS + depth;
    let begin = from.hash().0 & !(u64::MAX >> width);
    let next = begin.checked_add(1 << (64 - width))?;
    let same_shard = next >> (64 - SHARD_BITS) == from.hash().0 >> (64 - SHARD_BITS);
    same_shard.then(|| Position::from_cursor(next >> 24))
}

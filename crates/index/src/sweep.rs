//! Passes over lines by the ones that look after the store: deadlines, and access history.

use crate::block::LaneAt;
use crate::blocks::Blocks;
use crate::line::{Entry, LANES};
use crate::scan::Position;
use crate::table::{BlockRef, Index, SHARD_BITS, Slot, block_tick, set_block_tick};
use base::{Location, Tick};

/// Lines whose records are announced ahead of those that are looked at.
const AHEAD: usize = 4;

/// What a pass over deadlines asks of the store.
pub trait DeadlineVisitor {
    /// Announces that `visit` will be asked for `at` soon.
    fn prefetch(&self, at: Location);

    /// Tells the tick of the earliest deadline of the record that an entry names and of the parts
    /// of its value, or `None` when that of the record has passed: the entry is removed then.
    fn visit(&mut self, slot: Slot, entry: Entry) -> Option<Tick>;
}

impl Index {
    /// Visits all entries with deadlines in the lines that are due, in the block in which `from`
    /// lies, until `lines_max` lines were visited. Returns where to go on: the same block, the
    /// next one, or `None` when that is beyond this shard.
    pub fn sweep_deadlines(
        &self,
        blocks: &Blocks,
        from: Position,
        now: Tick,
        lines_max: usize,
        visitor: &mut impl DeadlineVisitor,
    ) -> Option<Position> {
        let found = self.block_ref(blocks, from.hash())?;
        let next = next_block(from, found.depth());
        if !block_tick(blocks, found.slot()).is_some_and(|tick| tick.is_due(now)) {
            return next;
        }
        let block = blocks.block(found.slot(), found.size());
        let is_due = |line: &u32| block.line(*line).tick().is_some_and(|tick| tick.is_due(now));
        let due: Vec<u32> = (0..block.len()).filter(is_due).take(lines_max).collect();
        let announce = |line: u32, visitor: &mut _| announce_line(block, line, visitor);
        due.iter().take(AHEAD).for_each(|line| announce(*line, visitor));
        for (at, line) in due.iter().enumerate() {
            if let Some(ahead) = due.get(at + AHEAD) {
                announce(*ahead, visitor);
            }
            self.sweep_line(blocks, found, *line, visitor);
        }
        if due.len() == lines_max {
            return Some(from);
        }
        let ticks = (0..block.len()).filter_map(|line| block.line(line).tick());
        set_block_tick(blocks, found.slot(), ticks.reduce(Tick::earlier));
        next
    }

    fn sweep_line(
        &self,
        blocks: &Blocks,
        found: BlockRef,
        number: u32,
        visitor: &mut impl DeadlineVisitor,
    ) {
        let block = blocks.block(found.slot(), found.size());
        let line = block.line(number);
        let mut earliest: Option<Tick> = None;
        for lane in (0..LANES).filter(|lane| line.codes().of(*lane) != 0) {
            let entry = line.entry(lane);
            if !entry.is_timed() {
                continue;
            }
            let at = LaneAt { line: number, lane };
            match visitor.visit(Slot::new(found, at), entry) {
                Some(tick) => earliest = Some(earliest.map_or(tick, |it| it.earlier(tick))),
                None => {
                    block.remove(at);
                    self.count_out(blocks, found.slot(), entry);
                }
            }
        }
        line.set_tick(earliest);
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
        let block = blocks.block(found.slot(), found.size());
        for line in (0..block.len()).map(|number| block.line(number)) {
            for lane in line.codes().occupied() {
                let access = line.entry(lane).access();
                let aged = age(access);
                if aged != access {
                    line.set_access(lane, aged);
                }
            }
        }
        next_block(from, found.depth())
    }
}

fn announce_line(block: crate::block::Block<'_>, line: u32, visitor: &mut impl DeadlineVisitor) {
    let line = block.line(line);
    let entries = line.codes().occupied().map(|lane| line.entry(lane));
    entries.filter(|entry| entry.is_timed()).for_each(|entry| visitor.prefetch(entry.location()));
}

fn next_block(from: Position, depth: u32) -> Option<Position> {
    let width = SHARD_BITS + depth;
    let begin = from.hash().0 & !(u64::MAX >> width);
    let next = begin.checked_add(1 << (64 - width))?;
    let same_shard = next >> (64 - SHARD_BITS) == from.hash().0 >> (64 - SHARD_BITS);
    same_shard.then(|| Position::from_cursor(next >> 24))
}

//! Looks without the lock: hints about where an entry and its record are.
//!
//! Blocks and directories hold words of lines and of directories for the life of the process, so a
//! look reads some atomic word, whatever became of the index meanwhile.

use crate::block::{Block, home_line};
use crate::blocks::{Blocks, LINES_PER_SLOT};
use crate::line::Peek;
use crate::prefetch;
use crate::table::{BlockRef, Index, own_tag, tag_of};
use base::{Location, PositionHash};

/// The line that a key's entry probably stands in, and the tag it has there. One word, so that an
/// array of them is read in the pieces in which it was written.
///
/// ```text
/// | tag 16 | line 48 |
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Home(u64);

const LINE_BITS: u32 = 48;

impl Home {
    /// Of a key in an index that never had an entry.
    pub const NOWHERE: Home = Home(u64::MAX);

    #[inline]
    fn new(block: BlockRef, hash: PositionHash) -> Home {
        let position = block.position(hash);
        let home = home_line(position, block.lines());
        let line = u64::from(block.slot()) * LINES_PER_SLOT as u64 + u64::from(home);
        Home(line | u64::from(tag_of(own_tag(hash), position)) << LINE_BITS)
    }

    #[inline]
    fn line(self) -> usize {
        (self.0 & ((1 << LINE_BITS) - 1)) as usize
    }

    #[inline]
    fn tag(self) -> u16 {
        (self.0 >> LINE_BITS) as u16
    }

    /// Brings the line nearer.
    #[inline]
    pub fn prefetch(self, blocks: &Blocks) {
        prefetch(blocks.line_address(self.line()));
    }

    /// Looks for the entry.
    #[inline]
    pub fn peek(self, blocks: &Blocks) -> Peek {
        blocks.line(self.line()).map_or(Peek::Absent, |line| line.peek(self.tag()))
    }
}

impl Index {
    /// Where the entry of `hash` stands if it is not displaced.
    #[inline]
    pub fn home(&self, blocks: &Blocks, hash: PositionHash) -> Home {
        self.block_ref(blocks, hash).map_or(Home::NOWHERE, |block| Home::new(block, hash))
    }

    /// Brings the lines nearer to which natives of the home of `hash` were displaced.
    pub fn prefetch_displaced(&self, blocks: &Blocks, hash: PositionHash) {
        if let Some((block, home, _)) = self.hint(blocks, hash) {
            let marks = block.line(home).codes().marks();
            let lines = block.marked_lines(home, marks);
            lines.for_each(|(_, line)| prefetch(std::ptr::from_ref(line)));
        }
    }

    /// Where the record of `hash` probably is if its entry was displaced.
    pub fn peek_displaced(&self, blocks: &Blocks, hash: PositionHash) -> Option<Location> {
        let (block, home, tag) = self.hint(blocks, hash)?;
        let marks = block.line(home).codes().marks();
        block.marked_lines(home, marks).find_map(|(code, line)| {
            let lane = line.matches(tag).find(|lane| line.codes().of(*lane) == code)?;
            Some(line.entry(lane).location())
        })
    }

    #[inline]
    fn hint<'b>(&self, blocks: &'b Blocks, hash: PositionHash) -> Option<(Block<'b>, u32, u16)> {
        let found = self.block_ref(blocks, hash).filter(|found| blocks.has(found.slot()))?;
        let block = blocks.block(found.slot(), found.size());
        let position = found.position(hash);
        Some((block, block.home(position), tag_of(own_tag(hash), position)))
    }
}

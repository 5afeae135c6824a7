//! Sizing of an index before its entries come, so that none is moved on the way.

use crate::blocks::{Blocks, SIZES};
use crate::directories::DEPTH_MAX;
use crate::error::OutOfBlocks;
use crate::growth::bytes_of;
use crate::table::{BlockRef, Index};
use std::sync::atomic::Ordering::Relaxed;

impl Index {
    /// Makes room for about so many entries. What is not used of it takes address space alone. An
    /// index that has blocks already stays as it is, and so does one for which there are too few.
    pub fn reserve(&self, blocks: &Blocks, entries: u64) {
        if let Some((depth, size)) = shape_for(entries).filter(|_| !self.has_blocks()) {
            // It grows on the way then.
            let _ = self.make(blocks, depth, size);
        }
    }

    fn make(&self, blocks: &Blocks, depth: u32, size: u32) -> Result<(), OutOfBlocks> {
        if depth == 0 {
            let block = BlockRef::new(blocks.take(bytes_of(size))?, size, 0);
            self.set_root(0, block.0);
            return Ok(());
        }
        let directory = blocks.take_directory(depth)?;
        let words = blocks.directories.words(directory, depth);
        for (made, word) in words.iter().enumerate() {
            let Ok(frame) = blocks.take(bytes_of(size)) else {
                let frames = words[..made].iter().map(|word| BlockRef(word.load(Relaxed)).frame());
                frames.for_each(|frame| blocks.give_back(frame, bytes_of(size)));
                blocks.give_back_directory(directory, depth);
                return Err(OutOfBlocks);
            };
            word.store(BlockRef::new(frame, size, depth).0, Relaxed);
        }
        self.set_root(depth, directory);
        Ok(())
    }
}

/// Depth and size of the fewest and smallest blocks that entries most probably never fill; `None`
/// where the first block does, and where there are too many.
fn shape_for(entries: u64) -> Option<(u32, u32)> {
    let shapes = (0..=DEPTH_MAX).find_map(|depth| {
        let each = (entries >> depth).saturating_add(1);
        // Hashes spread them with a deviation of the root.
        let most = each.saturating_add(4 * each.isqrt());
        let size = (0..narrow::to_u32(SIZES.len()))
            .find(|size| u64::from(BlockRef::new(0, *size, depth).entries_max()) > most)?;
        Some((depth, size))
    });
    shapes.filter(|(depth, size)| (*depth, *size) != (0, 0))
}

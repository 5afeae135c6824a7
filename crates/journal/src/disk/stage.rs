//! Bytes on their way to a file, which lie in memory as they will lie in its blocks: the system can
//! take them from there to the disk, past its cache.

/// Size of the blocks in which disks and file systems count, at most.
pub const BLOCK_BYTES: usize = 4096;
/// Bytes that are collected before they are written.
const ROOM_BYTES: usize = 1 << 20;

/// Buffer of bytes that are to be appended to a file.
///
/// ```text
/// file     ...|· · · ·|· · ■ ■|■ ■ ■ ■|■ · · ·|     blocks; the next byte is for the middle of one
/// memory      |       |    ■ ■|■ ■ ■ ■|■      |     pages
/// ```
#[derive(Debug, Default)]
pub struct Stage {
    memory: Vec<u8>,
    /// Where in `memory` the first page begins.
    page: usize,
    /// What is collected.
    begin: usize,
    end: usize,
}

impl Stage {
    /// Empties the buffer; the next byte is for this offset of the file.
    pub fn begin_at(&mut self, offset: u64) {
        if self.memory.is_empty() {
            self.memory = vec![0; ROOM_BYTES + 2 * BLOCK_BYTES];
            self.page = self.memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        }
        self.begin = self.page + narrow::to_usize(offset % BLOCK_BYTES as u64);
        self.end = self.begin;
    }

    /// Bytes that may be added: to the end of a block.
    pub fn room(&self) -> usize {
        (self.page + ROOM_BYTES).saturating_sub(self.end).min(self.memory.len())
    }

    /// Adds as many of these bytes as there is room for; returns how many.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        self.memory[self.end..self.end + count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    /// What was collected.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..self.end]
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_pages_as_in_the_blocks_of_the_file() {
        let mut stage = Stage::default();
        for offset in [0, 1, 4095, 4096, 123_456_789] {
            stage.begin_at(offset);
            assert_eq!(stage.bytes(), b"");
            let more = vec![7; 2 * ROOM_BYTES];
            let taken = stage.push(b"ab") + stage.push(&more);
            assert_eq!((offset + taken as u64) % BLOCK_BYTES as u64, 0, "it ends with a block");
            assert_eq!(
                (stage.bytes().len(), stage.room(), &stage.bytes()[..3]),
                (taken, 0, &b"ab\x07"[..])
            );
            let address = stage.bytes().as_ptr().addr() as u64;
            assert_eq!(address % BLOCK_BYTES as u64, offset % BLOCK_BYTES as u64);
        }
    }
}

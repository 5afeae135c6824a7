//! What is kept of the stream for replicas: its newest bytes in memory, and older ones in files as
//! long as one needs them.
//!
//! ```text
//!    first      files       held              memory            whole    tail
//!      ├──────────────────────┼─────────────────────────────────────┼ ─ ─ ─ ┤
//! the furthest behind         tail - repl-backlog-size
//! ```

use base::Spool;
use journal::{Consumer, Ring};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are moved to files at once.
const MOVED_BYTES: u64 = 256 << 10;

/// The stream from some position on.
#[derive(Debug)]
pub struct Backlog {
    held: Consumer,
    spool: Spool,
}

impl Backlog {
    /// What comes from now on.
    pub fn of(ring: &Arc<Ring>) -> Backlog {
        Backlog { held: ring.read_from_end(), spool: Spool::default() }
    }

    /// Keeps what stands right before it in the stream, too.
    pub fn put_before(&mut self, earlier: Spool) {
        self.spool.put_before(earlier, self.held.position());
    }

    /// First position that is kept.
    pub fn first(&self) -> u64 {
        self.spool.first().unwrap_or(self.held.position())
    }

    /// Position up to which all is there.
    pub fn whole(&mut self) -> u64 {
        self.held.whole()
    }

    /// Bytes in memory, as far as they are whole.
    pub fn bytes_in_memory(&mut self) -> u64 {
        self.held.whole() - self.held.position()
    }

    /// Bytes of the files.
    pub fn bytes_in_files(&self) -> u64 {
        self.spool.bytes()
    }

    /// The first bytes from one position to another, both kept and whole: as many as lie together,
    /// and at most as many as `room` has.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read<'b>(&'b self, from: u64, to: u64, room: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let most = to.min(from + room.len() as u64);
        if from >= self.held.position() {
            return Ok(self.held.slice(from, most));
        }
        let bytes = self.spool.read(from, &mut room[..narrow::to_usize(most - from)])?;
        Ok(&room[..bytes])
    }

    /// Keeps `memory_max` bytes in memory, and of what is older all that is needed from `needed`
    /// on, in files of `directory`.
    ///
    /// # Errors
    /// Those of the system; all stays in memory then.
    pub fn trim(&mut self, memory_max: u64, needed: u64, directory: &Path) -> io::Result<()> {
        let whole = self.held.whole();
        let (from, to) = (self.held.position(), whole.saturating_sub(memory_max));
        self.spool.forget(needed.min(to));
        if needed >= to {
            self.held.release(to.max(from));
            return Ok(());
        }
        let mut at = from;
        while at < to && (to - from >= MOVED_BYTES || at > from) {
            let piece = self.held.slice(at, to);
            self.spool.push(directory, at, piece)?;
            at += piece.len() as u64;
            self.held.release(at);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

    fn byte_at(position: u64) -> u8 {
        narrow::low_u8(position % 251)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        /// Readers at random positions always find theirs, though memory holds little.
        #[test]
        fn whoever_is_behind_reads_what_was_put_and_others_cost_no_files(
            steps in proptest::collection::vec((0..900_000_u64, 0..3_usize, 0..700_000_u64), 1..30),
        ) {
            let directory = tempfile::tempdir().expect("a directory");
            let (mut lanes, ring) = Ring::with_lanes(500, 1, 1 << 28).expect("address space");
            let mut backlog = Backlog::of(&ring);
            let (mut readers, mut room) = ([500_u64; 3], vec![0; 100_000]);
            for (more, reader, reads) in steps {
                let first = ring.tail();
                let bytes: Vec<u8> = (first..first + more).map(byte_at).collect();
                lanes[0].put_aside(&bytes);
                let (whole, end) = (backlog.whole(), readers[reader] + reads);
                prop_assert_eq!(whole, ring.tail());
                while readers[reader] < end.min(whole) {
                    let at = readers[reader];
                    let read = backlog.read(at, end.min(whole), &mut room).expect("kept");
                    prop_assert!(!read.is_empty());
                    let is_right = read.iter().zip(at..).all(|(byte, at)| *byte == byte_at(at));
                    prop_assert!(is_right);
                    readers[reader] += read.len() as u64;
                }
                let needed = readers.into_iter().min().expect("three");
                backlog.trim(300_000, needed, directory.path()).expect("room on the disk");
                prop_assert!(backlog.first() <= needed);
                let in_memory = ring.pending_bytes();
                prop_assert!(in_memory <= 300_000 + MOVED_BYTES, "{} bytes", in_memory);
                if needed + 300_000 >= whole {
                    prop_assert_eq!(backlog.bytes_in_files(), 0);
                }
            }
        }
    }
}

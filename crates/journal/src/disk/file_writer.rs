//! Writer of a whole file, piece by piece.

use super::{File, Stage, append_all_past_cache};
use std::io::{self, Write};

/// Bytes after which the disk is asked to write, so that a sync finds little.
const WRITE_BACK_BYTES: u64 = 4 << 20;

/// Bytes that are given back at once: the system takes milliseconds for many, and holds up others
/// that write to the disk.
const GIVEN_BACK_BYTES: u64 = 16 << 20;

/// Writer of a file from its begin on, which collects what is written.
#[derive(Debug)]
pub struct FileWriter<F> {
    file: F,
    stage: Stage,
    /// Bytes that the file has.
    bytes: u64,
    /// Bytes up to which the disk was asked to write; `None` if it is not.
    begun: Option<u64>,
}

impl<F: File> FileWriter<F> {
    /// A writer of an empty file. If `writes_early`, the disk is asked to write again and again
    /// what it may write at any time.
    pub fn new(file: F, writes_early: bool) -> FileWriter<F> {
        let mut stage = Stage::default();
        stage.begin_at(0);
        FileWriter { file, stage, bytes: 0, begun: writes_early.then_some(0) }
    }

    /// Gives the space back that a file has taken of which nothing is needed. Best effort.
    pub fn give_back(&mut self) {
        let mut bytes = self.file.bytes().unwrap_or(0);
        while bytes > 0 {
            bytes = bytes.saturating_sub(GIVEN_BACK_BYTES);
            if self.file.truncate(bytes).is_err() {
                return;
            }
        }
    }

    /// Makes all that was written outlast the machine's death.
    ///
    /// # Errors
    /// Those of the file.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync()
    }
}

impl<F: File> Write for FileWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stage.room() == 0 {
            self.flush()?;
        }
        Ok(self.stage.push(bytes))
    }

    /// Gives all to the file.
    fn flush(&mut self) -> io::Result<()> {
        append_all_past_cache(&self.file, self.stage.bytes())?;
        self.bytes += self.stage.bytes().len() as u64;
        self.stage.begin_at(self.bytes);
        if let Some(begun) = self.begun.filter(|begun| self.bytes - begun >= WRITE_BACK_BYTES) {
            self.file.write_back(begun, self.bytes - begun);
            self.begun = Some(self.bytes);
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;
    use crate::disk::Files;
    use crate::disk::simulated::{Fault, SimulatedFiles};

    #[test]
    fn what_is_written_in_pieces_is_in_the_file_when_it_is_synced() {
        let files = SimulatedFiles::new();
        let mut writer = FileWriter::new(files.create("a").expect("created"), true);
        let bytes: Vec<u8> = (0..5_000_000_u32).map(|byte| (byte % 251) as u8).collect();
        for piece in bytes.chunks(70_001) {
            writer.write_all(piece).expect("written");
        }
        writer.sync().expect("synced");
        assert!(files.contents("a").expect("a file") == bytes);
    }

    #[test]
    fn a_full_disk_is_told_of_and_may_have_its_space_back() {
        let files = SimulatedFiles::new();
        let mut writer = FileWriter::new(files.create("a").expect("created"), false);
        files.fail_at(0, Fault::NoSpace);
        assert!(writer.write_all(&vec![0; 3 << 20]).is_err());
        assert!(!files.contents("a").expect("a file").is_empty());
        writer.give_back();
        assert!(files.contents("a").expect("a file").is_empty());
    }
}

//! The disk without a server: what writes and syncs take when a program does nothing else.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::scenario::folder::Folder;

/// Result of writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Longest time of one write.
    pub longest: Duration,
    /// Time of all.
    pub elapsed: Duration,
}

/// Writes so many pieces one behind the other as fast as the disk takes them, while another thread
/// syncs once a second. The file is emptied after each gigabyte, as a log that is rotated.
pub fn write_only(folder: &Folder, pieces: u64, piece_bytes: usize) -> Result<Written> {
    let path = folder.path().join("only");
    let mut file = File::create(&path)?;
    let (piece, to_sync) = (vec![b'x'; piece_bytes], file.try_clone()?);
    let pieces_per_file = (FILE_BYTES / piece_bytes as u64).max(1);
    let (over, is_over) = mpsc::channel::<()>();
    let syncs = thread::spawn(move || -> Result<()> {
        while is_over.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
            to_sync.sync_data()?;
        }
        Ok(())
    });
    let (mut longest, began) = (Duration::ZERO, Instant::now());
    for number in 0..pieces {
        if number % pieces_per_file == 0 {
            file.set_len(0)?;
            file.rewind()?;
        }
        let began = Instant::now();
        file.write_all(&piece)?;
        longest = longest.max(began.elapsed());
    }
    let elapsed = began.elapsed();
    drop(over);
    syncs.join().map_err(|_| anyhow!("the thread that syncs failed"))??;
    fs::remove_file(path)?;
    Ok(Written { longest, elapsed })
}

/// Returns the appends of so many bytes per second, each with a sync of its own.
pub fn syncs_per_second(folder: &Folder, bytes: usize, time: Duration) -> Result<f64> {
    let path = folder.path().join("synced");
    let mut file = File::create(&path)?;
    let (piece, began, mut syncs) = (vec![b'x'; bytes], Instant::now(), 0);
    while began.elapsed() < time {
        file.write_all(&piece)?;
        file.sync_data()?;
        syncs += 1;
    }
    let per_second = f64::from(syncs) / began.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(per_second)
}

const FILE_BYTES: u64 = 1 << 30;
const SYNC_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Folder, syncs_per_second, write_only};

    #[test]
    fn what_was_written_to_learn_about_the_disk_is_removed() {
        let folder = Folder::new().unwrap();
        let written = write_only(&folder, 100, 1000).unwrap();
        assert!(written.longest <= written.elapsed && !written.longest.is_zero());
        assert!(syncs_per_second(&folder, 100, Duration::from_millis(1)).unwrap() > 0.0);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

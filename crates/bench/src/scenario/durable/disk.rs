//! The disk without a server: what writes and syncs take when a program does nothing else.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::folder::Folder;

/// Result of writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Longest time of one write.
    pub longest: Duration,
    /// Time of all.
    pub elapsed: Duration,
}

/// Writes so many pieces one behind the other as fast as the disk takes them, while another thread
/// syncs once a second. A file is replaced by the next after a gigabyte, as a log that is rotated.
///
/// # Errors
/// If the disk does not take them.
pub fn write_only(folder: &Folder, pieces: u64, piece_bytes: usize) -> Result<Written> {
    let piece = vec![b'x'; piece_bytes];
    let pieces_per_file = (FILE_BYTES / piece_bytes as u64).max(1);
    let mut written = Written::default();
    let began = Instant::now();
    let mut left = pieces;
    while left > 0 {
        let count = left.min(pieces_per_file);
        let longest = write_file(folder.path().join("only"), &piece, count)?;
        written.longest = written.longest.max(longest);
        left -= count;
    }
    written.elapsed = began.elapsed();
    fs::remove_file(folder.path().join("only"))?;
    Ok(written)
}

/// Returns the longest time of one write.
fn write_file(path: PathBuf, piece: &[u8], count: u64) -> Result<Duration> {
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let mut file = File::create(path)?;
    let to_sync = file.try_clone()?;
    let (over, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let syncs = scope.spawn(move || -> Result<()> {
            while is_over.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
                to_sync.sync_data()?;
            }
            Ok(())
        });
        let mut longest = Duration::ZERO;
        for _ in 0..count {
            let began = Instant::now();
            file.write_all(piece)?;
            longest = longest.max(began.elapsed());
        }
        drop(over);
        syncs.join().map_err(|_| anyhow!("the thread that syncs failed"))??;
        Ok(longest)
    })
}

/// Returns the appends of so many bytes per second, each with a sync of its own.
///
/// # Errors
/// If the disk does not take them.
pub fn syncs_per_second(folder: &Folder, bytes: usize, time: Duration) -> Result<f64> {
    let path = folder.path().join("synced");
    let mut file = File::create(&path)?;
    let piece = vec![b'x'; bytes];
    let began = Instant::now();
    let mut syncs = 0;
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

    use super::super::folder::Folder;
    use super::{syncs_per_second, write_only};

    #[test]
    fn what_was_written_to_learn_about_the_disk_is_removed() {
        let folder = Folder::new().unwrap();
        let written = write_only(&folder, 100, 1000).unwrap();
        assert!(written.longest <= written.elapsed && !written.longest.is_zero());
        assert!(syncs_per_second(&folder, 100, Duration::from_millis(1)).unwrap() > 0.0);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

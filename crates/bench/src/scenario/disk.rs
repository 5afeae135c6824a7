//! Folders for the files of servers, all of a run on the same disk, and that disk without a server:
//! what writes and syncs take when a program does nothing else.

use std::env;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use tempfile::{Builder, TempDir};

/// Creates a folder on the disk of this program, or in the folder that `VARVE_BENCH_DISK` names;
/// removed when it is dropped.
pub fn folder() -> Result<TempDir> {
    let named = env::var_os("VARVE_BENCH_DISK").map(PathBuf::from);
    let beside = || Some(env::current_exe().ok()?.parent()?.to_owned());
    let parent = named.or_else(beside).context("this program is in no folder")?;
    let folder = Builder::new().prefix("varve-bench-data-").tempdir_in(&parent);
    let why = "VARVE_BENCH_DISK names a folder that can be written";
    folder.with_context(|| format!("no folder in {}: {why}", parent.display()))
}

/// Writes pieces one behind the other as fast as the disk takes them, as long as `goes_on` says so
/// for their number and the time; returns pieces per second, and the longest time of one in
/// microseconds. Another thread syncs after each `sync_every`; without it each
/// piece is synced. The file is emptied after each gigabyte, as a log that is rotated.
pub fn append(
    folder: &TempDir,
    bytes: usize,
    sync_every: Option<Duration>,
    goes_on: impl Fn(u64, Duration) -> bool,
) -> Result<[(&'static str, f64); 2]> {
    let path = folder.path().join("appended");
    let mut file = File::create(&path)?;
    let (to_sync, (over, is_over)) = (file.try_clone()?, mpsc::channel::<()>());
    let syncs = thread::spawn(move || -> Result<()> {
        let Some(every) = sync_every else { return Ok(()) };
        while is_over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            to_sync.sync_data()?;
        }
        Ok(())
    });
    let (piece, pieces_per_file) = (vec![b'x'; bytes], (FILE_BYTES / bytes as u64).max(1));
    let (mut longest, mut pieces, began) = (Duration::ZERO, 0, Instant::now());
    while goes_on(pieces, began.elapsed()) {
        if pieces % pieces_per_file == 0 {
            file.set_len(0)?;
            file.rewind()?;
        }
        let began = Instant::now();
        file.write_all(&piece)?;
        if sync_every.is_none() {
            file.sync_data()?;
        }
        longest = longest.max(began.elapsed());
        pieces += 1;
    }
    let per_second = pieces as f64 / began.elapsed().as_secs_f64();
    drop(over);
    syncs.join().map_err(|_| anyhow!("the thread that syncs failed"))??;
    fs::remove_file(path)?;
    Ok([("per_second", per_second), ("longest", longest.as_secs_f64() * 1e6)])
}

const FILE_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::append;

    #[test]
    fn what_was_written_to_learn_about_the_disk_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        for sync_every in [None, Some(Duration::from_millis(1))] {
            let appended = append(&folder, 1000, sync_every, |done, _| done < 100).unwrap();
            assert!(appended.iter().all(|(_, value)| *value > 0.0));
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

//! Memory of a server while something happens, and its snapshots, from the request to the file.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::control::Control;
use crate::process;
use crate::scenario::folder::Folder;
use crate::servers::Server;

/// Returns the most bytes that a server and its children had during `act`, and what that returned.
pub fn peak_during<T>(server: &Server, act: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let (pid, (over, is_over)) = (server.pid, mpsc::channel::<()>());
    let look = move || {
        let mut most = 0;
        loop {
            most = most.max(process::memory_with_children(pid).unwrap_or(0));
            if is_over.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                return most;
            }
        }
    };
    let looking = thread::spawn(look);
    let acted = act();
    drop(over);
    let most = looking.join().map_err(|_| anyhow!("looking at the server's memory failed"))?;
    Ok((most as f64, acted?))
}

/// Snapshot of a server that is to be made.
pub struct Snapshot {
    control: Control,
    file: PathBuf,
    /// Time at which it was asked for.
    pub asked: Instant,
    checked: Instant,
}

impl Snapshot {
    /// Removes the file of the last snapshot, so that the end of the next can be seen.
    pub fn expected(server: &Server, folder: &Folder) -> Result<Self> {
        let (control, file, now) = (server.control()?, folder.snapshot(), Instant::now());
        if file.exists() {
            fs::remove_file(&file)?;
        }
        Ok(Self { control, file, asked: now, checked: now })
    }

    /// Makes a snapshot; returns the seconds that it took.
    pub fn make(server: &Server, folder: &Folder) -> Result<f64> {
        let mut snapshot = Self::expected(server, folder)?;
        snapshot.asked = Instant::now();
        snapshot.control.tell(&["BGSAVE"])?;
        snapshot.wait()
    }

    /// Returns true if the file is there. That is the moment at which it got its name: the servers
    /// tell the end up to a tenth of a second later.
    pub fn is_there(&mut self) -> Result<bool> {
        if self.file.exists() {
            return Ok(true);
        }
        if self.checked.elapsed() > CHECK_EVERY {
            self.checked = Instant::now();
            let state = self.control.info_text("rdb_last_bgsave_status")?;
            ensure!(state.is_none_or(|state| state == "ok"), "the snapshot failed");
            ensure!(self.asked.elapsed() < SAVE_MAX, "no snapshot after {SAVE_MAX:?}");
        }
        Ok(false)
    }

    /// Waits until the file is there and the server ready for the next snapshot; returns the
    /// seconds from the request to the file.
    pub fn wait(mut self) -> Result<f64> {
        while !self.is_there()? {
            thread::sleep(FILE_EVERY);
        }
        let elapsed = self.asked.elapsed();
        while self.control.info_number("rdb_bgsave_in_progress")?.context("INFO")? > 0.0 {
            ensure!(self.asked.elapsed() < SAVE_MAX, "a snapshot that does not end");
            thread::sleep(LOOK_EVERY);
        }
        Ok(elapsed.as_secs_f64())
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(10);
const FILE_EVERY: Duration = Duration::from_millis(1);
const CHECK_EVERY: Duration = Duration::from_millis(200);
const SAVE_MAX: Duration = Duration::from_secs(600);

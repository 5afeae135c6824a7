//! What a server holds in memory while it works, and the end of its snapshots.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::folder::Folder;
use crate::control::{Control, Reply};
use crate::process;

/// Thread that looks at the memory of a process and of its children until it is stopped.
pub struct Peak {
    stop: Sender<()>,
    thread: JoinHandle<u64>,
}

impl Peak {
    /// Starts to look at a process.
    pub fn of(pid: u32) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let look = move || {
            let mut most = 0;
            loop {
                most = most.max(process::memory_with_children(pid).unwrap_or(0));
                if stopped.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return most;
                }
            }
        };
        Self { stop, thread: thread::spawn(look) }
    }

    /// Returns the most bytes that were seen.
    ///
    /// # Errors
    /// If the thread failed.
    pub fn stop(self) -> Result<u64> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow!("looking at the server's memory failed"))
    }
}

/// Snapshot that was asked for and not yet made.
pub struct Saving<'run> {
    control: Control,
    folder: &'run Folder,
    asked: Instant,
}

impl<'run> Saving<'run> {
    /// Removes the last snapshot, so that the end of the next can be seen.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn prepare(folder: &Folder) -> Result<()> {
        let path = folder.snapshot();
        if path.exists() { Ok(fs::remove_file(path)?) } else { Ok(()) }
    }

    /// Asks for a snapshot.
    ///
    /// # Errors
    /// If the server refuses.
    pub fn ask(mut control: Control, folder: &'run Folder) -> Result<Self> {
        Self::prepare(folder)?;
        let asked = Instant::now();
        match control.ask(&["BGSAVE"])? {
            Reply::Error(error) => bail!("BGSAVE: {error}"),
            _ => Ok(Self { control, folder, asked }),
        }
    }

    /// Goes on with a snapshot that another client asked for.
    pub fn asked_before(control: Control, folder: &'run Folder) -> Self {
        Self { control, folder, asked: Instant::now() }
    }

    /// Returns true if the file is there. That is the moment at which it got its name: the servers
    /// tell the end up to a tenth of a second later.
    ///
    /// # Errors
    /// If the snapshot failed.
    pub fn is_over(&mut self) -> Result<bool> {
        if self.folder.snapshot().exists() {
            return Ok(true);
        }
        let state = self.control.info_text("rdb_last_bgsave_status")?;
        ensure!(state.is_none_or(|state| state == "ok"), "the snapshot failed");
        ensure!(self.asked.elapsed() < SAVE_MAX, "no snapshot after {SAVE_MAX:?}");
        Ok(false)
    }

    /// Waits for the file; returns the time since the snapshot was asked for.
    ///
    /// # Errors
    /// If the snapshot failed.
    pub fn wait(&mut self) -> Result<Duration> {
        let mut ask_at = Instant::now() + ASK_EVERY;
        loop {
            if self.folder.snapshot().exists() {
                let elapsed = self.asked.elapsed();
                return self.settle().map(|()| elapsed);
            }
            if Instant::now() >= ask_at {
                self.is_over()?;
                ask_at += ASK_EVERY;
            }
            thread::sleep(FILE_EVERY);
        }
    }

    /// Waits until the server is ready for the next snapshot.
    ///
    /// # Errors
    /// If it does not become ready.
    pub fn settle(&mut self) -> Result<()> {
        let began = Instant::now();
        while self.control.info_number("rdb_bgsave_in_progress")?.context("INFO")? > 0.0 {
            ensure!(began.elapsed() < SETTLE_MAX, "a snapshot that does not end");
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(10);
const FILE_EVERY: Duration = Duration::from_millis(1);
const ASK_EVERY: Duration = Duration::from_millis(200);
const SAVE_MAX: Duration = Duration::from_secs(600);
const SETTLE_MAX: Duration = Duration::from_secs(60);

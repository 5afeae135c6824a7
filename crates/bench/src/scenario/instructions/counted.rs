//! Server whose instructions are counted.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::servers::{Launch, Program, Server};

/// Server under callgrind, whose count is read from time to time.
pub struct Counted {
    server: Server,
    /// Folder with one file for each thread and reading; removed in any case.
    folder: TempDir,
    asked: u64,
}

impl Counted {
    /// Starts a program; `None` if the profiler cannot reach it.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start(program: &Program, launch: &Launch) -> Result<Option<Self>> {
        let folder = tempfile::Builder::new().prefix("varve-bench-callgrind-").tempdir()?;
        let out = format!("--callgrind-out-file={}/%p", folder.path().display());
        let words = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--vgdb=yes", &out]
            .map(str::to_owned);
        let Some(program) = program.profiled(&words) else { return Ok(None) };
        Ok(Some(Self { server: program.start(launch)?, folder, asked: 0 }))
    }

    /// Returns the server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the instructions, since the last call or the start, of the thread that executed
    /// most. Other threads do timed work, of which a slow machine sees more.
    ///
    /// # Errors
    /// If callgrind does not answer.
    pub fn instructions(&mut self) -> Result<u64> {
        let pid = self.server.pid;
        let status = Command::new("vgdb")
            .args([&format!("--pid={pid}"), "dump"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("vgdb (package valgrind) cannot be started")?;
        ensure!(status.success(), "vgdb does not reach {}: {status}", self.server.label);
        self.asked += 1;
        let begin = format!("{pid}.{}-", self.asked);
        let mut most = None;
        for entry in fs::read_dir(self.folder.path())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&begin) {
                most = most.max(Some(totals(&fs::read_to_string(entry.path())?)?));
            }
        }
        most.with_context(|| format!("callgrind wrote no file {begin}*"))
    }
}

/// Reads the line `totals:` of callgrind's file.
fn totals(text: &str) -> Result<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals:"));
    Ok(line.context("callgrind's file has no totals")?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::totals;

    #[test]
    fn the_last_line_tells_all_instructions() {
        assert_eq!(totals("events: Ir\nsummary: 7\n\nfn=x\n1 7\n\ntotals: 9\n").unwrap(), 9);
        assert!(totals("events: Ir\nsummary: 7\n").is_err());
    }
}

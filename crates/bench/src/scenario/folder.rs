//! Folders for the files of servers: all of a run on the same disk, removed at its end.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::{Builder, TempDir};

use super::Bench;
use crate::report::Section;
use crate::servers::{Launch, Program, Server};

/// A folder that is removed when it is dropped.
pub struct Folder(TempDir);

impl Folder {
    /// Creates a folder on the disk of this program, or in the folder that `VARVE_BENCH_DISK`
    /// names.
    pub fn new() -> Result<Self> {
        let named = env::var_os("VARVE_BENCH_DISK").map(PathBuf::from);
        let beside = || Some(env::current_exe().ok()?.parent()?.to_owned());
        let parent = named.or_else(beside).context("this program is in no folder")?;
        let folder = Builder::new().prefix("varve-bench-data-").tempdir_in(&parent);
        let why = "VARVE_BENCH_DISK names a folder that can be written";
        folder.map(Self).with_context(|| format!("no folder in {}: {why}", parent.display()))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of the file in which a snapshot ends.
    pub fn snapshot(&self) -> PathBuf {
        self.path().join("dump.rdb")
    }

    /// Starts a server that keeps its files here.
    pub fn start(&self, program: &Program, launch: &Launch) -> Result<Server> {
        program.start(&launch.clone().with("dir", self.path().display()))
    }
}

/// Returns the servers of these names that are there and can be given a folder.
pub fn programs(bench: &Bench, names: &[&str], section: &mut Section) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for name in names {
        match bench.program(name)?.and_then(Program::among_our_files) {
            Some(program) => programs.push(program),
            None => section.note(format!("{name} is not there, or sees other files.")),
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Folder;

    #[test]
    fn a_folder_is_gone_with_what_is_in_it() {
        let folder = Folder::new().unwrap();
        let path = folder.path().to_owned();
        fs::write(folder.snapshot(), "data").unwrap();
        assert!(path.join("dump.rdb").exists());
        drop(folder);
        assert!(!path.exists());
    }
}

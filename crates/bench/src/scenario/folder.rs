//! Folders for the files of servers: all of a run on the same disk, removed at its end.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tempfile::{Builder, TempDir};

/// Creates a folder on the disk of this program, or in the folder that `VARVE_BENCH_DISK` names.
pub fn folder() -> Result<TempDir> {
    let named = env::var_os("VARVE_BENCH_DISK").map(PathBuf::from);
    let beside = || Some(env::current_exe().ok()?.parent()?.to_owned());
    let parent = named.or_else(beside).context("this program is in no folder")?;
    let folder = Builder::new().prefix("varve-bench-data-").tempdir_in(&parent);
    let why = "VARVE_BENCH_DISK names a folder that can be written";
    folder.with_context(|| format!("no folder in {}: {why}", parent.display()))
}

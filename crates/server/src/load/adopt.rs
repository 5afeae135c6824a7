//! A single append-only file, as servers before Redis 7 wrote it, becomes the base of a set.
//!
//! ```text
//! dir/appendonly.aof ─▶ manifest that names it as base ─▶ dir/appendonlydir/appendonly.aof
//! ```
//! The manifest comes first, so that a death in between leaves what the next start finishes.

use super::error::LoadFailed;
use journal::disk::{Directory, File, Files, append_all, read_all};
use journal::manifest::{Entry, Manifest};
use std::io;
use std::path::Path;

/// Longest manifest that this wrote.
const MANIFEST_BYTES_MAX: usize = 4 << 10;

/// Moves the file named `prefix` of the working directory into the directory of the set, if there
/// is one and the set has no files, or is to have just this one. A file that is there is never
/// replaced.
///
/// # Errors
/// Those of the system.
pub fn adopt(directory: &Directory, path: &str, prefix: &str) -> Result<(), LoadFailed> {
    let failed = LoadFailed::of_system("adopting", prefix);
    if !Path::new(prefix).is_file() {
        return Ok(());
    }
    let base = Entry { name: prefix.to_owned(), sequence: 1 };
    let wanted = Manifest { base: Some(base), ..Manifest::default() };
    match read_manifest(directory, prefix).map_err(&failed)? {
        None => write_manifest(directory, prefix, &wanted).map_err(&failed)?,
        // A death came between manifest and move; the file is not there yet.
        Some(bytes)
            if Manifest::parse(&bytes).as_ref() == Ok(&wanted)
                && !Path::new(path).join(prefix).exists() => {}
        Some(_) => return Ok(()),
    }
    let move_in = || {
        std::fs::rename(prefix, Path::new(path).join(prefix))?;
        directory.sync_names()?;
        std::fs::File::open(".")?.sync_all()
    };
    move_in().map_err(failed)?;
    tracing::info!("moved {prefix} into {path}, as the base of the append-only files");
    Ok(())
}

/// The manifest; `None` if there is none. What is too long is no manifest of one line.
fn read_manifest(directory: &Directory, prefix: &str) -> io::Result<Option<Vec<u8>>> {
    match directory.open(&format!("{prefix}.manifest")) {
        Ok(file) => Ok(Some(match read_all(&file, MANIFEST_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Vec::new(),
            read => read?,
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_manifest(directory: &Directory, prefix: &str, manifest: &Manifest) -> io::Result<()> {
    let temporary = format!("temp-{prefix}.manifest");
    let file = directory.create(&temporary)?;
    append_all(&file, manifest.to_string().as_bytes())?;
    file.sync()?;
    directory.rename(&temporary, &format!("{prefix}.manifest"))?;
    directory.sync_names()
}

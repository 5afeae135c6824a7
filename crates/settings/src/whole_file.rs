//! Reading and replacing a whole file, as CONFIG REWRITE and ACL SAVE do.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Reads a whole file of so many bytes at most.
///
/// # Errors
/// The error of the system call, or the file is larger.
pub fn read_whole(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("larger than {} MiB", bytes_max >> 20)));
    }
    Ok(bytes)
}

/// Replaces a file by a new one with the same permissions. The new file is complete on disk before
/// it takes the place of the old one.
///
/// # Errors
/// The error of the system call; the old file is then untouched.
pub fn replace_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = write_new(&temporary, path, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report; a leftover file does no harm.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // The name must be on disk too before the command reports success.
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn write_new(temporary: &Path, like: &Path, text: &[u8]) -> io::Result<()> {
    // A leftover of a process with the same id would make `create_new` fail for ever.
    let _ = fs::remove_file(temporary);
    // The file may hold a password, so it is never readable by more than the old one was.
    let mode = if like.exists() { 0o600 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(temporary)?;
    file.write_all(text)?;
    if let Ok(old) = fs::metadata(like) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

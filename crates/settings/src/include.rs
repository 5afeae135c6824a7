//! Files that a configuration file includes.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Most bytes read from one file; a configuration file is some kilobytes.
pub(crate) const FILE_BYTES_MAX: u64 = 16 << 20;

/// Returns the files that `pattern` names, in order. A pattern without wildcards names one file,
/// whether it exists or not; one with wildcards names those that exist, perhaps none.
pub(crate) fn files_named(pattern: &[u8], base: &Path) -> Vec<PathBuf> {
    let pattern = base.join(OsStr::from_bytes(pattern));
    if !has_wildcard(pattern.as_os_str()) {
        return vec![pattern];
    }
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        found = match component {
            Component::Normal(name) if has_wildcard(name) => {
                found.iter().flat_map(|folder| entries_like(folder, name)).collect()
            }
            plain => found.into_iter().map(|folder| folder.join(plain)).collect(),
        };
    }
    found.retain(|path| path.exists());
    found
}

/// Reads the whole file.
///
/// # Errors
/// The error of the system call, or the file is larger than [`FILE_BYTES_MAX`].
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_all(fs::File::open(path)?)
}

pub(crate) fn read_all(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other("larger than 16 MiB"));
    }
    Ok(bytes)
}

fn has_wildcard(name: &OsStr) -> bool {
    name.as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

fn entries_like(folder: &Path, name: &OsStr) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let wants_dot = name.as_bytes().starts_with(b".");
    let mut names: Vec<Vec<u8>> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().into_vec()))
        .filter(|entry| wants_dot || !entry.starts_with(b"."))
        .filter(|entry| text::glob_match(name.as_bytes(), entry, false))
        .collect();
    names.sort();
    names.iter().map(|name| folder.join(OsStr::from_bytes(name))).collect()
}

//! A file of JSON that keeps how far a run has come.

use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Reads a file; `None` if there is none.
///
/// # Errors
/// When it cannot be read, or holds something else.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let failed = |error| Error::File(path.display().to_string(), error);
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
    }
}

/// Writes a file, in place of the one before in one step; `syncs` if a death of the machine is to
/// leave the one or the other.
///
/// # Errors
/// When it cannot be written.
pub fn write<T: Serialize>(path: &Path, contents: &T, syncs: bool) -> Result<(), Error> {
    let failed = |error| Error::File(path.display().to_string(), error);
    let mut text = serde_json::to_string(contents).map_err(|error| failed(error.into()))?;
    text.push('\n');
    let mut temporary = OsString::from(path);
    temporary.push(".new");
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if syncs { file.sync_all() } else { Ok(()) }
    });
    written.and_then(|()| fs::rename(&temporary, path)).map_err(failed)
}

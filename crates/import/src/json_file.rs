//! A file of JSON that keeps how far a run has come. One run at a time works with it.

use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file. Beside it stands `NAME.lock`, which is locked for as long as this is held.
#[derive(Debug)]
pub struct JsonFile {
    path: PathBuf,
    _lock: File,
}

impl JsonFile {
    /// Takes a file, and what it holds; `None` of one that is not there yet.
    ///
    /// # Errors
    /// When it cannot be read, holds something else, or another run works with it.
    pub fn take<T: DeserializeOwned>(path: &Path) -> Result<(JsonFile, Option<T>), Error> {
        let failed = |error| Error::File(path.display().to_string(), error);
        let lock = File::create(beside(path, ".lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = "another varve-import works with it";
                return Err(Error::Usage(format!("{}: {what}", path.display())));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let contents = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))?,
        };
        Ok((JsonFile { path: path.to_owned(), _lock: lock }, contents))
    }

    /// Writes the file, in place of the one before in one step; `syncs` if a death of the machine
    /// is to leave the one or the other.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write<T: Serialize>(&self, contents: &T, syncs: bool) -> Result<(), Error> {
        let failed = |error| Error::File(self.path.display().to_string(), error);
        let mut text = serde_json::to_string(contents).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let temporary = beside(&self.path, ".new");
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            if syncs { file.sync_all() } else { Ok(()) }
        });
        written.and_then(|()| fs::rename(&temporary, &self.path)).map_err(failed)
    }
}

fn beside(path: &Path, ending: &str) -> OsString {
    let mut name = OsString::from(path);
    name.push(ending);
    name
}

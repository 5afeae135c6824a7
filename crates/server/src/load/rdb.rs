//! Loading of an RDB file, alone or in front of commands.

use super::error::LoadFailed;
use base::Stopwatch;
use journal::disk::{File, OpenFile};
use rdb::Checks;
use session::{Instance, Libraries, LibraryTable, checks_version, value_limits};
use settings::Settings;
use settings::snapshots::RDBCHECKSUM;
use snapshot::{Expired, Load, Loaded};
use std::io::{self, Read};
use store::{Beside, ThreadContext};

/// What is loaded of an RDB file.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// What becomes of keys past their deadline: they stay where effects follow, which name each
    /// key that is to go.
    pub expired: Expired,
    /// True if a key that is there already is replaced.
    pub replaces: bool,
}

impl Wanted {
    /// Of the file that a server finds at start.
    pub const AT_START: Wanted = Wanted { expired: Expired::GoUntold, replaces: false };
}

/// Reads a file, of so many bytes, into the store; returns how many of them it took. The thread is
/// inside the gate.
///
/// # Errors
/// When it is damaged, or holds what this server does not know.
pub fn read(
    instance: &Instance,
    thread: &mut ThreadContext,
    name: &str,
    (file, bytes): (impl Read, u64),
    wanted: Wanted,
) -> Result<u64, LoadFailed> {
    let loaded = read_to(instance, thread, name, (file, bytes), (wanted, None))?;
    add_libraries(instance, (name, wanted), &loaded.functions)?;
    Ok(loaded.bytes)
}

/// Reads a file beside what there is; returns the libraries that it holds, and how many bytes it
/// took.
///
/// # Errors
/// As those of `read`.
pub fn read_beside(
    instance: &Instance,
    thread: &mut ThreadContext,
    name: &str,
    source: (impl Read, u64),
    (wanted, beside): (Wanted, &Beside),
) -> Result<(LibraryTable, u64), LoadFailed> {
    let loaded = read_to(instance, thread, name, source, (wanted, Some(beside)))?;
    let mut table = LibraryTable::default();
    let by = (&*instance.settings, &instance.stopwatch);
    add_libraries_to(&mut table, by, (name, wanted.replaces), &loaded.functions)?;
    Ok((table, loaded.bytes))
}

fn read_to(
    instance: &Instance,
    thread: &mut ThreadContext,
    name: &str,
    (file, bytes): (impl Read, u64),
    (wanted, beside): (Wanted, Option<&Beside>),
) -> Result<Loaded, LoadFailed> {
    let mut load = Load {
        store: &instance.store,
        thread,
        bytes,
        // Several threads would pause side by side.
        threads: if instance.loading.progress.is_slowed() { 1 } else { instance.identity.threads },
        limits: value_limits(&instance.settings),
        now: instance.clock.now(),
        expired: wanted.expired,
        replaces: wanted.replaces,
        beside,
        checks: Checks {
            checksum: RDBCHECKSUM.get(&instance.settings),
            version: checks_version(&instance.settings),
        },
        progress: &instance.loading.progress,
    };
    load.read(file).map_err(|error| LoadFailed::of_rdb(name, error))
}

/// Adds the libraries of a file to those that there are.
fn add_libraries(
    instance: &Instance,
    (file, wanted): (&str, Wanted),
    codes: &[Vec<u8>],
) -> Result<(), LoadFailed> {
    if codes.is_empty() {
        return Ok(());
    }
    let mut table = LibraryTable::clone(&instance.libraries.table());
    let by = (&*instance.settings, &instance.stopwatch);
    add_libraries_to(&mut table, by, (file, wanted.replaces), codes)?;
    instance.libraries.replace(table);
    Ok(())
}

/// Adds libraries of a file to a table.
///
/// # Errors
/// When one of them is none, or another is in its way.
pub fn add_libraries_to(
    table: &mut LibraryTable,
    (settings, stopwatch): (&Settings, &Stopwatch),
    (file, replaces): (&str, bool),
    codes: &[Vec<u8>],
) -> Result<(), LoadFailed> {
    for code in codes {
        let loaded = Libraries::load(settings, stopwatch, code);
        let added = loaded.and_then(|library| {
            table.add(library, replaces).map_err(|conflict| conflict.refusal())
        });
        added.map_err(|refusal| LoadFailed::of_library(file, code, &refusal))?;
    }
    Ok(())
}

/// True if a file begins as RDB files do.
///
/// # Errors
/// Those of the system.
pub fn begins(file: &impl File) -> io::Result<bool> {
    let mut begin = [0; 6];
    let mut read = 0;
    while read < begin.len() {
        match file.read_at(read as u64, &mut begin[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(begin[..read].starts_with(b"REDIS") || begin == *b"VALKEY")
}

/// A file, read from front to back.
#[derive(Debug)]
pub struct FrontToBack<'f> {
    file: &'f OpenFile,
    at: u64,
}

impl FrontToBack<'_> {
    /// The bytes of a file from its begin on.
    pub fn new(file: &OpenFile) -> FrontToBack<'_> {
        FrontToBack { file, at: 0 }
    }
}

impl Read for FrontToBack<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.at, into)?;
        self.at += read as u64;
        Ok(read)
    }
}

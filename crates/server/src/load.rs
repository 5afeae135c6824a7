//! Loading of the RDB file of the working directory, at start and for DEBUG RELOAD, while clients
//! are told to wait.

use crate::journal::Journal;
use crate::limits;
use command::{DataFiles, Instance, Reload, Rewrite, checks_version, timed_version, value_limits};
use rdb::Checks;
use settings::snapshots::{DBFILENAME, RDBCHECKSUM, RDBCOMPRESSION};
use snapshot::{Load, LoadError, Loaded, Save};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::{Flush, ThreadContext};
use thiserror::Error;

/// Reason why data was not loaded.
#[derive(Debug, Error)]
#[error("loading {file}: {error}. Move the file away, or mend it, before the next start")]
pub struct LoadFailed {
    /// Name of the file in the working directory.
    file: String,
    /// What is wrong with it.
    error: LoadError,
}

/// A file to be loaded.
#[derive(Debug)]
pub struct Source {
    name: String,
    file: File,
}

/// Opens the file that the settings name; `None` if there is none. Commands that need data are
/// refused from now on until it is loaded.
///
/// # Errors
/// When the file cannot be read.
pub fn open(instance: &Instance) -> Result<Option<Source>, LoadFailed> {
    let name = DBFILENAME.get(&instance.settings).to_string();
    let failed = |error| LoadFailed { file: name.clone(), error: LoadError::Read(error) };
    let file = match File::open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let length = file.metadata().map_err(failed)?.len();
    instance.begin_loading(length);
    Ok(Some(Source { name, file }))
}

/// Loads a file at start.
///
/// # Errors
/// When it is damaged, or holds what this server does not know.
pub fn load(
    instance: &Instance,
    thread: &mut ThreadContext,
    source: Source,
) -> Result<(), LoadFailed> {
    instance.store.enter(thread);
    let loaded = read(instance, thread, source, false);
    instance.store.leave(thread);
    instance.end_loading(loaded?);
    Ok(())
}

/// Reads a file into the store; returns the function libraries that it holds. The thread is inside
/// the gate.
fn read(
    instance: &Instance,
    thread: &mut ThreadContext,
    source: Source,
    replaces: bool,
) -> Result<Vec<Vec<u8>>, LoadFailed> {
    let began = Instant::now();
    let mut load = Load {
        store: &instance.store,
        thread,
        limits: value_limits(&instance.settings),
        now: instance.clock.now(),
        drops_expired: true,
        replaces,
        checks: Checks {
            checksum: RDBCHECKSUM.get(&instance.settings),
            version: checks_version(&instance.settings),
        },
        progress: &instance.loading.progress,
    };
    let loaded = load.read(source.file);
    let Loaded { functions, .. } =
        loaded.map_err(|error| LoadFailed { file: source.name.clone(), error })?;
    report(instance, &source.name, functions.len(), began);
    Ok(functions)
}

fn report(instance: &Instance, file: &str, functions: usize, began: Instant) {
    let progress = &instance.loading.progress;
    let [keys, expired, empty] =
        [&progress.keys, &progress.expired, &progress.empty].map(|count| count.load(Relaxed));
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!("Done loading {file}: {keys} keys in {seconds:.3} seconds, {expired} expired");
    if empty > 0 {
        tracing::warn!("{file}: {empty} keys with empty collections were left out");
    }
    if functions > 0 {
        tracing::warn!("{file}: {functions} function libraries are kept, but cannot be run");
    }
}

/// Files in the working directory.
#[derive(Debug)]
pub struct Files {
    journal: Arc<Journal>,
}

impl Files {
    /// The files of a server with this journal.
    pub fn new(journal: &Arc<Journal>) -> Files {
        Files { journal: Arc::clone(journal) }
    }
}

impl DataFiles for Files {
    fn reload(
        &self,
        instance: &Instance,
        thread: &mut ThreadContext,
        how: Reload,
    ) -> Result<(), String> {
        if !instance.begin_loading(0) {
            return Err("LOADING Valkey is loading the dataset in memory".to_owned());
        }
        limits::apply(instance);
        // Who has begun a command before ends it; others are refused from now on.
        instance.store.exclusively(thread, |_| ());
        let functions = instance.loading.functions().clone();
        let reloaded = reload(instance, thread, how);
        let (functions, outcome) = match reloaded {
            Ok(functions) => (functions, Ok(())),
            Err(error) => {
                tracing::warn!("DEBUG RELOAD: {error}");
                let text = "ERR Error trying to load the RDB dump, check server logs.";
                (functions, Err(text.to_owned()))
            }
        };
        instance.end_loading(functions);
        limits::apply(instance);
        outcome
    }

    fn rewrite_journal(&self, instance: &Instance) -> Rewrite {
        if instance.journal.is_rewriting.load(Relaxed) {
            return Rewrite::GoesOn;
        }
        self.journal.ask_for_rewrite();
        Rewrite::Begins
    }
}

fn reload(
    instance: &Instance,
    thread: &mut ThreadContext,
    how: Reload,
) -> Result<Vec<Vec<u8>>, LoadFailed> {
    let name = DBFILENAME.get(&instance.settings).to_string();
    let failed = |error| LoadFailed { file: name.clone(), error: LoadError::Read(error) };
    if how.saves {
        save(instance, thread, &name).map_err(failed)?;
    }
    if how.flushes {
        instance.store.flush(thread, Flush::All);
    }
    let file = File::open(&name).map_err(failed)?;
    read(instance, thread, Source { name: name.clone(), file }, how.merges)
}

/// Saves all data under another name first, so that no file is ever half written.
fn save(instance: &Instance, thread: &mut ThreadContext, name: &str) -> io::Result<()> {
    let temporary = format!("temp-{}.rdb", std::process::id());
    let file = File::create(&temporary)?;
    let functions = instance.loading.functions().clone();
    let mut save = Save {
        store: &instance.store,
        thread,
        now: instance.clock.now(),
        timed: timed_version(&instance.settings),
        compresses: RDBCOMPRESSION.get(&instance.settings),
        checks: RDBCHECKSUM.get(&instance.settings),
        functions: &functions,
    };
    let saved = save.write(&file).and_then(|_| file.sync_all());
    let renamed = saved.and_then(|()| std::fs::rename(&temporary, name));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    renamed
}

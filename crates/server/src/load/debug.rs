//! DEBUG RELOAD and LOADAOF: data that was saved is loaded again, while others are refused.

use super::error::LoadFailed;
use super::rdb::{self, Wanted};
use super::{OpenedSet, open_set, read_set};
use crate::journal::Journal;
use crate::limits;
use command::{DataFiles, Instance, Reload, Rewrite, timed_version};
use settings::snapshots::{DBFILENAME, RDBCHECKSUM, RDBCOMPRESSION};
use snapshot::Save;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Flush, ThreadContext};

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
        let load = |thread: &mut ThreadContext| reload(instance, thread, how);
        while_others_wait(instance, thread, "RELOAD", "the RDB dump", load)
    }

    fn load_aof(&self, instance: &Instance, thread: &mut ThreadContext) -> Result<(), String> {
        let load = |thread: &mut ThreadContext| load_aof(instance, thread);
        while_others_wait(instance, thread, "LOADAOF", "the AOF files", load)?;
        tracing::info!("Append Only File loaded by DEBUG LOADAOF");
        Ok(())
    }

    fn rewrite_journal(&self, instance: &Instance) -> Rewrite {
        if instance.journal.is_rewriting.load(Relaxed) {
            return Rewrite::GoesOn;
        }
        self.journal.ask_for_rewrite();
        Rewrite::Begins
    }
}

/// Loads data, which gives the function libraries that are there then. The thread is inside the
/// gate.
fn while_others_wait(
    instance: &Instance,
    thread: &mut ThreadContext,
    command: &str,
    what: &str,
    load: impl FnOnce(&mut ThreadContext) -> Result<Vec<Vec<u8>>, LoadFailed>,
) -> Result<(), String> {
    if !instance.begin_loading(0) {
        return Err("LOADING Valkey is loading the dataset in memory".to_owned());
    }
    limits::apply(instance);
    // Who has begun a command before ends it; others are refused from now on.
    instance.store.exclusively(thread, |_| ());
    let functions = instance.loading.functions().clone();
    let (functions, outcome) = match load(thread) {
        Ok(functions) => (functions, Ok(())),
        Err(error) => {
            tracing::warn!("DEBUG {command}: {error}");
            let text = format!("ERR Error trying to load {what}, check server logs.");
            (functions, Err(text))
        }
    };
    instance.end_loading(functions);
    limits::apply(instance);
    outcome
}

fn reload(
    instance: &Instance,
    thread: &mut ThreadContext,
    how: Reload,
) -> Result<Vec<Vec<u8>>, LoadFailed> {
    let name = DBFILENAME.get(&instance.settings).to_string();
    if how.saves {
        save(instance, thread, &name).map_err(LoadFailed::of_system("saving", &name))?;
    }
    if how.flushes {
        instance.store.flush(thread, Flush::All);
    }
    let file = File::open(&name).map_err(LoadFailed::of_system("opening", &name))?;
    let wanted = Wanted { drops_expired: true, replaces: how.merges };
    let loaded = rdb::read(instance, thread, &name, file, wanted)?;
    super::report(instance, &name, loaded.functions.len(), std::time::Instant::now());
    Ok(loaded.functions)
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

/// Loads the append-only files in place of what is there. They are read as they are: nothing is
/// cut off.
fn load_aof(instance: &Instance, thread: &mut ThreadContext) -> Result<Vec<Vec<u8>>, LoadFailed> {
    let OpenedSet { set, path } = open_set(instance)?;
    if set.manifest().to_load().next().is_none() {
        let error = io::ErrorKind::NotFound.into();
        return Err(LoadFailed::of_system("opening", &path)(error));
    }
    instance.store.flush(thread, Flush::All);
    let contents = read_set(instance, thread, set.files(), &path, set.manifest())?;
    Ok(contents.functions)
}

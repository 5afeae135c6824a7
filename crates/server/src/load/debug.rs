//! DEBUG RELOAD and LOADAOF: data that was saved is loaded again, while others are refused.

use super::error::LoadFailed;
use super::rdb::{self, Wanted};
use super::{OpenedSet, look_at_set, read_set};
use crate::journal::{Journal, Reason};
use crate::limits;
use crate::saver::Saver;
use crate::services::Services;
use command::Table;
use session::{
    Asker, Begun, Cancelled, DataFiles, Instance, LibraryTable, Refusal, Reload, Rewrite,
    SavingFacts, When,
};
use settings::snapshots::DBFILENAME;
use snapshot::Expired;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::ThreadContext;

/// Files in the working directory.
#[derive(Debug)]
pub struct Files {
    journal: Arc<Journal>,
    saver: Arc<Saver>,
    table: &'static Table,
}

impl Files {
    /// The files that these services write.
    pub fn new(services: &Services) -> Files {
        let Services { journal, saver, table, .. } = services.clone();
        Files { journal, saver, table }
    }
}

impl DataFiles for Files {
    fn reload(
        &self,
        instance: &Instance,
        thread: &mut ThreadContext,
        how: Reload,
    ) -> Result<(), String> {
        let mut is_saved = true;
        let load = |thread: &mut ThreadContext| {
            if how.saves {
                let saved = self.saver.save_and_wait(instance, thread);
                is_saved = saved.is_ok();
                saved.map_err(|error| {
                    LoadFailed::of_system("saving", "")(io::Error::other(error))
                })?;
            }
            with_libraries(instance, how.flushes, || reload(instance, thread, how))
        };
        let reloaded = self.while_others_wait(instance, thread, ("RELOAD", "the RDB dump"), load);
        reloaded.map_err(|text| if is_saved { text } else { "ERR".to_owned() })?;
        self.saver.forget_changes(instance);
        if self.journal.reasons.has(Reason::FILES) {
            // What was loaded may not be what the journal says.
            self.journal.ask_for_rewrite();
        }
        Ok(())
    }

    fn load_aof(&self, instance: &Instance, thread: &mut ThreadContext) -> Result<(), String> {
        let load = |thread: &mut ThreadContext| {
            if !self.journal.flush(instance, thread) {
                let error = io::Error::other(instance.journal.failure().unwrap_or_default());
                return Err(LoadFailed::of_system("writing", "the append-only file")(error));
            }
            with_libraries(instance, true, || load_aof(instance, self.table, thread))
        };
        self.while_others_wait(instance, thread, ("LOADAOF", "the AOF files"), load)?;
        tracing::info!("Append Only File loaded by DEBUG LOADAOF");
        Ok(())
    }

    fn rewrite_journal(&self, instance: &Instance, later: bool) -> Rewrite {
        let state = &instance.journal;
        if state.is_rewriting.load(Relaxed) {
            return Rewrite::GoesOn;
        }
        if later || self.saver.is_busy() {
            state.is_scheduled.store(true, Relaxed);
            self.journal.ask_for_rewrite();
            return Rewrite::Scheduled;
        }
        if state.is_rewriting.swap(true, Relaxed) {
            return Rewrite::GoesOn;
        }
        self.journal.ask_for_rewrite();
        Rewrite::Begins
    }

    fn save_in_background(
        &self,
        instance: &Instance,
        when: When,
        asker: Option<Asker>,
    ) -> Result<Begun, Refusal> {
        self.saver.save_in_background(instance, when, asker)
    }

    fn save(&self, _: &Instance, asker: Asker) -> Result<(), Refusal> {
        self.saver.save(asker)
    }

    fn emptied(&self, instance: &Instance, thread: &ThreadContext, asker: Asker) -> bool {
        self.saver.restart_rotation(|| self.journal.restart_rewrite());
        self.saver.emptied(instance, thread, asker)
    }

    fn cancel_saving(&self) -> Option<Cancelled> {
        self.saver.cancel()
    }

    fn saving(&self) -> SavingFacts {
        self.saver.facts()
    }

    fn reset_counts(&self) {
        self.saver.reset_counts();
    }
}

impl Files {
    /// Loads data. The thread is inside the gate. A journal does not get it.
    fn while_others_wait(
        &self,
        instance: &Instance,
        thread: &mut ThreadContext,
        (command, what): (&str, &str),
        load: impl FnOnce(&mut ThreadContext) -> Result<(), LoadFailed>,
    ) -> Result<(), String> {
        if !instance.begin_loading(0) {
            return Err("LOADING Valkey is loading the dataset in memory".to_owned());
        }
        limits::apply(instance);
        // Commands that have begun end first; others are refused from now on.
        instance.store.exclusively(thread, |store| self.journal.reasons.suspend(store));
        let outcome = load(thread).map_err(|error| {
            tracing::warn!("DEBUG {command}: {error}");
            format!("ERR Error trying to load {what}, check server logs.")
        });
        // What was loaded is in no stream: nobody goes on with the one that there was.
        self.journal.part();
        instance.store.exclusively(thread, |store| self.journal.reasons.resume(store));
        instance.end_loading();
        limits::apply(instance);
        outcome
    }
}

fn reload(instance: &Instance, thread: &mut ThreadContext, how: Reload) -> Result<(), LoadFailed> {
    let name = DBFILENAME.get(&instance.settings).to_string();
    let file = File::open(&name).map_err(LoadFailed::of_system("opening", &name))?;
    let bytes = file.metadata().map_err(LoadFailed::of_system("reading", &name))?.len();
    let began = Instant::now();
    let wanted = Wanted { expired: Expired::Go, replaces: how.merges };
    let load =
        |thread: &mut ThreadContext| rdb::read(instance, thread, &name, (file, bytes), wanted);
    if how.flushes { in_place(instance, thread, load) } else { load(thread) }?;
    super::report(instance, &name, began);
    Ok(())
}

/// Loads in place of what is there, which returns when that fails. Both are in memory meanwhile.
fn in_place<T>(
    instance: &Instance,
    thread: &mut ThreadContext,
    load: impl FnOnce(&mut ThreadContext) -> Result<T, LoadFailed>,
) -> Result<T, LoadFailed> {
    let aside = instance.store.set_aside(thread);
    let loaded = load(thread);
    match &loaded {
        Ok(_) => instance.store.drop_aside(thread, aside),
        Err(_) => instance.store.take_back(thread, aside),
    }
    loaded
}

/// Loads the append-only files in place of what is there. They are read as they are: nothing is
/// truncated.
fn load_aof(
    instance: &Instance,
    table: &'static Table,
    thread: &mut ThreadContext,
) -> Result<(), LoadFailed> {
    let OpenedSet { set, path } = look_at_set(instance)?;
    if set.manifest().to_load().next().is_none() {
        let error = io::ErrorKind::NotFound.into();
        return Err(LoadFailed::of_system("opening", &path)(error));
    }
    in_place(instance, thread, |thread| {
        let read = read_set(instance, table, thread, (set.files(), &path, set.manifest()));
        // That ends outside the gate.
        instance.store.enter(thread);
        read
    })?;
    Ok(())
}

/// Loads what may have libraries of functions: those of before are there no more, or not. Where it
/// fails they are what they were.
fn with_libraries(
    instance: &Instance,
    are_removed: bool,
    load: impl FnOnce() -> Result<(), LoadFailed>,
) -> Result<(), LoadFailed> {
    let before = instance.libraries.table();
    if are_removed {
        instance.libraries.replace(LibraryTable::default());
    }
    load().inspect_err(|_| instance.libraries.restore(before))
}

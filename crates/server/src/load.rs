//! Loading at start: the RDB file of the working directory, while clients are told to wait.

use command::{Instance, value_limits};
use settings::snapshots::{DBFILENAME, RDBCHECKSUM};
use snapshot::{Load, LoadError, Loaded};
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::ThreadContext;
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

/// Loads a file.
///
/// # Errors
/// When it is damaged, or holds what this server does not know.
pub fn load(
    instance: &Instance,
    thread: &mut ThreadContext,
    source: Source,
) -> Result<(), LoadFailed> {
    let began = Instant::now();
    instance.store.enter(thread);
    let mut load = Load {
        store: &instance.store,
        thread,
        limits: value_limits(&instance.settings),
        now: instance.clock.now(),
        drops_expired: true,
        checks: RDBCHECKSUM.get(&instance.settings),
        progress: &instance.loading.progress,
    };
    let loaded = load.read(source.file);
    instance.store.leave(thread);
    let Loaded { functions, .. } =
        loaded.map_err(|error| LoadFailed { file: source.name.clone(), error })?;
    report(instance, &source.name, functions.len(), began);
    instance.end_loading(functions);
    Ok(())
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

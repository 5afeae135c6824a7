//! Loading of data at start and for DEBUG, while clients are told to wait: of the append-only files
//! if they are on, else of the RDB file.
//!
//! | file | what |
//! |---|---|
//! | `rdb.rs` | an RDB file |
//! | `first_base.rs` | the base of a set without files |
//! | `adopt.rs` | a single file of an old server becomes a set |
//! | `aof.rs` | the files of a set, in order |
//! | `replay.rs` | the commands of one file |
//! | `debug.rs` | DEBUG RELOAD and LOADAOF |
//! | `error.rs` | why data was not loaded |

mod adopt;
mod aof;
mod debug;
mod error;
mod first_base;
mod rdb;
mod replay;

pub use debug::Files;
pub use error::LoadFailed;

use aof::Contents;
use command::Instance;
use first_base::first_base;
use journal::disk::Directory;
use journal::set::{BaseForm, Set, SetError};
use journal::sync_line::ReplicationId;
use rdb::Wanted;
use settings::journal::{APPENDDIRNAME, APPENDFILENAME, APPENDONLY};
use settings::snapshots::DBFILENAME;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::ThreadContext;

/// What is to be loaded.
#[derive(Debug)]
pub enum Source {
    /// An RDB file.
    Rdb {
        /// Its name, from the working directory on.
        name: String,
        /// The file.
        file: File,
    },
    /// Append-only files.
    Set(OpenedSet),
}

/// A set of append-only files, and where it is.
#[derive(Debug)]
pub struct OpenedSet {
    set: Set<Directory>,
    path: String,
}

/// What was loaded.
#[derive(Debug)]
pub struct Recovered {
    /// The set of files, if there is one: all of it is safe, and another file may follow.
    pub set: Option<Set<Directory>>,
    /// Position of the stream behind it; zero if the files do not tell.
    pub position: u64,
    /// Whose stream it is, if the files tell.
    pub id: Option<ReplicationId>,
    /// Base of the set, if it has no files yet.
    pub base: Option<(BaseForm, Vec<u8>)>,
}

/// Opens what the settings name; `None` if there is no RDB file. Commands that need data are
/// refused from now on until `end`.
///
/// # Errors
/// When files cannot be read, or are no set.
pub fn open(instance: &Instance) -> Result<Option<Source>, LoadFailed> {
    if APPENDONLY.get(&instance.settings) {
        instance.begin_loading(0);
        return open_set(instance).map(|set| Some(Source::Set(set)));
    }
    let name = DBFILENAME.get(&instance.settings).to_string();
    let failed = LoadFailed::of_system("opening", &name);
    let file = match File::open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let length = file.metadata().map_err(failed)?.len();
    instance.begin_loading(length);
    Ok(Some(Source::Rdb { name, file }))
}

/// Opens the append-only files, whose directory is made if there is none. Loading must have begun.
///
/// # Errors
/// When files cannot be read, or are no set.
fn open_set(instance: &Instance) -> Result<OpenedSet, LoadFailed> {
    let path = APPENDDIRNAME.get(&instance.settings).to_string();
    let prefix = APPENDFILENAME.get(&instance.settings);
    let directory = Directory::open(Path::new(&path));
    let directory = directory.map_err(LoadFailed::of_system("opening", &path))?;
    adopt::adopt(&directory, &path, &prefix)?;
    opened(instance, path, Set::open(directory, &prefix))
}

/// Opens the append-only files to read them, while the journal may be writing them. Loading must
/// have begun.
///
/// # Errors
/// When files cannot be read, or are no set.
pub fn look_at_set(instance: &Instance) -> Result<OpenedSet, LoadFailed> {
    let path = APPENDDIRNAME.get(&instance.settings).to_string();
    let directory = Directory::open(Path::new(&path));
    let directory = directory.map_err(LoadFailed::of_system("opening", &path))?;
    let set = Set::look(directory, &APPENDFILENAME.get(&instance.settings));
    opened(instance, path, set)
}

fn opened(
    instance: &Instance,
    path: String,
    set: Result<Set<Directory>, SetError>,
) -> Result<OpenedSet, LoadFailed> {
    let set = set.map_err(|error| failed_set(&path, error))?;
    instance.loading.expect(aof::total_bytes(set.files(), &path, set.manifest())?);
    Ok(OpenedSet { set, path })
}

/// Loads at start what was opened. Commands go on being refused until `end`.
///
/// # Errors
/// When a file is damaged, or holds what this server does not know.
pub fn load(
    instance: &Instance,
    thread: &mut ThreadContext,
    source: Source,
) -> Result<Recovered, LoadFailed> {
    match source {
        Source::Set(opened) => load_set(instance, thread, opened),
        Source::Rdb { name, file } => {
            load_rdb(instance, thread, &name, file, Wanted::AT_START)?;
            Ok(Recovered { set: None, position: 0, id: None, base: None })
        }
    }
}

/// Loads a set of files, and makes all of it safe, so that another file may follow.
///
/// # Errors
/// As those of `load`.
pub fn load_set(
    instance: &Instance,
    thread: &mut ThreadContext,
    OpenedSet { mut set, path }: OpenedSet,
) -> Result<Recovered, LoadFailed> {
    let began = Instant::now();
    let contents = read_set(instance, thread, set.files(), &path, set.manifest())?;
    let (whole, safe) = contents.last;
    if contents.cut_bytes > 0 {
        keep_cut_off(&set, &path, &contents)?;
    }
    set.settle_last(whole, safe).map_err(|error| failed_set(&path, error))?;
    if contents.is_last_bare {
        set.note_last_is_bare();
    }
    report(instance, &path, began);
    let is_empty = set.manifest().to_load().next().is_none();
    let base = is_empty.then(|| first_base(instance, thread)).transpose()?;
    let (position, id) = contents.position.unzip();
    let position = position.unwrap_or(0);
    Ok(Recovered { set: Some(set), position, id, base })
}

/// Copies what is cut off to a file beside the last one: nobody can tell whose it is. On a full
/// disk the server starts without the copy of what is no whole command, as nobody was told that it
/// is there.
fn keep_cut_off(set: &Set<Directory>, path: &str, contents: &Contents) -> Result<(), LoadFailed> {
    let bytes = contents.cut_bytes;
    match set.keep_cut_off(contents.last.0) {
        Ok(name) => {
            let name = name.unwrap_or_default();
            tracing::warn!("The {bytes} bytes that are cut off are kept in {path}/{name}");
        }
        Err(error) if error.is_full() && !contents.cuts_commands => {
            tracing::warn!(
                "The {bytes} bytes that are cut off, no whole command, are lost: {error}"
            );
        }
        Err(error) => return Err(failed_set(path, error)),
    }
    Ok(())
}

/// Executes the files of a set. What is past its deadline stays, as effects name what is to go.
fn read_set(
    instance: &Instance,
    thread: &mut ThreadContext,
    directory: &Directory,
    path: &str,
    manifest: &journal::manifest::Manifest,
) -> Result<Contents, LoadFailed> {
    let store = &instance.store;
    store.apply_journal(true);
    store.enter(thread);
    let loaded = aof::load_files(instance, thread, directory, path, manifest);
    store.leave(thread);
    store.apply_journal(false);
    if let Ok(contents) = &loaded {
        instance.loading.cut_bytes.store(contents.cut_bytes, Relaxed);
    }
    loaded
}

/// Ends loading at start: clients see the data.
pub fn end(instance: &Instance, recovered: Recovered) {
    let Recovered { set, position, id, .. } = recovered;
    if set.is_some() {
        let id = id.as_ref().map_or("unknown", ReplicationId::as_str);
        tracing::debug!("the stream {id} goes on at position {position}");
    }
    instance.end_loading();
}

fn failed_set(path: &str, error: SetError) -> LoadFailed {
    LoadFailed::Set { directory: path.to_owned(), error: Box::new(error) }
}

/// Loads an RDB file.
fn load_rdb(
    instance: &Instance,
    thread: &mut ThreadContext,
    name: &str,
    file: File,
    wanted: Wanted,
) -> Result<(), LoadFailed> {
    let began = Instant::now();
    let bytes = file.metadata().map_err(LoadFailed::of_system("reading", name))?.len();
    instance.store.enter(thread);
    let loaded = rdb::read(instance, thread, name, (file, bytes), wanted);
    instance.store.leave(thread);
    loaded?;
    report(instance, name, began);
    Ok(())
}

fn report(instance: &Instance, file: &str, began: Instant) {
    let progress = &instance.loading.progress;
    let [expired, empty] = [&progress.expired, &progress.empty].map(|count| count.load(Relaxed));
    let (keys, functions) = (instance.store.keys(), instance.loading.libraries().sources().len());
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!("Done loading {file}: {keys} keys in {seconds:.3} seconds, {expired} expired");
    if empty > 0 {
        tracing::warn!("{file}: {empty} keys with empty collections were left out");
    }
    if functions > 0 {
        tracing::warn!("{file}: {functions} function libraries are kept, but cannot be run");
    }
}

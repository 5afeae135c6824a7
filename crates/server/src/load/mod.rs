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
//! | `snapshot_of_primary.rs` | a snapshot, beside what there is |
//! | `debug.rs` | DEBUG RELOAD and LOADAOF |
//! | `error.rs` | why data was not loaded |
//!
//! Append-only files are inspected before anything is executed: a torn tail of the last one is
//! truncated, and damage stops the start. Commands are executed in batches whose keys are
//! prefetched, as those of connections are. Meanwhile nothing expires, nothing is evicted, and
//! memory has no limit. Before DEBUG RELOAD and LOADAOF the data is set aside, and it returns where
//! they fail.

mod adopt;
mod aof;
mod debug;
mod error;
mod first_base;
mod rdb;
mod replay;
mod snapshot_of_primary;

pub use debug::Files;
pub use error::LoadFailed;
pub use rdb::add_libraries_to;
pub use snapshot_of_primary::{Loaded, drop_all, load_beside};

use crate::journal::{Begin, UnsafeEnd, append_folder};
use crate::stream_in_files::StreamInFiles;
use aof::Contents;
use command::Table;
use first_base::first_base;
use journal::disk::Directory;
use journal::set::{Set, SetError};
use journal::sync_line::ReplicationId;
use journal::writer::End;
use rdb::Wanted;
use replication::History;
use session::Instance;
use settings::journal::{APPENDDIRNAME, APPENDFILENAME, APPENDONLY};
use settings::replication::REPLICAOF;
use settings::snapshots::DBFILENAME;
use snapshot::Expired;
use std::fs::File;
use std::io;
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
    /// Where the journal goes on, if there is one.
    pub begin: Option<Begin>,
    /// Which stream the data is of, if that is known.
    pub stream: Option<KnownStream>,
    /// The stream in these files, if there were replicas when they were written, which may come
    /// back.
    pub in_files: Option<StreamInFiles>,
}

/// The stream of which data is all up to an offset.
#[derive(Clone, Debug)]
pub struct KnownStream {
    /// Its id, and those before it.
    pub history: History,
    /// The offset.
    pub offset: u64,
    /// Database that is selected there.
    pub database: usize,
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
    let directory = Directory::open(&append_folder(&instance.settings));
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
    let directory = Directory::open(&append_folder(&instance.settings));
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
    table: &'static Table,
    thread: &mut ThreadContext,
    source: Source,
) -> Result<Recovered, LoadFailed> {
    match source {
        Source::Set(opened) => load_set(instance, table, thread, opened),
        Source::Rdb { name, file } => {
            let mut wanted = Wanted::AT_START;
            if !REPLICAOF.get(&instance.settings).is_empty() {
                // Its primary tells which keys go.
                wanted.expired = Expired::Stay;
            }
            load_rdb(instance, thread, &name, file, wanted)?;
            let stream = stream_of_rdb(instance);
            Ok(Recovered { begin: None, stream, in_files: None })
        }
    }
}

/// Which stream an RDB file is of.
fn stream_of_rdb(instance: &Instance) -> Option<KnownStream> {
    let progress = &instance.loading.progress;
    let mark = progress.stream.lock().clone();
    let id = ReplicationId::parse(&mark.id?)?;
    let database = usize::try_from(mark.database.unwrap_or(0)).ok()?;
    let is_there = database < instance.store.databases();
    let offset = mark.offset?;
    let history = history_of(id, mark.earlier.as_deref());
    is_there.then_some(KnownStream { history, offset, database })
}

/// The history of an id, with what a file told of those before it. What is none counts as nothing.
fn history_of(id: ReplicationId, earlier: Option<&[u8]>) -> History {
    let history = earlier.and_then(|earlier| History::parse(id.as_str().as_bytes(), earlier));
    history.unwrap_or(History::new(id))
}

/// Loads a set of files.
///
/// # Errors
/// As those of `load`.
pub fn load_set(
    instance: &Instance,
    table: &'static Table,
    thread: &mut ThreadContext,
    OpenedSet { mut set, path }: OpenedSet,
) -> Result<Recovered, LoadFailed> {
    let began = Instant::now();
    let contents = read_set(instance, table, thread, (set.files(), &path, set.manifest()))?;
    let (whole, safe) = contents.last;
    let line = contents.line.filter(|_| set.last_incremental() > 0);
    let end = line.map(|line| End { bytes: whole, line });
    if contents.is_last_bare && end.is_none() {
        set.note_last_is_bare();
    }
    report(instance, &path, began);
    let is_empty = set.manifest().to_load().next().is_none();
    let base = is_empty.then(|| first_base(instance, thread)).transpose()?;
    let (position, id) = contents.position.unzip();
    let position = position.unwrap_or(0);
    let selected = if end.is_some() { contents.database } else { 0 };
    let unsafe_end = UnsafeEnd { path, whole, safe, truncated_bytes: contents.truncated_bytes };
    let unsafe_end = Some(unsafe_end);
    let earlier = contents.history.filter(|it| Some(it.0) == id).map(|it| it.1);
    let stream = id.map(|id| KnownStream {
        history: history_of(id, earlier.as_deref()),
        offset: position,
        database: selected,
    });
    // Where nobody follows, nobody lacks anything.
    let in_files = contents.had_replicas.then_some(contents.in_files);
    let begin = Begin { set, unsafe_end, position, selected, id, end, base };
    Ok(Recovered { begin: Some(begin), stream, in_files })
}

/// Executes the files of a set. What is past its deadline stays, as effects name what is to go.
fn read_set(
    instance: &Instance,
    table: &'static Table,
    thread: &mut ThreadContext,
    (directory, path, manifest): (&Directory, &str, &journal::manifest::Manifest),
) -> Result<Contents, LoadFailed> {
    let store = &instance.store;
    store.apply_journal(true);
    store.enter(thread);
    let loaded = aof::load_files(instance, table, thread, (directory, path, manifest));
    store.leave(thread);
    store.apply_journal(false);
    if let Ok(contents) = &loaded {
        instance.loading.truncated_bytes.store(contents.truncated_bytes, Relaxed);
    }
    loaded
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
    let (keys, functions) = (instance.store.keys(), instance.libraries.table().libraries().len());
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!("Done loading {file}: {keys} keys in {seconds:.3} seconds, {expired} expired");
    if empty > 0 {
        tracing::warn!("{file}: {empty} keys with empty collections were left out");
    }
    if functions > 0 {
        tracing::info!("{file}: {functions} libraries of functions");
    }
}

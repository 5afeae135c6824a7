//! Loading of append-only files: what they are worth is looked at first, then they are executed.
//!
//! ```text
//! base (RDB or commands) ─▶ incremental files in order ─▶ Recovered: where the stream ends
//!      look: whole │ torn, last file: truncated │ torn before, damaged: refused
//! ```

use super::error::LoadFailed;
use super::rdb::{self, FrontToBack, Wanted};
use super::replay::Replay;
use crate::stream_in_files::{FilePlaces, StreamInFiles};
use command::Table;
use journal::disk::{Directory, File, Files, OpenFile};
use journal::inspect::{Inspection, State, glance, inspect};
use journal::manifest::Manifest;
use journal::reader::Why;
use journal::sync_line::{ReplicationId, SyncLine};
use session::Instance;
use settings::journal::AOF_LOAD_TRUNCATED;
use snapshot::Expired;
use store::ThreadContext;

/// What is there when all files of a set are loaded.
#[derive(Debug, Default)]
pub struct Contents {
    /// Length up to which the last file is whole, and up to which it is known to be safe.
    pub last: (u64, u64),
    /// Position of the stream at the end, and whose it is, if the files tell.
    pub position: Option<(u64, ReplicationId)>,
    /// Bytes behind the last unit, which are to be truncated.
    pub truncated_bytes: u64,
    /// The last line of the last file, and the offset behind it.
    pub line: Option<(SyncLine, u64)>,
    /// Database that is selected at the end.
    pub database: usize,
    /// True if nothing of the stream is in the last file.
    pub is_last_bare: bool,
    /// The stream, as the files have it.
    pub in_files: StreamInFiles,
    /// What the files told last of the ids that the stream had before: the id then, and their text.
    pub history: Option<(ReplicationId, Vec<u8>)>,
    /// True if there were replicas when one of the files was written.
    pub had_replicas: bool,
}

/// A file of the set, which is opened when it is looked at: there may be more than can be open.
struct AofFile<'d> {
    directory: &'d Directory,
    name: &'d str,
    /// Name from the working directory on.
    path: String,
    is_last: bool,
    /// True if it begins as RDB files do: where commands begin is only known behind that.
    has_rdb: bool,
    /// What its commands are worth, as far as that is known.
    look: Option<Inspection>,
}

/// Loads the files that a manifest names, in order. The thread is inside the gate.
///
/// # Errors
/// When a file cannot be read, is damaged, or holds what this server does not know; the store
/// holds a part of the data then.
pub fn load_files(
    instance: &Instance,
    table: &'static Table,
    thread: &mut ThreadContext,
    (directory, path, manifest): (&Directory, &str, &Manifest),
) -> Result<Contents, LoadFailed> {
    let mut files = files_of(directory, path, manifest)?;
    // Nothing is executed before all files are known to be worth it.
    for it in files.iter_mut().filter(|it| !it.has_rdb) {
        let found = glance(&it.open()?, 0).map_err(LoadFailed::of_system("reading", &it.path))?;
        judge(instance, it, &found)?;
        it.look = Some(found);
    }
    let mut contents = Contents::default();
    for file in &files {
        load_file(instance, table, thread, file, &mut contents)?;
    }
    Ok(contents)
}

/// Number of bytes of the files that a manifest names.
///
/// # Errors
/// When a file cannot be read.
pub fn total_bytes(
    directory: &Directory,
    path: &str,
    manifest: &Manifest,
) -> Result<u64, LoadFailed> {
    let files = files_of(directory, path, manifest)?;
    files.iter().try_fold(0, |sum, it| {
        let bytes = it.open()?.bytes().map_err(LoadFailed::of_system("reading", &it.path))?;
        Ok(sum + bytes)
    })
}

impl AofFile<'_> {
    fn open(&self) -> Result<OpenFile, LoadFailed> {
        self.directory.open(self.name).map_err(LoadFailed::of_system("opening", &self.path))
    }
}

fn files_of<'d>(
    directory: &'d Directory,
    path: &str,
    manifest: &'d Manifest,
) -> Result<Vec<AofFile<'d>>, LoadFailed> {
    let count = manifest.to_load().count();
    let look = |(at, name): (usize, &'d String)| {
        let (path, is_last) = (format!("{path}/{name}"), at + 1 == count);
        let mut it = AofFile { directory, name, path, is_last, has_rdb: false, look: None };
        let begins = rdb::begins(&it.open()?);
        it.has_rdb = begins.map_err(LoadFailed::of_system("reading", &it.path))?;
        Ok(it)
    };
    manifest.to_load().map(|entry| &entry.name).enumerate().map(look).collect()
}

/// Decides whether a file is loaded, by what was found out about its commands.
fn judge(instance: &Instance, it: &AofFile<'_>, found: &Inspection) -> Result<(), LoadFailed> {
    let file = it.path.clone();
    let torn = |offset, why, remedy: String| LoadFailed::Torn {
        file: it.path.clone(),
        offset,
        why,
        look: Box::new(*found),
        remedy,
    };
    match found.state {
        State::Whole => {}
        State::Damaged { offset, why } => return Err(LoadFailed::Damaged { file, offset, why }),
        State::Torn { offset, why } if !it.is_last => {
            let remedy = "The file is not the last one, so what follows in others would not fit: \
                          take all files of the set from a backup";
            return Err(torn(offset, why, remedy.to_owned()));
        }
        State::Torn { offset, why } if !AOF_LOAD_TRUNCATED.get(&instance.settings) => {
            let remedy = format!(
                "Make a copy, then use varve-check --fix {file}, or set aof-load-truncated to yes"
            );
            return Err(torn(offset, why, remedy));
        }
        State::Torn { .. } => {}
    }
    Ok(())
}

fn load_file(
    instance: &Instance,
    table: &'static Table,
    thread: &mut ThreadContext,
    it: &AofFile<'_>,
    contents: &mut Contents,
) -> Result<(), LoadFailed> {
    let (file, mut from) = (it.open()?, 0);
    if it.has_rdb {
        let wanted = Wanted { expired: Expired::Stay, replaces: false };
        let bytes = file.bytes().map_err(LoadFailed::of_system("reading", &it.path))?;
        let source = (FrontToBack::new(&file), bytes);
        from = rdb::read(instance, thread, &it.path, source, wanted)?;
    }
    let failed = LoadFailed::of_system("reading", &it.path);
    let mut found = match it.look {
        Some(found) => found,
        None => glance(&file, from).map_err(&failed)?,
    };
    judge(instance, it, &found)?;
    let mut replay = Replay::new(instance, table, thread, &it.path);
    if !replay.run(&file, from, found.whole)? {
        // A file without sync lines, which are what tells of a break before.
        found = inspect(&file, from).map_err(&failed)?;
        judge(instance, it, &found)?;
        if found.whole != replay.reached() {
            let (file, offset, why) = (it.path.clone(), found.whole, Why::Format);
            return Err(LoadFailed::Damaged { file, offset, why });
        }
    }
    let (database, places) = (replay.database(), replay.take_places());
    contents.had_replicas |= replay.had_replicas();
    contents.history = replay.take_history().or(contents.history.take());
    let executed = from..replay.reached();
    contents.in_files.push(FilePlaces { name: it.name.to_owned(), file, executed, places });
    if let State::Torn { offset, why } = found.state {
        let (bytes, whole) = (found.bytes_behind, found.whole);
        tracing::warn!(
            "{}: {why} at byte {offset}; the last {bytes} bytes, from byte {whole} on, are cut off",
            it.path
        );
        contents.truncated_bytes += bytes;
    }
    contents.last = (found.whole, found.safe);
    (contents.line, contents.database) = (found.line, database);
    contents.is_last_bare = found.is_bare;
    if found.position.is_some() || found.whole > 0 {
        contents.position = found.position;
    }
    Ok(())
}

//! What lies at a path: one file, or a directory with a manifest and the files that it names.

use journal::manifest::{Entry, Kind, Manifest};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Directory of append-only files, as Redis and Valkey name it.
const APPEND_ONLY_FOLDER: &str = "appendonlydir";
const MANIFEST_BYTES_MAX: u64 = 4 << 20;

/// What is to be checked.
#[derive(Debug)]
pub enum Place {
    /// A file by itself.
    File(PathBuf),
    /// The files of a manifest.
    Set(FileSet),
}

/// The files of a manifest.
#[derive(Debug)]
pub struct FileSet {
    /// The manifest.
    pub manifest: PathBuf,
    /// Files to be loaded, in order.
    pub to_load: Vec<PathBuf>,
    /// What is wrong with the manifest or the names.
    pub problems: Vec<String>,
    /// What is left over and does no harm.
    pub notes: Vec<String>,
}

/// A path at which there is nothing to check; the user names another.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// The system refused.
    #[error("{0}: {1}")]
    System(PathBuf, #[source] io::Error),
    /// There is no file of data.
    #[error("{0}: there is neither a manifest nor a file that ends with .rdb or .aof")]
    Nothing(PathBuf),
}

/// Looks at a path. A working directory stands for its RDB files, its old append-only files and its
/// directory of append-only files.
///
/// # Errors
/// Those of the system, and when there is nothing to check.
pub fn look(path: &Path) -> Result<Vec<Place>, PlaceError> {
    let system = |error| PlaceError::System(path.to_owned(), error);
    if !fs::metadata(path).map_err(system)?.is_dir() {
        let is_manifest = path.extension().is_some_and(|it| it == "manifest");
        let place = if is_manifest { Place::Set(set(path)?) } else { Place::File(path.to_owned()) };
        return Ok(vec![place]);
    }
    let mut names = names_in(path).map_err(system)?;
    names.retain(|name| !name.starts_with("temp-"));
    let ends = |name: &str, end| Path::new(name).extension().is_some_and(|it| it == end);
    let manifests: Vec<&String> = names.iter().filter(|name| ends(name, "manifest")).collect();
    let mut places = Vec::new();
    for name in &manifests {
        places.push(Place::Set(set(&path.join(name))?));
    }
    if manifests.is_empty() {
        let files = names.iter().filter(|name| ends(name, "rdb") || ends(name, "aof"));
        places.extend(files.map(|name| Place::File(path.join(name))));
        let folder = path.join(APPEND_ONLY_FOLDER);
        if folder.is_dir() {
            places.extend(look(&folder)?);
        }
    }
    if places.is_empty() { Err(PlaceError::Nothing(path.to_owned())) } else { Ok(places) }
}

fn names_in(path: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(path)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.insert(name);
        }
    }
    Ok(names)
}

fn set(path: &Path) -> Result<FileSet, PlaceError> {
    let system = |error| PlaceError::System(path.to_owned(), error);
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(system)?;
    file.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes).map_err(system)?;
    let mut set = FileSet {
        manifest: path.to_owned(),
        to_load: Vec::new(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    match Manifest::parse(&bytes) {
        Err(error) => set.problems.push(error.to_string()),
        Ok(manifest) => {
            let names = names_in(folder).map_err(system)?;
            set.take(&manifest, &names, folder);
        }
    }
    Ok(set)
}

impl FileSet {
    fn take(&mut self, manifest: &Manifest, names: &BTreeSet<String>, folder: &Path) {
        for Entry { name, .. } in manifest.to_load() {
            if names.contains(name) {
                self.to_load.push(folder.join(name));
            } else {
                self.problems.push(format!("{name}: named in the manifest, and not there"));
            }
        }
        for (entry, kind) in manifest.files() {
            if kind == Kind::History && names.contains(&entry.name) {
                self.notes.push(format!("{}: not needed, to be removed", entry.name));
            }
        }
        let named: BTreeSet<&String> = manifest.files().map(|(entry, _)| &entry.name).collect();
        let prefix = self.manifest.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        for name in names.iter().filter(|name| is_of_a_set(name, prefix) && !named.contains(name)) {
            self.notes.push(format!("{name}: not named in the manifest, and not loaded"));
        }
    }
}

fn is_of_a_set(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'));
    rest.and_then(|rest| rest.split_once('.'))
        .is_some_and(|(_, kind)| matches!(kind, "incr.aof" | "base.aof" | "base.rdb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_for_what_its_manifest_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        let manifest = "file a.1.base.rdb seq 1 type b\nfile a.2.incr.aof seq 2 type i\n\
                        file a.1.incr.aof seq 1 type h\n";
        write("a.manifest", manifest).expect("written");
        for name in ["a.1.base.rdb", "a.1.incr.aof", "a.9.incr.aof"] {
            write(name, "").expect("written");
        }
        let places = look(folder.path()).expect("a set");
        let [Place::Set(set)] = &places[..] else { panic!("{places:?}") };
        assert_eq!(set.to_load, [folder.path().join("a.1.base.rdb")]);
        assert_eq!(set.problems, ["a.2.incr.aof: named in the manifest, and not there"]);
        assert_eq!(set.notes.len(), 2, "{:?}", set.notes);
    }

    #[test]
    fn a_working_directory_stands_for_all_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(matches!(look(folder.path()), Err(PlaceError::Nothing(_))));
        let inner = folder.path().join(APPEND_ONLY_FOLDER);
        fs::create_dir(&inner).expect("made");
        fs::write(folder.path().join("dump.rdb"), "").expect("written");
        fs::write(inner.join("a.manifest"), "file ../x seq 1 type i\n").expect("written");
        let places = look(folder.path()).expect("two places");
        let [Place::File(_), Place::Set(set)] = &places[..] else { panic!("{places:?}") };
        assert_eq!(set.problems, ["line 1: the name of a file may not be a path"]);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(matches!(look(Path::new("/nowhere/x")), Err(PlaceError::System(..))));
    }
}

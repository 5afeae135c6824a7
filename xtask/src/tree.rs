//! Files of the repository, read once; tests build theirs from text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io, thread};

use crate::source::Source;

/// Files by path from the root, with `/` as separator.
pub struct Tree {
    /// Files that rules read: code, tables and documents.
    files: BTreeMap<String, Source>,
    /// Paths of all files and folders.
    paths: BTreeSet<String>,
}

impl Tree {
    pub fn read(root: &Path) -> io::Result<Self> {
        let (mut texts, mut paths) = (Vec::new(), BTreeSet::new());
        read_folder(root, "", &mut texts, &mut paths)?;
        Ok(Tree { files: sources(&texts), paths })
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let source = |&(path, text): &(&str, &str)| (path.to_owned(), Source::new(path, text));
        let mut paths = BTreeSet::new();
        for (path, _) in files {
            paths.insert((*path).to_owned());
            paths.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        }
        Tree { files: files.iter().map(source).collect(), paths }
    }

    pub fn get(&self, path: &str) -> Option<&Source> {
        self.files.get(path)
    }

    /// Returns true if there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    pub fn files(&self) -> impl Iterator<Item = &Source> {
        self.files.values()
    }

    pub fn rust_files(&self) -> impl Iterator<Item = &Source> {
        self.files().filter(|source| source.path.ends_with(".rs"))
    }

    pub fn documents(&self) -> impl Iterator<Item = &Source> {
        self.files().filter(|source| source.path.ends_with(".md"))
    }

    pub fn manifests(&self) -> impl Iterator<Item = &Source> {
        self.files()
            .filter(|source| source.path == "Cargo.toml" || source.path.ends_with("/Cargo.toml"))
    }
}

fn read_folder(
    folder: &Path,
    prefix: &str,
    texts: &mut Vec<(String, String)>,
    paths: &mut BTreeSet<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && FOREIGN.contains(&name.as_str()) {
            continue;
        }
        paths.insert(path.clone());
        if kind.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), texts, paths)?;
        } else if kind.is_file() && READ.iter().any(|ending| name.ends_with(ending)) {
            texts.push((path, fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

/// Parses the texts on all cores: a check spends most of its time here.
fn sources(texts: &[(String, String)]) -> BTreeMap<String, Source> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let read = || -> Vec<Source> {
        let mine = std::iter::from_fn(|| texts.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|(path, text)| Source::new(path, text)).collect()
    };
    let sources = thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
        let done = readers.into_iter().map(|reader| reader.join().expect("a reader panicked"));
        done.flatten().collect::<Vec<_>>()
    });
    sources.into_iter().map(|source| (source.path.clone(), source)).collect()
}

/// Returns the workspace crate of a file: `heap` for `crates/heap/src/lib.rs`.
pub fn crate_of(path: &str) -> &str {
    let inside = path.strip_prefix("crates/").unwrap_or(path);
    inside.split('/').next().unwrap_or("")
}

/// Resolves `path` in a document or a file of `folder`.
pub fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

const READ: [&str; 3] = [".rs", ".toml", ".md"];

/// Folders that tools create, and that are not part of the project.
const FOREIGN: [&str; 7] =
    [".git", ".venv", "__pycache__", "target", "node_modules", "corpus", "artifacts"];

//! The files of the repository, read once; tests build theirs from text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use crate::source::Source;

/// Files by their path from the root, with `/` between its parts.
pub struct Tree {
    /// Those that rules read: code, tables and documents.
    files: BTreeMap<String, Source>,
    /// Every file and every folder.
    paths: BTreeSet<String>,
}

impl Tree {
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Tree { files: BTreeMap::new(), paths: BTreeSet::new() };
        tree.read_folder(root, "")?;
        Ok(tree)
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

    /// Whether there is such a file or folder.
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

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && FOREIGN.contains(&name.as_str()) {
                continue;
            }
            self.paths.insert(path.clone());
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && READ.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(entry.path())?;
                self.files.insert(path.clone(), Source::new(&path, &text));
            }
        }
        Ok(())
    }
}

/// The workspace crate that a file belongs to: `heap` for `crates/heap/src/lib.rs`.
pub fn crate_of(path: &str) -> &str {
    let inside = path.strip_prefix("crates/").unwrap_or(path);
    inside.split('/').next().unwrap_or("")
}

/// The path that `path` means in a document or a file of `folder`.
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

/// Folders that hold nothing of ours: what tools put here.
const FOREIGN: [&str; 7] =
    [".git", ".venv", "__pycache__", "target", "node_modules", "corpus", "artifacts"];

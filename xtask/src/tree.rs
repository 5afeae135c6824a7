//! The files of the repository, read once; tests build theirs from text.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use crate::source::Source;

/// Files by their path from the root, with `/` between its parts.
pub struct Tree {
    files: BTreeMap<String, Source>,
}

impl Tree {
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Tree { files: BTreeMap::new() };
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let source = |&(path, text): &(&str, &str)| (path.to_owned(), Source::new(path, text));
        Tree { files: files.iter().map(source).collect() }
    }

    pub fn get(&self, path: &str) -> Option<&Source> {
        self.files.get(path)
    }

    pub fn rust_files(&self) -> impl Iterator<Item = &Source> {
        self.files.values().filter(|source| source.path.ends_with(".rs"))
    }

    pub fn manifests(&self) -> impl Iterator<Item = &Source> {
        self.files
            .values()
            .filter(|source| source.path == "Cargo.toml" || source.path.ends_with("/Cargo.toml"))
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !is_foreign(&name) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && (name.ends_with(".rs") || name.ends_with(".toml")) {
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

/// Folders that hold no code of ours: hidden ones, and what tools put here.
fn is_foreign(name: &str) -> bool {
    name.starts_with('.') || ["target", "node_modules", "corpus", "artifacts"].contains(&name)
}

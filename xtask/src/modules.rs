//! Files of modules: those that `mod` leads to from the root of each crate.

use std::collections::BTreeSet;

use crate::rust::{Module, names_tests};
use crate::source::Source;
use crate::tables::{Manifest, table};
use crate::tree::{Tree, join};

/// File, as a module of the crate with the root file `root`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleFile {
    pub root: String,
    pub file: String,
    /// Names of the modules from the root down; empty for the root itself.
    pub module: Vec<String>,
    /// True if it is compiled for tests only.
    pub is_for_tests: bool,
    /// True if its submodules are beside it and not in a folder of its name.
    owns_folder: bool,
}

/// Returns every file that a `mod` or an `include!` leads to, once for each crate that has it.
pub fn module_files(tree: &Tree) -> Vec<ModuleFile> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<ModuleFile> = roots(tree).into_iter().map(root_file).collect();
    while let Some(file) = open.pop() {
        let Some(source) = tree.get(&file.file) else { continue };
        if seen.insert((file.root.clone(), file.file.clone())) {
            open.extend(children(tree, source, &file));
            found.push(file);
        }
    }
    found
}

fn root_file(root: String) -> ModuleFile {
    let (file, module) = (root.clone(), Vec::new());
    ModuleFile { root, file, module, is_for_tests: false, owns_folder: true }
}

/// Returns the files that cargo compiles by default, and those that a manifest names.
fn roots(tree: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in tree.manifests() {
        let folder = source.path.strip_suffix("Cargo.toml").unwrap_or("");
        let manifest: Manifest = table(Some(source));
        found.extend(manifest.paths().map(|path| format!("{folder}{path}")));
        let files = tree.rust_files().map(|source| source.path.as_str());
        let own = files.filter(|path| path.strip_prefix(folder).is_some_and(is_root));
        found.extend(own.map(str::to_owned));
    }
    found
}

fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let in_folder = |parts: &[&str]| matches!(parts, [_] | [_, "main.rs"]);
    match parts[..] {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
        ["src", "bin", ref rest @ ..] => in_folder(rest),
        ["tests" | "benches" | "examples", ref rest @ ..] => in_folder(rest),
        _ => false,
    }
}

/// Returns the files that this one declares or includes.
fn children(tree: &Tree, source: &Source, parent: &ModuleFile) -> Vec<ModuleFile> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.trim_end_matches(".rs");
    let own =
        if parent.owns_folder || stem == "mod" { folder.to_owned() } else { join(folder, stem) };
    let included = |path: &str| ModuleFile { file: join(folder, path), ..parent.clone() };
    let calls = source.rust.macro_calls.iter().filter(|call| call.name == "include");
    let includes = calls.filter_map(|call| call.text.as_deref()).map(included);
    let outside = source.rust.modules.iter().filter(|module| !module.is_inline);
    let modules = outside.map(|module| child(tree, module, (folder, &own), parent));
    includes.chain(modules).collect()
}

fn child(tree: &Tree, module: &Module, folders: (&str, &str), parent: &ModuleFile) -> ModuleFile {
    let (folder, own) = folders;
    let inline = &module.scope.modules;
    let own = inline.iter().fold(own.to_owned(), |own, part| join(&own, part));
    let own_folder = format!("{own}/{}/mod.rs", module.name);
    let (file, owns_folder) = match &module.path {
        Some(path) if inline.is_empty() => (join(folder, path), true),
        Some(path) => (join(&own, path), true),
        None if tree.has(&own_folder) => (own_folder, true),
        None => (join(&own, &format!("{}.rs", module.name)), false),
    };
    let names = parent.module.iter().chain(inline.iter()).cloned();
    ModuleFile {
        root: parent.root.clone(),
        file,
        module: names.chain([module.name.clone()]).collect(),
        is_for_tests: parent.is_for_tests
            || module.scope.is_for_tests
            || module.scope.is_in_tests
            || names_tests(&module.name),
        owns_folder,
    }
}

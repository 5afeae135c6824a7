//! Every file is led to by a `mod` from the root of a crate.

use std::collections::BTreeSet;

use crate::finding::Report;
use crate::source::Source;
use crate::tokens::{Module, modules, tokens};
use crate::toml::entries;
use crate::tree::Tree;

pub fn reachable(tree: &Tree, report: &mut Report) {
    let mut reached = BTreeSet::new();
    let mut open: Vec<(String, bool)> = roots(tree).into_iter().map(|path| (path, true)).collect();
    while let Some((path, is_root)) = open.pop() {
        let Some(source) = tree.get(&path) else { continue };
        if reached.insert(path.clone()) {
            open.extend(children(tree, source, is_root));
        }
    }
    for source in tree.rust_files().filter(|source| !reached.contains(&source.path)) {
        report.add(&source.path, 1, "no `mod` leads here from the root of a crate");
    }
}

/// The files that cargo compiles by itself, and those that a manifest names.
fn roots(tree: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for manifest in tree.manifests() {
        let folder = manifest.path.strip_suffix("Cargo.toml").unwrap_or("");
        let named = entries(&manifest.text).into_iter().filter(|entry| entry.key == "path");
        found.extend(named.map(|entry| format!("{folder}{}", entry.string())));
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

/// The files that this one declares or includes, and whether they stand for their folder.
fn children(tree: &Tree, source: &Source, is_root: bool) -> Vec<(String, bool)> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.trim_end_matches(".rs");
    let owns_folder = is_root || stem == "mod";
    let home = if owns_folder { folder.to_owned() } else { join(folder, stem) };
    let modules = modules(source);
    let mut found = includes(source, folder);
    for module in modules.iter().filter(|module| module.body.is_none()) {
        let inline = enclosing(&modules, module.offset);
        let home = inline.iter().fold(home.clone(), |home, part| join(&home, part));
        match &module.path {
            Some(path) if inline.is_empty() => found.push((join(folder, path), true)),
            Some(path) => found.push((join(&home, path), true)),
            None => {
                let own_folder = format!("{home}/{}/mod.rs", module.name);
                let is_folder = tree.get(&own_folder).is_some();
                let beside = format!("{home}/{}.rs", module.name);
                found.push(if is_folder { (own_folder, true) } else { (beside, false) });
            }
        }
    }
    found
}

/// The names of the inline modules around an offset, outermost first.
fn enclosing(modules: &[Module], offset: usize) -> Vec<&str> {
    let around = |module: &&Module| module.body.as_ref().is_some_and(|it| it.contains(&offset));
    modules.iter().filter(around).map(|module| module.name.as_str()).collect()
}

fn includes(source: &Source, folder: &str) -> Vec<(String, bool)> {
    let tokens = tokens(&source.code);
    let quote = |window: &[crate::tokens::Token<'_>]| match window {
        [word, sign, _, quote] if word.text == "include" && sign.text == "!" => Some(quote.offset),
        _ => None,
    };
    let paths = tokens.windows(4).filter_map(quote).filter_map(|at| source.string_at(at));
    paths.map(|path| (join(folder, path), true)).collect()
}

fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

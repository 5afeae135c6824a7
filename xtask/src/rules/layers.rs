//! Who may depend on whom, read from `layers.toml` and held against manifests and imports.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Report;
use crate::mentions::mentions;
use crate::source::Source;
use crate::tokens::modules;
use crate::toml::{Entry, entries};
use crate::tree::{Tree, crate_of};

const LAYERS: &str = "layers.toml";

pub fn layers(tree: &Tree, report: &mut Report) {
    let layers = read_layers(tree);
    check_order(&layers, report);
    for manifest in tree.manifests().filter(|manifest| manifest.path.starts_with("crates/")) {
        let name = crate_of(&manifest.path);
        match layers.get(name) {
            Some(layer) => check_manifest(&manifest.path, &manifest.text, layer, &layers, report),
            None => report.add(&manifest.path, 1, format!("`{name}` has no row in {LAYERS}")),
        }
    }
    check_imports(tree, &layers, report);
}

struct Layer {
    name: String,
    line: usize,
    uses: BTreeSet<String>,
}

type Layers = BTreeMap<String, Layer>;

/// A crate is listed below those that it uses, so the table itself cannot hold a circle.
fn check_order(layers: &Layers, report: &mut Report) {
    for layer in layers.values() {
        for used in &layer.uses {
            if layers.get(used).is_none_or(|below| below.line >= layer.line) {
                let message = format!("`{}` uses `{used}`, which is not above it", layer.name);
                report.add(LAYERS, layer.line, message);
            }
        }
    }
}

fn check_manifest(path: &str, text: &str, layer: &Layer, layers: &Layers, report: &mut Report) {
    for entry in entries(text) {
        let Some(used) = dependency(&entry) else { continue };
        if layers.contains_key(&used) && !layer.uses.contains(&used) {
            report.add(path, entry.line, format!("`{}` may not use `{used}`", layer.name));
        }
    }
}

/// The package that a manifest's line depends on, whatever it is called there.
fn dependency(entry: &Entry) -> Option<String> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let table: Vec<&str> = entry.table.split('.').collect();
    let at = table.iter().position(|part| kinds.contains(part))?;
    let name = table.get(at + 1).copied().or(entry.key.split('.').next())?;
    let renamed = entry.value.split_once("package").map(|(_, rest)| rest);
    let package = renamed.and_then(|rest| rest.split('"').nth(1)).unwrap_or(name);
    let is_package_line = entry.key == "package" || entry.key.ends_with(".package");
    Some(if is_package_line { entry.string() } else { package }.to_owned())
}

/// Catches what the manifest hides: a path dependency under another crate's name.
fn check_imports(tree: &Tree, layers: &Layers, report: &mut Report) {
    let own_modules = module_names(tree);
    for source in tree.rust_files().filter(|source| source.path.starts_with("crates/")) {
        let name = crate_of(&source.path);
        let Some(layer) = layers.get(name) else { continue };
        for mention in mentions(source).iter().filter(|mention| mention.imported) {
            let used = mention.first();
            let is_foreign = used != name
                && layers.contains_key(used)
                && !layer.uses.contains(used)
                && !own_modules.contains(&(name.to_owned(), used.to_owned()));
            if is_foreign {
                let line = source.line_of(mention.offset);
                report.add(&source.path, line, format!("`{name}` may not use `{used}`"));
            }
        }
    }
}

/// Modules may bear the name of a crate; an import of theirs crosses no layer.
fn module_names(tree: &Tree) -> BTreeSet<(String, String)> {
    let names = |source: &Source| {
        let owner = crate_of(&source.path).to_owned();
        modules(source).into_iter().map(move |module| (owner.clone(), module.name))
    };
    tree.rust_files().flat_map(names).collect()
}

fn read_layers(tree: &Tree) -> Layers {
    let rows = tree.get(LAYERS).map_or_else(Vec::new, |source| entries(&source.text));
    let layer = |row: Entry| {
        let uses = row.strings().into_iter().map(str::to_owned).collect();
        (row.key.clone(), Layer { name: row.key, line: row.line, uses })
    };
    rows.into_iter().filter(|row| row.table == "uses").map(layer).collect()
}

//! Allowed dependencies of crates, read from `layers.toml` and compared with manifests and imports.

use crate::finding::Report;
use crate::rust::Mention;
use crate::source::Source;
use crate::tables::{self, LAYERS, Layers, Manifest, table};
use crate::tree::{Tree, crate_of};

pub fn layers(tree: &Tree, report: &mut Report) {
    let layers = tables::layers(tree);
    if let Some(source) = tree.get(LAYERS) {
        check_order(source, &layers, report);
    }
    for source in tree.manifests().filter(|manifest| manifest.path.starts_with("crates/")) {
        check_manifest(source, &layers, report);
    }
    check_imports(tree, &layers, report);
}

/// Checks that a crate is listed below those that it uses, so that the table cannot hold a cycle.
fn check_order(source: &Source, layers: &Layers, report: &mut Report) {
    for (name, uses) in &layers.uses {
        for used in uses {
            let below = layers.uses.get_key_value(used);
            if below.is_none_or(|(below, _)| below.span().start >= name.span().start) {
                let message = format!("`{name}` uses `{used}`, which is not above it");
                report.add(LAYERS, source.line_of(name.span().start), message);
            }
        }
    }
}

fn check_manifest(source: &Source, layers: &Layers, report: &mut Report) {
    let name = crate_of(&source.path);
    if !layers.uses.contains_key(name) {
        report.add(&source.path, 1, format!("`{name}` has no row in {LAYERS}"));
        return;
    }
    let manifest: Manifest = table(Some(source));
    let packages = manifest.packages().filter(|(package, _)| !may_use(layers, name, package));
    let of_tests = manifest.dev_packages().filter(|(package, _)| {
        !may_use(layers, name, package) && !tests_may_use(layers, name, package)
    });
    for (package, offset) in packages.chain(of_tests) {
        let message = format!("`{name}` may not use `{package}`");
        report.add(&source.path, source.line_of(offset), message);
    }
}

/// Returns true if a crate may use another one; crates from outside are free to all.
fn may_use(layers: &Layers, name: &str, used: &str) -> bool {
    let granted = || layers.uses.get(name).into_iter().flatten().any(|it| it.as_ref() == used);
    !layers.uses.contains_key(used) || granted()
}

/// Returns true if only the tests of a crate may use another one.
fn tests_may_use(layers: &Layers, name: &str, used: &str) -> bool {
    layers.tests_use.get(name).into_iter().flatten().any(|it| it.as_ref() == used)
}

/// Reports uses that the manifest hides: a path dependency under another crate's name.
fn check_imports(tree: &Tree, layers: &Layers, report: &mut Report) {
    for source in tree.rust_files().filter(|source| source.path.starts_with("crates/")) {
        let name = crate_of(&source.path);
        if !layers.uses.contains_key(name) {
            continue;
        }
        for mention in source.rust.mentions.iter().filter(|mention| mention.import.is_some()) {
            let used = mention.first();
            let is_in_test = source.is_test_code(mention) && tests_may_use(layers, name, used);
            if used != name && !may_use(layers, name, used) && !is_in_test && !is_own(source, used)
            {
                report.add(&source.path, mention.line, format!("`{name}` may not use `{used}`"));
            }
        }
    }
}

/// Returns true if a name is the file's own: a module that it declares, or an item that it imports.
/// It may equal that of a crate; paths below it cross no layer.
pub fn is_own(source: &Source, name: &str) -> bool {
    let is_import = |mention: &Mention| {
        let import = mention.import.as_ref();
        import.is_some_and(|import| import.name == name && mention.path != name)
    };
    let declares = source.rust.modules.iter().any(|module| module.name == name);
    declares || source.rust.mentions.iter().any(is_import)
}

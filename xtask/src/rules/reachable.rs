//! Every file is reachable by `mod` from the root of a crate.

use std::collections::BTreeSet;

use crate::finding::Report;
use crate::modules::module_files;
use crate::tree::Tree;

pub fn reachable(tree: &Tree, report: &mut Report) {
    let reached: BTreeSet<String> = module_files(tree).into_iter().map(|it| it.file).collect();
    for source in tree.rust_files().filter(|source| !reached.contains(&source.path)) {
        report.add(&source.path, 1, "no `mod` leads here from the root of a crate");
    }
}

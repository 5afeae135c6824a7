//! Files that the other rules read can be parsed.

use crate::finding::Report;
use crate::tables;
use crate::tree::Tree;

pub fn syntax(tree: &Tree, report: &mut Report) {
    for source in tree.files() {
        if let Some(fault) = &source.fault {
            report.add(&source.path, fault.line, fault.message.clone());
        }
        if !source.path.ends_with(".toml") {
            continue;
        }
        if let Some((offset, message)) = tables::fault(source) {
            report.add(&source.path, source.line_of(offset), message);
        }
    }
}

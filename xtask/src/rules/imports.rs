//! Imports name what they bring in.

use crate::finding::Report;
use crate::mentions::mentions;
use crate::tokens::{is_test_code, modules};
use crate::tree::Tree;

pub fn no_globs(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        let modules = modules(source);
        for mention in mentions(source).iter().filter(|mention| mention.last() == "*") {
            let is_own_test =
                mention.path == "super::*" && is_test_code(source, &modules, mention.offset);
            if !is_own_test {
                let message = format!("name what is needed from `{}`", mention.path);
                report.add(&source.path, source.line_of(mention.offset), message);
            }
        }
    }
}

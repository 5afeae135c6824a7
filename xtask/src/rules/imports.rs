//! Imports name each imported item.

use crate::finding::Report;
use crate::tree::Tree;

pub fn no_globs(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        for mention in source.rust.mentions.iter().filter(|mention| mention.last() == "*") {
            let is_own_test = mention.path == "super::*" && source.is_test_code(mention);
            if !is_own_test {
                let message = format!("name what is needed from `{}`", mention.path);
                report.add(&source.path, mention.line, message);
            }
        }
    }
}

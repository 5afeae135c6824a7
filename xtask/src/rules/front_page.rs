//! Every crate of the product begins with a module page.

use crate::finding::Report;
use crate::source::Source;
use crate::tree::Tree;

const LINES: [&str; 3] = ["Owner:", "Not here:", "Start at:"];

pub fn front_page(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files().filter(|source| is_front(tree, source)) {
        let missing: Vec<&str> =
            LINES.into_iter().filter(|wanted| !has_line(source, wanted)).collect();
        if !missing.is_empty() {
            let message = format!("the front page lacks the lines {}", missing.join(", "));
            report.add(&source.path, 1, message);
        }
    }
}

/// Returns true for `lib.rs`, or for `main.rs` in a crate without a library.
fn is_front(tree: &Tree, source: &Source) -> bool {
    let inside = source.path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    match inside {
        Some((_, "src/lib.rs")) => true,
        Some((name, "src/main.rs")) => tree.get(&format!("crates/{name}/src/lib.rs")).is_none(),
        _ => false,
    }
}

fn has_line(source: &Source, wanted: &str) -> bool {
    let is_wanted = |text: &str| {
        let text = text.trim_start().strip_prefix(wanted);
        text.is_some_and(|rest| !rest.trim().is_empty())
    };
    let comments = source.rust.comments.iter();
    comments.filter_map(|comment| comment.text.strip_prefix("//!")).any(is_wanted)
}

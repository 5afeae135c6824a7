//! The rules of the project, one row each.

mod command_names;
mod documents;
pub mod folder_rings;
mod front_page;
mod grants;
mod imports;
mod islands;
mod layers;
pub mod module_rings;
mod reachable;
#[cfg(test)]
mod samples;
mod size;
mod syntax;
mod words;

pub use islands::unsafe_lines;

use crate::finding::{Finding, Report};
use crate::tree::Tree;

/// Rule that checks the whole tree and reports lines.
pub struct Rule {
    pub name: &'static str,
    /// Reason for the rule, in one sentence for the person who broke it.
    pub reason: &'static str,
    pub check: fn(&Tree, &mut Report),
}

pub const RULES: &[Rule] = &[
    Rule {
        name: "syntax",
        reason: "a file that cannot be read is checked by nobody",
        check: syntax::syntax,
    },
    Rule {
        name: "line_width",
        reason: "two files fit side by side at 100 columns; lines with an address may be longer",
        check: size::line_width,
    },
    Rule {
        name: "file_lines",
        reason: "a file of more than 600 lines holds more than one concept: split it by concept",
        check: size::file_lines,
    },
    Rule {
        name: "function_lines",
        reason: "a function of more than 60 lines cannot be read aloud: ifs up, loops down",
        check: size::function_lines,
    },
    Rule {
        name: "function_names",
        reason: "the name of a test is one claim: in more than 80 characters there are several",
        check: size::function_names,
    },
    Rule {
        name: "exceptions",
        reason: "xtask/exceptions.toml may only shrink, and each row says why it is there",
        check: size::exceptions,
    },
    Rule {
        name: "no_globs",
        reason: "imports show the dependency; only a `mod tests` may `use super::*`",
        check: imports::no_globs,
    },
    Rule {
        name: "front_page",
        reason: "each crate begins with its map: Owner, Not here, Start at",
        check: front_page::front_page,
    },
    Rule {
        name: "layers",
        reason: "crates import downwards only, as layers.toml says",
        check: layers::layers,
    },
    Rule {
        name: "unused_grants",
        reason: "layers.toml says what crates do, so it grants nothing that nobody uses",
        check: grants::unused_grants,
    },
    Rule {
        name: "documents",
        reason: "links and paths in documents and on front pages lead somewhere",
        check: documents::documents,
    },
    Rule {
        name: "command_names",
        reason: "what a command is stands in its row: a list of names elsewhere is forgotten",
        check: command_names::command_names,
    },
    Rule {
        name: "reachable",
        reason: "a file that no `mod` leads to is compiled by nobody",
        check: reachable::reachable,
    },
    Rule {
        name: "leftovers",
        reason: "what is unfinished is finished or written down as work, not left in the code",
        check: words::leftovers,
    },
    Rule {
        name: "diary",
        reason: "comments give the reason or the picture; history belongs to commits",
        check: words::diary,
    },
    Rule {
        name: "riddles",
        reason: "a comment says who does something: the client, the thread, the caller",
        check: words::riddles,
    },
    Rule {
        name: "unsafe_islands",
        reason: "unsafe code lives in the crates and files of layers.toml; other crates forbid it",
        check: islands::unsafe_islands,
    },
    Rule {
        name: "outside_world",
        reason: "clock, files and sockets are arguments, save for the crates of layers.toml",
        check: islands::outside_world,
    },
    Rule {
        name: "simd_folder",
        reason: "vector instructions stand beside their portable twin, under one folder",
        check: islands::simd_folder,
    },
    Rule {
        name: "module_rings",
        reason: "who reads one module of a ring has to read them all",
        check: module_rings::module_rings,
    },
    Rule {
        name: "folder_rings",
        reason: "a folder is understood with those below it alone, if they do not lead back to it",
        check: folder_rings::folder_rings,
    },
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| apply(rule, tree)).collect();
    findings.sort();
    findings
}

fn apply(rule: &Rule, tree: &Tree) -> Vec<Finding> {
    let mut report = Report::new(rule.name);
    (rule.check)(tree, &mut report);
    report.findings
}

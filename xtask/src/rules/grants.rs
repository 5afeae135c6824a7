//! `layers.toml` grants nothing that is unused.

use crate::finding::Report;
use crate::rust::Mention;
use crate::source::Source;
use crate::tables::{LAYERS, layers};
use crate::tree::{Tree, crate_of};

use super::islands::{is_vector, reach_of};
use super::layers::is_own;

pub fn unused_grants(tree: &Tree, report: &mut Report) {
    let Some(table) = tree.get(LAYERS) else { return };
    let layers = layers(tree);
    let mut unused = |offset: usize, message: String| {
        report.add(LAYERS, table.line_of(offset), message);
    };
    for (name, uses) in layers.uses.iter().chain(&layers.tests_use) {
        for used in uses {
            let names_it = |mention: &Mention| mention.first() == used.as_ref();
            let uses_it = |source: &Source| {
                source.rust.mentions.iter().any(names_it) && !is_own(source, used.as_ref())
            };
            if !sources(tree, name.as_ref()).any(uses_it) {
                unused(used.span().start, format!("`{name}` does not use `{used}`"));
            }
        }
    }
    for (deed, doers) in &layers.may {
        for doer in doers {
            let who = doer.as_ref().as_str();
            match does(tree, deed.as_ref(), who) {
                Some(true) => {}
                Some(false) => unused(doer.span().start, format!("`{who}` has no use of `{deed}`")),
                None => unused(deed.span().start, format!("no rule asks for `{deed}`")),
            }
        }
    }
}

/// Returns true if the crate, file or folder uses a grant; `None` if no rule knows the grant.
fn does(tree: &Tree, deed: &str, who: &str) -> Option<bool> {
    let mut sources = sources(tree, who);
    let mut mentions = |wanted: &dyn Fn(&Source, &Mention) -> bool| {
        sources.any(|source| source.rust.mentions.iter().any(|mention| wanted(source, mention)))
    };
    match deed {
        "unsafe_code" => Some(sources.any(|source| !source.rust.unsafe_lines.is_empty())),
        "vector_instructions" => Some(mentions(&|_, mention| is_vector(mention))),
        "clock" | "files" | "sockets" => Some(mentions(&|source, mention| {
            reach_of(mention) == Some(deed) && !source.is_test_code(mention)
        })),
        _ => None,
    }
}

/// Returns the files of a crate given by name or of a folder, or the single file of a path.
fn sources<'a>(tree: &'a Tree, who: &'a str) -> impl Iterator<Item = &'a Source> {
    tree.rust_files().filter(move |source| {
        let is_inside = who.ends_with('/') && source.path.starts_with(who);
        crate_of(&source.path) == who || source.path == who || is_inside
    })
}

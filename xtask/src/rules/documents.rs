//! Links and paths in documents and on front pages exist.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::finding::Report;
use crate::source::Source;
use crate::tree::{Tree, join};

pub fn documents(tree: &Tree, report: &mut Report) {
    let places = Places::of(tree);
    for source in tree.documents() {
        for (event, range) in events(&source.text) {
            let problem = match &event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    places.broken_link(&source.path, dest_url)
                }
                Event::Code(text) => places.missing_path(text),
                _ => None,
            };
            if let Some(message) = problem {
                report.add(&source.path, source.line_of(range.start), message);
            }
        }
    }
    for source in tree.rust_files() {
        check_front(source, &places, report);
    }
}

/// Names that documents can refer to.
struct Places<'a> {
    tree: &'a Tree,
    /// All suffixes of each path: `a/b.rs`, `b.rs`.
    ends: BTreeSet<&'a str>,
    /// Anchors of each document, to which links with a `#` can lead.
    anchors: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Places<'a> {
    fn of(tree: &'a Tree) -> Self {
        let ends = |path: &'a str| {
            let inner = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
            std::iter::once(path).chain(inner)
        };
        let anchors = tree.documents().map(|source| (source.path.as_str(), anchors(&source.text)));
        Places { tree, ends: tree.paths().flat_map(ends).collect(), anchors: anchors.collect() }
    }

    /// Returns the fault of a link in a document; links to other sites are not checked.
    fn broken_link(&self, document: &str, link: &str) -> Option<String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = if path.is_empty() { document.to_owned() } else { join(folder, path) };
        if !target.is_empty() && !self.tree.has(&target) {
            return Some(format!("the link leads to `{target}`, which is not there"));
        }
        let anchors = self.anchors.get(target.as_str())?;
        let is_broken = !anchor.is_empty() && !anchors.contains(anchor);
        is_broken.then(|| format!("`{target}` has no heading `#{anchor}`"))
    }

    /// Returns the first word of a quotation that names a path of the repository which does not
    /// exist.
    fn missing_path(&self, quoted: &str) -> Option<String> {
        let words = quoted.split_whitespace().map(|word| word.trim_matches(QUOTES));
        let mut missing = words.filter(|word| self.is_path(word) && !self.is_there(word));
        missing.next().map(|word| format!("`{word}` is not there"))
    }

    fn is_path(&self, word: &str) -> bool {
        let is_from_root = word.split_once('/').is_some_and(|(first, _)| self.tree.has(first));
        let is_file =
            ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending));
        let is_elsewhere = word.starts_with(['/', '~']) || word.starts_with("../");
        (is_from_root || is_file) && !is_elsewhere && !is_pattern(word) && !is_made(word)
    }

    fn is_there(&self, word: &str) -> bool {
        self.ends.contains(word.trim_end_matches('/'))
    }
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// Returns the anchors of headings as sites that show Markdown make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut heading = None;
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let again = (1..).map(|number| format!("{name}-{number}"));
                let mut names = std::iter::once(name.clone()).chain(again);
                found.extend(names.find(|name| !found.contains(name)));
            }
            _ => {}
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept =
        heading.trim().chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns true for placeholders such as `docs/NNNN-title.md` and `a/*.rs`.
fn is_pattern(word: &str) -> bool {
    let parts = || word.split(['/', '.', '-', '_']).filter(|part| !part.is_empty());
    let is_capital = |part: &str| part.bytes().all(|byte| byte.is_ascii_uppercase());
    let stands_for_another = |part: &str| is_capital(part) && !CAPITALS.contains(&part);
    word.contains(['<', '>', '*', '$', '[', '{', '=']) || parts().any(stands_for_another)
}

/// Returns true for paths that tools create, which need not exist.
fn is_made(word: &str) -> bool {
    word.split('/').any(|part| ["target", "artifacts", "corpus", "node_modules"].contains(&part))
}

/// Checks a front page: every quoted path exists, and those under `Start at` are beside it or
/// below.
fn check_front(source: &Source, places: &Places<'_>, report: &mut Report) {
    let folders = folders_of(&source.path);
    let mut in_map = false;
    for comment in &source.rust.comments {
        let Some(text) = comment.text.strip_prefix("//!").map(str::trim) else { return };
        in_map = text.starts_with("Start at:") || in_map && !text.is_empty();
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_near = || folders.iter().any(|folder| places.tree.has(&join(folder, quoted)));
            let problem = if in_map && quoted.ends_with(".rs") && !is_near() {
                Some(format!("`{quoted}` is neither beside this file nor below it"))
            } else {
                places.missing_path(quoted)
            };
            if let Some(message) = problem {
                report.add(&source.path, comment.line, message);
            }
        }
    }
}

/// Returns the folder of this file and that of its submodules.
fn folders_of(path: &str) -> [&str; 2] {
    [path.rsplit_once('/').map_or("", |(folder, _)| folder), path.trim_end_matches(".rs")]
}

const ENDINGS: [&str; 3] = [".rs", ".md", ".toml"];

/// Names in capitals that are no placeholders.
const CAPITALS: [&str; 4] = ["README", "ARCHITECTURE", "CONTRIBUTING", "LICENSE"];

/// Characters around a path in a quotation.
const QUOTES: [char; 7] = ['\'', '"', '(', ')', ',', ';', ':'];

//! The imports among the modules of a crate form no cycle.

use std::collections::BTreeSet;

use crate::finding::Report;
use crate::imports::{Imports, imports};
use crate::rings::{Edges, breakers, rings, way, within};
use crate::tree::Tree;

/// Reports a few imports of each ring whose removal would break it.
pub fn module_rings(tree: &Tree, report: &mut Report) {
    for imports in imports(tree) {
        let edges = costs(&imports);
        for ring in rings(&edges) {
            let inside = within(&edges, &ring);
            for (from, to) in breakers(&edges, &ring) {
                let back: Vec<&str> =
                    way(&inside, to, from).iter().map(|&file| short(&imports, file)).collect();
                let line = imports.edges[&(from, to)].first().copied().unwrap_or(1);
                let message =
                    format!("this import closes a ring: it leads back over {}", back.join(", "));
                report.add(&imports.files[from], line, message);
            }
        }
    }
}

/// Describes the rings of one crate or of all, with the imports that close them.
pub fn describe(tree: &Tree, name: Option<&str>) -> String {
    let mut text = String::new();
    for imports in imports(tree).iter().filter(|it| name.is_none_or(|name| it.crate_name() == name))
    {
        let edges = costs(imports);
        let rings = rings(&edges);
        let (files, count) = (imports.files.len(), rings.len());
        text.push_str(&format!("{}: {files} files, {count} rings\n", imports.root));
        for ring in rings {
            text.push_str(&describe_ring(imports, &edges, &ring));
        }
    }
    text
}

fn describe_ring(imports: &Imports, edges: &Edges, ring: &BTreeSet<usize>) -> String {
    let inside = within(edges, ring);
    let broken = breakers(edges, ring);
    let mut text = format!(
        "\n  a ring of {} files with {} edges; it opens without the {} that are marked\n",
        ring.len(),
        inside.len(),
        broken.len()
    );
    for edge in inside.keys() {
        let mark = if broken.contains(edge) { '*' } else { ' ' };
        let lines: Vec<String> = imports.edges[edge].iter().map(usize::to_string).collect();
        let (from, to) = (&imports.files[edge.0], short(imports, edge.1));
        text.push_str(&format!("  {mark} {from}:{} -> {to}\n", lines.join(",")));
    }
    text
}

/// Converts imports to edges; the cost of an edge is its number of importing lines.
fn costs(imports: &Imports) -> Edges {
    imports.edges.iter().map(|(&edge, lines)| (edge, lines.len())).collect()
}

/// Returns the path of a file relative to the folder of the crate's root.
fn short(imports: &Imports, file: usize) -> &str {
    let folder = imports.root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = &imports.files[file];
    path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/')
}

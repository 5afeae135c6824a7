//! The imports among the parts of a folder form no cycle.

use crate::finding::Report;
use crate::folders::{Folder, folders};
use crate::imports::{Imports, imports};
use crate::rings::{breakers, rings, way, within};
use crate::tree::Tree;

/// Reports a few imports of each ring whose removal would break it.
pub fn folder_rings(tree: &Tree, report: &mut Report) {
    for imports in imports(tree) {
        for folder in folders(&imports) {
            report_rings(&imports, &folder, report);
        }
    }
}

fn report_rings(imports: &Imports, folder: &Folder, report: &mut Report) {
    let edges = folder.costs();
    for ring in rings(&edges) {
        let inside = within(&edges, &ring);
        for (from, to) in breakers(&edges, &ring) {
            let back: Vec<&str> =
                way(&inside, to, from).iter().map(|&part| folder.parts[part].as_str()).collect();
            let back = back.join(", ");
            for &(file, line) in &folder.edges[&(from, to)] {
                let message = format!("this import closes a ring of folders: back over {back}");
                report.add(&imports.files[file], line, message);
            }
        }
    }
}

/// Describes the rings between the folders of one crate or of all, with the imports that close
/// them.
pub fn describe(tree: &Tree, name: Option<&str>) -> String {
    let mut text = String::new();
    for imports in imports(tree).iter().filter(|it| name.is_none_or(|name| it.crate_name() == name))
    {
        let folders = folders(imports);
        let count: usize = folders.iter().map(|folder| rings(&folder.costs()).len()).sum();
        text.push_str(&format!("{}: {} folders, {count} rings\n", imports.root, folders.len()));
        folders.iter().for_each(|folder| describe_rings(imports, folder, &mut text));
    }
    text
}

fn describe_rings(imports: &Imports, folder: &Folder, text: &mut String) {
    let edges = folder.costs();
    for ring in rings(&edges) {
        let parts: Vec<&str> = ring.iter().map(|&part| folder.parts[part].as_str()).collect();
        text.push_str(&format!("\n  a ring of {}; it opens without\n", parts.join(", ")));
        for (from, to) in breakers(&edges, &ring) {
            for &(file, line) in &folder.edges[&(from, to)] {
                let (file, to) = (&imports.files[file], &folder.parts[to]);
                text.push_str(&format!("  * {file}:{line} -> {to}\n"));
            }
        }
    }
}

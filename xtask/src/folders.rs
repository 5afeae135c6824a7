//! Imports between the parts of each folder of a crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Imports;
use crate::rings::Edges;

/// Folder of a crate. Its parts are its own file, and each file in it together with the folder of
/// the same name: `a.rs`, `a/mod.rs` and all below `a/` are one part.
pub struct Folder {
    /// Names of the parts, from the folder of the crate's root.
    pub parts: Vec<String>,
    /// Files and lines of the imports, by the numbers of the importing and the defining part.
    pub edges: BTreeMap<(usize, usize), BTreeSet<(usize, usize)>>,
}

impl Folder {
    /// Returns the edges; the cost of one is its number of importing lines.
    pub fn costs(&self) -> Edges {
        self.edges.iter().map(|(&edge, lines)| (edge, lines.len())).collect()
    }
}

/// Returns all folders of a crate, its root first.
pub fn folders(imports: &Imports) -> Vec<Folder> {
    let paths: Vec<Vec<&str>> = imports.files.iter().map(|file| path_of(imports, file)).collect();
    let folders: BTreeSet<&[&str]> =
        paths.iter().flat_map(|path| (0..path.len()).map(|len| &path[..len])).collect();
    folders.into_iter().map(|folder| parts_of(imports, &paths, folder)).collect()
}

/// Returns the names of the folders above a file and its own, from the crate's root on; none for
/// the root itself.
fn path_of<'a>(imports: &Imports, file: &'a str) -> Vec<&'a str> {
    if file == imports.root {
        return Vec::new();
    }
    let above = imports.root.rsplit_once('/').map_or("", |(above, _)| above);
    let path = file.strip_prefix(above).unwrap_or(file).trim_start_matches('/');
    let path = path.strip_suffix(".rs").unwrap_or(path);
    path.strip_suffix("/mod").unwrap_or(path).split('/').collect()
}

fn parts_of(imports: &Imports, paths: &[Vec<&str>], folder: &[&str]) -> Folder {
    let part = |file: usize| {
        let path = &paths[file];
        path.starts_with(folder).then(|| &path[..path.len().min(folder.len() + 1)])
    };
    let parts: BTreeSet<&[&str]> = (0..paths.len()).filter_map(part).collect();
    let numbers: BTreeMap<&[&str], usize> = parts.iter().copied().zip(0..).collect();
    let mut edges: BTreeMap<(usize, usize), BTreeSet<(usize, usize)>> = BTreeMap::new();
    for (&(from, to), lines) in &imports.edges {
        let (Some(one), Some(other)) = (part(from), part(to)) else { continue };
        if one != other {
            let places = edges.entry((numbers[one], numbers[other])).or_default();
            places.extend(lines.iter().map(|&line| (from, line)));
        }
    }
    let name = |part: &[&str]| if part.is_empty() { "the root".into() } else { part.join("/") };
    Folder { parts: parts.into_iter().map(name).collect(), edges }
}

#[cfg(test)]
mod tests {
    use super::folders;
    use crate::imports::imports;
    use crate::tree::Tree;

    #[test]
    fn a_file_and_the_folder_of_its_name_are_one_part_of_the_folder_above() {
        let tree = Tree::of(&[
            ("Cargo.toml", ""),
            ("src/lib.rs", "mod a; mod b;\nuse b::c::D;"),
            ("src/a.rs", "mod e; use crate::b::c::D; use e::f;"),
            ("src/a/e.rs", "pub fn f() {}"),
            ("src/b/mod.rs", "pub mod c; use crate::a::e::f;"),
            ("src/b/c.rs", "pub struct D;"),
        ]);
        let found: Vec<String> = folders(&imports(&tree)[0])
            .iter()
            .flat_map(|folder| {
                let name = |part: &usize| folder.parts[*part].as_str();
                folder.edges.keys().map(move |(from, to)| format!("{} {}", name(from), name(to)))
            })
            .collect();
        assert_eq!(found, ["the root b", "a b", "b a", "a a/e"]);
    }
}

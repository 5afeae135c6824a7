//! Imports between the files of a crate, by the place where the imported items are defined.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::{ModuleFile, module_files};
use crate::rust::Mention;
use crate::source::is_test_file;
use crate::tree::{Tree, crate_of};

/// Files of one crate, and the lines with which they import from each other. Tests are left out.
pub struct Imports {
    /// Root file of the crate.
    pub root: String,
    pub files: Vec<String>,
    /// Lines of the imports, by the numbers of the importing and the defining file.
    pub edges: BTreeMap<(usize, usize), BTreeSet<usize>>,
}

impl Imports {
    pub fn crate_name(&self) -> &str {
        crate_of(&self.root)
    }
}

/// Returns the imports of each crate of the repository; programs and libraries are separate crates.
pub fn imports(tree: &Tree) -> Vec<Imports> {
    let mut crates: BTreeMap<String, Vec<ModuleFile>> = BTreeMap::new();
    for file in module_files(tree) {
        crates.entry(file.root.clone()).or_default().push(file);
    }
    let is_product = |root: &String| !is_test_file(root);
    let crates = crates.into_iter().filter(|(root, _)| is_product(root));
    crates.map(|(root, files)| crate_imports(tree, root, files)).collect()
}

fn crate_imports(tree: &Tree, root: String, mut files: Vec<ModuleFile>) -> Imports {
    files.sort_by(|a, b| a.file.cmp(&b.file));
    let names = Names::of(tree, &files);
    let mut edges: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
    for (from, file) in files.iter().enumerate().filter(|(_, file)| !file.is_for_tests) {
        let mentions = tree.get(&file.file).map_or(&[][..], |source| &source.rust.mentions);
        for mention in mentions {
            let is_test = mention.scope.is_in_tests || mention.scope.is_for_tests;
            let Some(to) = names.target(file, mention).filter(|_| !is_test) else { continue };
            let is_export = mention.import.as_ref().is_some_and(|import| import.is_public);
            let is_own_child = files[to].module.starts_with(&file.module);
            if to != from && !(is_export && is_own_child) {
                edges.entry((from, to)).or_default().insert(mention.line);
            }
        }
    }
    Imports { root, files: files.into_iter().map(|file| file.file).collect(), edges }
}

type Path = Vec<String>;

/// Modules, definitions and imported names.
struct Names {
    /// File of each module, inline ones included.
    modules: BTreeMap<Path, usize>,
    definitions: BTreeSet<(Path, String)>,
    /// Path that a name in a module was imported from, as written.
    imports: BTreeMap<(Path, String), Path>,
}

impl Names {
    fn of(tree: &Tree, files: &[ModuleFile]) -> Self {
        let mut names = Names {
            modules: BTreeMap::new(),
            definitions: BTreeSet::new(),
            imports: BTreeMap::new(),
        };
        for (number, file) in files.iter().enumerate() {
            names.modules.insert(file.module.clone(), number);
            let Some(source) = tree.get(&file.file) else { continue };
            for module in source.rust.modules.iter().filter(|module| module.is_inline) {
                let mut path = inside(file, &module.scope.modules);
                path.push(module.name.clone());
                names.modules.insert(path, number);
            }
            for item in &source.rust.definitions {
                names.definitions.insert((inside(file, &item.modules), item.name.clone()));
            }
            for mention in source.rust.mentions.iter() {
                let Some(import) = &mention.import else { continue };
                let module = inside(file, &mention.scope.modules);
                names.imports.entry((module, import.name.clone())).or_insert(words(&mention.path));
            }
        }
        names
    }

    /// Returns the file that defines the mentioned item; `None` for other crates and for a path
    /// that begins with an item: that item was imported, and counts at its import.
    fn target(&self, file: &ModuleFile, mention: &Mention) -> Option<usize> {
        let module = inside(file, &mention.scope.modules);
        let path = words(&mention.path);
        let first = path.first()?;
        let is_anchored = ["crate", "self", "super"].contains(&first.as_str());
        let leads_in =
            || self.follow(&module, &path[..1], 0).is_some_and(|(_, is_module)| is_module);
        if mention.import.is_none() && !is_anchored && !leads_in() {
            return None;
        }
        self.follow(&module, &path, 0).map(|(file, _)| file)
    }

    /// Returns the file that defines what `path` means in `module`, and true if that is a module.
    fn follow(&self, module: &[String], path: &[String], depth: usize) -> Option<(usize, bool)> {
        let mut place = module.to_vec();
        let mut rest = path;
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => place.clear(),
                "self" => {}
                "super" => drop(place.pop()),
                _ => break,
            }
            rest = others;
        }
        let is_relative = rest.len() == path.len();
        for (at, name) in rest.iter().enumerate() {
            let inner: Path = place.iter().chain([name]).cloned().collect();
            if self.modules.contains_key(&inner) {
                place = inner;
                continue;
            }
            let key = (place.clone(), name.clone());
            if let Some(origin) =
                self.imports.get(&key).filter(|_| !self.definitions.contains(&key))
            {
                let onward: Path = origin.iter().chain(&rest[at + 1..]).cloned().collect();
                let is_itself = place == module && onward == path;
                return if depth > 16 || is_itself {
                    None
                } else {
                    self.follow(&place, &onward, depth + 1)
                };
            }
            let is_here = self.definitions.contains(&key) || at > 0 || !is_relative;
            return is_here.then(|| self.modules.get(&place).map(|&file| (file, false))).flatten();
        }
        self.modules.get(&place).map(|&file| (file, true))
    }
}

fn inside(file: &ModuleFile, modules: &[String]) -> Path {
    file.module.iter().chain(modules).cloned().collect()
}

fn words(path: &str) -> Path {
    path.split("::").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `file:line file` for every edge, without folder and ending.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|(path, _)| format!("src/{path}.rs")).collect();
        let files = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text));
        let files: Vec<(&str, &str)> = files.chain([("Cargo.toml", "")]).collect();
        let found = imports(&Tree::of(&files)).remove(0);
        let name = |file: usize| found.files[file].trim_start_matches("src/").replace(".rs", "");
        let line = |(edge, lines): (&(usize, usize), &BTreeSet<usize>)| {
            lines.iter().map(|line| format!("{}:{line} {}", name(edge.0), name(edge.1))).collect()
        };
        found.edges.iter().flat_map(|edge| -> Vec<String> { line(edge) }).collect()
    }

    #[test]
    fn an_import_counts_where_its_item_is_defined() {
        let found = edges(&[
            ("lib", "mod a; mod b; pub use a::f; use std::io; struct Here;"),
            ("a/mod", "mod c; pub use c::{D, E as F}; pub fn f() {}"),
            ("a/c", "pub struct D; pub struct E;"),
            ("b", "use crate::f;\nuse crate::a::D;\nuse crate::a::F;\nuse crate::{io,\nHere};"),
        ]);
        assert_eq!(found, ["b:2 a/c", "b:3 a/c", "b:1 a/mod", "b:5 lib"]);
    }

    #[test]
    fn a_path_counts_like_an_import() {
        let found = edges(&[
            ("lib", "mod a; mod b; mod c;"),
            ("a", "fn f() {\n crate::b::g(); m!(super::c::h()) }"),
            ("b", "use crate::c;\npub fn g() { c::h();\n c::d::i(); }"),
            ("c", "mod d;\npub fn h() { d::i(); let x = T::new(); }"),
            ("c/d", "pub fn i() {}"),
        ]);
        assert_eq!(found, ["a:2 b", "a:2 c", "b:1 c", "b:2 c", "b:3 c/d", "c:2 c/d"]);
    }

    #[test]
    fn tests_and_exports_of_own_children_count_for_nothing() {
        let found = edges(&[
            ("lib", "mod a; mod b; #[cfg(test)] mod sample; pub(crate) use a::f;"),
            ("a", "pub fn f() {}\n#[cfg(test)] use crate::b::g;\nmod tests { use crate::b::g; }"),
            ("b", "pub fn g() {}\n#[cfg(all(test, loom))] fn h() { crate::a::f() }"),
            ("sample", "use crate::a::f;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn names_that_lead_in_a_circle_lead_nowhere() {
        let found = edges(&[
            ("lib", "mod a; mod b;"),
            ("a", "pub use crate::b::f; fn g() { self::f(); }"),
            ("b", "pub use crate::a::f;"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}

//! Tables of the repository: allowed dependencies, exceptions from limits, and cargo's manifests.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::source::Source;
use crate::tree::Tree;

pub const LAYERS: &str = "layers.toml";
pub const EXCEPTIONS: &str = "xtask/exceptions.toml";

/// Content of `layers.toml`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layers {
    /// Crates that each crate may use.
    pub uses: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    /// Crates that only the tests of a crate may use besides.
    pub tests_use: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    /// Crates, files and folders that each grant is given to.
    pub may: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
}

/// Content of `xtask/exceptions.toml`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exceptions {
    pub exception: Vec<Spanned<Exception>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exception {
    pub rule: String,
    pub path: String,
    /// Name of the function; empty for a whole file.
    pub function: String,
    pub limit: usize,
    pub reason: String,
}

/// Parts of a `Cargo.toml` that rules need.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Manifest {
    lib: Option<Product>,
    bin: Vec<Product>,
    test: Vec<Product>,
    bench: Vec<Product>,
    example: Vec<Product>,
    dependencies: Dependencies,
    dev_dependencies: Dependencies,
    build_dependencies: Dependencies,
    target: BTreeMap<String, Target>,
}

/// Target that cargo builds from a file.
#[derive(Deserialize)]
struct Product {
    path: Option<String>,
}

/// Dependencies on one platform.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Target {
    dependencies: Dependencies,
    dev_dependencies: Dependencies,
    build_dependencies: Dependencies,
}

type Dependencies = BTreeMap<Spanned<String>, Dependency>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Dependency {
    Table {
        package: Option<String>,
    },
    /// Version alone.
    Text(#[allow(dead_code, reason = "read to be told apart")] String),
}

impl Manifest {
    /// Returns the files that the manifest names itself.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.bin, &self.test, &self.bench, &self.example];
        let products = self.lib.iter().chain(lists.into_iter().flatten());
        products.filter_map(|product| product.path.as_deref())
    }

    /// Returns the packages that the manifest depends on, under their real names, with their
    /// offsets.
    pub fn packages(&self) -> impl Iterator<Item = (&str, usize)> {
        let on_all = [&self.dependencies, &self.build_dependencies];
        let on_some = self.target.values();
        let on_some = on_some.flat_map(|target| [&target.dependencies, &target.build_dependencies]);
        on_all.into_iter().chain(on_some).flat_map(real_names)
    }

    /// Returns those that only tests, examples and benches depend on.
    pub fn dev_packages(&self) -> impl Iterator<Item = (&str, usize)> {
        let on_some = self.target.values().map(|target| &target.dev_dependencies);
        [&self.dev_dependencies].into_iter().chain(on_some).flat_map(real_names)
    }
}

fn real_names(dependencies: &Dependencies) -> impl Iterator<Item = (&str, usize)> {
    dependencies.iter().map(|(name, dependency)| {
        let package = match dependency {
            Dependency::Table { package: Some(package) } => package,
            _ => name.as_ref(),
        };
        (package.as_str(), name.span().start)
    })
}

impl Layers {
    /// Returns the names and paths that have the grant `deed`.
    pub fn may(&self, deed: &str) -> Vec<&str> {
        let row = self.may.get(deed).into_iter().flatten();
        row.map(|name| name.as_ref().as_str()).collect()
    }
}

/// Parses a table; one that is missing or invalid is empty, and the rule `syntax` reports the
/// latter.
pub fn table<T: Default + DeserializeOwned>(source: Option<&Source>) -> T {
    source.and_then(|source| toml::from_str(&source.text).ok()).unwrap_or_default()
}

pub fn layers(tree: &Tree) -> Layers {
    table(tree.get(LAYERS))
}

/// Returns the reason why the file is not a valid table, and its offset.
pub fn fault(source: &Source) -> Option<(usize, String)> {
    let text = &source.text;
    let read = match source.path.as_str() {
        LAYERS => toml::from_str::<Layers>(text).err(),
        EXCEPTIONS => toml::from_str::<Exceptions>(text).err(),
        path if path.ends_with("Cargo.toml") => toml::from_str::<Manifest>(text).err(),
        _ => toml::from_str::<toml::Table>(text).err(),
    };
    let offset = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    read.map(|error| (offset(&error), error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(text: &str) -> Vec<(String, usize)> {
        let source = Source::new("Cargo.toml", text);
        let manifest: Manifest = table(Some(&source));
        let packages = manifest.packages().chain(manifest.dev_packages());
        let mut packages: Vec<(String, usize)> =
            packages.map(|(name, at)| (name.to_owned(), source.line_of(at))).collect();
        packages.sort();
        packages
    }

    #[test]
    fn a_dependency_is_found_under_any_name_and_in_any_table() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\nc = { package = \"d\" }\n\
                    [target.'cfg(loom)'.dev-dependencies]\nloom = \"1\"\n\
                    [build-dependencies.e]\npath = \"f\"";
        let found = packages(text);
        let found: Vec<(&str, usize)> =
            found.iter().map(|(name, at)| (name.as_str(), *at)).collect();
        assert_eq!(found, [("a", 2), ("b", 3), ("d", 4), ("e", 7), ("loom", 6)]);
    }
}

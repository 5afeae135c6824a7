//! One file of the repository, with the facts that the rules need.

use crate::rust::{self, Fault, Mention, Rust, names_tests};

pub struct Source {
    pub path: String,
    pub text: String,
    /// Empty for a file that is not Rust or cannot be parsed; the rule `syntax` reports `fault`.
    pub rust: Rust,
    pub fault: Option<Fault>,
    line_starts: Vec<usize>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let read = if path.ends_with(".rs") { rust::read(text) } else { Ok(Rust::default()) };
        let (rust, fault) = match read {
            Ok(rust) => (rust, None),
            Err(fault) => (Rust::default(), Some(fault)),
        };
        Source { path: path.to_owned(), text: text.to_owned(), rust, fault, line_starts }
    }

    /// Returns the line of an offset, counted from one.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// Returns true if the mention is in test code: in a module of tests, or in a file beside the
    /// product.
    pub fn is_test_code(&self, mention: &Mention) -> bool {
        mention.scope.is_in_tests || is_test_file(&self.path)
    }
}

pub fn is_test_file(path: &str) -> bool {
    let is_beside = |part: &str| {
        names_tests(part.trim_end_matches(".rs")) || ["benches", "examples"].contains(&part)
    };
    path.split('/').any(is_beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source::new("a.md", "a\nb\n");
        assert_eq!((source.line_of(0), source.line_of(1), source.line_of(2)), (1, 1, 2));
    }

    #[test]
    fn test_code_is_known_by_its_module_or_its_file() {
        let inside = |path: &str, text: &str| {
            let source = Source::new(path, text);
            source.is_test_code(&source.rust.mentions[0])
        };
        assert!(inside("crates/a/src/b.rs", "mod tests { use a::here; }"));
        assert!(inside("crates/a/src/b/tests.rs", "use a::here;"));
        assert!(inside("crates/a/tests/b.rs", "use a::here;"));
        assert!(inside("crates/a/examples/b.rs", "use a::here;"));
        assert!(!inside("crates/a/src/b.rs", "mod tests { } use a::here;"));
    }
}
